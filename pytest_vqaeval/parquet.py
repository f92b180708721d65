"""Parquet -> rows. Columns that hold bytes, the pictures, are left in the file until a cell of theirs is needed."""

from __future__ import annotations

import io
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pytest_vqaeval.errors import DataError, MissingExtra

CACHE_BYTES = 64 * 2**20  # of row groups that are kept; one of 100 pictures, as Hugging Face writes them, takes 16 MB

_Row = tuple[int, dict[str, Any], str]  # line and problem are those of text files: rows have none, none is broken alone


class Remote(Protocol):
    """A parquet file that is read in place on a server."""

    path: Path

    def stream(self) -> io.RawIOBase:
        """The file as a seekable stream."""

    def alone(self) -> AbstractContextManager[None]:
        """One process at a time reads it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a parquet file that is not read yet.

    Attributes:
        file: the file.
        group: the row group, from 0.
        row: the row in its row group, from 0.
        column: the name of the column.
    """

    file: Path | Remote
    group: int
    row: int
    column: str

    def load(self) -> Any:
        """The cell's value: bytes, or what holds them, as `{"bytes": b"...", "path": "..."}`; None for null.

        Reads the column for the whole row group, and keeps it for the cells beside. Safe to use from several threads.

        Raises:
            DataError: the file can't be read.
        """
        try:
            return _chunks.column(self.file, self.group, self.column)[self.row].as_py()
        except (ValueError, OverflowError, IndexError) as error:  # a path that is not UTF-8, a file that was replaced
            raise _broken(self.file, error) from None


def read_parquet(file: Path | Remote) -> Iterator[_Row]:
    """The rows of a parquet file; cells that hold bytes are `Cell`.

    Raises:
        DataError: the file is broken, or has several columns of a name.
        MissingExtra: pyarrow is not installed.
    """
    if isinstance(file, Path):
        file = file.absolute()  # cells are read later, perhaps from another folder
    with _opened(file) as source:
        names = source.schema_arrow.names
        twice = [repr(name) for name, count in Counter(names).items() if count > 1]
        if twice:
            raise DataError(f"{file} has several columns of the name {', '.join(twice)}")
        at_once = [column.name for column in source.schema_arrow if not _holds_bytes(column.type)]
        for group in range(source.num_row_groups):
            table = source.read_row_group(group, columns=at_once, use_threads=False)
            rows = range(source.metadata.row_group(group).num_rows)
            columns = (
                table.column(name).to_pylist() if name in at_once else [Cell(file, group, row, name) for row in rows]
                for name in names
            )
            for cells in zip(*columns, strict=True):
                yield 0, dict(zip(names, cells, strict=True)), ""


class _Chunks:
    """The columns of row groups that were read last, up to a number of bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most, self._held = most_bytes, 0
        self._kept: OrderedDict[tuple[Path | Remote, int, str], Any] = OrderedDict()
        self._lock = threading.Lock()  # held while reading: others mostly wait for the same row group

    def column(self, file: Path | Remote, group: int, name: str) -> Any:
        """A column of a row group, as pyarrow's ChunkedArray; the last one is kept, however large it is."""
        key = (file, group, name)
        with self._lock:
            if key not in self._kept:
                with _opened(file) as source:
                    self._kept[key] = source.read_row_group(group, columns=[name], use_threads=False).column(name)
                self._held += self._kept[key].nbytes
            self._kept.move_to_end(key)
            while self._held > self._most and len(self._kept) > 1:
                self._held -= self._kept.popitem(last=False)[1].nbytes
            return self._kept[key]


_chunks = _Chunks(CACHE_BYTES)


@contextmanager
def _opened(file: Path | Remote) -> Iterator[Any]:
    """The file as pyarrow's ParquetFile; whatever pyarrow says of a broken one is a DataError."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtra("parquet files", "parquet") from None
    try:
        place = file if isinstance(file, Path) else file.stream()
        on_server = place is not file  # which is asked once for columns that lie side by side
        with ParquetFile(place, pre_buffer=on_server) as source:
            yield source
    except (ArrowException, OSError, ValueError, OverflowError) as error:
        raise _broken(file, error) from None


def _broken(file: Path | Remote, error: Exception) -> DataError:
    return DataError(f"{file} can't be read as parquet: {' '.join(str(error).split()):.200}")


def _holds_bytes(kind: Any) -> bool:
    from pyarrow import BaseExtensionType, types

    if isinstance(kind, BaseExtensionType):
        kind = kind.storage_type
    if types.is_dictionary(kind):
        return _holds_bytes(kind.value_type)
    if types.is_nested(kind):
        return any(_holds_bytes(kind.field(n).type) for n in range(kind.num_fields))
    binary = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view)
    return any(is_binary(kind) for is_binary in binary)
