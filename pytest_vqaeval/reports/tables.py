"""The tables of a run, as lines of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from pytest_vqaeval.names import one_line
from pytest_vqaeval.repeats import Repeats
from pytest_vqaeval.reports.aggregates import aggregate_lines, aggregate_table
from pytest_vqaeval.reports.cells import FEW, percent, tally_cells
from pytest_vqaeval.reports.judge import judge_lines
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.summary import BenchmarkReport, Named, Summary
from pytest_vqaeval.tally import Tally
from pytest_vqaeval.usage import Usage

if TYPE_CHECKING:
    pass

_MOST_VALUES = 25  # of a grouping field
_FEW_MARK = " *"


def by_benchmark(summary: Summary) -> Iterator[tuple[str, list[str]]]:
    """Title and tables of every benchmark, its models side by side."""
    by_name: dict[str, list[BenchmarkReport]] = defaultdict(list)
    for report in summary.benchmarks:
        by_name[report.name].append(report)
    for reports in by_name.values():
        models = ", ".join(one_line(report.model) for report in reports)
        yield f"{one_line(reports[0].about.title)}: {models}", benchmark_lines(reports)


def benchmark_lines(reports: Sequence[BenchmarkReport]) -> list[str]:
    """The tables of one benchmark; `reports` has one entry per model."""
    lines = _main_table(reports)
    for report in reports:
        prefix = f"{one_line(report.model)}: " if len(reports) > 1 else ""
        lines += ["", *_counts(report, prefix)]
        lines += aggregate_table(report, prefix)
        if report.judged:
            lines += ["", *judge_lines(report, report.judged, prefix)]
    for name in reports[0].about.groups:
        lines += ["", *_group_table(name, [report.groups[name] for report in reports], reports)]
    return lines


def _main_table(reports: Sequence[BenchmarkReport]) -> list[str]:
    first = reports[0]
    rows = [_row(reports, lambda r: r.subsets, named.name) for named in _union(reports, "subsets")]
    if len(rows) > 1 or first.categories:
        categories = _union(reports, "categories")
        rows += [_row(reports, lambda r: r.categories, named.name) for named in categories]
        rows.append(_cells("all samples", [report.overall for report in reports]))
    if len(first.categories) > 1:
        rows.append(["mean of categories", *(cell for report in reports for cell in _mean_cells(report, len(reports)))])
    return _table("subset", rows, reports)


def _group_table(field: str, groups: Sequence[Sequence[Named]], reports: Sequence[BenchmarkReport]) -> list[str]:
    names = list(dict.fromkeys(named.name for group in groups for named in group))
    rows = []
    for name in names[:_MOST_VALUES]:
        found = [next((named.tally for named in group if named.name == name), Tally([])) for group in groups]
        rows.append(_cells(name, found))
    lines = _table(field, rows, reports)
    if len(names) > _MOST_VALUES:
        lines.append(f"and {len(names) - _MOST_VALUES:,} more values of {field} (all are in --vqa-json)")
    return lines


def _union(reports: Sequence[BenchmarkReport], attribute: str) -> list[Named]:
    found: dict[str, Named] = {}
    for report in reports:
        for named in getattr(report, attribute):
            found.setdefault(named.name, named)
    return list(found.values())


def _row(reports: Sequence[BenchmarkReport], part: Any, name: str) -> list[str]:
    return _cells(name, [next((n.tally for n in part(report) if n.name == name), Tally([])) for report in reports])


def _cells(name: str, tallies: Sequence[Tally]) -> list[str]:
    """A row of a table: its name, marked where a model answered few samples, and each model's cells."""
    few = any(0 < tally.answered < FEW for tally in tallies)
    shown = (one_line(name)[:32] if name.strip() else repr(name)) + (_FEW_MARK if few else "")
    return [shown, *(cell for tally in tallies for cell in tally_cells(tally, len(tallies)))]


def _mean_cells(report: BenchmarkReport, models: int) -> list[str]:
    of = f"of {len(report.categories):,} categories"
    return [of, percent(report.macro), ""] if models == 1 else [f"{percent(report.macro)} {of}"]


def _table(name: str, rows: list[list[str]], reports: Sequence[BenchmarkReport]) -> list[str]:
    if len(reports) > 1:
        header = [name, *(one_line(report.model)[:24] for report in reports)]
    else:
        header = [name, *_columns(reports[0])]
    align = ["left", *["right"] * (len(header) - 1)] if rows else None
    lines = tabulate(rows, header, tablefmt="simple", disable_numparse=True, colalign=align).split("\n")
    return [*lines, *([f"* fewer than {FEW} answered"] if any(row[0].endswith(_FEW_MARK) for row in rows) else [])]


def _columns(report: BenchmarkReport) -> tuple[str, str, str]:
    counted = "answered" if report.overall.graded else "correct"
    return counted, report.measure, "95 % interval"


def _counts(report: BenchmarkReport, prefix: str) -> list[str]:
    """Every outcome with its count, the bounds where samples are missing, and what the interval is."""
    tally = report.overall
    shown = [outcome for outcome in Outcome if outcome is not Outcome.SCORED or tally.graded]
    if tally.graded:
        shown = [o for o in shown if o not in (Outcome.CORRECT, Outcome.WRONG)]
    counts = [f"{tally.counts[outcome]:,} {outcome.value.replace('_', ' ')}" for outcome in shown]
    if tally.guessed:
        counts.append(f"{tally.guessed:,} guessed")
    unit = "repeats" if report.repeats else "samples"
    of = f" of {report.repeats.samples:,} samples" if report.repeats else ""
    lines = [f"{prefix}{tally.samples:,} {unit}{of}:", f"  {', '.join(counts)}"]
    if tally.replies_only:
        lines.append("  no references: replies only")
    elif tally.missing:
        low, high = tally.bounds
        missing = "the missing one is" if tally.missing == 1 else f"all {tally.missing:,} missing are"
        said = f"{percent(low)} of {tally.samples:,} if {missing} wrong, {percent(high)} if right"
        lines.append(f"  incomplete: {said}")
    if report.collected > tally.samples:
        lines.append(f"  partial: {tally.samples:,} of the benchmark's {report.collected:,} {unit} were selected")
    if tally.interval:
        clusters = f", clusters: {tally.interval.clusters:,}" if tally.interval.clusters else ""
        lines.append(f"  intervals: {tally.interval.method}{clusters}")
    if report.repeats:
        lines += _repeats(report.repeats)
    for name, value in tally.metrics().items():
        lines.append(f"  {name}: {percent(value)} of {tally.measured(name):,}")
    lines += aggregate_lines(tally)
    for kind, usage in report.usage.items():
        if usage:
            lines += _usage(kind, usage)
    return lines


def _usage(kind: str, usage: Usage) -> list[str]:
    """What replies cost, in one line if it fits."""
    facts = [f"{usage.replies:,} asked"]
    facts += [f"{usage.reused:,} replies reused"] if usage.reused else []
    if usage.replies or usage.retries:
        facts += [f"{usage.retries:,} {'retry' if usage.retries == 1 else 'retries'}"]
    names = [name for name in ("prompt_tokens", "completion_tokens") if name in usage.tokens]
    tokens = [f"{usage.tokens[name]:,} {name.removesuffix('_tokens')}" for name in names]
    facts += [f"{' + '.join(tokens)} tokens"] if tokens else []
    facts += [f"{name} {_seconds(value)}" for name, value in usage.latency_s.items()]
    unbroken = ", ".join(facts).replace(" ", "\xa0").replace(",\xa0", ", ")
    lines = textwrap.wrap(f"{kind}s: {unbroken}", 80, initial_indent="  ", subsequent_indent="    ")
    return [line.replace("\xa0", " ") for line in lines]


def _seconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _repeats(repeats: Repeats) -> Iterator[str]:
    with_all = "" if repeats.whole == repeats.samples else f" of which all {repeats.per_sample} repeats have a verdict"
    yield f"  unstable: {repeats.unstable:,} of {repeats.whole:,} samples{with_all}"
    if repeats.pass_at_k:
        yield (
            "  "
            + ", ".join(f"pass@{k} {percent(share)}" for k, share in repeats.pass_at_k.items())
            + f" of {repeats.whole:,}"
        )
