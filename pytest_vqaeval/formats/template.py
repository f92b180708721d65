"""Questions as a spec writes them: messages, options and reference filled in from the fields of the record."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import Any

from pytest_vqaeval.formats.cells import alternatives, is_absent
from pytest_vqaeval.formats.choice import choice_fields, read_options, right_labels
from pytest_vqaeval.formats.parts import Part as MessagePart
from pytest_vqaeval.formats.parts import media_part, text_part
from pytest_vqaeval.prompts import Prompt
from pytest_vqaeval.question import Message, Question
from pytest_vqaeval.samplerule import Options, Part, SampleRule
from pytest_vqaeval.templates import Template


def build_template(fields: Mapping[str, Any], rule: SampleRule, prompt: Prompt | None) -> Question:
    """Fill in prompt, messages, options and references.

    Raises:
        DataError: names the field.
    """
    options = _options(fields, rule.options) if rule.options else ()
    seen: ChainMap[str, Any] = ChainMap(choice_fields(options) if options else {}, dict(fields))
    if prompt:
        seen = seen.new_child({"prompt": prompt.template(seen).render(seen)})
    messages: list[Message] = [
        {"role": message.role, "content": [_part(part, seen) for part in message.parts]} for message in rule.messages
    ]
    references = _references(seen, rule.reference) if rule.reference else ()
    if options:
        references = right_labels(references, options, rule.answer, only_field(rule.reference) or "reference")
    text = rule.question.render(seen) if rule.question else ""
    return Question(text, messages, references, options)


def _options(fields: Mapping[str, Any], options: Options) -> tuple[str, ...]:
    if options.field:
        return read_options(fields.get(options.field), options.field)
    return tuple(template.render(fields) for template in options.templates)


def _part(part: Part, fields: Mapping[str, Any]) -> MessagePart:
    if part.kind == "text":
        return text_part(part.template.render(fields))
    name = only_field(part.template)
    if name and not isinstance(fields.get(name), str | int | float | None):
        return media_part(part.kind, fields[name], name)  # the field holds the medium itself
    return media_part(part.kind, part.template.render(fields), ", ".join(part.template.fields) or part.kind)


def _references(fields: Mapping[str, Any], template: Template) -> tuple[str, ...]:
    """One reference, or several where the only field of the template is a list; none where it is null or empty."""
    name = only_field(template)
    if name is None or name not in fields:
        return (template.render(fields),)
    if is_absent(fields[name]):
        return ()
    return tuple(template.render({name: value}) for value in alternatives(fields[name], name))


def only_field(template: Template | None) -> str | None:
    """The field of a template that is one field and nothing else."""
    only = template.parts[0] if template and len(template.parts) == 1 else None
    return only[0] if isinstance(only, tuple) else None
