"""Media placeholders: `<image 1>` in a text stands for the column `image_1`, or the first of the list `images`.

EvalScope's rules: lower case, one space or underscore before the number; indexed columns go up to 100, a list has no
limit; a list counts only where no indexed column of its kind is filled.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.cells import is_absent, is_cell, read_list
from pytest_vqaeval.formats.parts import KINDS, Part, media_part, text_part

PLACEHOLDER = re.compile(r"<(image|video|audio)[ _]([0-9]+)>")
_COLUMN = re.compile(r"(image|video|audio)_([1-9][0-9]*)")
_LAST_COLUMN = 100

Key = tuple[str, int]
"""Kind and number, from 1."""


_RECORD: ContextVar[str] = ContextVar("record", default="")


class PlaceholderWarning(UserWarning):
    """A placeholder that nothing stands behind."""


@contextmanager
def of_record(where: str) -> Iterator[None]:
    """Warnings name this record: questions are asked ahead, so the item that runs says nothing."""
    token = _RECORD.set(f"{where}: ")
    try:
        yield
    finally:
        _RECORD.reset(token)


def has_placeholder(text: str) -> bool:
    """There is a placeholder in the text."""
    return PLACEHOLDER.search(text) is not None


def referenced_media(row: Mapping[str, Any], texts: Iterable[str]) -> dict[Key, Part]:
    """The media that the texts refer to; other columns may hold anything.

    Raises:
        DataError: a column that is referred to can't be used.
    """
    wanted = {_key(match) for text in texts for match in PLACEHOLDER.finditer(text)}
    found: dict[Key, Part] = {}
    for kind in KINDS:
        numbers = {number for of_kind, number in wanted if of_kind == kind}
        columns = {n for n in numbers if 1 <= n <= _LAST_COLUMN and not is_absent(row.get(f"{kind}_{n}"))}
        if columns:
            found.update({(kind, n): _of_column(row, kind, n) for n in columns})
        elif numbers:
            found.update(_of_list(row, kind, numbers))
    return found


def all_media(row: Mapping[str, Any]) -> dict[Key, Part]:
    """All media of the row; each column that is filled must be usable.

    Raises:
        DataError: a column can't be used.
    """
    columns = {_key(match) for name in row if (match := _COLUMN.fullmatch(str(name))) and not is_absent(row[name])}
    found: dict[Key, Part] = {}
    for kind in KINDS:
        numbers = {n for of_kind, n in columns if of_kind == kind and n <= _LAST_COLUMN}
        found.update({(kind, n): _of_column(row, kind, n) for n in numbers} or _of_list(row, kind, None))
    return found


def fill(text: str, media: Mapping[Key, Part]) -> list[Part]:
    """The text in parts, a medium in the place of each placeholder, in reading order.

    Pieces of white space are left out, and so are placeholders without a medium (with a warning).
    """
    parts: list[Part] = []
    end = 0
    for match in PLACEHOLDER.finditer(text):
        parts += _piece(text[end : match.start()])
        end = match.end()
        if part := media.get(_key(match)):
            parts.append(part)
        else:
            message = f"{_RECORD.get()}{match.group()} is left out: nothing stands for it"
            warnings.warn(PlaceholderWarning(message), stacklevel=2)
    return parts + _piece(text[end:])


def _piece(text: str) -> list[Part]:
    return [text_part(text)] if text.strip() else []


def _key(match: re.Match[str]) -> Key:
    return match.group(1), int(match.group(2))


def _of_column(row: Mapping[str, Any], kind: str, number: int) -> Part:
    name = f"{kind}_{number}"
    return media_part(kind, row[name], name, format=None if kind == "image" else row.get(f"{name}_format"))


def _of_list(row: Mapping[str, Any], kind: str, numbers: set[int] | None) -> dict[Key, Part]:
    """The entries of `images`, `videos` or `audios`, or those of some numbers; null and empty ones are holes."""
    name = f"{kind}s"
    items = _entries(row.get(name), name)
    return {
        (kind, n): media_part(kind, item, f"{name}[{n - 1}]")
        for n, item in enumerate(items, 1)
        if not is_absent(item) and (numbers is None or n in numbers)
    }


def _entries(value: Any, name: str) -> list[Any]:
    if is_cell(value):
        value = value.load()
    if is_absent(value):
        return []
    items = read_list(value) if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise DataError(f"field {name!r} is not a list of media (in a table: a JSON list)")
    return list(items)
