"""The scorer `yes_no`: the reply says yes, or it says no."""

from __future__ import annotations

import re

from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.answer_line import AnswerRule, read_answer
from pytest_vqaeval.scoring.base import UNPARSED, Score, verdict

_WORD = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_FIRST = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


def yes_no(question: Question, text: str, *, answer: AnswerRule = "marker") -> Score:
    """Whether the reply says what a reference says; `extracted` is `yes` or `no`.

    The word with which the reply begins, as in MME (Fu et al., 2023: the evaluation code looks at the beginning), else
    the only one of the two words in it (VLMEvalKit's rule for MME, POPE and HallusionBench). A reply with both or with
    neither is unparsed: nothing is taken for yes, as POPE's own code does with all that is not a no.

    Args:
        question: the question with its references, `yes` or `no` in any case.
        text: the reply without its reasoning.
        answer: `marker` (the last `ANSWER:` line, else the whole reply) or `whole`.

    Raises:
        NoReference: the question has none.
        ValueError: an unknown `answer` rule.
    """
    wanted = [reference.strip().strip(".").lower() for reference in question.wanted()]
    read = read_answer(text, answer)
    first = _FIRST.match(read.text)
    said = {first[1].lower()} if first else {word.lower() for word in _WORD.findall(read.text)}
    if len(said) != 1:
        return UNPARSED
    (only,) = said
    return verdict(only in wanted, only, explicit=read.explicit)
