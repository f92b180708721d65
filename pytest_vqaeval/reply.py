"""What a model returned, and the part of it that is the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_COMPLETE_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model to one request.

    Attributes:
        text: the content of the first choice, as received; `""` if there was none.
        finish_reason: as the server gave it (`stop`, `length`, `content_filter`, ...), or None.
        usage: token counts as the server gave them, flat integers (`prompt_tokens`, `completion_tokens`, ...).
        latency_s: seconds from sending the request that succeeded to its last byte; None where nothing was sent.
        attempts: how many requests it took, 1 or more.
        reused: True if it came from a file of an earlier time instead of the model.
    """

    text: str
    finish_reason: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    latency_s: float | None = None
    attempts: int = 1
    reused: bool = False


def without_reasoning(text: str) -> str | None:
    """The answer part of a reply: reasoning in `<think>` blocks is not the answer.

    Complete blocks are cut. A `</think>` that was never opened ends reasoning that began in the prompt's template, so
    all before it is cut. An unclosed `<think>` is reasoning that was cut off before there was an answer: None.
    """
    text = _COMPLETE_THOUGHT.sub("", text)
    _, closing, after = text.rpartition("</think>")
    if closing:
        text = after
    return None if "<think>" in text else text
