"""Cells that hold several values: a list, or a text that is one (JSON or a Python literal), as tables write it."""

from __future__ import annotations

import ast
import json
from typing import Any


def is_absent(value: Any) -> bool:
    """Nothing stands there: null, or an empty text."""
    return value is None or value == ""


def read_list(text: str) -> list[Any] | None:
    """The list that a text is: JSON, else a Python literal; None if it is neither, or no list."""
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        return list(value) if isinstance(value, list | tuple) else None
    return None


def alternatives(value: Any) -> tuple[str, ...]:
    """The texts of a cell with one or several answers; empty where there is none.

    A text is a list only if it is a JSON list of texts: the answer `[1, 2]` stays one answer.
    """
    if isinstance(value, str) and value.lstrip().startswith("["):
        inner = read_list(value)
        if inner and all(isinstance(item, str) for item in inner):
            value = inner
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(as_text(item) for item in items if not is_absent(item))


def as_text(value: Any) -> str:
    """A value as text; true and false as JSON writes them."""
    return str(value).lower() if isinstance(value, bool) else str(value)
