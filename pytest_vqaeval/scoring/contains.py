"""The scorer `contains`: a reference stands somewhere in the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.answer_line import AnswerRule, read_answer
from pytest_vqaeval.scoring.base import Score, verdict
from pytest_vqaeval.scoring.normalize import WORDS, normalizer

# a letter or digit of a script that puts spaces between words: not kana, not Chinese characters
_LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"


def contains(
    question: Question,
    text: str,
    *,
    answer: AnswerRule = "marker",
    normalize: Sequence[str] = WORDS,
    within_words: bool = False,
) -> Score:
    """Right if the normal form of a reference stands in that of the answer, as whole words.

    In Chinese and Japanese, which have no spaces, any place counts as a word boundary. The rule is lenient: an answer
    that names everything, or says "not CT", contains the reference too.

    Args:
        question: the question with its references.
        text: the reply without its reasoning.
        answer: `marker` (the last `ANSWER:` line, else the whole reply) or `whole`.
        normalize: the names of the normalisation steps, in order.
        within_words: it may also stand inside a word (OCRBench: Liu et al., 2024, section 3.3).

    Raises:
        NoReference: the question has none.
        ValueError: an unknown `answer` rule or normalisation step, or a `within_words` that is not true or false.
    """
    if not isinstance(within_words, bool):
        raise ValueError(f"within_words must be true or false, not {within_words!r}")
    normal_form = normalizer(tuple(normalize))
    read = read_answer(text, answer)
    form = normal_form(read.text)
    wanted = [normal_form(reference) for reference in question.wanted()]
    found = [
        words for words in wanted if words and words in form and (within_words or _whole_words(words).search(form))
    ]
    details = {"normal form": form, "found" if found else "not found": " | ".join(found or wanted)}
    return verdict(bool(found), read.text, explicit=read.explicit, details=details)


@lru_cache(maxsize=1024)
def _whole_words(words: str) -> re.Pattern[str]:
    before = f"(?<!{_LETTER})" if re.match(_LETTER, words) else ""
    after = f"(?!{_LETTER})" if re.match(_LETTER, words[-1]) else ""
    return re.compile(before + re.escape(words) + after)
