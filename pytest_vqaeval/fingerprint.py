"""What makes two runs of a benchmark comparable: hashes of its data, and how it is scored.

Cheap: records are hashed as they were read, archives by their directory; no picture is read.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.cells import is_cell
from pytest_vqaeval.scorerule import parts_of

if TYPE_CHECKING:
    from pytest_vqaeval.judging.panel import Panel
    from pytest_vqaeval.sample import Sample
    from pytest_vqaeval.scoring.base import Scorer
    from pytest_vqaeval.spec import Spec

MUST_BE_EQUAL = ("records", "references", "clusters", "media", "scorer", "parser", "judge")
_DIGITS = 16  # of a hash: enough to tell data apart, short enough for a file in a repository
_LONG = 4096  # characters; a longer text is an embedded picture, known by length and CRC-32


def fingerprint(
    spec: Spec,
    samples: Sequence[Sample],
    scorer: Scorer,
    archive_hash: Callable[[str], str],
    panel: Panel | None = None,
) -> dict[str, str]:
    """The facts that must be equal in two runs that are compared, and `prompt`, which may differ.

    Args:
        spec: the benchmark.
        samples: all of them, selected or not, each once; their order does not matter.
        scorer: the scorer with its options, as `ScoreRule.bind` returns it.
        archive_hash: the fingerprint of an archive that the spec names; raises DataError where there is none.
        panel: who judges the replies, if somebody does.
    """
    rule = spec.sample
    return {
        "records": _set_hash([sample.subset, sample.id, _content(sample)] for sample in samples),
        "references": _hash([rule.format, rule.reference, rule.options, rule.answer]),
        "clusters": _set_hash([sample.subset, sample.id, sample.cluster] for sample in samples),
        "media": _hash([[name, _directory(name, archive_hash)] for name in archives(spec)]),
        "scorer": _scorer(spec.score.described),
        "parser": _parser(scorer),
        "judge": "" if panel is None else _judge(panel),
        "prompt": _hash([spec.prompt, [rule.messages, rule.question]]),
    }


def differences(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """The names of the facts that make two runs incomparable; empty where they can be compared."""
    return [name for name in MUST_BE_EQUAL if one.get(name) != other.get(name)]


def _content(sample: Sample) -> Any:
    if sample.record is None or sample.record.problem:
        return sample.problem
    return {key: _brief(value) for key, value in sample.record.row.items()}


def _brief(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONG:
        return [len(value), zlib.crc32(value.encode("utf-8", "surrogatepass"))]
    return value


def archives(spec: Spec) -> list[str]:
    """The archives that the spec's own messages name; those that records name are part of the records."""
    return sorted(set(_named(spec)))


def _named(spec: Spec) -> Iterator[str]:
    for message in spec.sample.messages:
        for part in message.parts:
            first = part.template.parts[0] if part.template.parts else ""
            if part.kind != "text" and isinstance(first, str) and ".zip!" in first:
                yield first.partition("!")[0]


def _directory(name: str, archive_hash: Callable[[str], str]) -> str:
    try:
        return archive_hash(name)
    except DataError:
        return "absent"  # every sample says so itself


def _scorer(described: dict[str, Any]) -> str:
    """`contains`, or `short_answer {"answer":"whole"}`."""
    options = {key: value for key, value in described.items() if key != "scorer"}
    return " ".join([*([described["scorer"]] if "scorer" in described else []), *([_json(options)] if options else [])])


def _judge(panel: Panel) -> str:
    """`llm by gpt-4`, and what the judges are told."""
    rule = panel.rule
    return f"{panel.strategy} by {', '.join(panel.judges)}, {_hash([rule.combine, rule.images, rule.prompt.sha256])}"


def _parser(scorer: Scorer) -> str:
    """The parser that is in force: the option's, the spec's or the scorer's default; empty for scorers without one."""
    parameters = [inspect.signature(part).parameters.get("parser") for part in parts_of(scorer)]
    return ",".join(str(one.default) for one in parameters if one is not None and one.default is not one.empty)


def _set_hash(items: Iterable[Any]) -> str:
    """A hash that does not depend on the order."""
    parts = sorted(hashlib.sha256(_json(item).encode()).digest() for item in items)
    return hashlib.sha256(b"".join(parts)).hexdigest()[:_DIGITS]


def _hash(value: Any) -> str:
    return hashlib.sha256(_json(value).encode()).hexdigest()[:_DIGITS]


def _other(value: Any) -> str:
    return "cell" if is_cell(value) else repr(value)  # a cell's own text holds a path of this machine


_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_other).encode
