"""The scorers: from a reading to a verdict."""

from typing import Any

import pytest

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.scoring.choice import choice, multi_choice

OPTIONS = ("X-ray", "MRI", "CT", "Ultrasound")


def question(*references: str) -> Question:
    return Question("Which modality?", [], references, OPTIONS)


def test_right_label():
    score = choice(question("B"), "ANSWER: B")
    assert (score.outcome, score.extracted, score.value) == (Outcome.CORRECT, "B", 1.0)
    assert (score.guessed, score.explicit) == (False, True)
    assert score.details == {"rule": "answer line", "option": "MRI"}


def test_wrong_label():
    score = choice(question("B"), "ANSWER: C")
    assert (score.outcome, score.extracted, score.value) == (Outcome.WRONG, "C", 0.0)
    assert score.details["option"] == "CT"


@pytest.mark.parametrize("reference", ["b", " B ", "B"])
def test_references_in_any_case_and_with_spaces(reference):
    assert choice(question(reference), "ANSWER: B").outcome is Outcome.CORRECT


def test_any_reference_counts_for_a_single_choice():
    assert choice(question("A", "B"), "ANSWER: B").outcome is Outcome.CORRECT


def test_the_last_capital_letter_is_scored_and_marked_as_guessed():
    score = choice(question("C"), "Cannot determine from the image")
    assert (score.outcome, score.guessed, score.explicit) == (Outcome.CORRECT, True, False)
    assert score.details["rule"] == "last capital letter"


@pytest.mark.parametrize("text", ["ANSWER: A or B", "nothing", "I am sorry."])
@pytest.mark.parametrize("parser", ["evalscope", "strict"])
@pytest.mark.parametrize("scorer", [choice, multi_choice])
def test_no_answer_is_unparsed(scorer, parser, text):
    score = scorer(question("B"), text, parser=parser)
    if scorer is multi_choice and "or" in text and "ANSWER" in text:
        assert score.outcome is Outcome.WRONG
        return
    assert (score.outcome, score.extracted, score.value, score.explicit) == (Outcome.UNPARSED, None, 0.0, False)
    assert score.details["rule"]


@pytest.mark.parametrize("text", ["ANSWER: b", "B) MRI", "The answer is B because the MRI shows it", "MRI", "**B**"])
def test_the_strict_parser_reads_what_evalscope_does_not(text):
    assert choice(question("B"), text, parser="strict").outcome is Outcome.CORRECT


@pytest.mark.parametrize(
    ("text", "explicit"), [("The answer is B.", True), ("Option B is correct.", True), ("B", False)]
)
def test_strict_statements_are_explicit_and_a_bare_label_is_not(text, explicit):
    score = choice(question("B"), text, parser="strict")
    assert (score.explicit, score.guessed) == (explicit, False)


@pytest.mark.parametrize("parser", ["evalscope", "strict"])
@pytest.mark.parametrize(
    ("text", "outcome", "extracted"),
    [
        ("ANSWER: A, C", Outcome.CORRECT, "A,C"),
        ("ANSWER: CA", Outcome.CORRECT, "A,C"),
        ("ANSWER: A and C", Outcome.CORRECT, "A,C"),
        ("ANSWER: A", Outcome.WRONG, "A"),
        ("ANSWER: A, B, C", Outcome.WRONG, "A,B,C"),
    ],
)
def test_all_references_and_no_other_are_wanted_of_a_set(parser, text, outcome, extracted):
    score = multi_choice(question("C", "a"), text, parser=parser)
    assert (score.outcome, score.extracted) == (outcome, extracted)


def test_the_options_of_a_set_are_shown():
    assert multi_choice(question("A", "C"), "ANSWER: A, C").details["option"] == "X-ray | CT"


@pytest.mark.parametrize("scorer", [choice, multi_choice])
def test_mistakes_of_the_caller(scorer):
    with pytest.raises(ValueError, match=r"^parser must be 'evalscope' or 'strict', not 'loose'$"):
        scorer(question("A"), "ANSWER: A", parser="loose")


@pytest.mark.parametrize("scorer", [choice, multi_choice])
def test_a_choice_among_nothing_has_no_verdict(scorer: Any) -> None:
    with pytest.raises(DataError, match="a choice needs options, and the sample has none"):
        scorer(Question("?", [], ("A",)), "A")
