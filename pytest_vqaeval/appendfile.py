"""JSON lines, appended so that a kill or a full disk loses at most the line that is being written."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_vqaeval.errors import StoreError


class AppendFile:
    """A JSONL file that grows: one write per line, mode 0600. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._lock = threading.Lock()

    def append(self, row: Mapping[str, Any]) -> tuple[int, int]:
        """Append a line.

        Returns:
            Its offset and its length in bytes.

        Raises:
            StoreError: it can't be written; the message says why.
        """
        data = json_line(row).encode()
        with self._lock:
            try:
                if self._descriptor is None:
                    self._open()
                assert self._descriptor is not None
                rest = data
                while rest:  # short writes happen on full disks and network file systems
                    rest = rest[os.write(self._descriptor, rest) :]
                # not counted but asked for: the process that a resumed run was killed with may not be dead yet
                return os.lseek(self._descriptor, 0, os.SEEK_CUR) - len(data), len(data)
            except OSError as error:
                self._close()  # whatever is written next opens it again, and so begins on a line of its own
                raise StoreError(f"the run folder can't be written: {error.strerror} ({self.path})") from None

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(self.path, flags, 0o600)
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            os.write(self._descriptor, b"\n")  # the torn line of a killed run stays alone

    def close(self) -> None:
        """Close the file; a thread that has something to append later opens it again."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def json_line(row: Mapping[str, Any]) -> str:
    """One line of JSON; characters stand for themselves unless UTF-8 has none for them (lone surrogates)."""
    text = _ENCODER.encode(row)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = json.dumps(row, separators=(",", ":"))
    return text + "\n"


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file that was written like this; none if it is absent.

    A torn line (a kill) is passed over, in whichever character it was torn.
    """
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        return
    with stream:
        for line in stream:
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                yield row
