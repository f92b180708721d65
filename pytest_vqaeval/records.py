"""Data files -> records. A broken row is a record with a problem, a broken file is a `DataError`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_vqaeval.errors import DataError


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a data file.

    Attributes:
        row: the fields; empty if there is a problem.
        file: the data file.
        number: the row's position, from 0.
        line: its line in the file, from 1; 0 where rows have no lines of their own.
        problem: why the row can't be used.
    """

    row: dict[str, Any]
    file: Path
    number: int
    line: int = 0
    problem: str = field(default="")

    @property
    def where(self) -> str:
        """`test.jsonl:17`, or `test.json[16]` where rows have no lines."""
        return f"{self.file.name}:{self.line}" if self.line else f"{self.file.name}[{self.number}]"


def read_records(file: Path, columns: Sequence[str] = ()) -> list[Record]:
    """All records of a data file.

    Args:
        file: the file; its name says the format.
        columns: the names of the columns, where rows are JSON arrays.

    Raises:
        DataError: the file is absent, broken as a whole, holds no rows, or is of no known format.
    """
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise DataError(f"{file}: no known format of records; there are {', '.join(_READERS)}")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{file} is not there") from None
    except OSError as error:
        raise DataError(f"{file} can't be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DataError(f"{file}:{line}: is not UTF-8 (byte {error.start}); save the file as UTF-8") from None
    records = [_record(file, columns, *item) for item in reader(file, text)]
    if not records:
        raise DataError(f"{file} holds no records")
    return records


_Row = tuple[int, int, Any, str]  # number, line, value, problem


def _record(file: Path, columns: Sequence[str], number: int, line: int, value: Any, problem: str) -> Record:
    if not problem and columns and isinstance(value, list):
        if len(value) == len(columns):
            value = dict(zip(columns, value, strict=True))
        else:
            problem = f"has {len(value)} columns, not the {len(columns)} of `columns`"
    if not problem and not isinstance(value, dict):
        problem = "is not an object of fields"
    return Record({} if problem else value, file, number, line, problem)


def _read_json(file: Path, text: str) -> Iterator[_Row]:
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{file}:{error.lineno}: is not valid JSON: {error.msg} (column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file}: is not valid JSON: {type(error).__name__}") from None
    if not isinstance(rows, list):
        raise DataError(f"{file}: is not a JSON array of records")
    return ((number, 0, row, "") for number, row in enumerate(rows))


def _read_jsonl(_file: Path, text: str) -> Iterator[_Row]:
    number = 0
    for line, row in enumerate(text.split("\n"), 1):  # not splitlines: U+2028 may stand inside a JSON text
        if row.strip():
            yield (number, line, *_json_value(row))
            number += 1


def _json_value(text: str) -> tuple[Any, str]:
    try:
        return json.loads(text), ""
    except json.JSONDecodeError as error:
        return None, f"is not valid JSON: {error.msg} (column {error.colno})"
    except (ValueError, RecursionError) as error:
        return None, f"is not valid JSON: {type(error).__name__}"


_READERS: dict[str, Callable[[Path, str], Iterator[_Row]]] = {".json": _read_json, ".jsonl": _read_jsonl}
