"""The controller's side of a run: results as they arrive, then the summary, the gates and the exit code.

A pytest plugin object; with xdist it lives in the controller, without in the only process.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Generator, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval.errors import UsageError
from pytest_vqaeval.evaluation import Evaluation
from pytest_vqaeval.gates import FailUnder, GateResult, Verdict, exit_code, judge
from pytest_vqaeval.progress import ProgressDisplay, progress_of
from pytest_vqaeval.reports import json as json_report
from pytest_vqaeval.reports import terminal
from pytest_vqaeval.results import Identity, Result, Summary, summarize
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.settings import Settings
from pytest_vqaeval.store import RunFolder, Selection, final_results, find_run, new_run


class Run:
    """One evaluation."""

    def __init__(self, config: pytest.Config, settings: Settings, evaluation: Evaluation) -> None:
        self._config, self._settings, self._evaluation = config, settings, evaluation
        self._folder: RunFolder | None = None
        self._results: dict[Identity, Result] = {}
        self._blocks: list[tuple[str, str]] = []  # node id and text of the first wrong answers
        self._wrong_reports = 0
        self._stopped = False  # by an error that no further sample could have survived
        self._started = time.time()
        self._throttled_s: dict[str, float] = {}
        self._progress: ProgressDisplay | None = None
        self._summary: Summary | None = None
        self._gates: list[GateResult] = []
        self._servers: list[tuple[str, int, int, str]] = []  # what each did, for each worker

    def header(self) -> str:
        """The line in pytest's header."""
        part = f", shard {self._settings.shard}" if self._settings.shard else ""
        return f"vqaeval: {version('pytest-vqaeval')}, model {', '.join(self._evaluation.labels)}{part}"

    def open_folder(self) -> None:
        """Make the run folder, if there is none yet.

        Raises:
            pytest.UsageError: it can't be made.
        """
        if self._folder is None:
            out = self._settings.out or self._config.invocation_params.dir / ".vqaeval"
            try:
                self._folder = self._resumed(out) or new_run(out, self._evaluation.labels)
            except UsageError as error:
                raise pytest.UsageError(str(error)) from None
            self._evaluation.folder = self._folder
            self._folder.write_header(self._describe())
            self._folder.publish()

    def _resumed(self, out: Path) -> RunFolder | None:
        try:
            return find_run(out, self._settings.resume) if self._settings.resume else None
        except UsageError as error:
            raise UsageError(f"--vqa-resume: {error}") from None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self) -> None:
        """Show progress where there is a terminal reporter, which exists only now."""
        in_workers = getattr(self._config.option, "dist", "no") != "no"

        def in_flight() -> int | None:
            return None if in_workers else self._evaluation.in_flight()

        self._progress = progress_of(self._config, self._selected, in_flight)
        if self._progress:
            self._config.pluginmanager.register(self._progress, "vqaeval-progress")

    def _selected(self) -> int:
        return self._folder.count_selected() if self._folder else 0

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell an xdist worker where the run's files are."""
        self.open_folder()
        assert self._folder
        node.workerinput["vqa_run"] = str(self._folder.path)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what only a worker knows; one that crashed can't tell."""
        told = getattr(node, "workeroutput", {})
        self._servers += told.get("vqa_servers", ())
        self._note_throttled(told.get("vqa_throttled_s", {}))

    def _note_throttled(self, seconds: Mapping[str, float]) -> None:
        """The longest over the workers: they are throttled at the same time."""
        for model, throttled_s in seconds.items():
            self._throttled_s[model] = round(max(throttled_s, self._throttled_s.get(model, 0.0)), 3)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a sample's result; of several for one sample (reruns) the last counts."""
        row = getattr(report, "vqa", None)
        if row is not None:
            self._add(Result.from_json(row), report)
        elif report.when not in ("setup", "call", "teardown"):
            self._add_lost(report)

    def _add(self, result: Result, report: pytest.TestReport) -> None:
        if self._progress:
            self._progress.add(result, self._results.get(result.identity))
        self._results[result.identity] = result
        self._stopped = self._stopped or result.fatal
        if self._folder:
            self._folder.add_result(result)
        if report.failed and result.outcome.counts_wrong:
            self._wrong_reports += 1
            if len(self._blocks) < self._settings.show:
                self._blocks.append((report.nodeid, str(report.longrepr)))
        self._config.hook.pytest_vqa_result(result=result)

    def _add_lost(self, report: pytest.TestReport) -> None:
        """Xdist reports the sample that a crashed worker was on, without a result."""
        for row in self._selection().rows:
            if row.nodeid == report.nodeid:
                lost = replace(row, outcome=Outcome.ERROR, error="the xdist worker crashed")
                self._add(lost, report)

    def _selection(self) -> Selection:
        return self._folder.read_selection() if self._folder else Selection([], [])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Sum up, judge, and set the exit code."""
        self._note_throttled(self._evaluation.throttled_s())
        selection = self._selection()
        if not selection.rows and not self._results:
            if self._folder:
                self._folder.discard()
            self._folder = None
            self._gates = judge(Summary([]), self._settings.fail_under) if session.testscollected else []
        else:
            self._summary = summarize(selection.abouts, final_results(selection, self._results))
            self._config.hook.pytest_vqa_summary(summary=self._summary)
            self._gates = judge(self._summary, self._rules(self._summary))
        failed = session.testsfailed
        session.exitstatus = exit_code(
            int(session.exitstatus),
            only_wrong_answers=failed > 0 and failed == self._wrong_reports,
            stopped=self._stopped,
            verdicts=[gate.verdict for gate in self._gates],
        )
        self._write(int(session.exitstatus))

    def _rules(self, summary: Summary) -> list[FailUnder]:
        """The gates of the options, then those of the specs that ran."""
        own = {report.name: report.about.fail_under for report in summary.benchmarks}
        return [
            *self._settings.fail_under,
            *(FailUnder(score, name) for name, score in own.items() if score is not None),
        ]

    def _describe(self) -> dict[str, Any]:
        """The header of `run.json`: what ran, without secrets."""
        settings = self._settings
        return {
            "started": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(self._started)),
            "versions": {
                "pytest-vqaeval": version("pytest-vqaeval"),
                "pytest": pytest.__version__,
                "python": platform.python_version(),
            },
            "models": self._evaluation.labels,
            "settings": {
                "repeats": settings.repeats,
                "generation": dict(settings.generation) or {"temperature": 0},
                "limit": settings.limit,
                "shard": str(settings.shard) if settings.shard else None,
                "timeout": settings.timeout,
                "retries": settings.retries,
                "headers": [name for name, _ in settings.header],
            },
        }

    def _write(self, code: int) -> None:
        if self._summary is None:
            return
        about = {
            **self._describe(),
            "seconds": round(time.time() - self._started, 1),
            "throttled_s": self._throttled_s,
        }
        report = json_report.build(self._summary, self._gates, about, code)
        if self._folder:
            ended = {**about, "ended": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "exit_code": code}
            self._folder.write_header({**ended, "benchmarks": report["benchmarks"], "gates": report["gates"]})
        if self._settings.json:
            json_report.write(self._settings.json, report)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, None, None]:
        """Print the samples' errors grouped, not one by one, then the tables.

        The samples' errors are taken out of pytest's list while it prints its own sections, and put back for the last
        line, which counts them.
        """
        stats = terminalreporter.stats
        errors = stats.get("error", [])
        if errors:
            stats["error"] = _shown(errors, self._settings.show)
        printer = terminal.Printer(terminalreporter)
        try:
            if self._summary:
                printer.wrong_answers(self._blocks, self._wrong_reports)
                printer.errors(self._results.values())
            yield
            if self._summary:
                printer.summary(self._summary, self._folder.path if self._folder else None, self._throttled_s)
                printer.servers([*self._servers, *self._evaluation.servers()])
            printer.gates(self._gates)
        finally:
            if errors:
                stats["error"] = errors
            self._colour(stats)

    def _colour(self, stats: dict[str, list[Any]]) -> None:
        """Red in the last line: pytest paints it so if there is a category `failed`, even an empty one."""
        failed = [gate for gate in self._gates if gate.verdict is Verdict.FAIL]
        if failed:
            stats["gate failed"] = failed
        if failed or (not self._gates and self._wrong_reports):
            stats.setdefault("failed", [])


def _shown(errors: list[pytest.TestReport], most: int) -> list[pytest.TestReport]:
    """The errors that pytest prints itself: all of ordinary tests, and the first of samples that have a traceback."""
    shown = []
    for report in errors:
        if getattr(report, "vqa", None) is None:
            shown.append(report)
        elif most > 0 and not _told_in_groups(report):
            shown.append(report)
            most -= 1
    return shown


def _told_in_groups(report: pytest.TestReport) -> bool:
    """A sample's error without a traceback of its own."""
    row = getattr(report, "vqa", None)
    return row is not None and str(report.longrepr).strip() == str(row.get("error", "")).strip()
