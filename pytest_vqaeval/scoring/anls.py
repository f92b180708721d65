"""The scorer `anls`: nearness of the spelling, for answers that are read off an image."""

from __future__ import annotations

from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.answer_line import AnswerRule, read_answer
from pytest_vqaeval.scoring.base import Outcome, Score


def anls(question: Question, text: str, *, answer: AnswerRule = "marker", threshold: float = 0.5) -> Score:
    """Average normalized Levenshtein similarity (Biten et al., Scene Text VQA, ICCV 2019, equation 1).

    `value` is 1 - d, d being the edit distance over the length of the longer text, and 0 where d is not below
    `threshold`; the reference that is nearest counts. Case and the amount of white space do not matter. The mean over
    the samples, which gives the measure its name, is taken in the report.

    Args:
        question: the question with its references.
        text: the reply without its reasoning.
        answer: `marker` (the last `ANSWER:` line, else the whole reply) or `whole`.
        threshold: normalized distance from which an answer counts as another word, above 0 and up to 1.

    Raises:
        NoReference: the question has none.
        ValueError: an unknown `answer` rule or a threshold out of range.
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be above 0 and at most 1, not {threshold!r}")
    read = read_answer(text, answer)
    references = question.wanted()
    distances = {reference: normalized_distance(_form(read.text), _form(reference)) for reference in references}
    nearest = min(distances, key=distances.__getitem__)
    distance = distances[nearest]
    value = 1 - distance if distance < threshold else 0.0
    details = {"nearest": nearest, "distance": f"{distance:.4f}"}
    return Score(Outcome.SCORED, read.text, value, explicit=read.explicit, details=details)


def _form(text: str) -> str:
    return " ".join(text.lower().split())


def normalized_distance(one: str, other: str) -> float:
    """Levenshtein's distance over the length of the longer text, 0 to 1; 0 for two empty texts."""
    return levenshtein(one, other) / max(len(one), len(other), 1)


def levenshtein(one: str, other: str) -> int:
    """The least number of characters to insert, delete or replace to turn one text into the other."""
    row = list(range(len(other) + 1))
    for deleted, char in enumerate(one, 1):
        diagonal, row[0] = row[0], deleted
        for at, other_char in enumerate(other, 1):
            diagonal, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, diagonal + (char != other_char))
    return row[-1]
