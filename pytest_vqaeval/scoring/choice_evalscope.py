"""Which label a reply gives, by the rule of EvalScope 1.14 (its multiple-choice benchmarks with English prompts).

The rule was established from what EvalScope answers, with its quirks: published scores depend on them. Where no
`ANSWER:` line names a label it takes the last capital letter of the whole reply: a guess, and called one here.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

# Any case, also inside a word; the label may stand on the next line, in bold, and in TeX.
_MARKER = re.compile(r"ANSWER\s*:\s*\**\s*", re.IGNORECASE)
_TEX_OPENERS = re.compile(r"(?:(?:\$|\\\(|\\(?:boxed|fbox|text|textbf|mathbf|mathrm)\s*\{)\s*)*")
_IN_BRACKETS = re.compile(r"[(\[（【]\s*([A-Za-z0-9](?:\s*[,，/、]\s*[A-Za-z0-9])*)\s*[)\]）】]")
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ,，/、]*")
_WORD = re.compile(r"[A-Za-z0-9]+")
_BETWEEN_LABELS = ("and", "or")
_AND = re.compile(r"\s+(?:and|or)\s+", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,，/、]")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a rule read in a reply.

    Attributes:
        label: the label that the reply gives, or None.
        rule: the name of the rule that decided, for a person who looks at the sample.
        guessed: the reply does not state the label; it was taken by a fallback.
    """

    label: str | None
    rule: str
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class SetReading:
    """As `Reading`, for a question of which several labels may be right; no labels where none was read."""

    labels: frozenset[str]
    rule: str
    guessed: bool = False


def read_evalscope(text: str, labels: Collection[str]) -> Reading:
    """The label that EvalScope 1.14 reads in `text`, the reply without its reasoning.

    Several labels on the line that counts are no answer; the fallback is for replies without such a line.
    """
    stated = _stated(text, labels)
    if not stated:
        return _last_capital(text, labels)
    return Reading(stated, "answer line") if stated in labels else Reading(None, "several labels on the answer line")


def read_evalscope_set(text: str, labels: Collection[str]) -> SetReading:
    """The labels that EvalScope 1.14 reads in `text` where the question may have several right ones."""
    stated = _stated(text, labels)
    if stated:
        return SetReading(_split(stated, labels), "answer line")
    last = _last_capital(text, labels)
    return SetReading(frozenset([last.label] if last.label else []), last.rule, last.guessed)


def _stated(text: str, labels: Collection[str]) -> str:
    """What stands after the last `ANSWER:` that is followed by a label, as far as it consists of labels; or ""."""
    for marker in reversed(list(_MARKER.finditer(text))):
        opened = _TEX_OPENERS.match(text, marker.end())
        start = opened.end() if opened else marker.end()
        labelled = _IN_BRACKETS.match(text, start) or _RUN.match(text, start)
        stated = _leading_labels(labelled[labelled.lastindex or 0], labels) if labelled else ""
        if stated:
            return stated
    return ""


def _leading_labels(run: str, labels: Collection[str]) -> str:
    """`run` up to the first word that is no label; `and` and `or` count only where a label follows them at once."""
    end = 0
    joined = False
    for word in _WORD.finditer(run):
        if word[0] in labels or all(char in labels for char in word[0]):
            end, joined = word.end(), False
        elif end and not joined and word[0].lower() in _BETWEEN_LABELS:
            joined = True
        else:
            break
    return run[:end].strip(" ,，/、")


def _split(stated: str, labels: Collection[str]) -> frozenset[str]:
    """`A, C`, `A and C` or `AC` as labels; nothing if a part is no label."""
    listed = _AND.sub(",", stated).replace(" ", "")
    for parts in (_SEPARATOR.split(listed), _SEPARATOR.sub("", listed)):
        if set(parts).issubset(labels):
            return frozenset(parts)
    return frozenset()


def _last_capital(text: str, labels: Collection[str]) -> Reading:
    capital = next((char for char in reversed(text) if char.isupper()), None)
    if capital in labels:
        return Reading(capital, "last capital letter", guessed=True)
    return Reading(None, "no answer line, and the last capital letter is no label")
