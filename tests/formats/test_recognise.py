"""Columns of a data file -> the way its questions are written."""

import pytest

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.recognise import recognise


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ("messages answer", "messages"),
        ("messages image_1 answer", "messages"),
        ("question options answer image_1", "vmcq"),
        ("index category answer question A B C D image_path", "vlmevalkit_choice"),
        ("index question A B answer category l2_category bench", "vlmevalkit_choice"),
        ("index answer question image_path", "vlmevalkit_vqa"),
        ("index answer question image", "vlmevalkit_vqa"),
    ],
)
def test_a_format_is_told_by_its_columns(columns: str, name: str) -> None:
    assert recognise([dict.fromkeys(columns.split())], "f").name == name


def test_a_first_row_that_lacks_a_column_does_not_matter() -> None:
    assert recognise([{"question": "q"}, {"question": "q", "options": []}], "f").name == "vmcq"


def test_nothing_fits() -> None:
    with pytest.raises(DataError) as error:
        recognise([{"prompt": "q", "answer": "a"}], "q.jsonl")
    assert str(error.value) == (
        "q.jsonl: no known format has its columns (prompt, answer); there are General-VQA (messages); General-VMCQ "
        "(question, options); VLMEvalKit multiple choice (question, A, B); VLMEvalKit question and answer "
        "(question, image or image_path)"
    )
