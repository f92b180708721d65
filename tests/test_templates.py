"""The template language: fields, filters, cases."""

from typing import Any

import pytest

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.templates import Switch, lookup, parse

ROW: dict[str, Any] = {
    "id": "validation_Art_Theory_1",
    "index": 1000007,
    "answer": "(A)",
    "metadata": {"task": "geometry", "deep": {"er": 3}},
    "answers": [{"answer": "a"}, {"answer": "b"}],
    "a.b": "dotted",
    "image": {"bytes": b"picture", "path": None},
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{id|after:_}", "Art_Theory_1"),
        ("{id|after:_|before:_}", "Art_Theory"),
        ("{id|before:#}", "validation_Art_Theory_1"),
        ("{index|mod:1000000}", "7"),
        ("{answer|strip:()|lower}", "a"),
        ("{metadata.task|capitalize}", "Geometry"),
        ("{metadata.deep.er}", "3"),
        ("{a.b}", "dotted"),
    ],
)
def test_filters(template: str, text: str) -> None:
    assert parse(template).render(ROW) == text


def test_a_digest_is_that_of_the_bytes_however_they_are_held() -> None:
    class Cell:
        def load(self) -> Any:
            return ROW["image"]

    digest = parse("{image|digest}")
    assert digest.render({"image": Cell()}) == digest.render(ROW) == digest.render({"image": b"picture"})
    assert digest.render(ROW) == digest.render({"image": "picture"}) != digest.render({"image": b"other"})


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{answer|mod:2}", r"'\(A\)' is not a whole number"),
        ("{metadata|digest}", "field 'metadata' holds no bytes"),
        ("{metadata.tsk}", "field 'metadata.tsk' is missing"),
        ("{metadata}", "field 'metadata' is a mapping"),
    ],
)
def test_records_that_do_not_fit(template: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse(template).render(ROW)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{a|mod:0}", "the filter mod can't use '0'"),
        ("{a|mod:x}", "the filter mod can't use 'x'"),
        ("{a|after:}", "the filter after can't use ''"),
        ("{a|afer:_}", "unknown filter 'afer:_'; did you mean 'after'"),
        ("{a|lower:x}", "unknown filter 'lower:x'"),
        ("{a|after}", "unknown filter 'after'"),
    ],
)
def test_filters_that_do_not_fit(template: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(template)


def test_a_field_of_each_mapping_of_a_list() -> None:
    assert lookup(ROW, "answers.answer") == ["a", "b"]
    assert lookup(ROW, "nothing.answer") is None


def test_cases() -> None:
    switch = Switch(parse("{n|lower}"), {"yes": parse("closed {n}")}, parse("open"), "{n|lower}")
    assert switch.render({"n": "YES"}) == "closed YES"
    assert switch.render({"n": "liver"}) == "open"
    with pytest.raises(DataError, match=r"field 'n' is 'x'; the spec has cases for yes"):
        Switch(parse("{n}"), {"yes": parse("1")}, None, "n").render({"n": "x"})
