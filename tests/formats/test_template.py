"""Questions as a spec writes them: options, labels, lists of references, media in fields."""

from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.media import Media
from pytest_vqaeval.question import Question
from pytest_vqaeval.records import Record
from pytest_vqaeval.sample import build_samples
from pytest_vqaeval.spec import read_spec

SPEC = """\
name: b
records: q.jsonl
sample:
  id: "{row}"
  messages: [{role: user, content: [{text: "{prompt}"}, {image: "{picture}"}, {audio: "{sound}"}]}]
  reference: "{answer}"
  OPTIONS
prompt: "{question} ({letters})\\n{choices}"
score: {scorer: choice}
"""
ROW = {"question": "Q?", "picture": "x.png", "sound": "s.wav", "answer": "b", "c1": " A:cat ", "c2": " B: C: dog"}


def question(folder: Path, options: str, row: dict[str, Any]) -> Question:
    path = folder / "b.vqa.yaml"
    path.write_text(SPEC.replace("OPTIONS", options))
    (sample,) = build_samples(read_spec(path), [(None, Record(row, Path("q.jsonl"), 0, 1))])
    return sample.question()


def test_options_from_columns(tmp_path: Path) -> None:
    asked = question(tmp_path, 'options: ["{c1|unlabel}", "{c2|unlabel}"]', ROW)
    text, picture, sound = asked.messages[0]["content"]
    assert text["text"] == "Q? (A,B)\nA) cat\nB) C: dog"
    assert picture["image_url"] == {"url": Media("image", "x.png"), "detail": "auto"}
    assert sound["input_audio"] == Media("audio", "s.wav")
    assert (asked.options, asked.references, asked.record) == (("cat", "C: dog"), ("B",), ROW)


def test_options_from_a_list_and_an_index(tmp_path: Path) -> None:
    row = {**ROW, "options": ["cat", "dog"], "answer": "1", "picture": {"bytes": b"png", "path": "x.png"}}
    asked = question(tmp_path, "options: {field: options}\n  answer: index", row)
    assert (asked.options, asked.references) == (("cat", "dog"), ("B",))
    assert asked.messages[0]["content"][1]["image_url"]["url"] == Media("image", b"png")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": "C"}, "q.jsonl:1: field 'answer' is 'C', none of the labels A,B and no option's text"),
        ({"options": None}, "q.jsonl:1: field 'options' is missing"),
        ({"options": "cat"}, "q.jsonl:1: field 'options' is not a list of options (in a table: a JSON list)"),
        ({"picture": None}, "q.jsonl:1: field 'picture' is null"),
        ({"picture": ["x"]}, "q.jsonl:1: field 'picture' is ['x'], not a path, a URL, base64"),
    ],
)
def test_errors_name_line_and_field(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    row = {**ROW, "options": ["cat", "dog"], **changes}
    with pytest.raises(DataError) as error:
        question(tmp_path, "options: {field: options}", row)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("answer", "references"),
    [("a", ("a",)), (["a", "b"], ("a", "b")), ('["a", "b"]', ("a", "b")), (None, ()), ("", ()), (2, ("2",))],
)
def test_references(tmp_path: Path, answer: Any, references: tuple[str, ...]) -> None:
    path = tmp_path / "b.vqa.yaml"
    path.write_text('records: q\nsample: {id: "{row}", reference: "{answer}"}\nscore: {scorer: short_answer}\n')
    record = Record({"question": "q", "answer": answer}, Path("q.jsonl"), 0)
    (sample,) = build_samples(read_spec(path), [(None, record)])
    assert sample.question().references == references
