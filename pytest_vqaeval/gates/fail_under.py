"""The gate `fail_under`: the score must not be below a number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from pytest_vqaeval.gates.base import ROUNDING, Finding, Part, Verdict, by_bounds, split_scope


@dataclass(frozen=True)
class FailUnder:
    """The score (or, if `lower`, the lower bound of its 95 % interval) must be `score` or more; 0 to 1."""

    score: float
    scope: str | None = None
    lower: bool = False
    kind: ClassVar[str] = "fail_under"

    @property
    def name(self) -> str:
        """The rule in words."""
        return f"fail_under {'lower:' if self.lower else ''}{self.score:g}"

    def judge(self, part: Part) -> Finding:
        """By the score with all missing samples wrong, and with all right."""
        tally = part.tally
        if tally.headline is None or tally.interval is None:
            why = "no references: replies only" if tally.replies_only else "no sample was answered"
            return Finding(Verdict.INCONCLUSIVE, f"{why} (of {part.size:,})")
        low, high = self._bounds(part)
        said = f"{tally.headline:.4f} of {tally.answered:,} answered"
        if self.lower:
            said += f", 95 % interval from {tally.interval.low:.4f}"
        if part.missing:
            said += f", {low:.4f} to {high:.4f} with the {part.missing:,} missing"
        numbers = {"score": tally.headline, "answered": tally.answered, "missing": part.missing, "bounds": [low, high]}
        return Finding(by_bounds(low >= self.score - ROUNDING, high >= self.score - ROUNDING), said, numbers)

    def _bounds(self, part: Part) -> tuple[float, float]:
        if not self.lower:
            return part.tally.bounds_with(part.deselected)
        worst, best = (part.tally.interval_with(fill, part.deselected) for fill in (0.0, 1.0))
        return (worst.low if worst else 0.0), (best.low if best else 1.0)


def read_fail_under(text: str, scope: str | None = None) -> FailUnder:
    """`0.6`, or `lower:0.6`.

    Raises:
        ValueError: no number from 0 to 1.
    """
    lower = text.startswith("lower:")
    number = text.removeprefix("lower:").strip()
    try:
        score = float(number)
    except ValueError:
        score = math.nan
    if not 0 <= score <= 1:  # also false for NaN
        raise ValueError(f"{number!r} is not a score from 0 to 1")
    return FailUnder(score, scope, lower)


def parse_fail_under(text: str) -> FailUnder:
    """`0.6`, `slake=0.6`, `slake/en_open=lower:0.6`, `slake/modality:CT=0.6`.

    Raises:
        ValueError: no number from 0 to 1, or nothing before the `=`.
    """
    scope, value = split_scope(text)
    return read_fail_under(value, scope)
