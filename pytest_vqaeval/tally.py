"""What a set of results comes to: counts, score and interval."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from math import fsum

from pytest_vqaeval.aggregates import Aggregate, Metric, aggregate
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.stats import Interval, mean_interval, proportion_interval


class Tally:
    """The counts, the score and its interval over a set of results."""

    def __init__(self, results: Iterable[Result], metrics: Sequence[Metric] = ()) -> None:
        """Count.

        Args:
            results: one row per sample and repeat.
            metrics: the aggregate metrics that the benchmark has.
        """
        self.results, self._metrics = list(results), metrics
        self.counts = Counter(result.outcome for result in self.results)
        self.samples = len(self.results)
        self.guessed = sum(result.guessed for result in self.results)

    @property
    def missing(self) -> int:
        """Samples without a verdict: errors and those never reached."""
        return self.counts[Outcome.ERROR] + self.counts[Outcome.NOT_RUN]

    @property
    def answered(self) -> int:
        """Samples with a verdict."""
        return self.samples - self.missing

    @property
    def graded(self) -> bool:
        """The scorer gave values instead of right and wrong."""
        return self.counts[Outcome.SCORED] > 0

    @property
    def replies_only(self) -> bool:
        """There are replies and no references to compare them with."""
        return any(result.outcome is Outcome.SCORED and result.score is None for result in self.results)

    @cached_property
    def _scored(self) -> list[tuple[Result, float]]:
        """The results with a score; none where there is nothing to compare replies with."""
        rows = [] if self.replies_only else self.results
        return [(row, row.score) for row in rows if row.outcome.answered and row.score is not None]

    @cached_property
    def _scores(self) -> list[float]:
        return [score for _, score in self._scored]

    @cached_property
    def _values(self) -> dict[str, list[float]]:
        """Scores by cluster. The repeats of a sample are one value, their mean: to ask again adds no sample."""
        by_sample: defaultdict[tuple[str, str, str], list[float]] = defaultdict(list)
        for result, score in self._scored:
            by_sample[result.cluster, result.subset, result.id].append(score)
        values: defaultdict[str, list[float]] = defaultdict(list)
        for (cluster, _, _), scores in by_sample.items():
            values[cluster].append(fsum(scores) / len(scores))
        return values

    @property
    def headline(self) -> float | None:
        """Accuracy, or the mean score of a graded scorer, over what was answered; None if nothing was."""
        return fsum(self._scores) / len(self._scores) if self._scores else None

    @property
    def accuracy(self) -> float | None:
        """Share of right answers among what was answered; None for a graded scorer."""
        return None if self.graded else self.headline

    @property
    def mean_score(self) -> float | None:
        """Mean score of a graded scorer, else None."""
        return self.headline if self.graded else None

    @cached_property
    def interval(self) -> Interval | None:
        """95 % interval of the headline: Wilson on the effective n, or of a mean."""
        return mean_interval(self._values) if self.graded else proportion_interval(self._values)

    @property
    def bounds(self) -> tuple[float, float]:
        """The headline if all missing samples were wrong, and if all were right."""
        return self.bounds_with(0)

    def bounds_with(self, deselected: int) -> tuple[float, float]:
        """The bounds if a number of samples that are not in this tally are missing too."""
        samples, missing = self.samples + deselected, self.missing + deselected
        if not samples:
            return 0.0, 1.0
        total = fsum(self._scores)
        return total / samples, (total + missing) / samples

    def interval_with(self, fill: float, deselected: int) -> Interval | None:
        """The interval if all missing samples, and a number that are not in this tally, had the score `fill`."""
        rows = [
            result if result.outcome.answered else replace(result, outcome=Outcome.SCORED, score=fill)
            for result in self.results
        ]
        values = {**Tally(rows)._values, **{f"deselected {n}": [fill] for n in range(deselected)}}
        return mean_interval(values) if self.graded else proportion_interval(values)

    def metrics(self) -> dict[str, float]:
        """Means of the further metrics over the results that have them."""
        values: defaultdict[str, list[float]] = defaultdict(list)
        for result in self.results:
            for name, value in result.metrics.items():
                values[name].append(value)
        return {name: fsum(column) / len(column) for name, column in values.items()}

    def measured(self, metric: str) -> int:
        """How many results have a further metric."""
        return sum(metric in result.metrics for result in self.results)

    def by_rule(self) -> Tally:
        """The same samples as the rule alone has them."""
        return Tally((result.by_rule() for result in self.results), self._metrics)

    def aggregates(self) -> dict[str, Aggregate]:
        """The benchmark's metrics over several samples, by name."""
        return {metric.name: aggregate(metric, self.results) for metric in self._metrics}

    def errors(self) -> list[tuple[str, int]]:
        """The causes of errors with their counts, the most frequent first."""
        return Counter(result.cause for result in self.results if result.error).most_common()
