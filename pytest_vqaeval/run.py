"""The controller's side of a run: results as they arrive, then the summary, the gates and the exit code.

A pytest plugin object; with xdist it lives in the controller, without in the only process.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval.errors import StoreError, UsageError
from pytest_vqaeval.evaluation import Evaluation
from pytest_vqaeval.gates import Exit
from pytest_vqaeval.gates.keeper import Gatekeeper
from pytest_vqaeval.gates.session import GateSettings
from pytest_vqaeval.progress import ProgressDisplay, progress_of
from pytest_vqaeval.reports import github, terminal
from pytest_vqaeval.reports import json as json_report
from pytest_vqaeval.reports.artifacts import write_artifacts
from pytest_vqaeval.reports.page import write_page
from pytest_vqaeval.results import WORKER_LOST, Identity, Result
from pytest_vqaeval.runheader import generation_of, local_time, run_header
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.settings import Settings
from pytest_vqaeval.store import RunFolder, Selection, final_results, find_run, new_run, read_run
from pytest_vqaeval.summary import Summary, summarize


class Run:
    """One evaluation."""

    def __init__(self, config: pytest.Config, settings: Settings, evaluation: Evaluation) -> None:
        self._config, self._settings, self._evaluation = config, settings, evaluation
        self._folder: RunFolder | None = None
        self._results: dict[Identity, Result] = {}
        self._blocks: list[tuple[str, str]] = []  # node id and text of the first wrong answers
        self._wrong_reports = 0
        self._stopped = False  # by an error that no further sample could have survived
        self._unwritten: str | None = None  # why a file of the run, or its summary, could not be written
        self._collected: set[str] = set()  # node ids, as the following
        self._skipped: set[str] = set()
        self._crashed: set[str] = set()  # those that an xdist worker crashed on
        self._started = time.time()
        self._throttled_s: dict[str, float] = {}
        self._progress: ProgressDisplay | None = None
        self._unreached = False  # selected samples without any report, not even that they were skipped
        self._summary: Summary | None = None
        self._servers: list[tuple[str, int, int, str]] = []  # what each did, for each worker
        self._error_reports: set[Identity] = set()
        gates = GateSettings.read(settings.gates, settings.baseline, settings.alpha, settings.margin, self._out)
        self._keeper = Gatekeeper(gates, settings.save_baseline)

    def header(self) -> str:
        """The line in pytest's header."""
        part = f", shard {self._settings.shard}" if self._settings.shard else ""
        return f"vqaeval: {version('pytest-vqaeval')}, model {', '.join(self._evaluation.labels)}{part}"

    @property
    def _out(self) -> Path:
        return self._settings.out or self._config.invocation_params.dir / ".vqaeval"

    def open_folder(self) -> None:
        """Make the run folder, if there is none yet.

        Raises:
            pytest.UsageError: it can't be made.
        """
        if self._folder is None:
            try:
                self._folder = self._resumed() or self._begun()
            except (UsageError, StoreError) as error:
                raise pytest.UsageError(str(error)) from None
            self._evaluation.folder = self._folder

    def _begun(self) -> RunFolder:
        folder = new_run(self._out, self._evaluation.labels)
        folder.claim()
        try:
            folder.write_header({**self._describe(), **self._started_in(folder)})
        except StoreError:
            folder.discard()
            raise
        return folder

    def _resumed(self) -> RunFolder | None:
        if not self._settings.resume:
            return None
        try:
            folder = find_run(self._out, self._settings.resume)
            folder.claim()
        except UsageError as error:
            raise UsageError(f"--vqa-resume: {error}") from None
        return folder

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self) -> None:
        """Show progress where there is a terminal reporter, which exists only now."""
        in_workers = getattr(self._config.option, "dist", "no") != "no"

        def in_flight() -> Mapping[str, int]:
            return {} if in_workers else self._evaluation.in_flight()

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
        node.workerinput["vqa_replayed"] = self._evaluation.replayed

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what only a worker knows; one that crashed can't tell."""
        told = getattr(node, "workeroutput", {})
        self._servers += told.get("vqa_servers", ())
        self._note_throttled(told.get("vqa_throttled_s", {}))
        if self._folder:
            self._folder.take_selection(told.get("vqa_selection", ""))

    def _note_throttled(self, seconds: Mapping[str, float]) -> None:
        """The longest over the workers: they are throttled at the same time."""
        for model, throttled_s in seconds.items():
            self._throttled_s[model] = round(max(throttled_s, self._throttled_s.get(model, 0.0)), 3)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Note what an xdist worker collected."""
        self._collected.update(ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note what this process collected."""
        self._collected.update(item.nodeid for item in session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a sample's result; of several for one sample (reruns) the last counts."""
        row = getattr(report, "vqa", None)
        if row is not None:
            result = Result.from_json(row)
            self._add(result, report)
            if report.failed and result.outcome is Outcome.ERROR:
                self._error_reports.add(result.identity)
        elif report.when not in ("setup", "call", "teardown"):
            self._add_lost(report)
        elif report.skipped:
            self._skipped.add(report.nodeid)

    def _add(self, result: Result, report: pytest.TestReport) -> None:
        self._store(result)
        if self._progress:
            self._progress.add(result, self._results.get(result.identity))
        self._results[result.identity] = result
        self._stopped = self._stopped or result.fatal
        if report.failed and result.outcome.counts_wrong:
            self._wrong_reports += 1
            if len(self._blocks) < self._settings.show:
                self._blocks.append((report.nodeid, str(report.longrepr)))
        self._config.hook.pytest_vqa_result(result=result)
        if self._unwritten:
            pytest.exit(self._unwritten, returncode=Exit.USAGE)

    def _store(self, result: Result) -> None:
        folder = self._folder
        if folder is None or self._unwritten:
            return
        if self._settings.resume and not self._results:  # what an earlier session wrote of its end is history
            self._written(lambda: folder.write_header({**self._describe(), **self._started_in(folder)}))
        self._written(lambda: folder.add_result(result))

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        """Ask again, once, the sample that a crashed xdist worker was on."""
        if crashitem in self._crashed or not self._rows_of(crashitem):
            return
        self._crashed.add(crashitem)
        # where xdist can't put a single item back (each, loadfile, loadgroup, loadscope) the sample stays an error ...
        with contextlib.suppress(NotImplementedError):
            sched.mark_test_pending(crashitem)
            report.outcome = "rerun"  # type: ignore[assignment]  # as xdist's documentation has it

    def _add_lost(self, report: pytest.TestReport) -> None:
        """Xdist reports the sample that a crashed worker was on, without a result."""
        if report.failed:
            for row in self._rows_of(report.nodeid):
                self._add(replace(row, outcome=Outcome.ERROR, error=WORKER_LOST), report)

    def _rows_of(self, nodeid: str) -> list[Result]:
        return [row for row in self._selection({}).rows if row.nodeid == nodeid]

    def _selection(self, results: Mapping[Identity, Result]) -> Selection:
        """What this session selected: the file of a resumed run may still be the last session's."""
        selection = self._folder.read_selection(results) if self._folder else Selection([], [])
        return replace(selection, rows=[row for row in selection.rows if row.nodeid in self._collected])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Sum up, judge, and set the exit code."""
        self._note_throttled(self._evaluation.throttled_s())
        selection = self._selection(self._results)
        if not selection.rows and not self._results:
            if self._folder:
                self._folder.discard()
            self._folder = None
            if session.testscollected:
                self._judge_gates(Summary([]))
        elif not selection.rows:
            self._unwritten = "selected.jsonl of the run is missing: how many samples it lacks can't be told"
        else:
            results = final_results(selection, self._results)
            self._unreached = any(self._was_never_reached(result) for result in results)
            self._summary = summarize(selection.abouts, results)
            self._config.hook.pytest_vqa_summary(summary=self._summary)
            self._judge_gates(self._summary)
        session.exitstatus = self._write(self._exit_code(session))

    def _was_never_reached(self, result: Result) -> bool:
        return result.outcome is Outcome.NOT_RUN and result.nodeid not in self._skipped

    def _judge_gates(self, summary: Summary) -> None:
        self._written(lambda: self._keeper.judge(summary, generation_of(self._settings)))

    def _exit_code(self, session: pytest.Session) -> int:
        return self._keeper.exit_code(
            int(session.exitstatus),
            failures=session.testsfailed,
            wrong=self._wrong_reports,
            errors=self._error_reports,
            stopped=self._stopped or self._unwritten is not None,
            unreached=self._unreached,
        )

    def _describe(self) -> dict[str, Any]:
        return run_header(self._evaluation, self._started)

    def _started_in(self, folder: RunFolder) -> dict[str, str]:
        """The folder that pytest was started in, relative to the run's: of that folder alone, not of the summary."""
        return {"started_in": os.path.relpath(self._config.invocation_params.dir, folder.path)}

    def _write(self, code: int) -> int:
        """Write the summary to its files; the exit code, which changes if that fails."""
        summary = self._summary
        if summary is None:
            return code
        about = {
            **self._describe(),
            "seconds": round(time.time() - self._started, 1),
            "throttled_s": self._throttled_s,
        }
        report = json_report.build(summary, self._keeper.gates, about, code)
        file, folder = self._settings.json, self._folder
        if file and not self._written(lambda: json_report.write(file, report)):
            code = Exit.USAGE
        if folder:
            ended = {**about, "ended": local_time(time.time()), "exit_code": code}
            header = {**ended, **self._started_in(folder), "benchmarks": report["benchmarks"], "gates": report["gates"]}
            if not (self._written(lambda: folder.write_header(header)) and self._write_samples(folder)):
                code = Exit.USAGE
        if not self._written(lambda: github.append_summary(summary, self._keeper.gates)):
            code = Exit.USAGE
        return code

    def _write_samples(self, folder: RunFolder) -> bool:
        """The page and the artifacts, from what is stored, as commands write them of a run that is over."""
        settings = self._settings
        page, artifacts = settings.html, settings.artifacts
        if not (page or artifacts):
            return True
        stored = read_run(folder.path)
        done = not page or self._written(lambda: write_page(page, [stored], settings.data, settings.media_root))
        return (not artifacts or self._written(lambda: write_artifacts(artifacts, stored))) and done

    def _written(self, write: Callable[[], None]) -> bool:
        try:
            write()
        except StoreError as error:
            self._unwritten = self._unwritten or str(error)
            return False
        return True

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
                folder = self._folder.path if self._folder else None
                printer.wrong_answers(self._blocks, self._results.values(), folder, self._settings.html)
                printer.errors(self._results.values())
            yield
            if self._summary:
                printer.summary(self._summary, self._folder.path if self._folder else None, self._throttled_s)
                printer.servers([*self._servers, *self._evaluation.servers()])
            printer.gates(self._keeper.gates, self._keeper.saving)
            if self._unwritten:
                printer.unwritten(self._unwritten)
        finally:
            if errors:
                stats["error"] = errors
            self._colour(stats)

    def _colour(self, stats: dict[str, list[Any]]) -> None:
        """Red in the last line: pytest paints it so if there is a category `failed`, even an empty one."""
        failed = self._keeper.failed
        if failed:
            stats["gate failed" if len(failed) == 1 else "gates failed"] = failed
        if failed or (not self._keeper.gates and self._wrong_reports):
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
