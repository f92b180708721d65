"""What a comparison needs of a run: one model's score of every sample of a benchmark, from a run or a baseline file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum
from typing import Any, NamedTuple

from pytest_vqaeval.fingerprint import differences
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.stats import Interval, mean_interval, proportion_interval
from pytest_vqaeval.summary import About

_DIGITS = 4  # of a score, in memory as in a file: a run and its baseline file are equal


class Key(NamedTuple):
    """A sample of a benchmark."""

    subset: str
    id: str


@dataclass(frozen=True, slots=True)
class SampleScore:
    """The score of a sample: the mean of its repeats; between `low` and `high` where a reply is missing.

    Attributes:
        outcome: of its only reply; None where there are several, or none, or a score without right and wrong.
    """

    low: float
    high: float
    cluster: str
    nodeid: str = ""
    outcome: Outcome | None = None

    @property
    def known(self) -> bool:
        """No reply is missing."""
        return self.low == self.high


@dataclass(frozen=True)
class Scores:
    """One model's scores on a benchmark.

    Attributes:
        source: where they come from, for messages: a folder or a file.
        collected: number of samples of the benchmark, selected or not.
        graded: the scorer gave values instead of right and wrong.
        repeats: how often each sample was asked.
        fingerprint: what must be equal in what is compared (see `fingerprint.py`).
        generation: the generation parameters.
    """

    benchmark: str
    title: str
    model: str
    source: str
    collected: int
    graded: bool
    repeats: int
    fingerprint: Mapping[str, str]
    generation: Mapping[str, Any] = field(default_factory=dict)
    samples: Mapping[Key, SampleScore] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Every sample was selected, and has a verdict."""
        return len(self.samples) == self.collected and all(sample.known for sample in self.samples.values())

    def by_cluster(self) -> dict[str, list[float]]:
        """The known scores."""
        values: defaultdict[str, list[float]] = defaultdict(list)
        for sample in self.samples.values():
            if sample.known:
                values[sample.cluster].append(sample.low)
        return values

    @property
    def mean(self) -> float | None:
        """Accuracy, or the mean score, of the known; None without any."""
        known = [sample.low for sample in self.samples.values() if sample.known]
        return fsum(known) / len(known) if known else None

    @property
    def interval(self) -> Interval | None:
        """95 % interval of the mean."""
        return (mean_interval if self.graded else proportion_interval)(self.by_cluster())

    def incomparable(self, other: Scores) -> str:
        """Why the two can't be compared, in words; empty if they can."""
        unequal = differences(self.fingerprint, other.fingerprint)
        if self.graded != other.graded and "scorer" not in unequal:
            unequal.append("scorer")
        said = []
        for name in unequal:
            here, there = self.fingerprint.get(name, ""), other.fingerprint.get(name, "")
            said.append(
                f"{name} ({here or 'none'}, {there or 'none'})" if name in ("scorer", "parser", "judge") else name
            )
        return f"not comparable: other {', '.join(said)}" if said else ""

    def changes(self, other: Scores) -> list[str]:
        """What a comparison with `other`, the older, is about: model, prompt, generation, repeats."""
        said = []
        if self.model != other.model:
            said.append(f"model {other.model} -> {self.model}")
        if self.fingerprint.get("prompt") != other.fingerprint.get("prompt"):
            said.append("another prompt")
        for name in sorted({*self.generation, *other.generation}):
            before, after = other.generation.get(name), self.generation.get(name)
            if before != after:
                said.append(f"{name} {before} -> {after}")
        if self.repeats != other.repeats:
            said.append(f"repeats {other.repeats} -> {self.repeats}")
        return said


def scores_of(
    about: About, model: str, rows: Iterable[Result], *, source: str, generation: Mapping[str, Any] | None = None
) -> Scores:
    """The scores of a run, or of a part of it.

    Args:
        about: the benchmark.
        model: the model's name.
        rows: the results, one per repeat; those never reached included.
        source: where they come from.
        generation: the generation parameters of the run.
    """
    by_sample: defaultdict[Key, list[Result]] = defaultdict(list)
    for row in rows:
        by_sample[Key(row.subset, row.id)].append(row)
    repeats = max((row.repeat for same in by_sample.values() for row in same), default=1)
    return Scores(
        benchmark=about.name,
        title=about.title,
        model=model,
        source=source,
        collected=about.collected // repeats,
        graded=any(row.outcome is Outcome.SCORED for same in by_sample.values() for row in same),
        repeats=repeats,
        fingerprint=about.fingerprint,
        generation=generation or {},
        samples={key: _score(same, repeats) for key, same in by_sample.items()},
    )


def _score(rows: list[Result], repeats: int) -> SampleScore:
    known = [row.score for row in rows if row.outcome.answered and row.score is not None]
    total = fsum(known)
    low, high = round(total / repeats, _DIGITS), round((total + repeats - len(known)) / repeats, _DIGITS)
    only = rows[0].outcome if repeats == 1 and known else None
    return SampleScore(
        low,
        low if len(known) == repeats else high,
        rows[0].cluster,
        rows[0].nodeid,
        None if only is Outcome.SCORED else only,
    )
