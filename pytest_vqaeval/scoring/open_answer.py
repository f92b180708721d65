"""The scorer `open_answer`: a reference stands in what the reply concludes."""

from __future__ import annotations

import re

from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.answer_line import AnswerRule, read_answer
from pytest_vqaeval.scoring.base import Score, verdict

# After these words MMMU's rule expects the answer; after "=" only in the last sentence.
_ANNOUNCED = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
_SENTENCE_END = re.compile(r"\.\s(?=[A-Z])|\n")
_NUMBER = re.compile(
    r"-?\b\d{1,3}(?:,\d{3})+\b"  # 1,000
    r"|-?\d+(?:\.\d+)?[eE][+-]?\d+"  # 1e3
    r"|-?(?:\d+\.\d+|\.\d+|\d+\b)(?![eE][+-]?\d+)(?![,\d])"
)
_TRIVIAL = frozenset(":,.!?;'")


def open_answer(question: Question, text: str, *, answer: AnswerRule = "marker") -> Score:
    """MMMU's rule for open questions (Yue et al., CVPR 2024, section 4.1, and its evaluation code).

    Of each sentence the shortest text after an announcing word ("so", "is", "answer" ...) is a conclusion; without any
    the whole reply is. A reference that is a number must be among the numbers of the conclusions, to two decimals; any
    other must stand in one of them, in any case. The rule is lenient: "not a cat" contains the reference "cat".

    Other than in that code, sentences are told apart before the text is brought to lower case.

    Args:
        question: the question with its references, any of which counts.
        text: the reply without its reasoning.
        answer: `marker` (the last `ANSWER:` line, else the whole reply) or `whole`.

    Raises:
        NoReference: the question has none.
        ValueError: an unknown `answer` rule.
    """
    read = read_answer(text, answer)
    conclusions = _conclusions(read.text.strip().strip("."))
    numbers = {_number(found) for part in conclusions for found in (part, *_NUMBER.findall(part))} - {None}
    right = any(_stands(reference, conclusions, numbers) for reference in question.wanted())
    details = {"conclusions": " | ".join(conclusions)}
    return verdict(right, read.text, explicit=read.explicit, details=details)


def _conclusions(text: str) -> list[str]:
    sentences = [sentence.lower() for sentence in _SENTENCE_END.split(text)]
    found = []
    for number, sentence in enumerate(sentences, 1):
        announced = (*_ANNOUNCED, "=") if number == len(sentences) else _ANNOUNCED
        tails = [sentence.rpartition(word)[2].strip() for word in announced if word in sentence]
        shortest = min(filter(None, tails), key=len, default="")
        if shortest and shortest not in _TRIVIAL:
            found.append(shortest)
    return found or [text.lower()]


def _stands(reference: str, conclusions: list[str], numbers: set[float | None]) -> bool:
    number = _number(reference)
    if number is not None:
        return number in numbers
    wanted = reference.strip().lower()
    if len(wanted) == 1:  # a letter must stand at the border of a word
        return any(f" {wanted}" in f" {part}" or f"{wanted} " in f"{part} " for part in conclusions)
    return bool(wanted) and any(wanted in part for part in conclusions)


def _number(text: str) -> float | None:
    """The number that a text is, to two decimals; None if it is none."""
    try:
        return round(float(text.strip().replace(",", "")), 2)
    except ValueError:
        return None
