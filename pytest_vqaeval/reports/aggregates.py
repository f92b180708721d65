"""What a terminal shows of metrics over several samples: each with what it is a share of."""

from __future__ import annotations

from collections.abc import Iterator

from tabulate import tabulate

from pytest_vqaeval.aggregates import Aggregate
from pytest_vqaeval.names import one_line
from pytest_vqaeval.reports.cells import percent
from pytest_vqaeval.summary import BenchmarkReport
from pytest_vqaeval.tally import Tally


def aggregate_lines(tally: Tally) -> Iterator[str]:
    """A line for each metric."""
    for name, whole in tally.aggregates().items():
        missing = f" (+ {whole.missing:,} missing)" if whole.missing else ""
        yield f"  {one_line(name)}: {percent(whole.value)} of {whole.of:,} {whole.counted}{missing}"


def aggregate_table(report: BenchmarkReport, prefix: str) -> list[str]:
    """The metrics over several samples for each subset and category, each with what it is a share of."""
    parts = [*report.subsets, *report.categories]
    if not report.about.metrics or len(parts) < 2:
        return []
    header = [prefix.rstrip(": ") or "subset", *(name for name, _ in report.about.metrics)]
    rows = [[one_line(named.name)[:24], *(_cell(of) for of in named.tally.aggregates().values())] for named in parts]
    align = ["left", *["right"] * (len(header) - 1)]
    table = tabulate(rows, header, tablefmt="simple", disable_numparse=True, colalign=align).split("\n")
    return ["", *table, "(of how many; + where some are missing)"]


def _cell(of: Aggregate) -> str:
    """`85.7 % (14)`: of 14; `+` where some are missing."""
    return f"{'-' if of.value is None else f'{100 * of.value:.1f} %'} ({of.of:,}{'+' if of.missing else ''})"
