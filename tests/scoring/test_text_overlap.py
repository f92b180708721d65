import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_vqaeval.errors import MissingExtra
from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring import text_overlap as module
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.scoring.text_overlap import text_overlap
from pytest_vqaeval.scoring.words import chinese_tokenizer, english_tokenizer, words
from tests.realdata import real_data


def question(*references: str) -> Question:
    return Question("What is it?", [], references)


def golden() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads(real_data("golden", "general_vqa_metrics.json").read_text("utf-8"))[
        "cases"
    ]
    assert len(cases) == 33
    return cases


def test_metrics_equal_evalscope() -> None:
    for case in golden():
        score = text_overlap(question(case["reference"]), case["prediction"])
        wanted = {name.lower(): value for name, value in case["scores"].items()}
        assert score.metrics == pytest.approx(wanted, abs=1e-6), case["id"]
        # approx does not tell the smallest float from 0
        assert {name for name, value in score.metrics.items() if value} == {name for name in wanted if wanted[name]}
        assert score.value == score.metrics["rouge-l-r"]


def test_words_equal_evalscope() -> None:
    for case in golden():
        for side, tokens in case["tokens_bleu"].items():
            assert words(case[side]) == tokens, case["id"]


# what nltk.word_tokenize gives with the trained English model (nltk 3.10.4)
@pytest.mark.parametrize(
    "tokens",
    [
        "Dr. Smith saw the U.S. flag . It is red .",
        "It weighs 3 mg. daily . Is it ? Yes !",
        "( It is n't . ) Done .",
        "The answer is B . Museum of art .",
        "The answer is D. Therefore D .",
        "e.g . this , i.e . that .",
        "at 5 p.m . The clock , 3.5 cm vs. 4 ... wait",
        "1 . CT\n2 . MRI .\n\nEnd",
    ],
)
def test_full_stops_are_words_at_the_end_of_sentences(tokens: str) -> None:
    text = tokens
    for mark in (".", ",", "!", "?", ")", "n't", "..."):
        text = text.replace(f" {mark}", mark)
    assert words(text.replace("( ", "(")) == tokens.split()


def test_scored_without_right_and_wrong() -> None:
    score = text_overlap(question("the cat is on the mat"), "the cat sat on the mat")
    assert (score.outcome, score.explicit, score.extracted) == (Outcome.SCORED, False, "the cat sat on the mat")
    assert score.value == pytest.approx(5 / 6)
    assert (score.metrics["bleu-1"], score.metrics["bleu-2"]) == pytest.approx((5 / 6, 3 / 5))


def test_the_best_of_several_references_counts_as_a_whole() -> None:
    best = text_overlap(question("Puppy", "a Dog", "Cat"), "Dog")
    assert best.metrics == text_overlap(question("a Dog"), "Dog").metrics
    assert best.value == 0.5


@pytest.mark.parametrize(
    ("text", "reference"), [("", "Dog"), ("Dog", ""), (" \n", "狗"), ("\u3000", " "), ("狗", "\n")]
)
def test_nothing_to_compare_is_zero(text: str, reference: str) -> None:
    score = text_overlap(question(reference), text)
    assert score.value == 0.0
    assert len(score.metrics) == 13
    assert not any(score.metrics.values())


@settings(max_examples=200, deadline=None)
@given(*[st.text() | st.text(alphabet="ab .?。\n“”狗一这是\x1c\u2028") for _ in range(2)])
def test_any_text_gives_values_from_0_to_1(text: str, reference: str) -> None:
    score = text_overlap(question(reference), text)
    assert all(0 <= value <= 1 + 1e-9 for value in score.metrics.values())


@pytest.mark.filterwarnings("error")
def test_short_texts_give_no_warning() -> None:
    text_overlap(question("Dog"), "Dog")  # no match of order 2 to 4


@pytest.mark.parametrize("package", ["nltk", "jieba", "rouge_chinese"])
def test_without_the_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    caches = (english_tokenizer, chinese_tokenizer, module._rouge_chinese)
    for cache in caches:
        cache.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"pip install 'pytest-vqaeval\[text\]'"):
        text_overlap(question("dog"), "狗")


def test_words_without_nltk(monkeypatch: pytest.MonkeyPatch) -> None:
    english_tokenizer.cache_clear()
    monkeypatch.setitem(sys.modules, "nltk.tokenize", None)
    with pytest.raises(MissingExtra, match="an extra is missing for cutting English text into words"):
        words("dog")


def test_writes_and_reads_no_file_and_prints_nothing(tmp_path: Path) -> None:
    poison = tmp_path / "jieba.cache"
    poison.write_bytes(b"not jieba's")
    code = """
from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.text_overlap import text_overlap
print(text_overlap(Question("", [], ("这是一只狗",)), "这是一只狗 a dog").metrics["bleu-1"])
"""
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True
    )
    assert (run.stdout, run.stderr) == ("0.42857142857142855\n", "")
    assert list(tmp_path.iterdir()) == [poison]
    assert poison.read_bytes() == b"not jieba's"


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        ("a dog and a cat", "the dog, a dog", "dog a"),
        ("nothing of it", "the dog", "(none)"),
        ("这是一只狗", "一只狗", "一只 狗"),
    ],
)
def test_common_words_are_told(text: str, reference: str, expected: str) -> None:
    score = text_overlap(Question("", [], (reference,)), text)
    assert score.details == {"common words": expected}
