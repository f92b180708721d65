"""VLMEvalKit's tables."""

import base64
from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.vlmevalkit import build_table_choice, build_table_vqa, link_pictures
from pytest_vqaeval.media import Media
from pytest_vqaeval.records import Record

PICTURE = base64.b64encode(bytes(range(60))).decode()


def row(**changes: Any) -> dict[str, Any]:
    return {"index": "1", "question": "Which?", "A": "cat", "B": "dog", "C": "", "answer": "b", **changes}


def pictures(question: Any) -> list[Any]:
    return [part["image_url"]["url"].source for part in question.messages[0]["content"][:-1]]


def test_multiple_choice() -> None:
    question = build_table_choice(row(hint="Look.", image_path="/data/LMUData/images/x.jpg"))
    (message,) = question.messages
    picture, text = message["content"]
    assert picture["image_url"] == {"url": Media("image", "/data/LMUData/images/x.jpg"), "detail": "auto"}
    assert text["text"] == (
        "Hint: Look.\nQuestion: Which?\nOptions:\nA. cat\nB. dog\n"
        "Please select the correct answer from the options above."
    )
    assert (question.options, question.references) == (("cat", "dog"), ("B",))


class Unread:
    """A stand-in for a parquet cell."""

    def __init__(self, value: Any) -> None:
        self.load = lambda: value


def test_an_empty_parquet_cell_is_no_picture() -> None:
    assert pictures(build_table_choice(row(image=Unread(None), image_path="x.jpg"))) == ["x.jpg"]
    assert pictures(build_table_choice(row(image=Unread([b"a", b"b"]), image_path="x.jpg"))) == [b"a", b"b"]


def test_question_and_answer() -> None:
    question = build_table_vqa({"question": "What?", "answer": "Dog", "image_path": "x.jpg"})
    assert question.messages[0]["content"][-1]["text"] == "What?\nAnswer the question with one word or phrase."
    assert (question.text, question.references, question.options) == ("What?", ("Dog",), ())


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({}, []),
        ({"image": PICTURE}, [bytes(range(60))]),
        ({"image": f"['{PICTURE}', '{PICTURE}']"}, [bytes(range(60))] * 2),
        ({"image": PICTURE, "image_path": "name.jpg"}, [bytes(range(60))]),
        ({"image": "", "image_path": "x.jpg"}, ["x.jpg"]),
        ({"image_path": '["x.jpg", "y.jpg"]'}, ["x.jpg", "y.jpg"]),
        ({"image": "data:image/png;base64,AAAA"}, ["data:image/png;base64,AAAA"]),
        ({"image": {"bytes": b"png", "path": None}}, [b"png"]),
    ],
)
def test_where_pictures_are(cells: dict[str, Any], expected: list[Any]) -> None:
    assert pictures(build_table_choice(row(**cells))) == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"B": ""}, "fields 'A' and 'B': at least two options are needed"),
        ({"D": "cow"}, "field 'C' is empty, and there are options after it"),
        ({"answer": "D"}, "field 'answer' is 'D', none of the labels A,B and no option's text"),
        ({"image": "a/b.jpg"}, "field 'image[0]' is not base64 (a path belongs in image_path)"),
        ({"image": "", "image_path": ""}, "field 'image_path' is empty: the table has pictures, and this row has none"),
        ({"question": None}, "field 'question' is null"),
    ],
)
def test_errors_name_the_field(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as error:
        build_table_choice(row(**changes))
    assert str(error.value) == message


def test_the_index_of_another_row_stands_for_its_picture() -> None:
    cells = [{"image": PICTURE}, {"image": "0"}, {"image": "7"}, {"image": "1"}, {}]
    records = [Record(row(index=str(n), **more), Path("t.tsv"), n, n + 2) for n, more in enumerate(cells)]
    linked = link_pictures(records)
    assert pictures(build_table_choice(linked[1].row)) == [bytes(range(60))]
    for record in linked[2:4]:
        assert record.problem == f"field 'image' is {record.row['image']!r}, and no row with this index has a picture"
    assert linked[4] == records[4]
