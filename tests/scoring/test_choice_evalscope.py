"""EvalScope's rule: equal to what EvalScope 1.14 answers, its weaknesses included."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vqaeval.question import labels
from pytest_vqaeval.reply import without_reasoning
from pytest_vqaeval.scoring.choice_evalscope import Reading, read_evalscope, read_evalscope_set
from tests.realdata import real_data

ABCD = labels(4)


def golden_cases() -> list[dict[str, object]]:
    return json.loads(real_data("golden", "mcq_parse.json").read_text(encoding="utf-8"))["cases"]


def reply_of(case: dict[str, object]) -> tuple[str, str]:
    """The text that EvalScope's parser got, and the suffix of the keys that hold what it read there."""
    cut = str(case["reply_after_think_strip"])
    return (str(case["reply"]), "") if cut == "=reply" else (cut, "_after_strip")


def test_single_label_equals_golden():
    got, want = {}, {}
    for case in golden_cases():
        text, suffix = reply_of(case)
        got[case["id"]] = read_evalscope(text, labels(int(str(case["n_options"])))).label or ""
        want[case["id"]] = case[f"single{suffix}"]
    assert got == want
    assert len(got) >= 90


def test_set_of_labels_equals_golden():
    got, want = {}, {}
    for case in golden_cases():
        text, suffix = reply_of(case)
        got[case["id"]] = "".join(sorted(read_evalscope_set(text, labels(int(str(case["n_options"])))).labels))
        want[case["id"]] = case[f"multi{suffix}"]
    assert got == want


def test_reasoning_is_cut_as_evalscope_cuts_complete_blocks():
    cut = {str(case["reply"]): str(case["reply_after_think_strip"]) for case in golden_cases()}
    blocks = {reply: rest for reply, rest in cut.items() if rest != "=reply"}
    assert {reply: (without_reasoning(reply) or "").strip() for reply in blocks} == blocks


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("ANSWER: B", "B"),
        ("ANSWER : **B**", "B"),
        ("answer:\nB is on a line of its own, says Paul", "B"),
        (r"ANSWER: $\boxed{\text{B}}$ Z", "B"),
        (r"ANSWER: \(B\) Z", "B"),
        ("ANSWER: （B） Z", "B"),
        ("ANSWER: B and more. Z", "B"),
        ("ANSWER: A\nANSWER: [LETTER]", "A"),
        ("ANSWER: C\nANSWER: none of these", "C"),
    ],
)
def test_answer_line(text, label):
    assert read_evalscope(text, ABCD) == Reading(label, "answer line")


@pytest.mark.parametrize("text", ["ANSWER: A or B", "ANSWER: A/B", "ANSWER: BAD", "ANSWER: A, B", "ANSWER: (A, B)"])
def test_several_labels_on_the_answer_line_are_none_and_do_not_fall_back(text):
    assert read_evalscope(text, ABCD) == Reading(None, "several labels on the answer line")


@pytest.mark.parametrize(
    ("text", "label"),
    [("Cannot determine", "C"), ("ANSWER: Dog", "D"), ("B", "B"), ("答案：B 磁共振", "B"), ("My X. a", None)],
)
def test_last_capital_letter_is_a_guess(text, label):
    read = read_evalscope(text, ABCD)
    assert (read.label, read.guessed) == (label, label is not None)


@pytest.mark.parametrize("text", ["ANSWER: b", "ANSWER: Ｂ", "b", "B) Magnetic imaging of M", "ANSWER: E", ""])
def test_what_evalscope_does_not_read(text):
    assert read_evalscope(text, ABCD).label is None


def test_the_27th_option_is_1_and_the_36th_is_10():
    assert read_evalscope("ANSWER: 1", labels(40)).label == "1"
    assert read_evalscope("ANSWER: 10", labels(40)).label == "10"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ANSWER: A, C", "AC"),
        ("ANSWER: A, B, and C", "ABC"),
        ("ANSWER: AC", "AC"),
        ("ANSWER: A、C", "AC"),
        ("ANSWER: A ,and B", ""),  # the quirk: `and` counts with spaces around it only
        ("ANSWER: A and/or B", "A"),
        ("no label, but D", "D"),
    ],
)
def test_sets(text, found):
    assert read_evalscope_set(text, ABCD).labels == set(found)


@given(st.text(), st.integers(0, 40))
def test_never_raises_and_reads_labels_only(text, count):
    for read in (text, f"ANSWER: {text}"):
        assert read_evalscope(read, labels(count)).label in (None, *labels(count))
        assert read_evalscope_set(read, labels(count)).labels <= set(labels(count))
