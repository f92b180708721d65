"""Aggregate metrics: figures over many samples that are no mean of what each sample scored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pytest_vqaeval.scoring.base import Outcome

if TYPE_CHECKING:
    from pytest_vqaeval.results import Result

POSITIVE = "yes"
"""The answer of which precision, recall, F1 and yes-rate tell."""
ALL_RIGHT = "all_right_by"


@dataclass(frozen=True, slots=True)
class Metric:
    """An aggregate metric that a spec names.

    Attributes:
        name: as it is shown.
        kind: one of `KINDS`.
    """

    name: str
    kind: str


class Aggregate(NamedTuple):
    """A metric over a set of results.

    Attributes:
        value: 0 to 1; None where it is not defined (nothing to divide by).
        of: how many count: what the share is a share of.
        counted: what is counted, for people.
        missing: how many more would count if they were answered, or might.
    """

    value: float | None
    of: int
    counted: str
    missing: int


def aggregate(metric: Metric, results: Iterable[Result]) -> Aggregate:
    """The metric over results; samples without a verdict never count, and are told as missing."""
    return KINDS[metric.kind](metric.name, list(results))


class _Confusion(NamedTuple):
    """Counts of the answer `yes`. What is neither yes nor no is not yes."""

    hits: int  # said yes, and it is
    said: int
    wanted: int
    answered: int
    missing: int


def _confusion(results: Sequence[Result]) -> _Confusion:
    answered = [result for result in results if result.outcome.answered]
    said = [_normal(result.extracted) == POSITIVE for result in answered]
    wanted = [any(_normal(reference) == POSITIVE for reference in result.reference) for result in answered]
    hits = sum(map(all, zip(said, wanted, strict=True)))
    return _Confusion(hits, sum(said), sum(wanted), len(answered), len(results) - len(answered))


def _normal(text: str | None) -> str:
    return (text or "").strip().rstrip(".!").lower()


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _precision(_name: str, results: Sequence[Result]) -> Aggregate:
    c = _confusion(results)
    return Aggregate(_share(c.hits, c.said), c.said, "answers yes", c.missing)


def _recall(_name: str, results: Sequence[Result]) -> Aggregate:
    c = _confusion(results)
    return Aggregate(_share(c.hits, c.wanted), c.wanted, "references yes", c.missing)


def _f1(_name: str, results: Sequence[Result]) -> Aggregate:
    """The harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN)."""
    c = _confusion(results)
    return Aggregate(_share(2 * c.hits, c.said + c.wanted), c.answered, "samples", c.missing)


def _yes_rate(_name: str, results: Sequence[Result]) -> Aggregate:
    c = _confusion(results)
    return Aggregate(_share(c.said, c.answered), c.answered, "samples", c.missing)


def _all_right(name: str, results: Sequence[Result]) -> Aggregate:
    """Share of the units (the questions about a picture, the turns of the options) of which every sample is right.

    A unit counts only if all of its samples are right or wrong: also those that were not selected.
    """
    units: defaultdict[tuple[str, int], list[Result]] = defaultdict(list)
    sizes: dict[tuple[str, int], int] = {}
    for result in results:
        if name in result.units:
            key, size = result.units[name]
            units[key, result.repeat].append(result)
            sizes[key, result.repeat] = size
    whole = [
        unit
        for key, unit in units.items()
        if len(unit) == sizes[key] and all(_is_right_or_wrong(result.outcome) for result in unit)
    ]
    right = sum(all(result.outcome is Outcome.CORRECT for result in unit) for unit in whole)
    return Aggregate(_share(right, len(whole)), len(whole), "groups", len(units) - len(whole))


def _is_right_or_wrong(outcome: Outcome) -> bool:
    return outcome is Outcome.CORRECT or outcome.counts_wrong


KINDS: dict[str, Callable[[str, Sequence[Result]], Aggregate]] = {
    "precision": _precision,
    "recall": _recall,
    "f1": _f1,
    "yes_rate": _yes_rate,
    ALL_RIGHT: _all_right,
}
"""Precision, recall, F1 and yes-rate as in POPE (Li et al., EMNLP 2023, section 5.1)."""
