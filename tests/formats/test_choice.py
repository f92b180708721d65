"""General-VMCQ: question, options, answer."""

from typing import Any

import pytest

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.choice import build_choice, right_labels
from pytest_vqaeval.media import Media
from pytest_vqaeval.templates import parse


def row(**changes: Any) -> dict[str, Any]:
    return {"question": "Which?", "options": ["cat", "dog"], "answer": "B", **changes}


def test_question_options_and_media() -> None:
    question = build_choice(row(options=["<image 1>", "none {of} these"], image_1="x.png"))
    (message,) = question.messages
    first, picture, last = message["content"]
    assert first["text"].endswith("where [LETTER] is one of A,B. Think step by step before answering.\n\nWhich?\n\nA) ")
    assert picture["image_url"]["url"] == Media("image", "x.png")
    assert last["text"] == "\nB) none {of} these"
    assert (question.text, question.references, question.options) == (
        "Which?",
        ("B",),
        ("<image 1>", "none {of} these"),
    )


@pytest.mark.parametrize("options", ['["cat", "dog"]', "['cat', 'dog']", "('cat', 'dog')", ("cat", "dog")])
def test_ways_to_write_options(options: Any) -> None:
    assert build_choice(row(options=options)).options == ("cat", "dog")


@pytest.mark.parametrize("options", ['{"A": "cat"}', {"A": "cat"}, "cat, dog", "", [], 3, None])
def test_what_are_no_options(options: Any) -> None:
    with pytest.raises(DataError, match="field 'options'"):
        build_choice(row(options=options))


@pytest.mark.parametrize(
    ("answer", "how", "expected"),
    [
        ("B", "label", ("B",)),
        (" b ", "label", ("B",)),
        ("dog", "label", ("B",)),
        ("A", "text", ("B",)),  # the option's text is A
        (["A", "B"], "label", ("A", "B")),
        ('["a", "b"]', "label", ("A", "B")),
        (1, "index", ("B",)),
        ("0", "index", ("A",)),
        ("", "label", ()),
        (None, "index", ()),
    ],
)
def test_the_right_labels(answer: Any, how: str, expected: tuple[str, ...]) -> None:
    options = ("x", "A") if how == "text" else ("cat", "dog")
    assert right_labels(answer, options, how) == expected


@pytest.mark.parametrize(
    ("answer", "how", "message"),
    [
        ("C", "label", "field 'answer' is 'C', none of the labels A,B and no option's text"),
        ("Dog", "label", "field 'answer' is 'Dog', none of the labels A,B and no option's text"),
        (1, "label", "field 'answer' is '1', none of the labels A,B and no option's text"),
        ("2", "index", "field 'answer' is '2', no index of the 2 options (0 to 1)"),
        ("-1", "index", "field 'answer' is '-1', no index of the 2 options (0 to 1)"),
        ("B", "index", "field 'answer' is 'B', no index of the 2 options (0 to 1)"),
        ("B", "text", "field 'answer' is 'B', no option's text"),
        ({"A": 1}, "label", "field 'answer' is not a text, a number or a list of them"),
    ],
)
def test_an_answer_that_is_no_option(answer: Any, how: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        right_labels(answer, ("cat", "dog"), how)
    assert str(error.value) == message


def test_the_27th_option_is_1() -> None:
    options = [f"o{n}" for n in range(28)]
    question = build_choice(row(options=options, answer="2"))
    assert question.references == ("2",)
    assert "Z) o25\n1) o26\n2) o27" in question.messages[0]["content"][0]["text"]


def test_another_prompt() -> None:
    question = build_choice(row(), parse("{question} ({letters})\n{choices}"))
    assert question.messages[0]["content"] == [{"type": "text", "text": "Which? (A,B)\nA) cat\nB) dog"}]
