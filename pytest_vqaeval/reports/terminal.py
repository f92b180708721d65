"""What a run prints: wrong answers, errors by cause, and the tables. Everything fits in 80 columns."""

from __future__ import annotations

import os
import re
import shlex
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from pytest_vqaeval.gates import GateResult, Verdict
from pytest_vqaeval.names import cut_middle, one_line
from pytest_vqaeval.options import OPTIONS
from pytest_vqaeval.repeats import Repeats
from pytest_vqaeval.reports import github
from pytest_vqaeval.reports.aggregates import aggregate_lines, aggregate_table
from pytest_vqaeval.reports.cells import FEW, percent, tally_cells
from pytest_vqaeval.reports.judge import judge_lines
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.shipped import VARIANTS
from pytest_vqaeval.summary import BenchmarkReport, Named, Summary
from pytest_vqaeval.tally import Tally
from pytest_vqaeval.usage import Usage

if TYPE_CHECKING:
    import pytest

    from pytest_vqaeval.gates.saving import Saving

_MOST_CAUSES = 12  # of errors
_MOST_VALUES = 25  # of a grouping field
_FEW_MARK = " *"
_QUOTED = re.compile(r"(field )?'[^']*'")
_LABEL = 12  # columns, as in a block


class Printer:
    """Prints to pytest's terminal."""

    def __init__(self, terminal: Any) -> None:
        self._terminal = terminal
        self._config: pytest.Config = terminal.config

    def wrong_answers(
        self,
        blocks: Sequence[tuple[str, str]],
        results: Iterable[Result],
        folder: Path | None = None,
        page: Path | None = None,
    ) -> None:
        """The first wrong answers in full, each with the command that runs it alone; then where the others are.

        Args:
            blocks: node id and text of those that are shown.
            results: all results.
            folder: the run's.
            page: the file of `--vqa-html`.
        """
        if not blocks:
            return
        kinds = Counter(result.outcome for result in results if result.outcome.counts_wrong)
        count = kinds.total()
        self._terminal.write_sep("=", f"wrong answers ({len(blocks)} of {count:,} shown)")
        for nodeid, text in blocks:
            self._terminal.write_sep("_", nodeid, yellow=True)
            self._lines([*text.strip("\n").split("\n"), f"{'again':<{_LABEL}} {rerun_command(self._config, nodeid)}"])
        if count > len(blocks):
            self._lines(["", *self._where_the_rest_is(count - len(blocks), kinds, folder, page)])

    def _where_the_rest_is(
        self, count: int, kinds: Iterable[Outcome], folder: Path | None, page: Path | None
    ) -> Iterator[str]:
        base = self._config.invocation_params.dir
        yield f"and {count:,} more wrong answers (--vqa-show=N prints N of them)"
        if folder:
            run = shlex.quote(_short(folder, base))
            outcomes = " ".join(f"--outcome {kind.value}" for kind in kinds)
            yield f"{'list':<{_LABEL}} python -m pytest_vqaeval show {run} {outcomes}"
            if not page:
                yield f"{'page':<{_LABEL}} python -m pytest_vqaeval html {run} -o vqa.html"
        if page:
            yield f"{'page':<{_LABEL}} {_short(page, base)}"
        yield f"{'again':<{_LABEL}} the same command with --lf: only what was wrong or had no verdict"

    def errors(self, results: Iterable[Result]) -> None:
        """Why samples have no verdict: each cause once, with its count and its first sample.

        Causes that differ only in a quoted value (the name of a file) are one.
        """
        causes: dict[str, list[Result]] = defaultdict(list)
        for result in results:
            if result.outcome is Outcome.ERROR:
                causes[_QUOTED.sub(lambda quoted: quoted[0] if quoted[1] else "''", result.cause)].append(result)
        if not causes:
            return
        total = sum(map(len, causes.values()))
        self._terminal.write_sep("=", f"samples without a verdict: {total:,}", red=True)
        ranked = sorted(causes.items(), key=lambda item: -len(item[1]))
        for _, hit in ranked[:_MOST_CAUSES]:
            first, causes_hit = hit[0], {result.cause for result in hit}
            said = (first.error or first.cause) if len(hit) == 1 else first.cause
            alike = ", and the like" if len(causes_hit) > 1 else ""
            place = f"{one_line(first.where)}, " if first.where and len(hit) > 1 else ""
            self._lines(
                [
                    f"{len(hit):,} x {cut_middle(one_line(said), 600)}{alike}",
                    f"    first: {place}{first.nodeid}",
                ]
            )
        if len(ranked) > _MOST_CAUSES:
            rest = sum(len(hit) for _, hit in ranked[_MOST_CAUSES:])
            self._lines(
                [f"{rest:,} more of {len(ranked) - _MOST_CAUSES:,} other causes (see samples.jsonl in the run)"]
            )

    def summary(self, summary: Summary, folder: Path | None, throttled_s: Mapping[str, float]) -> None:
        """The tables of every benchmark, its models side by side.

        Args:
            summary: the numbers.
            folder: of the run.
            throttled_s: by model the seconds in which its server wanted no requests.
        """
        for title, lines in by_benchmark(summary):
            self._terminal.write_sep("=", title)
            self._lines(lines)
        for model, seconds in throttled_s.items():
            self._lines(["", f"throttled: {one_line(model)} wanted a pause for {seconds:,.1f} s (HTTP 429)"])
        if folder:
            self._lines(["", f"run: {_short(folder, self._config.invocation_params.dir)}"])

    def servers(self, shares: Iterable[tuple[str, int, int, str]]) -> None:
        """What each of several servers did: address, replies, failed requests, the last failure's reason."""
        by_address: dict[str, list[tuple[str, int, int, str]]] = defaultdict(list)
        for share in shares:
            by_address[share[0]].append(share)
        for address, parts in by_address.items():
            line = f"server {one_line(address)}: {sum(part[1] for part in parts):,} replies"
            if failures := sum(part[2] for part in parts):
                last = next(part[3] for part in reversed(parts) if part[3])
                line += f", {failures:,} failed requests (the last: {one_line(last)[:200]})"
            self._terminal.write_line(line)

    def gates(self, gates: Sequence[GateResult], saving: Saving | None) -> None:
        """One line per gate, its notes below; and what became of the baseline file."""
        colours = {Verdict.PASS: "green", Verdict.FAIL: "red", Verdict.INCONCLUSIVE: "yellow"}
        for gate in gates:
            for line in gate_lines(gate):
                self._terminal.write_line(line, **{colours[gate.verdict]: True})
        if saving:
            self._terminal.write_line(one_line(saving.said), **{"green" if saving.done else "red": True})
        self._lines(github.error_lines(gates))

    def unwritten(self, why: str) -> None:
        """A file that could not be written."""
        self._terminal.write_line(f"vqaeval: {one_line(why)}", red=True)

    def _lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._terminal.write_line(line)


def gate_lines(gate: GateResult) -> list[str]:
    """The verdict, its numbers and the rule in a line; notes below."""
    said = f"gate {gate.verdict.value}: {gate.about}: {gate.rule}: {gate.said}"
    return [one_line(said), *(f"    {one_line(note)}" for note in gate.notes)]


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
    shown = one_line(name)[:32] + (_FEW_MARK if few else "")
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
        incomplete = (
            f"{percent(low)} of {tally.samples:,} if all {tally.missing:,} missing are wrong, {percent(high)} if right"
        )
        lines.append(f"  incomplete: {incomplete}")
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


def rerun_command(config: pytest.Config, nodeid: str) -> str:
    """The command that runs one sample again: the run's own `--vqa-` options, and the node id.

    The value of a header may be a secret and is left out.
    """
    path, _, rest = nodeid.partition("::")
    absolute = config.rootpath / path
    changed = (v.by for file, v in config.stash[VARIANTS].items() if file.name == absolute.name and v.entry.changes)
    suite = next((f"{by}/" for by in changed), "")
    if absolute.exists() and not suite:
        target = f"{_short(absolute, config.invocation_params.dir)}::{rest}"
    else:  # a shipped spec outside rootdir, or one that a suite changes
        target = f"--vqa-benchmark={suite}{Path(path).name.removesuffix('.vqa.yaml')}::{rest}"
    return " ".join(["pytest", *(shlex.quote(option) for option in _own_options(config)), shlex.quote(target)])


_NOT_AGAIN = (
    "--vqa-benchmark",
    "--vqa-limit",
    "--vqa-shard",
    "--vqa-json",
    "--vqa-html",
    "--vqa-artifacts",
    "--vqa-fail-under",
    "--vqa-max-unparsed",
    "--vqa-max-truncated",
    "--vqa-max-errors",
    "--vqa-max-guessed",
    "--vqa-must-pass",
    "--vqa-baseline",
    "--vqa-alpha",
    "--vqa-margin",
    "--vqa-save-baseline",
    "--vqa-show",
    "--vqa-out",
    "--vqa-resume",  # of one sample alone it would be the end of the run that is resumed
)


def _own_options(config: pytest.Config) -> list[str]:
    options = []
    switches = {option.flag for option in OPTIONS if option.switch}
    arguments = [str(argument) for argument in config.invocation_params.args]
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if not argument.startswith("--vqa-"):
            continue
        name, equals, value = argument.partition("=")
        value = value if equals else following
        if name == "--vqa-header":
            value = value.partition("=")[0] + "=..."
        if name not in _NOT_AGAIN:
            options.append(name if name in switches else f"{name}={value}")
    return options


def _short(path: Path, base: Path) -> str:
    relative = os.path.relpath(path, base)
    return str(path) if relative.startswith(os.path.join("..", "..")) else relative
