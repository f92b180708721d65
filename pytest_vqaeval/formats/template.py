"""Questions as a spec writes them: messages, options and reference filled in from the fields of the record."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.cells import alternatives, is_absent, is_cell
from pytest_vqaeval.formats.choice import choice_fields, read_options, right_labels
from pytest_vqaeval.formats.parts import Part as MessagePart
from pytest_vqaeval.formats.parts import media_part, text_part
from pytest_vqaeval.formats.placeholders import fill, referenced_media
from pytest_vqaeval.question import Message, Question, plain_text
from pytest_vqaeval.samplerule import INTERLEAVED, Options, Part, SampleRule
from pytest_vqaeval.templates import Switch, Template, lookup

_OPTION = re.compile(r"^[ \t]*\(?([A-Z])[.):][ \t]+(\S.*)$", re.MULTILINE)


def build_template(fields: Mapping[str, Any], rule: SampleRule, prompt: Template | Switch | None) -> Question:
    """Fill in prompt, messages, options and references.

    Raises:
        DataError: names the field.
    """
    options = _options(fields, rule.options) if rule.options else ()
    seen = {**fields, **(choice_fields(options) if options else {})}
    if prompt:
        seen["prompt"] = prompt.render(seen)
    messages: list[Message] = [
        {"role": message.role, "content": [made for part in message.parts for made in _parts(part, seen)]}
        for message in rule.messages
    ]
    references = _references(seen, rule.reference) if rule.reference else ()
    if options:
        references = right_labels(references, options, rule.answer, only_field(rule.reference) or "reference")
    return Question(_asked(rule.question, seen, messages), messages, references, options)


def _asked(question: Template | None, fields: Mapping[str, Any], messages: Sequence[Message]) -> str:
    """The question as people are shown it: without a field `question` it is what is sent."""
    if question and (only_field(question) != "question" or "question" in fields):
        return question.render(fields)
    return plain_text(messages[-1]) if messages else ""


def _options(fields: Mapping[str, Any], options: Options) -> tuple[str, ...]:
    if options.lines:
        found = _lines_of_options(options.lines.render(fields))
        if not found and not options.optional:
            raise DataError("there are no options in it: lines such as 'A. text'")
        return found
    if options.field:
        value = lookup(fields, options.field)
        if options.optional and (is_absent(value) or value in ([], "[]")):
            return ()
        return read_options(value, options.field)
    return tuple(template.render(fields) for template in options.templates)


def _lines_of_options(text: str) -> tuple[str, ...]:
    """The options in a question: lines `A. text`, `B. text` ... or with `)` or `:` after the label."""
    found: list[str] = []
    for label, option in _OPTION.findall(text):
        if label == ascii_uppercase[len(found)]:
            found.append(option.strip())
    return tuple(found) if len(found) > 1 else ()


def _parts(part: Part, fields: Mapping[str, Any]) -> list[MessagePart]:
    if part.kind == "text":
        return [text_part(part.template.render(fields))]
    if part.kind == INTERLEAVED:
        text = part.template.render(fields)
        return fill(text, referenced_media(fields, [text]))
    name = only_field(part.template)
    value = lookup(fields, name) if name else None
    if part.several and name:
        return [media_part(part.kind, item, name) for item in _items(value)]
    if name and not isinstance(value, str | int | float | None):
        return [media_part(part.kind, value, name)]  # the field holds the medium itself
    return [media_part(part.kind, part.template.render(fields), ", ".join(part.template.fields) or part.kind)]


def _items(value: Any) -> list[Any]:
    """The media of a field that may hold none, one or a list."""
    value = value.load() if is_cell(value) else value
    items = value if isinstance(value, list | tuple) else [value]
    return [item for item in items if not is_absent(item)]


def _references(fields: Mapping[str, Any], template: Template | Switch) -> tuple[str, ...]:
    """One reference, or several where the only field of the template is a list; none where it is null or empty."""
    template = template.template(fields)
    name = only_field(template)
    value = lookup(fields, name) if name else None
    if name is None or (value is None and name not in fields):
        return (template.render(fields),)
    if is_absent(value):
        return ()
    return tuple(template.render({name: text}) for text in alternatives(value, name))


def only_field(template: Template | Switch | None) -> str | None:
    """The field of a template that is one field and nothing else."""
    only = template.parts[0] if isinstance(template, Template) and len(template.parts) == 1 else None
    return only[0] if isinstance(only, tuple) else None
