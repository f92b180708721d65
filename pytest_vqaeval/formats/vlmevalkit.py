"""VLMEvalKit's tables: multiple choice (options in columns A, B, C …), and question and answer.

Pictures are in `image` (base64, a list of them, or the index of the row that has the picture) or in `image_path`. Where
a table has both, `image` is the picture and `image_path` its name. What is asked is VLMEvalKit's wording.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import Any

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.cells import alternatives, is_absent, is_cell, read_list
from pytest_vqaeval.formats.choice import choice_fields, right_labels
from pytest_vqaeval.formats.parts import Part, media_part, text_part
from pytest_vqaeval.question import Question, labels
from pytest_vqaeval.records import Record
from pytest_vqaeval.templates import Template, field_text, parse

CATEGORY_COLUMNS = ("category", "l2-category", "l2_category", "split")
ONE_WORD = parse("{question}\nAnswer the question with one word or phrase.")
_LONGEST_INDEX = 64  # characters of an `image` cell that is the index of another row


def build_table_choice(row: Mapping[str, Any], prompt: Template | None = None, answer: str = "label") -> Question:
    """The question of a row of a multiple-choice table.

    Args:
        row: `question`, options in `A`, `B` …, perhaps `hint`, `answer` and a picture.
        prompt: sees the fields of the record, `letters` and `choices`; None for VLMEvalKit's wording.
        answer: how the record says which option is right (see `choice.right_labels`).

    Raises:
        DataError: names the field.
    """
    options = _options(row)
    references = right_labels(row.get("answer"), options, answer)
    text = prompt.render({**row, **choice_fields(options)}) if prompt else _wording(row, options)
    return _question(row, text, references, options)


def build_table_vqa(row: Mapping[str, Any], prompt: Template = ONE_WORD) -> Question:
    """The question of a row of a question-and-answer table: `question`, `answer` and a picture.

    Raises:
        DataError: names the field.
    """
    return _question(row, prompt.render(row), alternatives(row.get("answer"), "answer"), ())


def link_pictures(records: Sequence[Record]) -> list[Record]:
    """The records with the picture itself in the place of the index of the row that has it."""
    with_picture: dict[str, Record] = {}
    for record in records:
        if "index" in record.row and not _is_index(record.row.get("image")):
            with_picture.setdefault(str(record.row["index"]), record)
    return [_linked(record, with_picture) for record in records]


def _is_index(image: Any) -> bool:
    """Whether a cell names another row, or is empty."""
    return is_absent(image) or isinstance(image, int) or (isinstance(image, str) and len(image) <= _LONGEST_INDEX)


def _linked(record: Record, with_picture: Mapping[str, Record]) -> Record:
    image = record.row.get("image")
    if is_absent(image) or not _is_index(image):
        return record
    other = with_picture.get(str(image).strip())
    if other is None:
        return replace(record, problem=f"field 'image' is {str(image)!r}, and no row with this index has a picture")
    return replace(record, row={**record.row, "image": other.row["image"]})


def _question(row: Mapping[str, Any], text: str, references: tuple[str, ...], options: tuple[str, ...]) -> Question:
    content = [*_pictures(row), text_part(text)]
    return Question(field_text(row, "question"), [{"role": "user", "content": content}], references, options, row)


def _options(row: Mapping[str, Any]) -> tuple[str, ...]:
    filled = [letter for letter in ascii_uppercase if not is_absent(row.get(letter))]
    if len(filled) < 2:
        raise DataError("fields 'A' and 'B': at least two options are needed")
    if filled != list(ascii_uppercase[: len(filled)]):
        gap = next(letter for letter in ascii_uppercase if letter not in filled)
        raise DataError(f"field {gap!r} is empty, and there are options after it")
    return tuple(field_text(row, letter) for letter in filled)


def _wording(row: Mapping[str, Any], options: Sequence[str]) -> str:
    hint = [] if is_absent(row.get("hint")) else [f"Hint: {field_text(row, 'hint')}"]
    lines = [f"{label}. {option}" for label, option in zip(labels(len(options)), options, strict=True)]
    question = f"Question: {field_text(row, 'question')}"
    return "\n".join([*hint, question, "Options:", *lines, "Please select the correct answer from the options above."])


def _pictures(row: Mapping[str, Any]) -> Iterator[Part]:
    """The pictures of a row; none in a table without columns for them."""
    columns = {name: _loaded(row[name]) for name in ("image", "image_path") if name in row}
    name = next((name for name, value in columns.items() if not is_absent(value)), None)
    if name is None:
        if columns:
            raise DataError(f"field {list(columns)[-1]!r} is empty: the table has pictures, and this row has none")
        return
    for n, value in enumerate(_several(columns[name])):
        place = f"{name}[{n}]"
        yield media_part("image", _decoded(value, place) if name == "image" else value, place)


def _loaded(value: Any) -> Any:
    return value.load() if is_cell(value) else value


def _several(value: Any) -> list[Any]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = read_list(value) or value
    return list(value) if isinstance(value, list | tuple) else [value]


def _decoded(value: Any, place: str) -> Any:
    """The bytes of a base64 text; data URLs and cells of other kinds as they are."""
    if not isinstance(value, str) or value.startswith("data:"):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise DataError(f"field {place!r} is not base64 (a path belongs in image_path)") from None
