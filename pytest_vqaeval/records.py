"""Data files -> records. A broken row is a record with a problem, a broken file is a `DataError`."""

from __future__ import annotations

import codecs
import json
import math
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.parquet import Remote, read_parquet
from pytest_vqaeval.tables import read_csv, read_tsv

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # those of UTF-32 begin alike


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a data file.

    Attributes:
        row: the fields; empty if there is a problem.
        file: the data file.
        number: the row's position, from 0.
        before: how many rows the files before it have, where several files are one table.
        line: its (first) line in the file, from 1; 0 where rows have no lines of their own.
        problem: why the row can't be used.
    """

    row: dict[str, Any]
    file: Path
    number: int
    line: int = 0
    problem: str = field(default="")
    before: int = 0

    @property
    def row_number(self) -> int:
        """The row's position in the table that all files are, from 0."""
        return self.before + self.number

    @property
    def where(self) -> str:
        """`test.jsonl:17`, or `test.json[16]` where rows have no lines."""
        return f"{self.file.name}:{self.line}" if self.line else f"{self.file.name}[{self.number}]"


def read_records(file: Path | Remote, columns: Sequence[str] = ()) -> list[Record]:
    """All records of a data file.

    Cells of CSV and TSV are texts as they stand. Cells of parquet that hold bytes are `parquet.Cell`, not read yet.

    Args:
        file: the file; its name says the format. Only parquet can be read in place on a server.
        columns: the names of the columns, where rows are JSON arrays.

    Raises:
        DataError: the file is absent, broken as a whole, holds no rows, or is of no known format.
        MissingExtra: it is a parquet file, and pyarrow is not installed.
    """
    if not isinstance(file, Path):
        with file.alone():
            return _recorded(file.path, read_parquet(file), columns)
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise DataError(f"{file}: no known format of records; there are {', '.join(_READERS)}")
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # reading a pipe would wait
            raise DataError(f"{file} is not a file")
        return _recorded(file, reader(file), columns)
    except FileNotFoundError:
        raise DataError(f"{file} is not there") from None
    except OSError as error:
        raise DataError(f"{file} can't be read: {error.strerror or error}") from None


_Row = tuple[int, Any, str]  # line, value, problem


def _recorded(file: Path, rows: Iterator[_Row], columns: Sequence[str]) -> list[Record]:
    records = [_record(file, columns, number, *row) for number, row in enumerate(rows)]
    if not records:
        raise DataError(f"{file} holds no records")
    return records


def _record(file: Path, columns: Sequence[str], number: int, line: int, value: Any, problem: str) -> Record:
    if not problem and columns and isinstance(value, list):
        if len(value) == len(columns):
            value = dict(zip(columns, value, strict=True))
        else:
            problem = f"has {len(value)} columns, not the {len(columns)} of `columns`"
    if not problem and not isinstance(value, dict):
        problem = "is not an object of fields"
    return Record({} if problem else value, file, number, line, problem)


def _read_lines(file: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, each with its end; without the byte order mark."""
    start = 0  # of the line, in the file
    with file.open("rb") as handle:  # bytes end a line at \n only: U+2028 may stand inside a JSON text
        for number, line in enumerate(handle, 1):
            if number == 1 and (line.startswith(_UTF16_MARKS) or b"\0" in line[:4]):
                raise DataError(f"{file}:1: is UTF-16 or no text (byte 0); save the file as UTF-8")
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                at = start + error.start
                raise DataError(f"{file}:{number}: is not UTF-8 (byte {at}); save the file as UTF-8") from None
            yield text.removeprefix("\ufeff") if number == 1 else text
            start += len(line)


class _NotJSON(ValueError):
    """Says why a text can't be read, and in which of its lines, from 1; 0 where that isn't known."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(problem)
        self.line = line


def _decoder() -> json.JSONDecoder:
    names: dict[str, str] = {}
    share = names.setdefault  # all objects share their keys: a quarter of the memory of 50,000 records

    def fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {share(name, name): value for name, value in pairs}

    return json.JSONDecoder(object_pairs_hook=fields, parse_float=_finite, parse_constant=_finite)


def _finite(text: str) -> float:
    """RFC 8259, section 6: NaN and infinity are no numbers of JSON, and what overflows can't be written again."""
    value = float(text)
    if math.isfinite(value):
        return value
    raise _NotJSON(f"is not valid JSON: {text:.20} is no finite number")


def _decode(text: str, decoder: json.JSONDecoder) -> Any:
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        raise _NotJSON(f"is not valid JSON: {error.msg} (column {error.colno})", error.lineno) from None
    except RecursionError:
        raise _NotJSON("is nested too deeply") from None
    except _NotJSON:
        raise
    except ValueError:  # the interpreter's limit
        raise _NotJSON(f"holds a whole number of more than {sys.get_int_max_str_digits():,} digits") from None


def _read_json(file: Path) -> Iterator[_Row]:
    try:
        rows = _decode("".join(_read_lines(file)), _decoder())
    except _NotJSON as error:
        hint = "; a file with one object a line is named .jsonl" if "Extra data" in str(error) else ""
        raise DataError(f"{file}{f':{error.line}' if error.line else ''}: {error}{hint}") from None
    if isinstance(rows, dict) and rows and all(isinstance(row, dict) for row in rows.values()):
        rows = [{"key": key, **row} for key, row in rows.items()]  # records by id, as GQA has them
    if not isinstance(rows, list):
        raise DataError(f"{file}: is not a JSON array of records")
    return ((0, row, "") for row in rows)


def _read_jsonl(file: Path) -> Iterator[_Row]:
    decoder = _decoder()
    for number, line in enumerate(_read_lines(file), 1):
        text = line.strip(" \t\r\n")
        if not text:
            continue
        try:
            value = _decode(text, decoder)
        except _NotJSON as error:
            yield number, None, str(error)
        else:
            yield number, value, ""


_READERS: dict[str, Callable[[Path], Iterator[_Row]]] = {
    ".jsonl": _read_jsonl,
    ".json": _read_json,
    ".csv": lambda file: read_csv(file, _read_lines(file)),
    ".tsv": lambda file: read_tsv(file, _read_lines(file)),
    ".parquet": read_parquet,
}
