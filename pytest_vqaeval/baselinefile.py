"""The baseline file: one model's scores of every sample, small enough for a repository, a line per image.

The same scores give the same file, byte for byte, in whatever order they arrived. It holds no questions and no replies.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_vqaeval.errors import StoreError, UsageError
from pytest_vqaeval.names import node_name
from pytest_vqaeval.scores import Key, SampleScore, Scores, scores_of
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.store import find_run, read_run, write_whole

SCHEMA = 1
_LETTERS = {
    "c": Outcome.CORRECT,
    "w": Outcome.WRONG,
    "u": Outcome.UNPARSED,
    "t": Outcome.TRUNCATED,
    "e": Outcome.EMPTY,
}
_LETTER_OF = {outcome: letter for letter, outcome in _LETTERS.items()}
_FACTS: Mapping[str, type] = {
    "benchmark": str,
    "title": str,
    "model": str,
    "graded": bool,
    "repeats": int,
    "generation": dict,
    "fingerprint": dict,
}


def write_baseline(file: Path, all_scores: Iterable[Scores]) -> None:
    """Write a baseline, whole or not at all.

    Raises:
        StoreError: it can't be written.
    """
    ordered = sorted(all_scores, key=lambda scores: (scores.benchmark, scores.model))
    benchmarks = ",\n".join(_benchmark(scores) for scores in ordered)
    legend = json.dumps({letter: outcome.value for letter, outcome in _LETTERS.items()})
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{file} can't be written: {error.strerror}") from None
    write_whole(file, f'{{\n"schema": {SCHEMA},\n"outcomes": {legend},\n"benchmarks": [\n{benchmarks}\n]\n}}\n')


def _benchmark(scores: Scores) -> str:
    """A fact a line, then a cluster a line."""
    facts: dict[str, Any] = {name: getattr(scores, name) for name in _FACTS}
    facts |= {"samples": len(scores.samples), "nodes": _node_prefix(scores)}
    lines = [f"{json.dumps(name)}: {_json(value)}" for name, value in facts.items()]
    clusters = ",\n".join(_clusters(scores.samples))
    return "{\n" + ",\n".join([*lines, f'"clusters": {{\n{clusters}\n}}']) + "\n}"


def _clusters(samples: Mapping[Key, SampleScore]) -> Iterator[str]:
    found: defaultdict[str, defaultdict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    for key, sample in samples.items():
        found[sample.cluster][key.subset][key.id] = _value(sample)
    for cluster in sorted(found):
        yield f"{_json(cluster)}:{_json(found[cluster])}"


def _value(sample: SampleScore) -> Any:
    """A letter for an outcome, a number for a score, [lowest, highest] where a reply is missing."""
    if not sample.known:
        return [sample.low, sample.high]
    if sample.outcome in _LETTER_OF:
        return _LETTER_OF[sample.outcome]
    return sample.low


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _node_prefix(scores: Scores) -> str:
    return min((sample.nodeid.partition("::")[0] for sample in scores.samples.values()), default="")


def read_baseline_file(file: Path) -> list[Scores]:
    """The scores in a baseline file.

    Raises:
        UsageError: it can't be read, or is no whole baseline file: names the file and what is wrong.
    """
    try:
        text = file.read_text(encoding="utf-8")
        content = json.loads(text, object_pairs_hook=_without_repetition, parse_constant=_no_number)
        return _read(file, content)
    except OSError as error:
        raise UsageError(f"the baseline {file} can't be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is no baseline file: {error}; --vqa-save-baseline writes one") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{file} is no baseline file ({error!r}); --vqa-save-baseline writes one") from None


def _read(file: Path, content: Mapping[str, Any]) -> list[Scores]:
    if not isinstance(content, dict) or "schema" not in content:
        raise ValueError("it has no schema")
    if content["schema"] != SCHEMA:
        raise ValueError(f"its schema is {content['schema']}, not {SCHEMA}")
    found = [_scores(file, row) for row in content["benchmarks"]]
    if not found:
        raise ValueError("it is empty")
    names = [(scores.benchmark, scores.model) for scores in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{' of '.join(name)} is there twice")
    return found


def _scores(file: Path, row: Mapping[str, Any]) -> Scores:
    for name, kind in {**_FACTS, "samples": int, "nodes": str, "clusters": dict}.items():
        if not isinstance(row.get(name), kind):
            raise ValueError(f"{name} is {row.get(name)!r:.60}")
    samples: dict[Key, SampleScore] = {}
    for cluster, subsets in row["clusters"].items():
        if not isinstance(subsets, dict) or not all(isinstance(values, dict) for values in subsets.values()):
            raise ValueError(f"the cluster {cluster!r:.60} is {subsets!r:.60}")
        for subset, values in subsets.items():
            for id, value in values.items():
                key = Key(subset, id)
                if key in samples:
                    raise ValueError(f"the sample {subset}[{id}] is there twice")
                samples[key] = _sample(value, cluster, f"{row['nodes']}::{node_name(subset)}[{node_name(id)}]")
    if not samples:
        raise ValueError(f"it has no samples of {row['benchmark']}")
    if len(samples) != row["samples"]:
        raise ValueError(f"it has {len(samples):,} samples of {row['benchmark']}, and says {row['samples']}")
    facts = {name: row[name] for name in _FACTS}
    return Scores(**facts, source=str(file), collected=len(samples), samples=samples)


def _sample(value: Any, cluster: str, nodeid: str) -> SampleScore:
    if isinstance(value, str):
        if value not in _LETTERS:
            raise ValueError(f"{value!r} is no outcome")
        outcome = _LETTERS[value]
        score = float(outcome is Outcome.CORRECT)
        return SampleScore(score, score, cluster, nodeid, outcome)
    low, high = value if isinstance(value, list) else (value, value)
    if (
        any(isinstance(bound, bool) or not isinstance(bound, int | float) for bound in (low, high))
        or not 0 <= low <= high <= 1
    ):
        raise ValueError(f"{value!r} is no score from 0 to 1")
    return SampleScore(float(low), float(high), cluster, nodeid)


def _without_repetition(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} is there twice")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def read_scores(name: str, out: Path) -> list[Scores]:
    """The scores in a baseline file or a run.

    Args:
        name: a file, a run folder, the name of a run, or `latest`.
        out: where runs are looked for by name.

    Raises:
        UsageError: there is none, or it can't be used.
    """
    file = Path(name)
    if file.is_file() or file.suffix == ".json":
        return read_baseline_file(file)
    stored = read_run(find_run(out, name).path)
    generation = stored.header.get("settings", {}).get("generation", {})
    found = [
        scores_of(report.about, report.model, report.overall.results, source=stored.path.name, generation=generation)
        for report in stored.summary().benchmarks
    ]
    if not found:
        raise UsageError(f"the run {stored.path} has no samples")
    return found
