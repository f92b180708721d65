"""CSV and TSV -> rows. Cells stay the text that they are: no limit of size, no guessing of missing values."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pytest_vqaeval.errors import DataError

_MOST_LINES = 500  # that one quoted cell may span

_Row = tuple[int, Any, str]  # line, value, problem


def read_csv(file: Path, lines: Iterable[str]) -> Iterator[_Row]:
    """The rows of a CSV file, as RFC 4180 has it."""
    return _rows(file, [line.rstrip("\r\n") for line in lines], ",")


def read_tsv(file: Path, lines: Iterable[str]) -> Iterator[_Row]:
    """The rows of a TSV file. A cell that begins with a quote which never closes is taken as it stands."""
    return _rows(file, [line.rstrip("\r\n") for line in lines], "\t")


def _rows(file: Path, lines: list[str], delimiter: str) -> Iterator[_Row]:
    if not lines:
        return
    header, used = _cells(lines, 0, delimiter, None)
    _check_header(file, header or [])
    while used < len(lines):
        line = used
        if not lines[line]:
            used += 1
            continue
        cells, used = _cells(lines, line, delimiter, len(header))
        yield (line + 1, *_row(header, cells))


def _check_header(file: Path, header: list[str]) -> None:
    for name in header:
        if not name.strip():
            raise DataError(f"{file}:1: a column has no name")
        if header.count(name) > 1:
            raise DataError(f"{file}:1: column {name!r} is there twice")


def _row(header: list[str], cells: list[str] | None) -> tuple[dict[str, str] | None, str]:
    if cells is None:
        return None, "has a quote that does not close"
    cells += [""] * (len(header) - len(cells))  # editors leave empty cells at the end out
    if len(cells) > len(header):
        return None, f"has {len(cells)} cells, not the {len(header)} of the header"
    if any("\0" in cell for cell in cells):
        return None, "holds a NUL byte"
    return dict(zip(header, cells, strict=True)), ""


def _cells(lines: list[str], start: int, delimiter: str, wanted: int | None) -> tuple[Any, int]:
    """The cells of the row that begins in a line, and the line behind it.

    A quoted cell may span lines; if it does not close within the file's next lines, or closes only by making a row of
    another width, the quote does not count: it must not swallow the rows that follow.
    """
    for end in range(start + 1, min(start + _MOST_LINES, len(lines)) + 1):
        cells = _parse("\n".join(lines[start:end]), delimiter)
        if cells is not None and (end == start + 1 or wanted is None or len(cells) <= wanted):
            return cells, end
    literal = lines[start].split(delimiter) if delimiter == "\t" else None
    return literal, start + 1


def _parse(text: str, delimiter: str) -> list[str] | None:
    """One row; None if a quoted cell is not closed."""
    if '"' not in text:
        return text.split(delimiter)
    limit = csv.field_size_limit(sys.maxsize)
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True))
    except (csv.Error, StopIteration):
        return None
    finally:
        csv.field_size_limit(limit)
