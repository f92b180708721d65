"""Scoring: from a reply to a verdict, through the rule that the spec names. Rules are one file each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, ClassVar

from pytest_vqaeval.errors import VqaError
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
    answer was stated is `truncated`, unless what there is of it is right as it stands.

    Raises:
        VqaError: the scorer failed; the message says how.
    """
    text = without_reasoning(reply.text)
    if text is None:
        return Score(Outcome.TRUNCATED, value=0.0)
    if not text.strip() or reply.finish_reason == "content_filter":
        cut = reply.finish_reason == "length"
        return Score(Outcome.TRUNCATED if cut else Outcome.EMPTY, value=0.0)
    score = as_score(scorer(question, text))
    stated = score.explicit and not score.guessed and score.outcome is not Outcome.UNPARSED
    right = score.outcome is Outcome.CORRECT and not score.guessed
    if reply.finish_reason == "length" and not (stated or right or score.outcome is Outcome.SCORED):
        return replace(score, outcome=Outcome.TRUNCATED, value=0.0)
    return score


def as_score(value: Any) -> Score:
    """What a user's scorer may return: a Score, right or wrong, or a value from 0 to 1.

    Raises:
        VqaError: something else.
    """
    if isinstance(value, Score):
        return value
    if isinstance(value, bool):
        return Score(Outcome.CORRECT if value else Outcome.WRONG, value=float(value))
    if isinstance(value, int | float) and 0 <= value <= 1:
        return Score(Outcome.SCORED, value=float(value))
    raise VqaError(f"the scorer returned {one_line(repr(value))[:80]}, not a Score, a bool or a number from 0 to 1")
