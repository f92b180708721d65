from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.scoring.normalize import VQA, normalizer
from pytest_vqaeval.scoring.vqa_accuracy import vqa_accuracy


def people(*answers: str) -> Question:
    return Question("What is it?", [], answers)


# By hand, for ten people of whom m agree: the mean of min((m - 1) / 3, 1), m times, and min(m / 3, 1), 10 - m times.
@pytest.mark.parametrize(("agree", "value"), [(0, 0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1), (5, 1), (10, 1)])
def test_ten_people(agree: int, value: float) -> None:
    score = vqa_accuracy(people(*["dog"] * agree, *(f"thing {n}" for n in range(10 - agree))), "dog")
    assert score.value == pytest.approx(value, abs=1e-12)
    assert score.outcome is Outcome.SCORED
    assert score.details == {"normal form": "dog", "given by": f"{agree} of 10 people"}


@given(st.integers(4, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_is_the_mean_over_leaving_one_out(case: tuple[int, int]) -> None:
    count, agree = case
    answers = [True] * agree + [False] * (count - agree)
    left_out = [min(sum(answers[:n] + answers[n + 1 :]) / 3, 1) for n in range(count)]
    score = vqa_accuracy(people(*("yes" if same else "no" for same in answers)), "yes")
    assert score.value == pytest.approx(sum(left_out) / count)


# By hand, with the rules of GT-Vision-Lab/VQA
@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Yes, it's a dog.", "yes it's dog"),
        ("red/white", "red white"),  # no space beside the mark: becomes one
        ("red /white", "red white"),
        ("a-b - c", "ab c"),  # a space beside one hyphen: all go
        ("2,000-pound (big)", "2000pound big"),  # a comma in a number: all marks go
        ("red/\nwhite", "red white"),  # a line break is a space
        ("- it's/that", "it's that"),
        ("3.5 ft. tall.", "3.5 ft tall"),
        (".5", ".5"),
        ("Two of the three", "2 of 3"),
        ("None", "0"),
        ("dont", "don't"),
        ("shouldntve", "shouldntve"),  # two are missing
        ("shouldnt've shouldn'tve", "shouldn't've shouldn't've"),
        ("its lets shell", "its lets shell"),
        ("10:30 o'clock", "10:30 o'clock"),
        ("eleven", "eleven"),
    ],
)
def test_normal_form(text: str, form: str) -> None:
    assert normalizer(VQA)(text) == form


def test_both_sides_are_normalised() -> None:
    score = vqa_accuracy(people("The dog.", "a dog", "dog", "Dog", *["cat"] * 6), "ANSWER: Dog!")
    assert (score.value, score.explicit, score.extracted) == (1.0, True, "Dog!")
    assert vqa_accuracy(people(*["Dog."] * 10), "the dog").value == 1.0  # also where all said the same


def test_answer_rule() -> None:
    question = people(*["dog"] * 10)
    assert vqa_accuracy(question, "It barks.\nANSWER: dog").value == 1.0
    whole = vqa_accuracy(question, "It barks.\nANSWER: dog", answer="whole")
    assert (whole.value, whole.explicit) == (0.0, False)


@pytest.mark.parametrize("count", [1, 3])
def test_too_few_people(count: int) -> None:
    with pytest.raises(DataError, match=f"of four at least; the sample has {count}$"):
        vqa_accuracy(people(*["dog"] * count), "dog")


def test_unknown_answer_rule() -> None:
    wrong: Any = "line"
    with pytest.raises(ValueError, match="not 'line'"):
        vqa_accuracy(people("dog"), "dog", answer=wrong)
