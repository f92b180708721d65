"""Scoring: from a reply to a verdict, through the rule that the spec names. Rules are one file each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

from pytest_vqaeval.errors import NoReference, VqaError
from pytest_vqaeval.names import one_line
from pytest_vqaeval.question import Question
from pytest_vqaeval.reply import Reply, without_reasoning
from pytest_vqaeval.scoring.base import Outcome, Score, Scorer


class _BuiltIn(Mapping[str, Callable[..., Score]]):
    """The package's own scorers by name; each is imported at its first use, some need an extra."""

    _modules: ClassVar[dict[str, str]] = {
        "short_answer": "short_answer",
        "choice": "choice",
        "multi_choice": "choice",
        "text_overlap": "text_overlap",
        "contains": "contains",
        "anls": "anls",
        "numeric": "numeric",
        "vqa_accuracy": "vqa_accuracy",
        "yes_no": "yes_no",
        "relaxed_accuracy": "relaxed_accuracy",
        "open_answer": "open_answer",
    }

    def __getitem__(self, name: str) -> Callable[..., Score]:
        scorer: Callable[..., Score] = getattr(import_module(f"{__name__}.{self._modules[name]}"), name)
        return scorer

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


BUILT_IN = _BuiltIn()


def score_reply(scorer: Scorer, question: Question, reply: Reply) -> Score:
    """The verdict on a reply.

    Reasoning is cut first. Whatever the rule is: no text is `empty`, and a reply that the token limit cut before an
    answer was stated is `truncated`, unless what there is of it is right as it stands. Without a reference, rules that
    compare with one give no value: the reply is reported, and that is all.

    Raises:
        VqaError: the scorer failed; the message says how.
    """
    text = without_reasoning(reply.text)
    if text is None:
        return Score(Outcome.TRUNCATED, value=0.0)
    if not text.strip() or reply.finish_reason == "content_filter":
        cut = reply.finish_reason == "length"
        return Score(Outcome.TRUNCATED if cut else Outcome.EMPTY, value=0.0)
    try:
        score = as_score(scorer(question, text))
    except NoReference:
        return Score(Outcome.SCORED, explicit=False)
    stated = score.explicit and not score.guessed and score.outcome is not Outcome.UNPARSED
    right = score.outcome is Outcome.CORRECT and not score.guessed
    if reply.finish_reason == "length" and not (stated or right or score.outcome is Outcome.SCORED):
        return replace(score, outcome=Outcome.TRUNCATED, value=0.0)
    return score


def with_correct_from(scorer: Scorer, name: str, correct_from: float) -> Scorer:
    """A graded scorer made one of right and wrong: right from the value `correct_from` on; `metrics` keep the value."""
    return partial(_judged, scorer, name, correct_from)


def _judged(scorer: Scorer, name: str, correct_from: float, question: Question, text: str) -> Score:
    score = as_score(scorer(question, text))
    if score.outcome is not Outcome.SCORED or score.value is None:
        raise ValueError(f"correct_from is for scorers that give a value, and {name} says right or wrong")
    right = score.value >= correct_from
    return replace(
        score,
        outcome=Outcome.CORRECT if right else Outcome.WRONG,
        value=float(right),
        metrics={name: score.value, **score.metrics},
        details={**score.details, name: f"{score.value:.4f}, correct from {correct_from:g}"},
    )


def as_score(value: Any) -> Score:
    """What a user's scorer may return: a Score, right or wrong, or a value from 0 to 1.

    Raises:
        VqaError: something else.
    """
    if isinstance(value, Score):
        return _checked(value)
    if isinstance(value, bool):
        return Score(Outcome.CORRECT if value else Outcome.WRONG, value=float(value))
    if isinstance(value, int | float) and 0 <= value <= 1:
        return Score(Outcome.SCORED, value=float(value))
    raise VqaError(f"the scorer returned {one_line(repr(value))[:80]}, not a Score, a bool or a number from 0 to 1")


def _checked(score: Score) -> Score:
    """A user's Score may leave out the value that its outcome means; no other may contradict it."""
    if score.outcome is Outcome.SCORED and score.value is None:  # nothing to compare the reply with
        return score
    value = float(score.outcome is Outcome.CORRECT) if score.value is None else score.value
    if not 0 <= value <= 1 or not score.outcome.answered:  # NaN neither
        raise VqaError(f"the scorer returned {score.outcome.value} with the value {score.value}, not one from 0 to 1")
    return score if score.value is not None else replace(score, value=value)
