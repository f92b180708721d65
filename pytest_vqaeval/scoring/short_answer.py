"""The scorer `short_answer`: the normal form of the answer equals that of a reference."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.answer_line import AnswerRule, read_answer
from pytest_vqaeval.scoring.base import NORMAL_FORM, OF_REFERENCE, Score, verdict
from pytest_vqaeval.scoring.normalize import SLAKE, normalizer


def short_answer(
    question: Question, text: str, *, answer: AnswerRule = "marker", normalize: Sequence[str] = SLAKE
) -> Score:
    """Exact match of normal forms, against any of the references; EvalScope 1.14's rule for SLAKE by default.

    Args:
        question: the question with its references.
        text: the reply without its reasoning.
        answer: `marker` (the last `ANSWER:` line, else the whole reply) or `whole`.
        normalize: the names of the normalisation steps, in order.

    Raises:
        NoReference: the question has none.
        ValueError: an unknown `answer` rule or normalisation step.
    """
    normal_form = normalizer(tuple(normalize))
    read = read_answer(text, answer)
    form = normal_form(read.text)
    wanted = [normal_form(reference) for reference in question.wanted()]
    details = {NORMAL_FORM: form, OF_REFERENCE: " | ".join(wanted)}
    return verdict(form in wanted, read.text, explicit=read.explicit, details=details)
