"""Cells that hold several values: a list, or a text that is one (JSON or a Python literal), as tables write it."""

from __future__ import annotations

import ast
import json
from typing import Any

from pytest_vqaeval.errors import DataError


def is_absent(value: Any) -> bool:
    """Nothing stands there: null, or an empty text."""
    return value is None or value == ""


def is_cell(value: Any) -> bool:
    """A cell of a parquet file that is not read yet: `load()` gives its value."""
    return callable(getattr(value, "load", None))


def read_list(text: str) -> list[Any] | None:
    """The list that a text is: JSON, else a Python literal; None if it is neither, or no list."""
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        return list(value) if isinstance(value, list | tuple) else None
    return None


def alternatives(value: Any, name: str) -> tuple[str, ...]:
    """The texts of a cell with one or several answers; empty where there is none.

    A text is a list only if it is one of texts: the answer `[1, 2]` stays one answer.

    Raises:
        DataError: an answer is no text or number; names the field.
    """
    if isinstance(value, str) and value.lstrip().startswith("["):
        inner = read_list(value)
        if inner and all(isinstance(item, str) for item in inner):
            value = inner
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(_text(item, name) for item in items if not is_absent(item))


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str | int | float):
        raise DataError(f"field {name!r} is not a text, a number or a list of them")
    return str(value).lower() if isinstance(value, bool) else str(value)
