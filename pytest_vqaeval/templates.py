"""Texts with `{field}` in them, as specs write them: `"{q_lang}_{answer_type|lower}"`.

No expressions, no attribute access: a field of the record, then filters. `{{` and `}}` stand for braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from pytest_vqaeval.errors import DataError

_LABEL = re.compile(r"^\s*[A-Z]:")  # the label that an option may carry: " A:X-ray "

FILTERS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "strip": str.strip,
    "stem": lambda text: text.rsplit(".", 1)[0],
    "unlabel": lambda text: _LABEL.sub("", text, count=1).strip(),
}

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template: literal texts, and pairs of field name and filters."""

    parts: tuple[str | tuple[str, tuple[str, ...]], ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of its fields."""
        return tuple(part[0] for part in self.parts if not isinstance(part, str))

    def render(self, fields: Mapping[str, Any]) -> str:
        """Fill the template in.

        Raises:
            DataError: a field that the record does not have, or that is no text or number.
        """
        return "".join(part if isinstance(part, str) else _value(fields, *part) for part in self.parts)


@lru_cache(maxsize=1024)
def parse(text: str) -> Template:
    """Parse a template.

    Raises:
        ValueError: a lone brace, an empty field name or an unknown filter.
    """
    parts: list[str | tuple[str, tuple[str, ...]]] = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in ("{{", "}}"):
            parts.append(token[0])
        elif token in ("{", "}"):
            raise ValueError(f"a lone {token} in {text!r} (write {token * 2} for a brace)")
        elif token.startswith("{"):
            parts.append(_field(match.group(1)))
        else:
            parts.append(token)
    return Template(tuple(parts))


def _field(inner: str) -> tuple[str, tuple[str, ...]]:
    name, *filters = (piece.strip() for piece in inner.split("|"))
    if not name:
        raise ValueError("{} names no field")
    for unknown in (piece for piece in filters if piece not in FILTERS):
        raise ValueError(f"unknown filter {unknown!r}{nearest(unknown, FILTERS)}; there are {', '.join(FILTERS)}")
    return name, tuple(filters)


def _value(fields: Mapping[str, Any], name: str, filters: tuple[str, ...]) -> str:
    text = field_text(fields, name)
    for step in filters:
        text = FILTERS[step](text)
    return text


def field_text(fields: Mapping[str, Any], name: str) -> str:
    """The field as text; numbers as JSON writes them.

    Raises:
        DataError: it is absent, null, or a list or mapping.
    """
    value = fields.get(name)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if value is None:
        has = "is null" if name in fields else f"is missing{nearest(name, fields)}"
        raise DataError(f"field {name!r} {has}")
    raise DataError(f"field {name!r} is {_json_kind(value)}, not a text")


def _json_kind(value: Any) -> str:
    return "a list" if isinstance(value, list | tuple) else "a mapping" if isinstance(value, dict) else "no JSON value"


def nearest(word: str, among: Mapping[str, Any] | tuple[str, ...]) -> str:
    """`; did you mean 'x'?`, or nothing where no word is close."""
    close = get_close_matches(str(word), [str(w) for w in among], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
