"""What short-answer scorers share: the answer that a reply gives."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

AnswerRule = Literal["marker", "whole"]

# EvalScope's rule for SLAKE: any case, also inside a word, no space before the colon; line breaks after it are skipped
_MARKER = re.compile(r"ANSWER:\s*(.*)", re.IGNORECASE)


class Answer(NamedTuple):
    """The answer as it was read, and whether an `ANSWER:` line stated it."""

    text: str
    explicit: bool


def read_answer(text: str, rule: AnswerRule) -> Answer:
    """The answer in `text`, the reply without its reasoning.

    `marker` is the rest of the line after the last `ANSWER:`, without quotes around it, or the whole reply where there
    is no marker (the rule of EvalScope's SLAKE benchmark); `whole` is always the whole reply.

    Raises:
        ValueError: another rule.
    """
    if rule not in ("marker", "whole"):
        raise ValueError(f"answer must be 'marker' or 'whole', not {rule!r}")
    lines = _MARKER.findall(text) if rule == "marker" else []
    if lines:
        return Answer(lines[-1].strip().strip("\"'"), explicit=True)
    return Answer(text.strip(), explicit=False)
