"""The scorer `yes_no`."""

import pytest

from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.scoring.yes_no import yes_no


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("Yes", "yes"),
        ("no.", "no"),
        ("**Yes**, there is a dog.", "yes"),
        ("No, yes would be wrong.", "no"),  # the first word counts
        ("There is no dog in the image.", "no"),
        ("I think yes", "yes"),
        ("Reasons: no.\nANSWER: yes", "yes"),
        ("It is either yes or no.", None),
        ("There is a dog.", None),
        ("nothing", None),
        ("Not at all", None),
        ("yesterday", None),
    ],
)
def test_what_is_read(reply: str, said: str | None) -> None:
    score = yes_no(Question("?", [], ("Yes",)), reply)
    assert score.extracted == said
    expected = {"yes": Outcome.CORRECT, "no": Outcome.WRONG, None: Outcome.UNPARSED}[said]
    assert score.outcome is expected
