"""The scorers `choice` and `multi_choice`: the label that a reply gives, or the set of labels, is the right one.

How a label is read is the parser's business: `evalscope` (EvalScope 1.14's rule, which guesses where nothing is stated)
or `strict` (what the reply says, else nothing).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Literal

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring.base import UNPARSED, Score, verdict
from pytest_vqaeval.scoring.choice_evalscope import Reading, SetReading, read_evalscope, read_evalscope_set
from pytest_vqaeval.scoring.choice_strict import read_strict, read_strict_set

Parser = Literal["evalscope", "strict"]

_STATED = ("answer line", "statement", "called correct")  # the rules by which an answer is explicit


def choice(question: Question, text: str, *, parser: Parser = "evalscope") -> Score:
    """Whether the label read in `text` is one of the references; `extracted` is the label.

    Labels are compared as EvalScope does: stripped, in any case.

    Args:
        question: the question with its options and its references, labels of right options.
        text: the reply without its reasoning.
        parser: `evalscope` or `strict`.

    Raises:
        DataError: the question has no options.
        NoReference: the question has no reference.
        ValueError: another parser.
    """
    wanted = _wanted(question)
    _check(parser)
    read: Reading = (
        read_evalscope(text, question.labels) if parser == "evalscope" else read_strict(text, question.options)
    )
    if read.label is None:
        return replace(UNPARSED, details={"rule": read.rule})
    return _verdict(question, read, [read.label], _normal(read.label) in wanted)


def multi_choice(question: Question, text: str, *, parser: Parser = "evalscope") -> Score:
    """Whether the labels read in `text` are all of the references and no other; `extracted` joins them by commas.

    Arguments and errors are those of `choice`.
    """
    wanted = _wanted(question)
    _check(parser)
    read: SetReading = (
        read_evalscope_set(text, question.labels) if parser == "evalscope" else read_strict_set(text, question.options)
    )
    if not read.labels:
        return replace(UNPARSED, details={"rule": read.rule})
    in_order = [label for label in question.labels if label in read.labels]
    return _verdict(question, read, in_order, {_normal(label) for label in in_order} == wanted)


def _check(parser: str) -> None:
    if parser not in ("evalscope", "strict"):
        raise ValueError(f"parser must be 'evalscope' or 'strict', not {parser!r}")


def _wanted(question: Question) -> Collection[str]:
    if not question.options:
        raise DataError("a choice needs options, and the sample has none")
    return {_normal(reference) for reference in question.wanted()}


def _normal(label: str) -> str:
    return label.strip().lower()


def _verdict(question: Question, read: Reading | SetReading, chosen: Iterable[str], right: bool) -> Score:
    text_of = dict(zip(question.labels, question.options, strict=True))
    details = {"rule": read.rule, "option": " | ".join(text_of[label] for label in chosen)}
    explicit = read.rule in _STATED
    return verdict(right, ",".join(chosen), guessed=read.guessed, explicit=explicit, details=details)
