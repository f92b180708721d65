"""CSV and TSV -> rows of texts. RFC 4180 with any length of cell; nothing is guessed: `None`, `NA`, `01` stay texts.

The `csv` module is not used: its limit on cells belongs to the whole process, and a quote that is never closed takes
all rows that follow into its cell.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from pytest_vqaeval.errors import DataError

_QUOTE = '"'

_Row = tuple[int, dict[str, str | None] | None, str]  # line, value, problem


def read_csv(file: Path, lines: Iterator[str]) -> Iterator[_Row]:
    """The rows of a table with commas; each has as many cells as the header.

    Args:
        file: for errors.
        lines: of the file, each with its end.

    Returns:
        For each row that is not empty: its first line in the file (from 1), its cells by column name, its problem.

    Raises:
        DataError: the header can't be used.
    """
    return _Table(lines, ",", tolerant=False).rows(file)


def read_tsv(file: Path, lines: Iterator[str]) -> Iterator[_Row]:
    """The rows of a table with tabs, as `read_csv`; but many such tables are written without quoting.

    So a cell that begins with a quote and is no well-formed quoted cell is taken as it stands, and cells at the end of
    a row may be left out, as in EvalScope's own examples: they are None, while an empty cell is `""`.
    """
    return _Table(lines, "\t", tolerant=True).rows(file)


class _Malformed(Exception):
    """Says what is wrong with a row."""


class _Table:
    """Reads rows. A row that can't be read is one line: what was read after it, for a closing quote, is read anew."""

    def __init__(self, lines: Iterator[str], delimiter: str, *, tolerant: bool) -> None:
        self._lines, self._delimiter, self._tolerant = lines, delimiter, tolerant
        self._ahead: deque[str] = deque()  # lines that are to be read anew
        self._line = 0  # number of the line that was read last
        self._width = 0  # cells of the header

    def rows(self, file: Path) -> Iterator[_Row]:
        names: list[str] = []
        while line := self._next():
            if not _length(line):
                continue
            first = self._line
            further: list[str] = []
            try:
                cells = self._cells(line, further)
                if names:
                    yield first, self._fields(names, cells), ""
                else:
                    names = _checked_names(cells)
                    self._width = len(names)
            except _Malformed as error:
                if not names:
                    raise DataError(f"{file}:{first}: the header {error}") from None
                self._put_back(further)
                yield first, None, str(error)

    def _next(self) -> str:
        """The next line, or an empty text after the last."""
        line = self._ahead.popleft() if self._ahead else next(self._lines, "")
        self._line += bool(line)
        return line

    def _put_back(self, lines: list[str]) -> None:
        self._ahead.extendleft(reversed(lines))
        self._line -= len(lines)

    def _fields(self, names: list[str], cells: list[str]) -> dict[str, str | None]:
        if len(cells) > len(names) or (len(cells) < len(names) and not self._tolerant):
            counted = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
            raise _Malformed(f"has {counted}, not the {len(names)} of the header")
        row = dict(zip_longest(names, cells))
        for name, cell in row.items():
            if cell and "\0" in cell:
                raise _Malformed(f"field {name!r} holds a NUL byte")
        return row

    def _cells(self, line: str, further: list[str]) -> list[str]:
        """The cells of the row that begins with a line; the lines after it that belong to the row go to `further`."""
        if _QUOTE not in line:
            return line[: _length(line)].split(self._delimiter)
        cells: list[str] = []
        at = 0
        while True:
            if line.startswith(_QUOTE, at):
                cell, line, at = self._quoted(line, at, len(cells), further)
            else:
                cell, at = self._plain(line, at)
            cells.append(cell)
            if at == _length(line):
                return cells
            if further and len(cells) == self._width:  # stop here: pairs of stray quotes might go on to the end
                raise _Malformed(f"has more than the {self._width} cells of the header")
            at += 1

    def _plain(self, line: str, start: int) -> tuple[str, int]:
        """A cell as it stands, and its end."""
        end = line.find(self._delimiter, start)
        end = _length(line) if end < 0 else end
        return line[start:end], end

    def _quoted(self, line: str, start: int, before: int, further: list[str]) -> tuple[str, str, int]:
        """The cell whose quote opens at `start`, after `before` others; the line in which it ends, its end there."""
        last, read = line, list[str]()
        closed = _closing(line, start + 1)
        while closed < 0 and (last := self._next()):
            read.append(last)
            closed = _closing(last, 0)
        end = closed + 1
        well_formed = closed >= 0 and (end == _length(last) or last.startswith(self._delimiter, end))
        if well_formed and not (self._tolerant and self._swallows(line[start:], before, read)):
            further += read
            whole = "".join([line, *read])
            text = whole[start + 1 : len(whole) - len(last) + closed]
            return text.replace(_QUOTE * 2, _QUOTE), last, end
        self._put_back(read)
        if self._tolerant:
            cell, end = self._plain(line, start)
            return cell, line, end
        what = "a quote that is never closed" if closed < 0 or read else "text after the closing quote"
        raise _Malformed(f"has {what} in cell {before + 1}; inside a quoted cell a quote is written twice")

    def _swallows(self, rest: str, before: int, read: list[str]) -> bool:
        """If the quote were a mere character, this line and all those that the cell takes in would be rows."""
        ends = before + rest.count(self._delimiter) + 1 == self._width
        return ends and bool(read) and all(line.count(self._delimiter) + 1 == self._width for line in read)


def _length(line: str) -> int:
    """The number of a line's characters without its end."""
    return len(line) - (2 if line.endswith("\r\n") else line.endswith("\n"))


def _closing(line: str, start: int) -> int:
    """Where the quoted cell ends that is open at `start`: at the first quote that is not doubled; -1: not here."""
    at = line.find(_QUOTE, start)
    while at >= 0 and line.startswith(_QUOTE, at + 1):
        at = line.find(_QUOTE, at + 2)
    return at


def _checked_names(names: list[str]) -> list[str]:
    if any("\r" in name for name in names):
        raise _Malformed("is all in one line with the rows: lines end in CR alone; save the file with LF or CRLF")
    unnamed = [str(n) for n, name in enumerate(names, 1) if not name.strip()]
    if unnamed:
        raise _Malformed(f"has no name for column {', '.join(unnamed)}")
    twice = [repr(name) for name, count in Counter(names).items() if count > 1]
    if twice:
        raise _Malformed(f"has several columns of the name {', '.join(twice)}")
    return names
