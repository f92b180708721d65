"""The scorer `vqa_accuracy`: agreement with the answers of ten people."""

from __future__ import annotations

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.answer_line import AnswerRule, read_answer
from pytest_vqaeval.scoring.base import Outcome, Score
from pytest_vqaeval.scoring.normalize import VQA, normalizer

_PEOPLE = 3  # so many have to agree with an answer for it to be right


def vqa_accuracy(question: Question, text: str, *, answer: AnswerRule = "marker") -> Score:
    """VQA accuracy (Antol et al., ICCV 2015, section 4): `min(people who gave this answer / 3, 1)`.

    As in the evaluation code (GT-Vision-Lab/VQA) it is the mean over all ways to leave one person out, so that with
    ten people 1, 2, 3 and 4 equal answers give 0.3, 0.6, 0.9 and 1. Answer and references are always brought to the
    normal form of that code; the code itself leaves them alone where all people said the same.

    Args:
        question: the question with its references, one per person, equal ones repeated.
        text: the reply without its reasoning.
        answer: `marker` (the last `ANSWER:` line, else the whole reply) or `whole`.

    Raises:
        NoReference: the question has none.
        DataError: fewer than four references, so that no answer could be right.
        ValueError: an unknown `answer` rule.
    """
    normal_form = normalizer(VQA)
    read = read_answer(text, answer)
    people = len(question.wanted())
    if people <= _PEOPLE:
        raise DataError(f"vqa_accuracy needs the answers of ten people, and of four at least; the sample has {people}")
    form = normal_form(read.text)
    same = sum(normal_form(reference) == form for reference in question.references)
    left_out_agrees, left_out_differs = min((same - 1) / _PEOPLE, 1), min(same / _PEOPLE, 1)
    value = (same * left_out_agrees + (people - same) * left_out_differs) / people
    details = {"normal form": form, "given by": f"{same} of {people} people"}
    return Score(Outcome.SCORED, read.text, value, explicit=read.explicit, details=details)
