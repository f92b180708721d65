"""What is on the disk of a file that is read in place, and the file as a stream."""

from __future__ import annotations

import io
import os
import threading
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_vqaeval.remote.ranges import RangeFile


class Index:
    """Which ranges are on the disk, merged where they touch: lines `START END` that all processes append."""

    def __init__(self, descriptor: int) -> None:
        """The file of the index; it is closed with this."""
        self._file = descriptor
        self._read = 0  # bytes of the index
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def has(self, start: int, end: int) -> bool:
        """All of a range is there."""
        with self._lock:
            return self._holds(start, end) or (self._read_news() and self._holds(start, end))

    def add(self, start: int, end: int) -> None:
        """Say to all processes that a range is there."""
        try:
            os.write(self._file, f"{start} {end}\n".encode())
        except OSError:  # a full disk: this process knows it all the same
            with self._lock:
                self._insert(start, end)

    def _holds(self, start: int, end: int) -> bool:
        at = bisect_right(self._starts, start) - 1
        return at >= 0 and end <= self._ends[at]

    def _read_news(self) -> bool:
        """What any process has added since."""
        news = os.pread(self._file, max(0, os.fstat(self._file).st_size - self._read), self._read)
        whole = news[: news.rfind(b"\n") + 1]  # a line that is being written is read the next time
        self._read += len(whole)
        for line in whole.splitlines():
            start, _, end = line.partition(b" ")
            if start.isdigit() and end.isdigit() and int(start) < int(end):  # not the torn line of a killed process
                self._insert(int(start), int(end))
        return bool(whole)

    def _insert(self, start: int, end: int) -> None:
        first = bisect_right(self._starts, start)
        if first and self._ends[first - 1] >= start:
            first -= 1
        last = bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, max(self._ends[first:last]))
        self._starts[first:last], self._ends[first:last] = [start], [end]


class Stream(io.RawIOBase):
    """What pyarrow reads from."""

    def __init__(self, file: RangeFile) -> None:
        self._file, self._position = file, 0

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """It can be sought in."""
        return True

    def tell(self) -> int:
        """The position."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the position, and return it."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._file.size}[whence]
        self._position = base + offset
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        """So many bytes, or all that follow."""
        rest = max(0, self._file.size - self._position)
        count = rest if size is None or size < 0 else min(size, rest)
        content = self._file.read_at(self._position, count)
        self._position += len(content)
        return content
