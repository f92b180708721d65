"""The columns of a page: one for each model of each run; two of them are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_vqaeval.gates import GateResult
from pytest_vqaeval.reopened import Reopened
from pytest_vqaeval.results import Result
from pytest_vqaeval.store import StoredRun
from pytest_vqaeval.summary import BenchmarkReport


@dataclass(frozen=True)
class Column:
    """One model of one run.

    Attributes:
        number: from 1; stands for the column where there is little room. (Letters are those of options.)
        label: the same, with the model's name.
        opened: the run's benchmarks, for questions and pictures.
        reports: its numbers, by benchmark.
    """

    number: int
    label: str
    model: str
    run: StoredRun
    opened: Reopened
    results: Sequence[Result]
    reports: dict[str, BenchmarkReport]

    @property
    def started(self) -> str:
        """When its run began: `2026-11-30 05:48`, or nothing."""
        return str(self.run.header.get("started") or "")[:16].replace("T", " ")

    def gates(self, benchmark: str) -> list[GateResult]:
        """What the run's gates said of a benchmark."""
        gates = map(GateResult.from_json, self.run.header.get("gates") or ())
        return [gate for gate in gates if gate.benchmark == benchmark and gate.model in ("", self.model)]


def columns_of(runs: Sequence[tuple[StoredRun, Reopened]]) -> list[Column]:
    """The columns of all runs, in their order."""
    found: list[Column] = []
    for run, opened in runs:
        summary = run.summary()
        for model in dict.fromkeys(report.model for report in summary.benchmarks):
            results = [result for result in run.results if result.model == model]
            reports = {report.name: report for report in summary.benchmarks if report.model == model}
            found.append(Column(len(found) + 1, model, model, run, opened, results, reports))
    return _labelled(found)


def _labelled(columns: Sequence[Column]) -> list[Column]:
    """Where models have the same name, their runs tell them apart."""
    models = Counter(column.model for column in columns)
    times = Counter((column.model, column.started) for column in columns)

    def label(column: Column) -> str:
        if models[column.model] == 1:
            return column.model
        once = column.started and times[column.model, column.started] == 1
        return f"{column.model} ({column.started if once else column.run.path.name})"

    return [replace(column, label=label(column)) for column in columns]
