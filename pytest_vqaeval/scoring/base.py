"""What a scorer returns. A scorer is a pure function `(question, text, **options) -> Score`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from pytest_vqaeval.question import Question

NORMAL_FORM, OF_REFERENCE = "normal form", "of reference"
"""Labels of `Score.details`: the texts that a rule compares, where these are not the extracted answer and reference."""


class Outcome(str, Enum):
    """What became of a sample; every sample has exactly one."""

    CORRECT = "correct"
    WRONG = "wrong"
    UNPARSED = "unparsed"  # a reply in which no answer can be read
    TRUNCATED = "truncated"  # cut by the token limit before an answer could be read
    EMPTY = "empty"  # nothing, or a refusal by a content filter
    SCORED = "scored"  # a value from a scorer that knows no right and wrong
    ERROR = "error"  # no reply, or no verdict
    NOT_RUN = "not_run"  # selected, never reached

    @property
    def answered(self) -> bool:
        """There was a reply and a verdict on it."""
        return self not in (Outcome.ERROR, Outcome.NOT_RUN)

    @property
    def counts_wrong(self) -> bool:
        """In accuracy's denominator but not in its numerator."""
        return self in (Outcome.WRONG, Outcome.UNPARSED, Outcome.TRUNCATED, Outcome.EMPTY)


@dataclass(frozen=True, slots=True)
class Score:
    """A verdict on one reply.

    Attributes:
        outcome: correct, wrong, unparsed or scored (scorers return no other; the rest is decided around them).
        extracted: the answer that was read, as read (the label for a choice); None when none was read.
        value: 1.0 or 0.0 for right and wrong, the headline metric in 0..1 for a graded scorer; None without verdict.
        metrics: further metrics by name, each 0..1.
        guessed: the answer was not stated, but taken by a fallback rule.
        explicit: the answer was stated as such (an `ANSWER:` line), not taken from the reply as a whole.
        details: label -> text, shown when a person looks at the sample (the normal forms, the rule that fired).
    """

    outcome: Outcome
    extracted: str | None = None
    value: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    guessed: bool = False
    explicit: bool = True
    details: Mapping[str, str] = field(default_factory=dict)


class Scorer(Protocol):
    """A scoring rule; keyword arguments are the further keys of a spec's `score:` block."""

    def __call__(self, question: Question, text: str, /) -> Score:
        """Score `text`, the reply without its reasoning (never empty)."""


def verdict(
    right: bool,
    extracted: str | None,
    *,
    guessed: bool = False,
    explicit: bool = True,
    details: Mapping[str, str] | None = None,
) -> Score:
    """The Score of a rule that knows right and wrong."""
    outcome = Outcome.CORRECT if right else Outcome.WRONG
    return Score(outcome, extracted, float(right), {}, guessed, explicit, details or {})


UNPARSED = Score(Outcome.UNPARSED, None, 0.0, explicit=False)
