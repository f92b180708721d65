"""How far a run is: the line, and how it gets to a terminal without touching what pytest writes there."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Mapping

from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.usage import ANSWER, JUDGE, tokens_spent

_WINDOW_S = 30.0  # of the rate


class Progress:
    """What has arrived so far. Times are seconds from an arbitrary moment."""

    def __init__(self, total: int, now: float) -> None:
        """Nothing has arrived.

        Args:
            total: how many samples were selected.
            now: when the run began.
        """
        self._total, self._started = total, now
        self._done = self._answered = self._errors = self._tokens = 0
        self._points = 0.0
        self._graded = False
        self._arrivals: deque[float] = deque()

    def add(self, result: Result, earlier: Result | None, now: float) -> None:
        """Take in a result; after a rerun it takes the place of an earlier one."""
        if earlier is not None:
            self._count(earlier, -1)
        self._count(result, 1)
        self._graded = self._graded or result.outcome is Outcome.SCORED
        self._arrivals.append(now)

    def _count(self, result: Result, sign: int) -> None:
        self._done += sign
        self._errors += sign * (result.outcome is Outcome.ERROR)
        self._tokens += sign * tokens_spent(result)
        if result.outcome.answered and result.score is not None:
            self._answered += sign
            self._points += sign * result.score

    def line(self, now: float, in_flight: Mapping[str, int] | None = None) -> str:
        """The facts, the most important first.

        Args:
            now: the time.
            in_flight: how many requests wait for a reply, by kind, where that is known.
        """
        rate = self._rate(now)
        facts = [f"{self._done:,}/{self._total:,}"]
        if self._answered:
            facts.append(f"{100 * self._points / self._answered:.1f} % {'score' if self._graded else 'right'}")
        if self._errors:
            facts.append(f"{self._errors:,} error{'s' * (self._errors > 1)}")
        facts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
        if in_flight:
            facts.append(f"{in_flight.get(ANSWER, 0)} in flight")
        if in_flight and JUDGE in in_flight:
            facts.append(f"{in_flight[JUDGE]} at the judge")
        if rate and self._total > self._done:
            facts.append(f"{_clock((self._total - self._done) / rate)} left")
        if self._tokens:
            facts.append(f"{_short(self._tokens)} tokens")
        return ", ".join(facts)

    def _rate(self, now: float) -> float:
        while self._arrivals and self._arrivals[0] < now - _WINDOW_S:
            self._arrivals.popleft()
        return len(self._arrivals) / max(1.0, min(_WINDOW_S, now - self._started))


def _clock(seconds: float) -> str:
    """`1:05`, `2:03:04`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _short(number: int) -> str:
    """`999`, `12.3k`, `2.5M`."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 999_950 else f"{number / 1_000_000:.1f}M"


def _write(descriptor: int, text: str) -> None:
    with contextlib.suppress(OSError):  # the terminal is gone, or full: no reason to end a run
        os.write(descriptor, text.encode())


class Screen:
    """A terminal, on which the line stands below the cursor; pytest's own line, and where it goes on, stay as they are.

    Whoever is about to write there calls `clear` before. The control sequences are those of ECMA-48 and the VT100.
    """

    every_s = 1.0
    first_s = 2.0  # a short run needs no progress

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._shown = False

    def show(self, line: str) -> None:
        """Write the line, cut to the terminal's width, or write it anew."""
        line = line[: self._columns() - 1]
        room = "\x1bD\x1b[A"  # one line down, which scrolls at the bottom, and up again
        _write(self._descriptor, f"{room}\x1b7\x1b[B\r{line}\x1b[K\x1b8")
        self._shown = True

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._descriptor).columns or 80
        except OSError:
            return 80

    def clear(self) -> None:
        """Remove the line."""
        if self._shown:
            _write(self._descriptor, "\x1b[J")  # from the cursor to the end of the screen
            self._shown = False

    def close(self) -> None:
        """Write nothing more."""
        os.close(self._descriptor)


class Log:
    """A file, a pipe or a terminal that others write to as well: now and then a line, which stays."""

    every_s = first_s = 60.0

    def __init__(self, descriptor: int, *, starts_lines: bool) -> None:
        """Nothing is written yet.

        Args:
            descriptor: where to write.
            starts_lines: what pytest writes there ends with a line break.
        """
        self._descriptor, self._break = descriptor, "" if starts_lines else "\n"

    def show(self, line: str) -> None:
        """Write the line."""
        _write(self._descriptor, f"{self._break}vqaeval: {line}\n")

    def clear(self) -> None:
        """A line stays."""

    def close(self) -> None:
        """Write nothing more."""
        os.close(self._descriptor)
