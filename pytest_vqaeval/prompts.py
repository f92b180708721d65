"""The prompt of a benchmark: one template, or one for each value of a field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.templates import Template, field_text
from pytest_vqaeval.yamlblock import Block


@dataclass(frozen=True)
class Prompt:
    """The prompt: one template, or one for each value of the field `by`."""

    templates: Mapping[str, Template]
    by: str | None = None

    def template(self, fields: Mapping[str, Any]) -> Template:
        """The template for a record.

        Raises:
            DataError: there is none for the record's value of `by`.
        """
        value = field_text(fields, self.by) if self.by else ""
        if value not in self.templates:
            raise DataError(f"field {self.by!r} is {value!r}; the spec has prompts for {', '.join(self.templates)}")
        return self.templates[value]


def read_prompt(block: Block) -> Prompt | None:
    """The `prompt:` of a spec.

    Raises:
        SpecError: names file, line and key.
    """
    if not block.has("prompt"):
        return None
    if not block.is_map("prompt"):
        return Prompt({"": block.template("prompt")})
    inner = block.block("prompt")
    by = inner.text("by", required=True)
    templates = {key: inner.template(key) for key in inner.names() if key != "by"}
    if not templates:
        raise block.error("prompt", f"has no template for any value of {by}")
    return Prompt(templates, by)
