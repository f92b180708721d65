import pytest

from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.scoring.contains import contains


def question(*references: str) -> Question:
    return Question("What is it?", [], references)


@pytest.mark.parametrize(
    ("reference", "text", "right"),
    [
        ("CT", "This is a ct.", True),
        ("CT", "An affected lung", False),  # inside a word
        ("CT", "CT2", False),
        ("T2", "T2-weighted", True),
        ("spinal cord", "The Spinal-Cord, and the lung", True),
        ("the lung", "Left Lung", True),
        ("cord lung", "spinal cord, right lung", False),  # not side by side
        ("2", "two lungs", True),
        ("2", "12 lungs", False),
        ("肺", "图中的器官是肺部。", True),  # no spaces in Chinese
        ("X光", "这是X光片", True),
        ("CT", "这是CT图像", True),
        ("CT", "这是SPECT图像", False),
        ("C++", "c is it", True),  # the marks are no words
        ("...", "anything ...", False),  # a reference without words
        ("ab", "ab" * 3, False),
        ("élan", "Élan", True),
    ],
)
def test_whole_words(reference: str, text: str, right: bool) -> None:
    score = contains(question(reference), text)
    assert score.outcome is (Outcome.CORRECT if right else Outcome.WRONG)
    assert score.value == float(right)


def test_any_reference() -> None:
    score = contains(question("MRI", "CT", "lung"), "A CT of the lung")
    assert score.details == {"normal form": "ct of lung", "found": "ct | lung"}
    assert contains(question("MRI"), "A CT").details == {"normal form": "ct", "not found": "mri"}


def test_marker_shuts_out_what_came_before() -> None:
    text = "It is no MRI.\nANSWER: CT"
    marker = contains(question("MRI"), text)
    assert (marker.outcome, marker.extracted, marker.explicit) == (Outcome.WRONG, "CT", True)
    whole = contains(question("MRI"), text, answer="whole")
    assert (whole.outcome, whole.extracted, whole.explicit) == (Outcome.CORRECT, text, False)


def test_normalize_is_an_option() -> None:
    assert contains(question("CT"), "ct", normalize=()).outcome is Outcome.WRONG
    assert contains(question("C++ (new)"), "in C++ (new)!", normalize=()).outcome is Outcome.CORRECT
    with pytest.raises(ValueError, match="did you mean 'lowercase'"):
        contains(question("CT"), "ct", normalize=("lower_case",))


def test_within_words_as_ocrbench_counts() -> None:
    river = question("RIVER")
    assert contains(river, "riverside").outcome is Outcome.WRONG
    assert contains(river, "riverside", within_words=True).outcome is Outcome.CORRECT
    with pytest.raises(ValueError, match="within_words must be true or false"):
        contains(river, "river", within_words=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reference", "reply", "outcome"),
    [
        ("Main Street", "At MAIN\nSTREET 5", Outcome.CORRECT),
        ("Main Street", "Main\n\nStreet", Outcome.WRONG),  # two line breaks are two spaces, as in OCRBench's own code
        ("Main Street ", "Main Street", Outcome.CORRECT),
    ],
)
def test_lines_as_ocrbench_joins_them(reference: str, reply: str, outcome: Outcome) -> None:
    steps = ("lowercase", "lines_to_spaces")
    assert contains(question(reference), reply, normalize=steps, within_words=True).outcome is outcome
