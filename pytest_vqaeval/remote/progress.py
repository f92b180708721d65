"""What people see of downloads: a bar that moves on a terminal, a line in a log."""

from __future__ import annotations

import shutil
import threading
import time
from types import TracebackType
from typing import TextIO

EVERY_S = 0.1


class Progress:
    """Tells of downloads on a stream. Safe to use from several threads."""

    def __init__(self, stream: TextIO | None, *, alone: bool = True) -> None:
        """Nothing is told yet.

        Args:
            stream: where; nowhere if it is None.
            alone: no other process of the run tells of its waiting too.
        """
        self._stream, self._alone = stream, alone
        self._lock = threading.Lock()
        self.moves = stream is not None and stream.isatty()

    def say(self, text: str) -> None:
        """One line."""
        self._write(f"vqaeval: {text}\n")

    def wait(self, name: str) -> None:
        """Another process fetches a file, and this one waits for it."""
        if self._alone:
            self.say(f"waiting for another process that fetches {name}")

    def bar(self, name: str, source: str, size: int | None, done: int) -> Bar:
        """The bar of one download, which starts with `done` bytes."""
        return Bar(self, name, source, size, done)

    def draw(self, text: str, end: str = "") -> None:
        """Write over the line of the bar."""
        width = shutil.get_terminal_size().columns - 1
        self._write(f"\r{text[:width]:{width}}{end}")

    def _write(self, text: str) -> None:
        with self._lock:
            if self._stream is None:
                return
            try:
                self._stream.write(text)
                self._stream.flush()
            except (OSError, ValueError):  # the terminal is gone: no reason to stop
                self._stream = None


class Bar:
    """A download on its way."""

    def __init__(self, progress: Progress, name: str, source: str, size: int | None, done: int) -> None:
        self._progress, self._name, self._source, self.size = progress, name, source, size
        self._first = self._done = done
        self._start = self._drawn = time.monotonic()

    def __enter__(self) -> Bar:
        if self._progress.moves:
            self._draw()
        else:
            rest = f", {megabytes(self._first)} are there already" if self._first else ""
            self._progress.say(f"fetching {self._name} ({megabytes(self.size)}{rest}) from {self._source}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._progress.moves:
            return
        if error is None:
            took = time.monotonic() - self._start
            self._progress.draw(f"{self._name}: {megabytes(self._done)} from {self._source} in {took:.1f} s", "\n")
        else:
            self._progress.draw(f"{self._name}: stopped at {megabytes(self._done)}", "\n")

    def move(self, done: int) -> None:
        """So many bytes of the file are there."""
        self._done = done
        if self._progress.moves and time.monotonic() - self._drawn > EVERY_S:
            self._draw()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        speed = (self._done - self._first) / max(self._drawn - self._start, 1e-3)
        text = f"{self._name}: {megabytes(self._done)}"
        if self.size:
            share = min(1.0, self._done / self.size)
            text += f" of {megabytes(self.size)} {share:4.0%} [{'#' * int(10 * share):10}]"
        text += f" {megabytes(speed)}/s"
        if self.size and speed:
            minutes, seconds = divmod(int((self.size - self._done) / speed), 60)
            text += f", {minutes}:{seconds:02} left"
        self._progress.draw(text)


def megabytes(count: float | None) -> str:
    """`207.1 MB`."""
    if count is None:
        return "size unknown"
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:,.2f} {unit}" if unit == "GB" else f"{count / size:.1f} {unit}"
    return f"{count / 1e3:.1f} kB"
