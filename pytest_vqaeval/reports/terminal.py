"""What a run prints: wrong answers, errors by cause, and the tables. Everything fits in 80 columns."""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vqaeval.gates import GateResult, Verdict
from pytest_vqaeval.names import cut_middle, one_line
from pytest_vqaeval.reports import github
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.summary import Summary

if TYPE_CHECKING:
    import pytest

    from pytest_vqaeval.gates.saving import Saving

from pytest_vqaeval.reports.again import rerun_command, short_path
from pytest_vqaeval.reports.tables import by_benchmark

_MOST_CAUSES = 12  # of errors
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
            run = shlex.quote(short_path(folder, base))
            outcomes = " ".join(f"--outcome {kind.value}" for kind in kinds)
            yield f"{'list':<{_LABEL}} python -m pytest_vqaeval show {run} {outcomes}"
            if not page:
                yield f"{'page':<{_LABEL}} python -m pytest_vqaeval html {run} -o vqa.html"
        if page:
            yield f"{'page':<{_LABEL}} {short_path(page, base)}"
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
            if said.startswith(("is ", "has ", "holds ")):  # what a file's line said of itself
                said = f"a record {said}"
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
            self._lines(["", f"run: {short_path(folder, self._config.invocation_params.dir)}"])

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
