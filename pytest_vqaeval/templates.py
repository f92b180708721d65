"""Texts with `{field}` in them, as specs write them: `"{q_lang}_{answer_type|lower}"`.

No expressions: a field of the record, then filters. `{{` and `}}` stand for braces. `{metadata.task}` is a field inside
a field, `{answers.answer}` that of each mapping of a list.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.cells import is_cell

_LABEL = re.compile(r"^\s*[A-Z]:")  # the label that an option may carry: " A:X-ray "

FILTERS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "capitalize": str.capitalize,
    "strip": str.strip,
    "stem": lambda text: text.rsplit(".", 1)[0],
    "unlabel": lambda text: _LABEL.sub("", text, count=1).strip(),
    "digest": lambda text: _hash(text.encode("utf-8", "surrogatepass")),
}

ARGUMENT_FILTERS: dict[str, Callable[[str, str], str]] = {
    "after": lambda text, mark: text.partition(mark)[2] if mark in text else text,  # the first
    "before": lambda text, mark: text.rpartition(mark)[0] if mark in text else text,  # the last
    "strip": lambda text, chars: text.strip(chars),
    "mod": lambda text, number: str(_whole(text) % int(number)),
}
"""Filters with an argument: `{id|after:_}`."""

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template: literal texts, and pairs of field name and filters."""

    parts: tuple[str | tuple[str, tuple[str, ...]], ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of its fields."""
        return tuple(part[0] for part in self.parts if not isinstance(part, str))

    def template(self, fields: Mapping[str, Any]) -> Template:
        """The same for every record (see `Switch`)."""
        return self

    def render(self, fields: Mapping[str, Any]) -> str:
        """Fill the template in.

        Raises:
            DataError: a field that the record does not have, or that is no text or number.
        """
        return "".join(part if isinstance(part, str) else _value(fields, *part) for part in self.parts)


ELSE = "else"


@dataclass(frozen=True)
class Switch:
    """A template for each value of another one; `other` for all values that are not listed."""

    by: Template
    templates: Mapping[str, Template]
    other: Template | None = None
    said: str = ""  # `by` as it is written, for errors

    def template(self, fields: Mapping[str, Any]) -> Template:
        """The template for a record.

        Raises:
            DataError: there is none for the record's value of `by`.
        """
        value = self.by.render(fields)
        found = self.templates.get(value, self.other)
        if found is None:
            raise DataError(f"field {self.said!r} is {value!r}; the spec has cases for {', '.join(self.templates)}")
        return found

    def render(self, fields: Mapping[str, Any]) -> str:
        """Choose a template and fill it in.

        Raises:
            DataError: see `template` and `Template.render`.
        """
        return self.template(fields).render(fields)


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
    for piece in filters:
        step, colon, argument = piece.partition(":")
        known = ARGUMENT_FILTERS if colon else FILTERS
        if step not in known:
            listed = ", ".join([*FILTERS, *(f"{other}:..." for other in ARGUMENT_FILTERS)])
            raise ValueError(f"unknown filter {piece!r}{nearest(step, known)}; there are {listed}")
        if colon and (not argument or (step == "mod" and not argument.strip("0").isdecimal())):
            raise ValueError(f"the filter {step} can't use {argument!r}")
    return name, tuple(filters)


def _value(fields: Mapping[str, Any], name: str, filters: tuple[str, ...]) -> str:
    if filters[:1] == ("digest",) and not isinstance(value := lookup(fields, name), str | int | float | None):
        text, filters = _hash(_content(value, name)), filters[1:]
    else:
        text = field_text(fields, name)
    for step in filters:
        step, colon, argument = step.partition(":")
        text = ARGUMENT_FILTERS[step](text, argument) if colon else FILTERS[step](text)
    return text


def _content(value: Any, name: str) -> bytes:
    """The bytes of a medium that a field holds, a parquet cell perhaps."""
    value = value.load() if is_cell(value) else value
    content = value.get("bytes") if isinstance(value, Mapping) else value
    if isinstance(content, bytes):
        return content
    raise DataError(f"field {name!r} holds no bytes to make a digest of")


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise DataError(f"{text!r:.80} is not a whole number") from None


def lookup(fields: Mapping[str, Any], name: str) -> Any:
    """The value of a field, or of one inside it (`metadata.task`); None where there is none."""
    if name in fields or "." not in name:
        return fields.get(name)
    outer, _, inner = name.partition(".")
    value = fields.get(outer)
    if isinstance(value, list | tuple):
        return [lookup(item, inner) for item in value if isinstance(item, Mapping)]
    return lookup(value, inner) if isinstance(value, Mapping) else None


def field_text(fields: Mapping[str, Any], name: str) -> str:
    """The field as text; numbers as JSON writes them.

    Raises:
        DataError: it is absent, null, or a list or mapping.
    """
    value = lookup(fields, name)
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
