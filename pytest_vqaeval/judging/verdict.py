"""What a judge may say: one JSON object with a verdict from a fixed list, or a score. Nothing else is understood."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pytest_vqaeval.reply import without_reasoning

Form = Literal["label", "score"]
LABELS = {"A": 1.0, "B": 0.0}
"""The verdicts of the form `label` with their values; the prompt says what they mean."""

PLACEHOLDER = "<one short sentence>"
"""Stands for the reason in the form that the prompt asks for. Weak models that are made to write JSON repeat it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said.

    Attributes:
        value: 0 (wrong) to 1 (right).
        said: the label or the score, as text.
        reason: the judge's own words, perhaps none.
    """

    value: float
    said: str
    reason: str


class Malformed(Exception):
    """A judge's reply that holds no verdict; the text says why, and is the same for all replies of that kind."""


def read_verdict(text: str, form: Form) -> Verdict:
    """The verdict in a judge's reply, by EvalScope's rules: prose and fences around the object are ignored.

    Stricter than those in two points: an object that gives a key twice is not read, nor one that repeats the form.

    Raises:
        Malformed: there is not exactly one JSON object outside of reasoning, or it holds no verdict.
    """
    answer = without_reasoning(text)
    if not (answer or "").strip():
        raise Malformed("the judge's reply is empty" if answer is not None else "the judge's reply ends in a thought")
    found = list(_objects(answer or ""))
    if len(found) != 1:
        raise Malformed(f"the judge's reply holds {'several JSON objects' if found else 'no JSON object'}")
    try:
        said = json.loads(found[0], object_pairs_hook=_without_twins)
    except (ValueError, RecursionError):
        raise Malformed("the judge's reply is not valid JSON") from None
    reason = said.get("reasoning", "")
    if not isinstance(reason, str):
        raise Malformed("the judge's reasoning is not a text")
    if reason.strip() == PLACEHOLDER:
        raise Malformed("the judge's reply repeats the form that was asked for")
    return _label(said.get("verdict"), reason) if form == "label" else _score(said.get("score"), reason)


def _label(label: Any, reason: str) -> Verdict:
    if not isinstance(label, str) or label not in LABELS:
        raise Malformed(f"the judge's verdict is none of {', '.join(LABELS)}")
    return Verdict(LABELS[label], label, reason)


def _score(score: Any, reason: str) -> Verdict:
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise Malformed("the judge's score is not a number from 0 to 1")
    return Verdict(float(score), f"{score:g}", reason)


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is given twice")
    return dict(pairs)


def _objects(text: str) -> Iterator[str]:
    """The outermost `{...}` of a text; braces in JSON strings do not count, an object that does not end is none."""
    depth = start = 0
    in_string = escaped = False
    for position, char in enumerate(text):
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"' and depth:
            in_string = True
        elif char == "{":
            start = start if depth else position
            depth += 1
        elif char == "}" and depth:
            depth -= 1
            if not depth:
                yield text[start : position + 1]
