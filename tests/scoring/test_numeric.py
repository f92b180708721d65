import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.scoring.numeric import number_alone, numeric, only_number


def question(*references: str) -> Question:
    return Question("How many?", [], references)


@pytest.mark.parametrize(
    ("reference", "text", "right"),
    [
        ("100", "105", True),  # 5 % is within
        ("100", "105.01", False),
        ("100", "95", True),
        ("105", "100", True),  # 5 / 105; relative to the reference
        ("95", "100", False),  # 5 / 95
        ("1", "1.05", True),  # not so in binary floating point
        ("0", "0.0", True),
        ("0", "0.01", False),
        ("-4", "−4.1", True),
        ("-4", "4", False),
        ("1234567", "1,234,567", True),
        ("1,000", "$1000", True),
        ("50%", "50", True),
        ("50%", "0.5", True),
        ("0.5", "50 %", True),
        ("50%", "50 percent", True),
        ("50%", "5000%", False),
        ("3500000", "3.5 million", True),
        ("3.5", "3.5 million", True),  # an axis in millions
        ("3.5 billion", "3.5 million", False),
        ("3.5 cm", "3.5", True),
        ("3.5", "3.5cm.", True),
        ("3.5 cm", "3.5 mm", False),
        ("37 °C", "36.6°F", False),
        ("5 m²", "5.1 m2", False),
        ("12 km/h", "12 km/h", True),
        ("5 dogs", "5 Dog", True),
        ("5", "Five", True),
        ("2", "There are 2 dogs in it.", True),
        ("2", "2 of 3", False),  # which?
        ("1e5", "100000", True),
        ("2015", "1950", True),  # the known weakness of the measure
    ],
)
def test_numbers(reference: str, text: str, right: bool) -> None:
    score = numeric(question(reference), f"ANSWER: {text}")
    assert score.outcome is (Outcome.CORRECT if right else Outcome.WRONG)
    assert (score.extracted, score.explicit) == (text, True)


@pytest.mark.parametrize(
    ("reference", "text", "right"),
    [
        ("Blue", "the blue.", True),
        ("Blue", "dark blue", False),
        ("2019-2020", "2019-2020", True),
        ("2019-2020", "2019", False),
        ("Covid-19", "19", False),
        ("Version 1.2", "version 1.3", False),
    ],
)
def test_other_references_need_an_exact_match(reference: str, text: str, right: bool) -> None:
    assert (numeric(question(reference), text).outcome is Outcome.CORRECT) is right


def test_any_reference() -> None:
    assert numeric(question("7", "none given", "100"), "101").outcome is Outcome.CORRECT
    assert numeric(question("7", "none given"), "None given").outcome is Outcome.CORRECT


def test_no_number_to_read() -> None:
    assert numeric(question("5"), "I can't tell.").outcome is Outcome.UNPARSED
    assert numeric(question("5"), "It is 3 or 5.").outcome is Outcome.UNPARSED
    assert numeric(question("5"), "ANSWER: unknown").outcome is Outcome.WRONG  # it is stated
    assert numeric(question("5", "blue"), "red").outcome is Outcome.WRONG


def test_tolerance() -> None:
    assert numeric(question("2015"), "2014", tolerance=0).outcome is Outcome.WRONG
    assert numeric(question("2015"), "2015.0", tolerance=0).outcome is Outcome.CORRECT
    assert numeric(question("100"), "110", tolerance=0.1).outcome is Outcome.CORRECT


@pytest.mark.parametrize("tolerance", [-0.1, 1.5, float("nan"), float("inf")])
def test_tolerance_out_of_range(tolerance: float) -> None:
    with pytest.raises(ValueError, match="tolerance must be from 0 to 1"):
        numeric(question("1"), "1", tolerance=tolerance)


@pytest.mark.parametrize(
    "text", ["12-15", "1,2", "12,34", "1,2345", "1.2.3", "10:30", "T2", "", "-", "5, 6", "1e500", "0A\x1b0", "5°6"]
)
def test_not_one_number(text: str) -> None:
    assert only_number(text) is None


@given(st.text() | st.text("0123456789.,-−%$e kmillion"))
def test_never_raises(text: str) -> None:
    numeric(question(text, "5"), text)
    alone = number_alone(text)
    assert alone is None or alone == only_number(text)
    if alone:
        assert numeric(question(text), text, tolerance=0).outcome is Outcome.CORRECT


def test_details() -> None:
    assert numeric(question("5"), "3.5 million").details == {"number": "3500000"}
