"""Parquet -> rows. Columns that hold bytes, the pictures, are left in the file until a cell of theirs is needed."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_vqaeval.errors import DataError, MissingExtra

CACHE_BYTES = 128 * 2**20  # of row groups that are kept; Hugging Face writes 100 pictures to a row group

_Row = tuple[int, dict[str, Any], str]  # line (there are none: 0), fields, problem ("": a broken file is no rows)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a parquet file that is not read yet.

    Attributes:
        file: the file.
        group: the row group, from 0.
        row: the row in its row group, from 0.
        column: the name of the column.
    """

    file: Path
    group: int
    row: int
    column: str

    def load(self) -> Any:
        """The cell's value: bytes, or what holds them, as `{"bytes": b"...", "path": "..."}`.

        Reads the column for the whole row group, and keeps it for the cells beside.

        Raises:
            DataError: the file can't be read.
        """
        try:
            return _chunks.column(self.file, self.group, self.column)[self.row].as_py()
        except _errors() as error:
            raise DataError(f"{self.file.name}: column {self.column!r} {_said(error)}") from None


def read_parquet(file: Path) -> Iterator[_Row]:
    """The rows of a parquet file; cells that hold bytes are `Cell`.

    Raises:
        DataError: the file is broken, or has several columns of a name.
        MissingExtra: pyarrow is not installed.
    """
    file = file.absolute()  # cells are read later, perhaps from another folder
    try:
        with _open(file) as source:
            names = _checked_names(source.schema_arrow.names, file)
            left = {kind.name for kind in source.schema_arrow if _holds_bytes(kind.type)}
            eager = [name for name in names if name not in left]
            for group in range(source.num_row_groups):
                table = source.read_row_group(group, columns=eager, use_threads=False)
                columns = {name: table.column(name).to_pylist() for name in eager}
                for row in range(source.metadata.row_group(group).num_rows):
                    yield (
                        0,
                        {
                            name: columns[name][row] if name in columns else Cell(file, group, row, name)
                            for name in names
                        },
                        "",
                    )
    except _errors() as error:
        raise DataError(f"{file} {_said(error)}") from None


class _Chunks:
    """The columns of row groups that were read last, up to a number of bytes. Safe to use from several threads."""

    def __init__(self, most_bytes: int) -> None:
        self._most, self._held = most_bytes, 0
        self._kept: OrderedDict[tuple[Path, int, str], Any] = OrderedDict()
        self._lock = threading.Lock()  # held while reading: others mostly wait for the same row group

    def column(self, file: Path, group: int, name: str) -> Any:
        """A column of a row group, as pyarrow's ChunkedArray."""
        key = (file, group, name)
        with self._lock:
            if key not in self._kept:
                with _open(file) as source:
                    self._kept[key] = source.read_row_group(group, columns=[name], use_threads=False).column(name)
                self._held += self._kept[key].nbytes
            self._kept.move_to_end(key)
            while self._held > self._most and len(self._kept) > 1:
                self._held -= self._kept.popitem(last=False)[1].nbytes
            return self._kept[key]


_chunks = _Chunks(CACHE_BYTES)


def _open(file: Path) -> Any:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtra("parquet files", "parquet") from None
    return ParquetFile(file)


def _errors() -> tuple[type[Exception], ...]:
    """What pyarrow raises for a file that is broken or gone."""
    from pyarrow import ArrowException

    return ArrowException, OSError, ValueError, OverflowError


def _said(error: Exception) -> str:
    return f"can't be read as parquet: {' '.join(str(error).split())[:200]}"


def _holds_bytes(kind: Any) -> bool:
    from pyarrow import BaseExtensionType, types

    if isinstance(kind, BaseExtensionType):
        kind = kind.storage_type
    if types.is_dictionary(kind):
        return _holds_bytes(kind.value_type)
    if types.is_nested(kind):
        return any(_holds_bytes(kind.field(n).type) for n in range(kind.num_fields))
    return any(
        is_kind(kind)
        for is_kind in (types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view)
    )


def _checked_names(names: list[str], file: Path) -> list[str]:
    twice = [repr(name) for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{file} has several columns of the name {', '.join(twice)}")
    return names
