import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.anls import anls, levenshtein, normalized_distance
from pytest_vqaeval.scoring.base import Outcome


def question(*references: str) -> Question:
    return Question("What does the sign say?", [], references)


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("", "", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("ab", "ba", 2), ("狗", "犬", 1)],
)
def test_levenshtein(one: str, other: str, distance: int) -> None:
    assert levenshtein(one, other) == levenshtein(other, one) == distance


@pytest.mark.parametrize(
    ("text", "reference", "value"),
    [
        ("Coca Cola", "coca  cola", 1.0),  # case and white space
        ("sitting", "kitten", 1 - 3 / 7),
        ("STOP", "STOPS", 0.8),
        ("abcd", "abxy", 0.0),  # distance 2 / 4 is not below 0.5
        ("abcde", "abcxy", 0.6),  # 2 / 5 is
        ("3.5", "35", 1 - 1 / 3),
        ("exit", "entrance", 0.0),
    ],
)
def test_value(text: str, reference: str, value: float) -> None:
    score = anls(question(reference), text)
    assert score.outcome is Outcome.SCORED
    assert score.value == pytest.approx(value)


def test_nearest_reference_counts() -> None:
    score = anls(question("entrance", "kitten", "sittin"), "It reads:\nANSWER: sitting")
    assert score.value == pytest.approx(6 / 7)
    assert score.details == {"nearest": "sittin", "distance": "0.1429"}
    assert (score.extracted, score.explicit) == ("sitting", True)


def test_answer_whole() -> None:
    score = anls(question("sitting"), "ANSWER: sitting", answer="whole")
    assert (score.value, score.extracted, score.explicit) == (0.0, "ANSWER: sitting", False)


def test_threshold() -> None:
    assert anls(question("abxy"), "abcd", threshold=0.51).value == 0.5
    assert anls(question("STOPS"), "STOP", threshold=0.2).value == 0.0


@pytest.mark.parametrize("threshold", [0, -1, 1.1, float("nan")])
def test_threshold_out_of_range(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold must be above 0 and at most 1"):
        anls(question("a"), "a", threshold=threshold)


@given(st.text("ab ", max_size=8), st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_distance_is_a_metric(one: str, two: str, three: str) -> None:
    assert (levenshtein(one, two) == 0) == (one == two)
    assert levenshtein(one, two) == levenshtein(two, one)
    assert levenshtein(one, three) <= levenshtein(one, two) + levenshtein(two, three)
    assert 0 <= normalized_distance(one, two) <= 1
