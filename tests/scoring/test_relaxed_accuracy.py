"""The scorer `relaxed_accuracy`, as ChartQA publishes it."""

import pytest

from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.scoring.relaxed_accuracy import relaxed_accuracy


@pytest.mark.parametrize(
    ("reply", "reference", "right"),
    [
        ("100", "100", True),
        ("105", "100", True),  # 5 % exactly
        ("95", "100", True),
        ("105.1", "100", False),
        ("-100", "100", False),
        ("12%", "0.12", True),
        ("12", "12%", False),  # a percent sign counts
        ("0", "0", True),
        ("0.0", "0", False),  # a reference of 0 is compared as a text
        ("blue", "Blue", True),
        ("light blue", "Blue", False),
        ("The answer is 100.", "100", False),
        ("Reason.\nANSWER: 101", "100", True),
        ("1,000", "1000", False),
        ("inf", "100", False),
        ("nan", "100", False),
        ("9" * 400, "100", False),
        ("[1, 2]", "[1, 2]", True),
    ],
)
def test_what_is_right(reply: str, reference: str, right: bool) -> None:
    score = relaxed_accuracy(Question("?", [], (reference,)), reply)
    assert score.outcome is (Outcome.CORRECT if right else Outcome.WRONG)


def test_any_reference_counts() -> None:
    assert relaxed_accuracy(Question("?", [], ("7", "9")), "9.1").outcome is Outcome.CORRECT


@pytest.mark.parametrize("tolerance", [-0.1, 1.1])
def test_a_tolerance_out_of_range(tolerance: float) -> None:
    with pytest.raises(ValueError, match="tolerance must be from 0 to 1"):
        relaxed_accuracy(Question("?", [], ("1",)), "1", tolerance=tolerance)
