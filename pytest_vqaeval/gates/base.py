"""What gates have in common: the verdict, what a gate sees of a run, and what it says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_vqaeval.summary import About
    from pytest_vqaeval.tally import Tally

ALPHA = 0.05
ROUNDING = 1e-9  # a sum of scores may be off by this; no number of samples makes a difference so small


class Verdict(str, Enum):
    """What a gate says of a run."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Part:
    """What a gate judges: a benchmark, or a part of it, of one model.

    Attributes:
        name: of the part, as `BenchmarkReport.part` knows it; empty for the whole benchmark.
        tally: its results.
        size: how many samples (times repeats) it has, selected or not.
        about: the benchmark; None where nothing of it was selected.
        problem: why it can't be judged.
    """

    benchmark: str
    model: str
    name: str
    tally: Tally
    size: int
    about: About | None = None
    problem: str = ""

    @property
    def deselected(self) -> int:
        """Samples that were not selected."""
        return max(0, self.size - self.tally.samples)

    @property
    def missing(self) -> int:
        """Samples without a verdict: errors, those never reached, those not selected."""
        return self.tally.missing + self.deselected


@dataclass(frozen=True)
class Finding:
    """What a rule says of a part.

    Attributes:
        said: its numbers, in words.
        numbers: the same for programs.
        notes: further lines for people.
        worse: node ids of samples that lost, the greatest loss first.
    """

    verdict: Verdict
    said: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    worse: Sequence[str] = ()


@dataclass(frozen=True)
class GateResult:
    """One gate's verdict on one benchmark, or a part of it, and model; see `Finding`."""

    benchmark: str
    model: str
    rule: str
    verdict: Verdict
    said: str
    part: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    worse: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """Basic types only."""
        return {**asdict(self), "verdict": self.verdict.value}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> GateResult:
        """The inverse of `to_json`."""
        return cls(**{**row, "verdict": Verdict(row["verdict"])})

    @property
    def about(self) -> str:
        """What was judged: `slake/en_closed m`."""
        where = f"{self.benchmark}/{self.part}" if self.part else self.benchmark
        return " ".join(name for name in (where, self.model) if name)


def by_bounds(passes_at_worst: bool, passes_at_best: bool) -> Verdict:
    """Pass if it passes even at the worst, fail if it fails even at the best."""
    if passes_at_worst:
        return Verdict.PASS
    return Verdict.INCONCLUSIVE if passes_at_best else Verdict.FAIL


def split_scope(text: str) -> tuple[str | None, str]:
    """`slake/en_open=0.6` -> scope and value; no scope without `=`.

    Raises:
        ValueError: nothing stands before the `=`, or no part behind the `/`.
    """
    scope, equals, value = text.rpartition("=")
    if equals and not scope.strip():
        raise ValueError("names no benchmark before the =")
    if scope.strip().endswith("/"):
        raise ValueError(f"{scope.strip()!r} names no part behind the /")
    return scope.strip() or None, value.strip()


def field_of(scope: str | None, benchmark: str) -> str | None:
    """The grouping field that a scope may name: `modality` of `slake/modality:CT`."""
    name, colon, _ = (scope or "").removeprefix(f"{benchmark}/").partition(":")
    return name if colon and scope and scope.startswith(f"{benchmark}/") else None


def read_alpha(text: str) -> float:
    """The share of false alarms that a gate may raise.

    Raises:
        ValueError: no number above 0, up to 0.5.
    """
    value = _number(text)
    if not 0 < value <= 0.5:
        raise ValueError(f"{text!r} is not a share of false alarms, above 0 and up to 0.5")
    return value


def read_margin(text: str) -> float:
    """How much of the score may be lost, in steps of 0.001.

    Raises:
        ValueError: it is none.
    """
    value = _number(text)
    if not 0 <= value < 1 or round(value, 3) != value:
        raise ValueError(f"{text!r} is not a margin from 0 to 1 in steps of 0.001 (0.01 is one point)")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
