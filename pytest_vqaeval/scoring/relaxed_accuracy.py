"""The scorer `relaxed_accuracy`: ChartQA's, to the letter; `numeric` understands sentences and units."""

from __future__ import annotations

import math

from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.answer_line import AnswerRule, read_answer
from pytest_vqaeval.scoring.base import Score, verdict


def relaxed_accuracy(question: Question, text: str, *, answer: AnswerRule = "marker", tolerance: float = 0.05) -> Score:
    """Relaxed accuracy (Masry et al., ChartQA, Findings of ACL 2022, section 5.1, after Methani et al., WACV 2020).

    Where the whole answer and the reference are numbers (`12%` is 0.12) the answer may be off by 5 % of the reference;
    in all other cases, and where the reference is 0, the texts must be equal but for case. This is what the evaluation
    code in use does (Pix2Struct, Qwen-VL, lmms-eval, VLMEvalKit): a sentence around the number makes it wrong.

    Args:
        question: the question with its references, any of which counts.
        text: the reply without its reasoning.
        answer: `marker` (the last `ANSWER:` line, else the whole reply) or `whole`.
        tolerance: the greatest relative error, 0 to 1.

    Raises:
        NoReference: the question has none.
        ValueError: an unknown `answer` rule or a tolerance out of range.
    """
    if not 0 <= tolerance <= 1:
        raise ValueError(f"tolerance must be from 0 to 1, not {tolerance!r}")
    read = read_answer(text, answer)
    references = question.wanted()
    right = any(_near(read.text, reference.strip(), tolerance) for reference in references)
    number = _number(read.text)
    details = {"number": "none" if number is None else f"{number:g}"}
    return verdict(right, read.text, explicit=read.explicit, details=details)


def _near(text: str, reference: str, tolerance: float) -> bool:
    mine, its = _number(text), _number(reference)
    if mine is None or not its:
        return text.lower() == reference.lower()
    return abs(mine - its) / abs(its) <= tolerance


def _number(text: str) -> float | None:
    """The number that a text is; None if it says anything else."""
    try:
        number = float(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
