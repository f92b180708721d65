"""The summary as Markdown, for a pull request or a job's page: tables, gates, the worst regressions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_vqaeval.gates import GateResult, Verdict
from pytest_vqaeval.names import one_line
from pytest_vqaeval.reports.cells import FEW, answered, percent
from pytest_vqaeval.summary import BenchmarkReport, Named, Summary

_SIGNS = {Verdict.PASS: "✅", Verdict.FAIL: "❌", Verdict.INCONCLUSIVE: "⚠️"}
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>()#+!|~&@:$-]")  # whatever may mean something, in some place, to some renderer
_LONGEST = 300  # characters of a text from data
_MOST_ROWS = 60  # of a table


def build(summary: Summary, gates: Sequence[GateResult]) -> str:
    """The whole summary; what comes from data, model or user can't be read as Markdown or HTML."""
    lines: list[str] = []
    for report in summary.benchmarks:
        lines += [f"### {escape(report.about.title)}: {escape(report.model)}", "", *_table(report), ""]
    if gates:
        lines += ["### Gates", "", *map(_gate, gates), ""]
    for gate in gates:
        if gate.worse:
            lines += [
                f"#### Worst regressions: {escape(gate.about)}",
                "",
                *(f"- {escape(node)}" for node in gate.worse),
                "",
            ]
    return "\n".join(lines)


def escape(text: str) -> str:
    """The text itself, in one line: everything that could be markup as a character reference (CommonMark 0.31, 2.5)."""
    shown = one_line(text)
    shown = shown if len(shown) <= _LONGEST else shown[:_LONGEST] + " …"
    return _SPECIAL.sub(lambda match: f"&#{ord(match.group())};", shown)


def _table(report: BenchmarkReport) -> Iterator[str]:
    counted = "answered" if report.overall.graded else "correct"
    yield f"| part | {counted} | {report.measure} | 95 % interval |"
    yield "|---|--:|--:|--:|"
    parts = [*report.subsets, *report.categories]
    for named in parts[:_MOST_ROWS]:
        yield _row(named)
    if len(parts) > _MOST_ROWS:
        yield f"| and {len(parts) - _MOST_ROWS:,} more | | | |"
    yield _row(Named("all samples", report.overall))


def _row(named: Named) -> str:
    tally, interval = named.tally, named.tally.interval
    between = f"{100 * interval.low:.1f} - {100 * interval.high:.1f}" if interval else ""
    few = " (few)" if 0 < tally.answered < FEW else ""
    return f"| {escape(named.name)}{few} | {answered(tally)} | {percent(tally.headline)} | {between} |"


def _gate(gate: GateResult) -> str:
    notes = "".join(f"; {escape(note)}" for note in gate.notes)
    sign = _SIGNS[gate.verdict]
    return f"- {sign} {gate.verdict.value}: {escape(gate.about)}: {escape(gate.rule)}: {escape(gate.said)}{notes}"
