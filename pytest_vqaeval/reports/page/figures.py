"""The figures above the samples: per benchmark the columns' numbers, tables of their parts, confusion and latency."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_vqaeval.reports.confusion import Confusion, by_subset
from pytest_vqaeval.reports.page.columns import Column
from pytest_vqaeval.reports.page.latency import Latency, latency_of
from pytest_vqaeval.summary import BenchmarkReport, Named
from pytest_vqaeval.tally import Tally


@dataclass(frozen=True)
class Table:
    """Tallies by the values of a field: a row per value, a tally per column (None: the column has none)."""

    field: str
    rows: Sequence[tuple[str, Sequence[Tally | None]]]


@dataclass(frozen=True)
class Figures:
    """One benchmark; `reports`, `confusions` and `latencies` have an entry per column."""

    name: str
    title: str
    columns: Sequence[Column]
    reports: Sequence[BenchmarkReport]
    tables: Sequence[Table]
    confusions: Sequence[tuple[int, str, Confusion]]  # number of the column, subset, table
    latencies: Sequence[tuple[int, Latency]]


def figures_of(columns: Sequence[Column]) -> list[Figures]:
    """The benchmarks of a page, in order of first appearance."""
    return [_figures(name, columns) for name in dict.fromkeys(name for column in columns for name in column.reports)]


def _figures(name: str, all_columns: Sequence[Column]) -> Figures:
    columns = [column for column in all_columns if name in column.reports]
    reports = [column.reports[name] for column in columns]
    own = [[result for result in column.results if result.benchmark == name] for column in columns]
    return Figures(
        name=name,
        title=reports[0].about.title,
        columns=columns,
        reports=reports,
        tables=list(_tables(reports)),
        confusions=[
            (column.number, subset, table)
            for column, results in zip(columns, own, strict=True)
            for subset, table in by_subset(results).items()
        ],
        latencies=[
            (column.number, latency)
            for column, results in zip(columns, own, strict=True)
            if (latency := latency_of(results))
        ],
    )


def _tables(reports: Sequence[BenchmarkReport]) -> Iterator[Table]:
    yield _table("subset", reports, lambda report: report.subsets)
    if any(report.categories for report in reports):
        yield _table("category", reports, lambda report: report.categories)
    for field in dict.fromkeys(field for report in reports for field in report.groups):
        yield _table(field, reports, lambda report, field=field: report.groups.get(field, ()))  # type: ignore[misc]


def _table(field: str, reports: Sequence[BenchmarkReport], part: Callable[[BenchmarkReport], Sequence[Named]]) -> Table:
    tallies = [{named.name: named.tally for named in part(report)} for report in reports]
    names = dict.fromkeys(name for column in tallies for name in column)
    return Table(field, [(name, [column.get(name) for column in tallies]) for name in names])
