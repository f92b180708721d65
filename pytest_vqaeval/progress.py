"""Shows how far the run is, beside what pytest prints: rewritten in place on a terminal, once a minute elsewhere."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping

import pytest

from pytest_vqaeval.reports.progress import Log, Progress, Screen
from pytest_vqaeval.results import Result


def progress_of(
    config: pytest.Config, total: Callable[[], int], in_flight: Callable[[], Mapping[str, int]]
) -> ProgressDisplay | None:
    """The display for this session's output; None where there is nobody to see it (`-qq`, no terminal reporter).

    Args:
        config: pytest's.
        total: how many samples are selected, as far as that is known when items begin to run.
        in_flight: how many requests wait for a reply now, by kind, where that is known.
    """
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or config.option.verbose < -1:
        return None
    try:
        descriptor = os.dup(sys.stdout.fileno())  # the capture of output redirects the original
    except (AttributeError, io.UnsupportedOperation, OSError, ValueError):
        return None
    if _alone_on_a_terminal(config, reporter, descriptor):
        return ScreenDisplay(Screen(descriptor), total, in_flight)
    workers_name_items = config.option.verbose > 0 and bool(getattr(config.option, "tx", None))
    return ProgressDisplay(Log(descriptor, starts_lines=workers_name_items), total, in_flight)


def _alone_on_a_terminal(config: pytest.Config, reporter: object, descriptor: int) -> bool:
    """Only pytest's own reporter writes to it, and only in ways that are known here."""
    live_logs = config.pluginmanager.hasplugin("logging") and (
        config.getoption("log_cli_level", None) is not None or config.getini("log_cli")
    )
    others_write = live_logs or config.getoption("capture", "no") == "no"
    terminal = os.isatty(descriptor) and os.environ.get("TERM", "dumb") != "dumb" and not os.environ.get("CI")
    return terminal and not others_write and type(reporter) is pytest.TerminalReporter


class ProgressDisplay:
    """A pytest plugin object: it shows the line every now and then."""

    def __init__(
        self, place: Screen | Log, total: Callable[[], int], in_flight: Callable[[], Mapping[str, int]]
    ) -> None:
        self._place, self._total, self._in_flight = place, total, in_flight
        self._progress: Progress | None = None
        self._line = ""
        self._lock = threading.RLock()
        self._over = threading.Event()

    def add(self, result: Result, earlier: Result | None) -> None:
        """A sample's result has arrived."""
        if self._progress:
            self._progress.add(result, earlier, time.monotonic())

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        """An item begins; with the first the clock starts."""
        if self._progress is None and (total := self._total()):
            self._progress = Progress(total, time.monotonic())
            threading.Thread(target=self._tick, name="vqa-progress", daemon=True).start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_enter_pdb(self) -> None:
        """The terminal is the debugger's."""
        self._lock.acquire()
        self._place.clear()
        self._line = ""

    def pytest_leave_pdb(self) -> None:
        """It is pytest's again."""
        self._lock.release()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """No item runs any longer."""
        self._over.set()
        with self._lock:
            self._place.clear()
            self._place.close()

    def _tick(self) -> None:
        wait = self._place.first_s
        while not self._over.wait(wait):
            wait = self._place.every_s
            with self._lock:
                if self._progress and not self._over.is_set():
                    self._line = self._progress.line(time.monotonic(), self._in_flight())
                    self._place.show(self._line)


class ScreenDisplay(ProgressDisplay):
    """On a terminal it steps aside whenever pytest writes, and shows the line again."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self) -> Generator[None, object, object]:  # type: ignore[override]  # as a wrapper
        """Pytest may name a file. Only here the line comes back at once: an item takes its time, all else is short."""
        super().pytest_runtest_logstart()
        with self._lock:
            self._place.clear()
            try:
                return (yield)
            finally:
                if self._line and not self._over.is_set():
                    self._place.show(self._line)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Pytest writes a dot, but for a setup or teardown that passed."""
        if report.passed and report.when != "call":
            return (yield)
        return (yield from self._step_aside())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logfinish(self) -> Generator[None, object, object]:
        """Pytest may end a line."""
        return (yield from self._step_aside())

    @pytest.hookimpl(wrapper=True, tryfirst=True, optionalhook=True)
    def pytest_testnodedown(self) -> Generator[None, object, object]:
        """Xdist tells of a crash."""
        return (yield from self._step_aside())

    def _step_aside(self) -> Generator[None, object, object]:
        with self._lock:
            self._place.clear()
            return (yield)
