"""General-VMCQ: `question`, `options` and `answer`, with media placeholders in question and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.cells import alternatives, is_absent, read_list
from pytest_vqaeval.formats.parts import Part
from pytest_vqaeval.formats.placeholders import all_media, fill
from pytest_vqaeval.question import Question, labels
from pytest_vqaeval.templates import Template, field_text, parse

STEP_BY_STEP = parse(
    "Answer the following multiple choice question. The last line of your response should be of the following format: "
    "'ANSWER: [LETTER]' (without quotes) where [LETTER] is one of {letters}. Think step by step before answering.\n\n"
    "{question}\n\n{choices}"
)
"""EvalScope's template for multiple choice with reasoning."""

_FORMS = {"choices": "{}) {}", "choices_dot": "{}. {}", "choices_round": "({}) {}"}

ANSWERS = ("label", "index", "text")
"""How a record may say which option is right."""


def build_choice(row: Mapping[str, Any], prompt: Template = STEP_BY_STEP, answer: str = "label") -> Question:
    """The question of a row with `question`, `options` (list or a text that is one), `answer` and media columns.

    Args:
        row: the record.
        prompt: sees the fields of the record, `letters` and `choices`.
        answer: one of `ANSWERS`.

    Raises:
        DataError: names the field.
    """
    question = field_text(row, "question")
    options = read_options(row.get("options"), "options")
    references = right_labels(row.get("answer"), options, answer)
    text = prompt.render({**row, **choice_fields(options)})
    return Question(question, [{"role": "user", "content": fill(text, all_media(row))}], references, options, row)


def choice_media(row: Mapping[str, Any]) -> list[Part]:
    """Question and options in parts, media among them: the media of the whole question, without its prompt.

    Raises:
        DataError: names the field.
    """
    options = read_options(row.get("options"), "options")
    return fill("\n".join([field_text(row, "question"), *options]), all_media(row))


def choice_fields(options: Sequence[str]) -> dict[str, str]:
    """What prompts may use: `letters` (`A,B,C`), and a line for each option.

    The lines are `choices` (`A) text`), `choices_dot` (`A. text`) and `choices_round` (`(A) text`).
    """
    names = labels(len(options))
    lines = {
        field: "\n".join(form.format(name, option) for name, option in zip(names, options, strict=True))
        for field, form in _FORMS.items()
    }
    return {"letters": ",".join(names), **lines}


def read_options(value: Any, name: str) -> tuple[str, ...]:
    """The options of a cell: a list, or a text that is a JSON or Python list.

    Raises:
        DataError: it is something else, or there are none.
    """
    items = read_list(value) if isinstance(value, str) else value
    if is_absent(value):
        raise DataError(f"field {name!r} is missing")
    if not isinstance(items, list | tuple):
        raise DataError(f"field {name!r} is not a list of options (in a table: a JSON list)")
    if not items:
        raise DataError(f"field {name!r} is an empty list")
    return tuple(map(str, items))


def right_labels(value: Any, options: Sequence[str], how: str, name: str = "answer") -> tuple[str, ...]:
    """The labels of the right options; empty where the record has no answer.

    Args:
        value: the cell of the answer, or a list of several.
        options: the texts of the options.
        how: `label` (in any case; where none fits, the exact text of an option), `index` (from 0) or `text`.
        name: the field, for errors.

    Raises:
        DataError: it names no option.
    """
    return tuple(_label(text, options, how, name) for text in alternatives(value, name))


def _label(text: str, options: Sequence[str], how: str, name: str) -> str:
    names, wanted = labels(len(options)), text.strip()
    if how == "label" and wanted.upper() in names:
        return wanted.upper()
    if how == "index":
        if wanted.isdecimal() and int(wanted) < len(names):
            return names[int(wanted)]
        raise DataError(f"field {name!r} is {text!r}, no index of the {len(names)} options (0 to {len(names) - 1})")
    for label, option in zip(names, options, strict=True):
        if option.strip() == wanted:
            return label
    known = f"none of the labels {','.join(names)} and no option's text" if how == "label" else "no option's text"
    raise DataError(f"field {name!r} is {text!r:.80}, {known}")
