"""The gate `must_pass`: the named samples must be right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pytest_vqaeval.gates.base import Finding, Part, Verdict
from pytest_vqaeval.scoring.base import Outcome

if TYPE_CHECKING:
    from pytest_vqaeval.results import Result

_MOST_NAMED = 5


@dataclass(frozen=True)
class MustPass:
    """All replies to the samples `ids` must be right; an id is `11934`, or `en_open[11934]`."""

    ids: tuple[str, ...]
    scope: str | None = None
    kind: ClassVar[str] = "must_pass"

    @property
    def name(self) -> str:
        """The rule in words."""
        return f"must_pass {_named(self.ids)}"

    def judge(self, part: Part) -> Finding:
        """A wrong answer fails; an error, or a sample that was not selected, is inconclusive."""
        rows: dict[str, list[Result]] = {name: [] for name in self.ids}
        for row in part.tally.results:
            for name in (row.id, f"{row.subset}[{row.id}]"):
                if name in rows:
                    rows[name].append(row)
        wrong = [name for name, found in rows.items() if any(row.outcome.counts_wrong for row in found)]
        right = [name for name, found in rows.items() if found and all(_is_right(row) for row in found)]
        absent = [name for name, found in rows.items() if not found]
        unknown = [name for name in self.ids if name not in {*wrong, *right, *absent}]
        said = [f"{len(right):,} of {len(self.ids):,} right"]
        said += [f"wrong: {_named(wrong)}"] if wrong else []
        said += [f"without right or wrong: {_named(unknown)}"] if unknown else []
        said += [f"not selected, or not there: {_named(absent)}"] if absent else []
        verdict = Verdict.FAIL if wrong else Verdict.INCONCLUSIVE if unknown or absent else Verdict.PASS
        worse = [row.nodeid for name in wrong for row in rows[name] if row.outcome.counts_wrong]
        return Finding(verdict, "; ".join(said), {"right": len(right), "samples": len(self.ids)}, worse=worse)


def _is_right(row: Result) -> bool:
    return row.outcome is Outcome.CORRECT


def _named(ids: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(ids) - _MOST_NAMED:,} more" if len(ids) > _MOST_NAMED else ""
    return ", ".join(ids[:_MOST_NAMED]) + more


def parse_must_pass(text: str) -> MustPass:
    """`slake=11934`, `slake=en_open[11934]`.

    Raises:
        ValueError: no benchmark, or no id.
    """
    scope, _, name = text.partition("=")
    if not scope.strip() or not name.strip():
        raise ValueError(f"{text!r} is not BENCHMARK=ID")
    return MustPass((name.strip(),), scope.strip())


def together(rules: Iterable[MustPass]) -> list[MustPass]:
    """One rule per scope."""
    ids: dict[str | None, list[str]] = {}
    for rule in rules:
        ids.setdefault(rule.scope, []).extend(rule.ids)
    return [MustPass(tuple(dict.fromkeys(names)), scope) for scope, names in ids.items()]
