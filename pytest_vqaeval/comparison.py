"""Two runs on the same samples: what got worse, what got better, and whether that is more than luck."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Literal

from pytest_vqaeval.scores import Key, SampleScore, Scores
from pytest_vqaeval.stats import Interval, detectable_drop, paired_interval, sign_flip_p

POWER = 0.8  # of the smallest drop that is printed
_UNITS = 1000  # per score of 1: whole numbers that hold hundredths, and margins of a tenth of a point

Missing = Literal["left out", "worst", "best"]
"""What is assumed of samples without a verdict on one of the two sides."""


@dataclass(frozen=True, slots=True)
class Change:
    """A sample that got another score."""

    key: Key
    nodeid: str
    old: SampleScore
    new: SampleScore

    @property
    def difference(self) -> float:
        """New minus old."""
        return self.new.low - self.old.low


class Comparison:
    """The new scores against the old, sample by sample. Scores are rounded to 0.01 for the test."""

    def __init__(self, old: Scores, new: Scores, *, keys: Iterable[Key] | None = None, deselected: int = 0) -> None:
        """Pair the samples.

        Args:
            old: the baseline.
            new: what is compared with it.
            keys: the samples that count; those of both without it.
            deselected: how many further samples should have been there.
        """
        self.old, self.new, self._deselected = old, new, deselected
        self._sums: dict[tuple[Missing, float], list[int]] = {}
        wanted = set(old.samples.keys() & new.samples.keys() if keys is None else keys)
        self._known = sorted(key for key in wanted if _is_known(old.samples, key) and _is_known(new.samples, key))
        self._unknown = sorted(wanted - set(self._known))

    @property
    def samples(self) -> int:
        """How many samples have a score on both sides."""
        return len(self._known)

    @property
    def missing(self) -> int:
        """How many have none on one side, or were not selected."""
        return len(self._unknown) + self._deselected

    @cached_property
    def changes(self) -> list[Change]:
        """The samples that got another score: the greatest loss first, equal ones in the order of their names."""
        pairs = [(key, self.old.samples[key], self.new.samples[key]) for key in self._known]
        changed = [Change(key, new.nodeid or old.nodeid, old, new) for key, old, new in pairs if _units(old, new)]
        return sorted(changed, key=lambda change: (change.difference, change.key))

    @property
    def worse(self) -> list[Change]:
        """The samples that lost, the greatest loss first."""
        return [change for change in self.changes if change.difference < 0]

    @property
    def better(self) -> list[Change]:
        """The samples that won, the greatest gain first."""
        return [change for change in reversed(self.changes) if change.difference > 0]

    @property
    def old_mean(self) -> float | None:
        """The mean of the old scores of the samples that both have."""
        return self._mean(self.old)

    @property
    def new_mean(self) -> float | None:
        """The mean of the new scores of the samples that both have."""
        return self._mean(self.new)

    @property
    def difference(self) -> float:
        """New mean minus old mean; 0 without samples."""
        pairs = ((self.old.samples[key], self.new.samples[key]) for key in self._known)
        return fsum(new.low - old.low for old, new in pairs) / max(1, self.samples)

    def _mean(self, scores: Scores) -> float | None:
        return sum(scores.samples[key].low for key in self._known) / len(self._known) if self._known else None

    @cached_property
    def interval(self) -> Interval | None:
        """95 % interval of the mean difference."""
        by_cluster: defaultdict[str, list[float]] = defaultdict(list)
        for key in self._known:
            old, new = self.old.samples[key], self.new.samples[key]
            by_cluster[new.cluster].append(new.low - old.low)
        return paired_interval(by_cluster)

    def sums(self, missing: Missing = "left out", margin: float = 0.0) -> list[int]:
        """The differences in thousandths, summed per cluster, plus the margin for each sample."""
        key: tuple[Missing, float] = (missing if self.missing else "left out", margin)
        if key not in self._sums:
            self._sums[key] = self._summed(*key)
        return self._sums[key]

    def _summed(self, missing: Missing, margin: float) -> list[int]:
        extra = round(margin * _UNITS)
        totals: defaultdict[str, int] = defaultdict(int)
        for key in self._known:
            old, new = self.old.samples[key], self.new.samples[key]
            totals[new.cluster] += _units(old, new) + extra
        for key in self._unknown if missing != "left out" else ():
            sample = self.new.samples.get(key) or self.old.samples[key]
            totals[sample.cluster] += self._bound(key, missing) + extra
        alone = (_UNITS if missing == "best" else -_UNITS) + extra
        return [*totals.values(), *([alone] * self._deselected if missing != "left out" else [])]

    def _bound(self, key: Key, missing: Missing) -> int:
        nothing = SampleScore(0.0, 1.0, "")
        old, new = self.old.samples.get(key, nothing), self.new.samples.get(key, nothing)
        difference = new.high - old.low if missing == "best" else new.low - old.high
        return _rounded(difference)

    def p(self, missing: Missing = "left out", margin: float = 0.0) -> float:
        """The exact one-sided p-value of "the new scores are lower, by more than the margin"."""
        return sign_flip_p(self.sums(missing, margin))

    @property
    def p_either(self) -> float:
        """The two-sided p-value: twice the smaller of the two one-sided ones."""
        sums = self.sums()
        return min(1.0, 2 * min(sign_flip_p(sums), sign_flip_p([-total for total in sums])))

    @property
    def clusters(self) -> int:
        """How many clusters have samples."""
        return len(self.sums())

    @property
    def moved(self) -> int:
        """How many clusters got another sum."""
        return sum(total != 0 for total in self.sums())

    def visible_drop(self, alpha: float, margin: float = 0.0) -> float | None:
        """The smallest drop of the mean that the test finds with a power of 80 %; None where it finds none."""
        drop = detectable_drop(self.sums(), self.samples, alpha, POWER, 1 / _UNITS) if self.samples else None
        return None if drop is None or drop + margin > 1 else drop + margin


def _is_known(samples: Mapping[Key, SampleScore], key: Key) -> bool:
    return key in samples and samples[key].known


def _units(old: SampleScore, new: SampleScore) -> int:
    return _rounded(new.low) - _rounded(old.low)


def _rounded(score: float) -> int:
    """To the nearest hundredth, in thousandths."""
    return round(100 * score) * (_UNITS // 100)


def by_benchmark(sources: Iterable[Scores]) -> Mapping[str, list[Scores]]:
    """What there is of each benchmark, in order of first appearance."""
    found: defaultdict[str, list[Scores]] = defaultdict(list)
    for scores in sources:
        found[scores.benchmark].append(scores)
    return found
