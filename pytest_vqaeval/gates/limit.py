"""The gates `max_unparsed`, `max_truncated`, `max_errors`, `max_guessed`: so many samples, or such a share, at most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from pytest_vqaeval.gates.base import ROUNDING, Finding, Part, Verdict, by_bounds, split_scope
from pytest_vqaeval.scoring.base import Outcome


@dataclass(frozen=True)
class Limit:
    """At most `most` samples, or, if `share`, at most this share (0 to 1) of all samples that the gate is about."""

    most: float
    share: bool
    scope: str | None = None
    kind: ClassVar[str] = ""
    counted: ClassVar[str] = ""

    @property
    def name(self) -> str:
        """The rule in words."""
        return f"{self.kind} {100 * self.most:g} %" if self.share else f"{self.kind} {self.most:g}"

    def judge(self, part: Part) -> Finding:
        """By the count itself, and as if all samples without a verdict were to be counted too.

        Where no sample was answered nothing passes, however many errors are allowed.
        """
        if not part.size:
            return Finding(Verdict.INCONCLUSIVE, "there are no samples")
        count, unknown = self._count(part)
        allowed = (self.most * part.size if self.share else self.most) + ROUNDING
        said = f"{count:,} of {part.size:,} {self.counted} ({100 * count / part.size:.2f} %)"
        if unknown:
            said += f", {unknown:,} more could be"
        numbers = {"count": count, "samples": part.size, "unknown": unknown}
        verdict = by_bounds(count + unknown <= allowed, count <= allowed)
        if verdict is Verdict.PASS and not part.tally.answered:
            verdict, said = Verdict.INCONCLUSIVE, f"{said}, no sample was answered"
        return Finding(verdict, said, numbers)

    def _count(self, part: Part) -> tuple[int, int]:
        """Samples to be counted, and those of which it is not known."""
        return part.tally.counts[Outcome(self.counted)], part.missing


class MaxUnparsed(Limit):
    """Replies in which no answer can be read."""

    kind, counted = "max_unparsed", "unparsed"


class MaxTruncated(Limit):
    """Replies that the token limit cut before an answer."""

    kind, counted = "max_truncated", "truncated"


class MaxGuessed(Limit):
    """Answers that a fallback rule took."""

    kind, counted = "max_guessed", "guessed"

    def _count(self, part: Part) -> tuple[int, int]:
        return part.tally.guessed, part.missing


class MaxErrors(Limit):
    """Samples without a reply or without a verdict. Where it passes, these errors alone don't fail the run."""

    kind, counted = "max_errors", "errors"

    def _count(self, part: Part) -> tuple[int, int]:
        errors = part.tally.counts[Outcome.ERROR]
        return errors, part.missing - errors


def read_limit(text: str) -> tuple[float, bool]:
    """`20`: a number of samples; `1%` or `0.01`: a share.

    Returns:
        The limit, and whether it is a share (0 to 1).

    Raises:
        ValueError: neither.
    """
    text = text.strip()
    if text.isdecimal():
        return float(text), False
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise ValueError(f"{text!r} is neither a number of samples nor a share: 20, 1% or 0.01")
    if share == 1 and not text.endswith("%"):
        raise ValueError(f"{text!r} could mean one sample, or all: write 1, or 100%")
    return share, True


def parse_limit(kind: type[Limit], text: str) -> Limit:
    """`20`, `1%`, `slake=1%`, `slake/en_open=20`.

    Raises:
        ValueError: no such limit.
    """
    scope, value = split_scope(text)
    return kind(*read_limit(value), scope)
