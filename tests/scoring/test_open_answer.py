"""The scorer `open_answer`: MMMU's open questions."""

import pytest

from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.scoring.open_answer import open_answer


@pytest.mark.parametrize(
    ("reply", "reference", "right"),
    [
        ("8.4", "8.4", True),
        ("The value is 8.40 volts.", "8.4", True),
        ("1,000", "1000", True),
        ("It has 12 parts. The answer is 8", "12", False),  # 12 is no conclusion
        ("x = 3 + 4 = 7", "7", True),
        ("So the current is 0.333 A", "0.33", True),  # to two decimals
        ("The bird is a Magpie.", "magpie", True),
        ("Magpie", "magpie", True),
        ("It is a crow", "magpie", False),
        ("The structure is labelled T", "t", True),
        ("The object is a tree", "t", True),  # lenient, as published: " t" stands at the border of a word
        ("Result: a-b", "c", False),
        ("ANSWER: 12", "12", True),
        ("The mode is 6. Therefore the mean is 7.", "6", True),  # each sentence has a conclusion
    ],
)
def test_what_is_right(reply: str, reference: str, right: bool) -> None:
    score = open_answer(Question("?", [], (reference,)), reply)
    assert score.outcome is (Outcome.CORRECT if right else Outcome.WRONG)


def test_any_reference_counts() -> None:
    assert open_answer(Question("?", [], ("24/7", "3.429")), "about 3.43").outcome is Outcome.CORRECT
