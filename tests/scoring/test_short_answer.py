import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vqaeval.question import Question
from pytest_vqaeval.reply import without_reasoning
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.scoring.normalize import SLAKE, STEPS, normalizer
from pytest_vqaeval.scoring.short_answer import short_answer
from tests.realdata import real_data

STRICT = ("lowercase", "drop_ascii_punctuation", "collapse_space")
TELLING = "ABab x光射线个二两2²．.（）()，-'İΣς\u3000\x1cK无none the"
WORDS = ["an", "the", "none", "x", "ray", "x光", "两", "个", "两个", "十个", "无", "有", "nope", "(", ")", "（", "）"]


def question(*references: str) -> Question:
    return Question("What is it?", [], references)


def golden() -> list[dict[str, Any]]:
    return json.loads(real_data("golden", "slake_normalize.json").read_text("utf-8"))["cases"]


def test_equals_evalscope() -> None:
    unread = []
    for case in golden():
        reply = without_reasoning(case["reply"])
        if reply is None:  # an unclosed thought never comes to a scorer; EvalScope scores it as text
            unread.append(case["acc"])
            continue
        score = short_answer(question(case["reference"] or ""), reply)
        seen = (score.extracted, score.details["normal form"], score.details["of reference"], score.value)
        keys = ("extracted", "normalized_prediction", "normalized_reference", "acc")
        assert seen == tuple(case[key] for key in keys), case["id"]
    assert unread == [0.0]


def correct_by_subset(**options: Any) -> Counter[str]:
    records = json.loads(real_data("slake", "test.json").read_text("utf-8"))
    lines = real_data("replies", "slake_en_huatuogpt_vision_7b.jsonl").read_text("utf-8").splitlines()
    replies = {row["id"]: row["reply"] for row in map(json.loads, lines)}
    english = [record for record in records if record["q_lang"] == "en"]
    assert len(english) == len(replies) == 1061
    return Counter(
        f"en_{record['answer_type'].lower()}"
        for record in english
        if short_answer(question(record["answer"]), replies[str(record["qid"])], **options).outcome is Outcome.CORRECT
    )


def test_published_replies_by_evalscopes_rule() -> None:
    assert correct_by_subset() == {"en_closed": 310, "en_open": 219}


def test_published_replies_by_the_authors_rule() -> None:
    assert correct_by_subset(normalize=STRICT).total() == 499


def test_any_reference_counts() -> None:
    assert short_answer(question("Lung", "Spinal Cord"), "ANSWER: the spinal-cord").outcome is Outcome.CORRECT
    wrong = short_answer(question("Lung", "Spinal Cord"), "ANSWER: Heart")
    assert (wrong.outcome, wrong.value) == (Outcome.WRONG, 0.0)
    assert wrong.details == {"normal form": "heart", "of reference": "lung | spinal cord"}


@pytest.mark.parametrize(
    ("answer", "extracted", "explicit"),
    [("marker", "CT", True), ("whole", "It is bright.\nANSWER: 'CT'", False)],
)
def test_which_part_is_the_answer(answer: Any, extracted: str, explicit: bool) -> None:
    score = short_answer(question("CT"), " It is bright.\nANSWER: 'CT'\n", answer=answer)
    assert (score.extracted, score.explicit) == (extracted, explicit)


def test_reply_without_marker_is_taken_whole_and_not_explicit() -> None:
    score = short_answer(question("CT"), " CT.\n")
    assert (score.outcome, score.extracted, score.explicit) == (Outcome.CORRECT, "CT.", False)


def test_unknown_answer_rule() -> None:
    with pytest.raises(ValueError, match="answer must be 'marker' or 'whole', not 'line'"):
        short_answer(question("CT"), "CT", answer="line")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (("lowercase", "drop_article"), "no normalize step 'drop_article'; did you mean 'drop_articles'?"),
        (("zzz",), f"no normalize step 'zzz'; there are {', '.join(STEPS)}"),
    ],
)
def test_unknown_step(steps: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        normalizer(steps)
    assert str(caught.value) == message


def test_normalizer_is_made_once() -> None:
    assert normalizer(SLAKE) is normalizer(SLAKE)


@pytest.mark.parametrize(
    ("step", "text", "form"),
    [
        ("drop_parentheses", "CT (of (the) head)（头）.", "CT   head) ."),
        ("punctuation_to_space", "3.5％。左．肺…", "3 5  左．肺…"),
        ("drop_ascii_punctuation", "T2-weighted, x", "T2weighted x"),
        ("collapse_space", " a\u3000 b\n", "a b"),
        ("number_words", "two 两个 2个 个 ２个 三只", "2 2 2 个 ２ 三只"),
        ("drop_articles", "the left lung of a man", "left lung of man"),
        ("xray_spellings", "x 射线", "xray"),
        ("yes_no", "不正常", "no"),
    ],
)
def test_each_step(step: str, text: str, form: str) -> None:
    assert STEPS[step](text) == form


@given(st.text() | st.text(alphabet=TELLING) | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_slake_is_idempotent(text: str) -> None:
    once = normalizer(SLAKE)(text)
    assert normalizer(SLAKE)(once) == once


@given(st.lists(st.sampled_from(sorted(STEPS))).map(tuple), st.text())
def test_no_order_of_steps_raises(steps: tuple[str, ...], text: str) -> None:
    assert isinstance(normalizer(steps)(text), str)
