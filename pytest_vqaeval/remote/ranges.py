"""A file on a server, read in place: only the ranges that are wanted cross the network, each once.

What was read lies in a sparse file of the same size, `NAME.pieces`, and `NAME.pieces.index` says which ranges of it are
there: lines `START END`, appended when the bytes are written. All processes of a machine share them, and later runs.
"""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.remote.connection import (
    CONNECTIONS,
    TRIES,
    Connection,
    Interrupted,
    SourceError,
    Unreachable,
    wait_before,
)
from pytest_vqaeval.remote.lockfile import once
from pytest_vqaeval.remote.note import read_note, write_note
from pytest_vqaeval.remote.pieces import Index, Stream
from pytest_vqaeval.remote.source import PublishedFile, Source

MOST_BYTES = 8 * 2**20  # of neighbours that are asked for at once
MOST_WASTE = 0.1  # of the bytes between neighbours, per byte that is wanted
QUIET_S = 30.0  # after a failure nobody waits for the server again: 2,000 samples fail in a moment, not in hours


@dataclass(frozen=True)
class Origin:
    """The state of a file that pieces belong to.

    Attributes:
        size: in bytes.
        etag: None where the server gives none.
    """

    source: Source
    size: int
    etag: str | None


@dataclass(eq=False)
class _Want:
    """A range that a thread waits for; `end` is behind its last byte."""

    start: int
    end: int
    done: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None


class RangeFile:
    """Reads by position. Safe to use from several threads: their requests that wait and are neighbours become one."""

    def __init__(self, path: Path, name: str, origin: Origin, connection: Connection | None, *, is_new: bool) -> None:
        """Nothing is asked yet.

        Args:
            path: where the whole file would lie; the pieces are beside it.
            name: what it is called in messages.
            origin: what the pieces belong to.
            connection: None where the network must not be used: only what is here already can be read.
            is_new: nothing of it was here before.
        """
        self.path, self.name, self.origin, self.is_new = path, name, origin, is_new
        self.size = origin.size
        self._connection = connection
        flags = os.O_RDWR | os.O_CREAT if connection else os.O_RDONLY  # the cache may be read-only then
        try:
            self._pieces = os.open(_pieces(path), flags | os.O_CLOEXEC, 0o600)
            self._index = Index(os.open(_index(path), flags | os.O_APPEND | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise DataError(f"{_pieces(path)} can't be opened: {error.strerror}") from None
        self._lock = threading.Lock()  # of these:
        self._waiting: list[_Want] = []
        self._failed: tuple[float, DataError] | None = None  # until when, and with what
        self._closed = False
        self._slots = threading.BoundedSemaphore(CONNECTIONS)

    def __str__(self) -> str:
        return str(self.path)

    def close(self) -> None:
        """Close the local files; the connections are others'."""
        if not self._closed:
            self._closed = True
            os.close(self._pieces)
            self._index.close()

    def discard(self) -> None:
        """Close and remove the pieces."""
        self.close()
        remove_pieces(self.path)

    def alone(self) -> AbstractContextManager[None]:
        """One process at a time: what all of them read first crosses the network once."""
        return once(self.path) if self._connection else nullcontext()

    def read_at(self, position: int, count: int) -> bytes:
        """Bytes of the file.

        Raises:
            ValueError: the file ends before.
            DataError: they can't be fetched.
        """
        if position < 0 or position + count > self.size:
            raise ValueError("it ends too early")
        if count and not self._index.has(position, position + count):
            self._fetch(_Want(position, position + count))
        return os.pread(self._pieces, count, position)

    def stream(self) -> io.RawIOBase:
        """The file as a seekable stream."""
        return Stream(self)

    def _fetch(self, want: _Want) -> None:
        """Queue the range, and when there is a free connection ask for all that is queued around it."""
        with self._lock:
            self._waiting.append(want)
        with self._slots:
            with self._lock:
                batch = _batch(want, self._waiting) if want in self._waiting else []
                self._waiting = [other for other in self._waiting if other not in batch]
            if batch:
                self._serve(batch)
        want.done.wait()
        if want.error:
            raise want.error

    def _serve(self, batch: Sequence[_Want]) -> None:
        error: BaseException | None = None
        try:
            self._ask(min(want.start for want in batch), max(want.end for want in batch))
        except BaseException as raised:
            error = raised
        for want in batch:
            want.error = error
            want.done.set()

    def _ask(self, start: int, end: int) -> None:
        if self._connection is None:
            raise DataError(f"{self.name} is read in place, and this part of it is not here (offline)")
        if self._failed and time.monotonic() < self._failed[0]:
            raise self._failed[1]
        failures, position = 0, start
        while position < end:
            try:
                got = self._receive(self._connection, position, end)
                failures, position = 0, position + got
            except Interrupted as error:
                failures += 1
                if failures >= (2 if isinstance(error, Unreachable) else TRIES):
                    self._fail(error)
                wait_before(failures, error)
            except SourceError as error:
                self._fail(error)
        self._index.add(start, end)

    def _other_state(self, etag: str | None) -> bool:
        return self.origin.etag not in (None, etag) and not self.origin.source.pinned

    def _fail(self, error: DataError) -> None:
        said = DataError(f"{self.name} can't be read from {self.origin.source.title}: {error}")
        self._failed = (time.monotonic() + QUIET_S, said)
        raise said from None

    def _receive(self, connection: Connection, start: int, end: int) -> int:
        """One request; how many bytes of the range came."""
        position = start
        with connection.get(self.origin.source, {"range": f"bytes={start}-{end - 1}"}) as answer:
            if not answer.ranges or answer.start != start:
                raise SourceError("the server no longer gives ranges")
            if answer.size != self.size or self._other_state(answer.etag):
                raise SourceError(
                    f"the file has changed there since its first pieces were read; remove {_pieces(self.path)}* "
                    "to begin with the new one"
                )
            try:
                for chunk in answer.chunks():
                    chunk = chunk[: end - position]
                    _write_at(self._pieces, chunk, position)
                    position += len(chunk)
            except Interrupted:
                if position == start:
                    raise
            except OSError as error:
                raise DataError(f"{_pieces(self.path)} can't be written: {error.strerror}") from None
        if position == start:
            raise Interrupted("the connection was cut")
        return position - start


def remove_pieces(path: Path) -> None:
    """The whole file is there: its pieces are of no more use."""
    for file in (_note, _pieces, _index):
        file(path).unlink(missing_ok=True)


def open_ranges(file: PublishedFile, name: str, path: Path, connection: Connection | None) -> RangeFile | None:
    """A published file, to be read in place; one that was begun is gone on with. None if the server gives no ranges.

    Args:
        file: the file and its sources.
        name: what it is called in messages.
        path: where the whole file would lie.
        connection: None where the network must not be used.

    Raises:
        DataError: no source has it; or it was not begun, and the network must not be used.
    """
    if begun := _begun(file, path):
        return RangeFile(path, name, begun, connection, is_new=False)
    if connection is None:
        raise DataError(f"{name} is not here, and nothing is fetched (offline)")
    with once(path):
        if begun := _begun(file, path):
            return RangeFile(path, name, begun, connection, is_new=False)
        origin = _probe(file, name, connection)
        if origin is None:
            return None
        try:
            _index(path).unlink(missing_ok=True)
            descriptor = os.open(_pieces(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            os.truncate(descriptor, origin.size)
            os.close(descriptor)
        except OSError as error:
            raise DataError(f"{_pieces(path)} can't be written: {error.strerror}") from None
        write_note(_note(path), {"source": origin.source.text, "size": origin.size, "etag": origin.etag})
        return RangeFile(path, name, origin, connection, is_new=True)


def _begun(file: PublishedFile, path: Path) -> Origin | None:
    note = read_note(_note(path))
    source = next((source for source in file.sources if source.text == note.get("source")), None)
    if source is None or not isinstance(note.get("size"), int) or not _pieces(path).is_file():
        return None
    return Origin(source, note["size"], note.get("etag"))


def _probe(file: PublishedFile, name: str, connection: Connection) -> Origin | None:
    """Size and ETag, by asking for one byte: not every server answers HEAD, or ranges from the end."""
    problems = []
    for source in file.sources:
        try:
            with connection.get(source, {"range": "bytes=0-0"}) as answer:
                if not answer.ranges or answer.size is None:
                    return None
                if file.size not in (None, answer.size):
                    raise SourceError(f"the file there has {answer.size:,} bytes, not {file.size:,} as the spec says")
                return Origin(source, answer.size, answer.etag)
        except SourceError as error:
            if isinstance(error, Unreachable):
                connection.give_up(source, error)
            problems.append(f"{source.title}: {error}")
    raise DataError(f"{name} can't be read: {'; '.join(problems)}")


def _batch(want: _Want, waiting: Sequence[_Want]) -> list[_Want]:
    """A range, and those that wait beside it: few bytes between them, and not too many in all."""
    batch, start, end, wanted = [want], want.start, want.end, want.end - want.start
    for behind in (True, False):
        others = [other for other in waiting if other is not want and (other.start >= want.start) is behind]
        for other in sorted(others, key=lambda other: other.start, reverse=not behind):
            low, high = min(start, other.start), max(end, other.end)
            total = wanted + other.end - other.start
            if high - low > max(MOST_BYTES, end - start) or (high - low) - total > MOST_WASTE * total:
                break
            batch.append(other)
            start, end, wanted = low, high, total
    return batch


def _write_at(descriptor: int, content: bytes, position: int) -> None:
    while content:
        written = os.pwrite(descriptor, content, position)
        content, position = content[written:], position + written


def _beside(ending: str) -> Callable[[Path], Path]:
    return lambda path: path.with_name(path.name + ending)


_pieces, _index, _note = _beside(".pieces"), _beside(".pieces.index"), _beside(".pieces.note")
