"""The numbers of a run: its benchmarks by model, with their subsets, categories and groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from math import fsum
from typing import Any

from pytest_vqaeval.aggregates import Metric
from pytest_vqaeval.judging.judgements import Judgements, judgements_of
from pytest_vqaeval.repeats import Repeats, repeats_of
from pytest_vqaeval.results import Result
from pytest_vqaeval.tally import Tally
from pytest_vqaeval.usage import ANSWER, JUDGE, Usage, judge_usage_of, usage_of

NO_VALUE = "(none)"  # of a grouping field that a record lacks


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
