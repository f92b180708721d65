"""JSON lines, appended so that a kill loses at most the line that is being written."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_vqaeval.errors import StoreError


class AppendFile:
    """A JSONL file that grows: one write per line, mode 0600. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._size = 0
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
                offset, rest = self._size, data
                while rest:  # short writes happen on full disks and network file systems
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError as error:
                raise StoreError(f"the run folder can't be written: {error.strerror} ({self.path})") from None
            self._size += len(data)
            return offset, len(data)

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(self.path, flags, 0o600)
        self._size = os.fstat(self._descriptor).st_size
        if self._size and os.pread(self._descriptor, 1, self._size - 1) != b"\n":
            self._size += os.write(self._descriptor, b"\n")  # the torn line of a killed run stays alone

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def json_line(row: Mapping[str, Any]) -> str:
    """One line of JSON; characters stand for themselves unless UTF-8 has none for them (lone surrogates)."""
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = json.dumps(row, separators=(",", ":"))
    return text + "\n"
