"""What a scorer knows of a sample: the question as it is asked, its options and its references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from string import ascii_uppercase
from typing import Any, TypeVar

from pytest_vqaeval.errors import NoReference

Message = dict[str, Any]
"""A chat message in OpenAI's form: `role`, and `content` as text or as a list of parts."""


T = TypeVar("T")


def values_in(messages: Sequence[Message], kind: type[T]) -> list[T]:
    """All values of a type inside messages, in order: the media, loaded or not."""
    found: list[T] = []
    stack: list[Any] = [list(messages)]
    while stack:
        value = stack.pop()
        if isinstance(value, kind):
            found.append(value)
        elif isinstance(value, dict):
            stack.extend(reversed(value.values()))
        elif isinstance(value, list):
            stack.extend(reversed(value))
    return found


def plain_text(message: Message) -> str:
    """The text of a message, with a mark like `[image]` where each medium stands."""
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return "\n".join(part["text"] if part["type"] == "text" else f"[{part['type'].split('_')[0]}]" for part in parts)


@lru_cache(maxsize=64)
def labels(count: int) -> tuple[str, ...]:
    """The labels of `count` options: A to Z, then 1, 2, ... (EvalScope's rule: the 27th option is `1`)."""
    return tuple(ascii_uppercase[:count]) + tuple(str(n) for n in range(1, count - 25))


@dataclass(frozen=True, slots=True)
class Question:
    """A record made ready to ask and to score.

    Attributes:
        text: the question alone, without instructions.
        messages: what is sent; media are `pytest_vqaeval.media.Media` values until they are loaded.
        references: the right answers, any of which counts; for a choice question one label (or several, if all are
            wanted: see the `multi_choice` scorer). Empty where the benchmark has no references.
        options: the texts of a choice question's options, in order; their labels are `labels(len(options))`.
        record: the row of the data file that it was made of.
    """

    text: str
    messages: Sequence[Message]
    references: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)

    def wanted(self) -> tuple[str, ...]:
        """The references, for a scorer that has no verdict without one.

        Raises:
            NoReference: there is none.
        """
        if not self.references:
            raise NoReference("the sample has no reference")
        return self.references

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the options, in order."""
        return labels(len(self.options))
