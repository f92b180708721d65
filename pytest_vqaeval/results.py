"""What came back: the result of each sample, and the tallies of subsets, categories, groups and benchmarks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from math import fsum
from operator import attrgetter
from typing import Any, NamedTuple

from pytest_vqaeval.aggregates import Aggregate, Metric, aggregate
from pytest_vqaeval.judging.judgements import Judgements, judgements_of
from pytest_vqaeval.repeats import Repeats, repeats_of
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.stats import Interval, mean_interval, proportion_interval
from pytest_vqaeval.usage import ANSWER, JUDGE, Usage, judge_usage_of, usage_of

WORKER_LOST = "the xdist worker crashed"  # an error that no gate allows
NO_VALUE = "(none)"  # of a grouping field that a record lacks


class Identity(NamedTuple):
    """What a result is the result of. Never the node id, which changes with the folder pytest runs in."""

    benchmark: str
    subset: str
    id: str
    repeat: int
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One sample's result: a row of `samples.jsonl`, and what a worker sends to the controller (`report.vqa`).

    Attributes:
        score: 0 to 1; None where there is no verdict.
        metrics: further metrics, 0 to 1.
        latency_s: seconds of the request that succeeded.
        attempts: requests that it took, or that failed.
        fields: the record's values of the grouping fields.
        units: for each metric over several samples, the name of those that it belongs to and how many they are.
        details: what the scorer said for people (`Score.details`).
        error: why there is no reply or no verdict.
        where: the place of the record (`file:line`), with which the error may begin; only where there is an error.
        fatal: the error stopped the run.
        request_key: hash of the exact request.
        judge: what the rule alone says (`rule`) and what the judges said, in a judged run (`Judged.to_json`).
    """

    benchmark: str
    subset: str
    id: str
    repeat: int = 1
    model: str
    nodeid: str
    category: str | None = None
    cluster: str
    outcome: Outcome
    guessed: bool = False
    score: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    reply: str | None = None
    extracted: str | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    reference: Sequence[str] = ()
    finish_reason: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    latency_s: float | None = None
    attempts: int | None = None
    reused: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    error: str | None = None
    where: str | None = None
    fatal: bool = False
    request_key: str | None = None
    judge: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> Identity:
        """The key of this result."""
        return Identity(self.benchmark, self.subset, self.id, self.repeat, self.model)

    @property
    def cause(self) -> str:
        """The error without the place of the record: equal for all records that have it."""
        return (self.error or "unknown").removeprefix(f"{self.where}: ")

    def by_rule(self) -> Result:
        """The result as the rule alone has it, whatever the judges said."""
        if not self.judge:
            return self
        rule = self.judge["rule"]
        outcome = Outcome(rule["outcome"])
        return replace(self, outcome=outcome, score=rule["score"], guessed=rule["guessed"], error=None)

    def not_run(self) -> Result:
        """The same sample, never reached: what is known before it is asked."""
        known = ("benchmark", "subset", "id", "repeat", "model", "nodeid", "category", "cluster", "fields")
        return Result(**{name: getattr(self, name) for name in known}, outcome=Outcome.NOT_RUN)

    def to_json(self) -> dict[str, Any]:
        """Basic types only; what does not apply is left out."""
        row = {key: value for key, value in zip(_KEYS, _values(self), strict=True) if value or not _empty(value)}
        row["outcome"] = self.outcome.value
        if self.reference:
            row["reference"] = list(self.reference)
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Result:
        """The inverse of `to_json`; keys of later versions are ignored."""
        score = row.get("score")
        if score is not None and not (isinstance(score, int | float) and 0 <= score <= 1):  # NaN neither
            raise ValueError(f"score {score}")
        known = {key: value for key, value in row.items() if key in _KNOWN}
        return cls(**{**known, "outcome": Outcome(row["outcome"])})


def in_utf8(value: Any) -> Any:
    """The value with U+FFFD for lone surrogates: what xdist carries can have none, or its worker ends."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {in_utf8(key): in_utf8(inner) for key, inner in value.items()}
    return [in_utf8(inner) for inner in value] if isinstance(value, list | tuple) else value


def _empty(value: object) -> bool:
    """Not 0.0, which is a score."""
    return value is None or value is False or value in ({}, [], ())


_KEYS = tuple(f.name for f in fields(Result))
_KNOWN = frozenset(_KEYS)
_values = attrgetter(*_KEYS)


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
        return Tally(result.by_rule() for result in self.results)

    def errors(self) -> list[tuple[str, int]]:
        """The causes of errors with their counts, the most frequent first."""
        return Counter(result.cause for result in self.results if result.error).most_common()


@dataclass(frozen=True)
class Source:
    """Where a benchmark was read from; paths are relative to the folder that pytest was started in.

    Attributes:
        spec: the spec, or the data file that is a benchmark by itself.
        data: the folder of `--vqa-data`, if it was given.
        media_roots: those of the run's settings.
    """

    spec: str
    data: str | None
    media_roots: Sequence[str] = ()


@dataclass(frozen=True)
class About:
    """What the reports must know of a benchmark beside its results; written by the process that collected it.

    Attributes:
        collected: number of samples (times repeats) before anything was deselected.
        subsets: in the order of the tables.
        gates: those of the spec (see `gates/written.py`).
        sizes: number of samples, as `collected`, of each part: a subset, a category, or `FIELD:VALUE`.
        fingerprint: what must be equal in a run that is compared with this one (see `fingerprint.py`).
        files: the data files by name, with size and hash (`hub.Data.facts`).
        judge: who judges and how (`Panel.to_json`); empty where the rule alone scores.
        metrics: name and kind of each aggregate metric.
    """

    name: str
    title: str
    scorer: str
    collected: int
    subsets: Sequence[str] = ()
    categories: Sequence[str] = ()
    groups: Sequence[str] = ()
    gates: Sequence[Mapping[str, Any]] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Mapping[str, int | str]] = field(default_factory=dict)
    judge: Mapping[str, Any] = field(default_factory=dict)
    metrics: Sequence[Sequence[str]] = ()
    source: Source | None = None

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> About:
        """The inverse of `asdict`; keys of later versions are ignored."""
        known = {key: value for key, value in row.items() if key in _ABOUT_KEYS}
        source = known.pop("source", None)
        return cls(**known, source=Source(**source) if source else None)


_ABOUT_KEYS = frozenset(f.name for f in fields(About))


@dataclass(frozen=True)
class Named:
    """A line of a table: a subset, a category or a value of a grouping field."""

    name: str
    tally: Tally
    category: str | None = None


@dataclass(frozen=True)
class BenchmarkReport:
    """The numbers of one benchmark and one model."""

    about: About
    model: str
    overall: Tally
    categories: Sequence[Named]
    subsets: Sequence[Named]
    groups: Mapping[str, Sequence[Named]]
    repeats: Repeats | None = None
    usage: Mapping[str, Usage] = field(default_factory=dict)  # by kind of request
    judged: Judgements | None = None

    @property
    def name(self) -> str:
        """The benchmark's name."""
        return self.about.name

    @property
    def collected(self) -> int:
        """How many samples the benchmark has, selected or not."""
        return self.about.collected

    def part(self, name: str) -> Tally | None:
        """The numbers of a subset, else a category, else `FIELD:VALUE` of a group; None where nothing is called so."""
        groups = [Named(f"{field}:{value.name}", value.tally) for field in self.groups for value in self.groups[field]]
        return next((named.tally for named in (*self.subsets, *self.categories, *groups) if named.name == name), None)

    @property
    def metric(self) -> str:
        """What the headline is: `accuracy` or `score`."""
        return "score" if self.overall.graded else "accuracy"

    @property
    def measure(self) -> str:
        """The same for people: a judged figure is not the benchmark's own, and is not called so."""
        judged = {"llm": "judged ", "llm_recall": "recalled "}.get(self.about.judge.get("strategy", ""), "")
        return judged + self.metric

    @property
    def macro(self) -> float | None:
        """The plain mean of the categories' headlines; None where one has no answers, or there are none."""
        scores = [category.tally.headline for category in self.categories]
        known = [score for score in scores if score is not None]
        return fsum(known) / len(known) if known and len(known) == len(scores) else None


@dataclass(frozen=True)
class Summary:
    """A whole run."""

    benchmarks: Sequence[BenchmarkReport]


def summarize(abouts: Iterable[About], results: Iterable[Result]) -> Summary:
    """Tally results by benchmark and model, in order of first appearance.

    `results` holds one row per identity, those never reached included.
    """
    by_benchmark: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        by_benchmark[result.benchmark, result.model].append(result)
    known = {about.name: about for about in abouts}
    return Summary(
        [
            _report(known.get(name) or About(name, name, "", len(rows)), model, rows)
            for (name, model), rows in by_benchmark.items()
        ]
    )


def _report(about: About, model: str, rows: list[Result]) -> BenchmarkReport:
    tally = partial(Tally, metrics=[Metric(name, kind) for name, kind in about.metrics])
    category_of = {row.subset: row.category for row in rows}
    subsets = [
        Named(name, tally(part), category_of[name])
        for name, part in _parts(rows, lambda row: row.subset, about.subsets)
    ]
    with_category = [row for row in rows if row.category is not None]
    categories = [
        Named(name, tally(part))
        for name, part in _parts(with_category, lambda row: str(row.category), about.categories)
    ]
    groups = {
        name: [Named(value, tally(part)) for value, part in _parts(rows, partial(_field, name))]
        for name in about.groups
    }
    usage = {ANSWER: usage_of(rows), JUDGE: judge_usage_of(rows)}
    return BenchmarkReport(
        about, model, tally(rows), categories, subsets, groups, repeats_of(rows), usage, judgements_of(rows)
    )


def _field(name: str, row: Result) -> str:
    return row.fields.get(name, NO_VALUE)


def _parts(
    rows: Iterable[Result], key: Callable[[Result], str], order: Sequence[str] = ()
) -> list[tuple[str, list[Result]]]:
    parts: dict[str, list[Result]] = defaultdict(list)
    for row in rows:
        parts[key(row)].append(row)
    names = [name for name in order if name in parts]
    names += sorted(parts.keys() - set(names)) if not order else [name for name in parts if name not in names]
    return [(name, parts[name]) for name in names]
