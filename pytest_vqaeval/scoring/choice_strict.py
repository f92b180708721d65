"""Which label a reply states, read as a careful reader would; where it states none or several, no answer.

The rules, in their order; each says why it may be trusted. A label read wrongly is worse than one not read, so what no
rule covers gives no answer.

1. Statements: an `ANSWER:` line, or a sentence that says which answer is the correct one ("the correct option is B",
   "B is the answer", "I would choose B", 故选B). The last one counts: replies correct themselves as they go on. What it
   states is a label, or the text of an option. Questions, conditions and negations state nothing.
2. A label alone, or at the head of the first or the last line (`B) text`), if no other label heads anything: several
   make a list of options, echoed or discussed.
3. The text of exactly one option: the whole reply, or what its first or its concluding sentence asserts
   (`pytest_vqaeval.scoring.option_text`).

A letter is a label only where a label is expected; there, `A` and `I` in front of a word are an article and a pronoun.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

from pytest_vqaeval.question import labels
from pytest_vqaeval.scoring.choice_evalscope import Reading, SetReading
from pytest_vqaeval.scoring.option_text import (
    SENTENCE_END,
    equal_option,
    first_sentence,
    leading_option,
    mentioned_options,
    option_tokens,
    plain,
    stated_option,
)

# A model that goes on to write another question has left ours.
_TURN = re.compile(r"^[^\w\n]*(?:question|hint|human|user|问题)\b[ \d]*:", re.IGNORECASE | re.MULTILINE)

_BEGINNING, _ENDING = 8_000, 16_000  # characters of a very long reply that are read: answers stand at either end
_PLACES = 40  # a reply that announces its answer more often repeats itself; its last announcements tell
_LONGEST = 300  # characters of an announced answer

_IS = r"\b(?:is|are|was|(?:would|should|must|will|to|only)(?:\ therefore|\ then)?\ be|matches)\b"
_BEST = r"(?:correct|right|best|final|true|my|chosen|selected|appropriate|accurate|suitable|likely|closest|proper)"
_CHOICE = r"(?:choice|option|letter|selection|statement|label)"
# Where an answer is announced: the answer comes next.
_ANNOUNCED = re.compile(
    rf"""
      \b(?:answers?|ans\b\.?)[\s"')]*(?:[:|=→]|->)                        # ANSWER: B, "answer": "B", | Answer | B |
    | 答案(?:应该?)?[是为选]?\s*:?                                          # 答案：B, 答案是B
    | (?:正确的?选项|认为)(?:应该?)?[是为]?\s*:?
    | (?<![不别未])(?<!不能)选(?![项不])择?\s*:?                            # 故选B, 我选择B
    | \banswers?\b[^.\n:;?!]{{0,60}}?(?:{_IS}|:)                          # the answer is B
    | \b{_BEST}\s+(?:\w+\s+)?{_CHOICE}\b[^.\n:;?!]{{0,60}}?(?:{_IS}|:)    # the correct option is B
    | \b(?:I|we)(?:\s+\w+|'\w+)?\s+(?:choose|select|pick|chose|go\ with|opt\ for)\b
    | \b(?:answer|ans\b\.?)[\s-]+(?=[(\[]?(?-i:[A-Z])[)\]]?(?:\W|$))                   # the answer (B), ANSWER - B
    | \b(?:it\ is|it's|hence|therefore|thus|so|definitely|I(?:'d|\ would)\ say),?\s+   # It is B. Hence B.
      (?=(?:option\s+)?[(\[]?(?-i:[A-Z])[)\]]?\s*(?:[.!](?:\s|$)|$|because|since))
    | ^[^\w\n]*(?:\w+[ ]){{0,2}}\w+:(?=\s*[(\[]?(?-i:[A-Z])[)\]]?\W*\Z)   # Choice: B, at the end of the reply
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_DENIED = re.compile(r"\b(?:not|never|cannot|neither)\b|n't\b|不", re.IGNORECASE)
_SUPPOSED = re.compile(r"\b(?:if|whether|unless|suppose|assum(?:e|ing)|example)\b|如果|是否", re.IGNORECASE)
# What may stand between the announcement and the answer.
_LEAD = re.compile(
    r"""[\s:="'>|~→]*(?:(?:therefore|thus|(?:most\s+)?likely|probably|clearly|indeed|approximately|either|closest\s+to
    |the|(?:correct|final|right)\s+(?:answer|option|choice)|answer|is)\b[\s:"'|]*)*""",
    re.IGNORECASE | re.VERBOSE,
)
_NO_OPTION = re.compile(
    r"(?:none|n/?a|cannot|can't|unable|unknown|unclear|undetermined|not (?:listed|given|among|available|provided"
    r"|possible|enough|applicable|sure|determinable|in the))\b|无法|不确定|都不",
    re.IGNORECASE,
)
_REASON = re.compile(r"\b(?:because|since|as|while|whereas|but|rather|not|given|due)\b|因为|而不", re.IGNORECASE)
_AND = re.compile(r"\s*(?:,?\s*\b(?:and|or)\b|[,/&+、;]|[和或与及])\s*", re.IGNORECASE)
# Words that may follow a label in a sentence; in front of any other, `A` is an article and `I` a pronoun.
_AFTER_LABEL = frozenset(["because", "since", "as", "is", "was", "and", "or", "for", "due", "given", "which", "but"])


_CALLED_CORRECT = "called correct"


class _Statement(NamedTuple):
    start: int
    end: int
    labels: frozenset[str]
    rule: str


def read_strict(text: str, options: Sequence[str]) -> Reading:
    """The one label that `text`, the reply without its reasoning, states; `options` are the options' texts in order."""
    found = read_strict_set(text, options)
    if len(found.labels) == 1:
        return Reading(next(iter(found.labels)), found.rule)
    return Reading(None, f"{found.rule}: {'several labels' if found.labels else 'no label'}")


def read_strict_set(text: str, options: Sequence[str]) -> SetReading:
    """The labels that `text` states, for a question of which several may be right."""
    if len(text) > _BEGINNING + _ENDING:
        text = f"{text[:_BEGINNING]}\n…\n{text[-_ENDING:]}"
    return _Reader(tuple(options)).read(plain(text))


class _Reader:
    """The rules, for one list of options."""

    def __init__(self, options: tuple[str, ...]) -> None:
        self.options = options
        self.labels = labels(len(options))
        self.patterns = _patterns(self.labels)

    def read(self, text: str) -> SetReading:
        """The labels stated in `text`, which is plain."""
        starts = [0, *(turn.start() for turn in _TURN.finditer(text)), len(text)]
        turns = [text[start:end] for start, end in pairwise(starts) if text[start:end].strip()]
        for turn in turns:
            stated = self._last_statement(turn)
            if stated:
                return SetReading(stated.labels, stated.rule)
        if not turns:
            return SetReading(frozenset(), "empty")
        return self._label_alone(turns[0].strip()) or self._option_text(turns[0].strip())

    # 1. statements

    def _last_statement(self, text: str) -> _Statement | None:
        places: list[tuple[re.Match[str], Callable[[str, re.Match[str]], _Statement | None]]]
        places = [(match, self._announced) for match in _ANNOUNCED.finditer(text)]
        places += [(match, self._confirmed) for match in self.patterns.confirmed.finditer(text)]
        places.sort(key=lambda place: place[0].start())
        read = (reader(text, match) for match, reader in reversed(places[-_PLACES:]))
        last, before = (*islice(filter(None, read), 2), None, None)[:2]
        if last is None or before is None or not last.labels or before.labels == last.labels:
            return last
        both_correct = last.rule == before.rule == _CALLED_CORRECT  # "Statement A is correct. B is correct."
        if re.search(r"\w", text[before.end : last.start]) and not both_correct:
            return last
        # Different answers in a row, without a word between them, are a list and not a correction.
        return _Statement(last.start, last.end, before.labels | last.labels, "contradicting statements")

    def _announced(self, text: str, match: re.Match[str]) -> _Statement | None:
        """The statement that begins with the announcement `match`."""
        if _DENIED.search(match[0]) or _is_supposed(text, match):
            return None
        lead = _LEAD.match(text, match.end())
        start = lead.end() if lead else match.end()
        line = text[start : start + _LONGEST].split("\n", 1)[0]
        stated = self._stated(line)
        if stated is None or self._is_list(line, text[start + len(line) : start + len(line) + _LONGEST]):
            return None
        found, length = stated
        rule = "answer line" if match[0].rstrip()[-1] in ":|=→>" else "statement"
        if rule == "statement" and line.strip() in ("a", "i"):
            return None  # prose that was cut after an article
        return _Statement(match.start(), start + length, found, rule)

    def _confirmed(self, text: str, match: re.Match[str]) -> _Statement | None:
        """The statement "B is the correct answer"."""
        if _is_supposed(text, match):
            return None
        return _Statement(
            match.start(), match.end(), frozenset({(match["label"] or match["zh"]).upper()}), _CALLED_CORRECT
        )

    def _stated(self, line: str) -> tuple[frozenset[str], int] | None:
        """The labels that an announced answer gives (none of them: the empty set), and its length; None: no answer."""
        sentence = first_sentence(line)
        alone = self.patterns.label.fullmatch(line.strip().rstrip(".,!\"')] "))
        if alone:
            return frozenset({_name(alone)}), len(line)
        for text in (line, sentence):
            equal = equal_option(text, self.options)
            if equal is not None:
                return frozenset({self.labels[equal]}), len(text)
        found, end = self._labels_at(line)
        leading = leading_option(line, self.options)
        if found and leading is not None and option_tokens(self.options)[leading].startswith(f" {found[0].lower()} "):
            return frozenset({self.labels[leading]}), len(sentence)  # the option "B cells" is not the label B
        if found:
            return frozenset(found) | self._further(_before_reason(first_sentence(line[end:]))), end
        if _NO_OPTION.match(sentence) is None and _DENIED.match(sentence):
            return None
        mentioned = mentioned_options(_before_reason(sentence), self.options)
        if mentioned:
            return frozenset(self.labels[index] for index, _, _ in mentioned), len(sentence)
        return (frozenset(), len(sentence)) if _NO_OPTION.match(sentence) else None

    def _labels_at(self, line: str) -> tuple[list[str], int]:
        """The labels at the beginning of `line`, also as a list (`A, C`, `A and C`, `AC`), and where they end."""
        glued = re.match(r"[A-Z]{2,}(?![\w'-])", line)
        if glued and set(glued[0]).issubset(self.labels) and len(set(glued[0])) == len(glued[0]):
            return list(glued[0]), glued.end()
        found: list[str] = []
        end = start = 0
        while (label := self.patterns.label.match(line, start)) and not self._is_word(line, label):
            found.append(_name(label))
            end = label.end()
            joined = _AND.match(line, end)
            if joined is None:
                break
            start = joined.end()
        return found, end

    def _further(self, rest: str) -> set[str]:
        """More labels in the rest of a sentence: `B) text` and `... and B`."""
        joined = [self.patterns.label.match(rest, word.end()) for word in _AND.finditer(rest)]
        names = {
            _name(label) for label in joined if label and label[0][-1].isupper() and not self._is_word(rest, label)
        }
        return names | {_name(label) for label in self.patterns.item.finditer(rest)}

    def _is_word(self, line: str, label: re.Match[str]) -> bool:
        """Whether a letter is an article or a pronoun: `A dog`, `I think`."""
        if label["noun"] or label["bare"] is None or label["bare"] not in "AaIi":
            return False
        following = re.compile(r" +([A-Za-z]+)").match(line, label.end())
        if following is None or following[1] in _AFTER_LABEL:
            return False
        return not self._is_own_text(label, line[label.end() :])

    def _is_own_text(self, label: re.Match[str], rest: str) -> bool:
        return leading_option(rest, self.options) == self._index(label)

    def _index(self, label: re.Match[str]) -> int:
        return self.labels.index(_name(label))

    def _is_list(self, line: str, below: str) -> bool:
        """Whether the announced label is only the first of a list of options, one a line."""
        first, second = self.patterns.item.match(line), self.patterns.item.match(below.lstrip())
        return bool(first and second and _name(first) != _name(second))

    # 2. a label alone

    def _label_alone(self, text: str) -> SetReading | None:
        found, end = self._labels_at(text[:_LONGEST])
        if found and not re.search(r"\w", text[end:]):
            return SetReading(frozenset(found), "label alone")
        head = self._head(text.split("\n", 1)[0]) or self._head(text.rsplit("\n", 1)[-1])
        if head is None:
            return None
        # one match of each spelling is enough: replies of thousands of lines repeat themselves
        heads = {
            label[0]: label for pattern in (self.patterns.item, self.patterns.lone) for label in pattern.finditer(text)
        }
        others = {_name(label) for label in heads.values()} - {head}
        return None if others else SetReading(frozenset({head}), "label at the head of a line")

    def _head(self, line: str) -> str | None:
        """The label with which a line begins, if what follows is nothing, a reason, or can be the option's text."""
        line = line[:_LONGEST].strip()
        label = self.patterns.item.match(line) or self.patterns.label.match(line)
        if label is None:
            return None
        rest = line[label.end() :].lstrip(" ,.:)-")
        if self.patterns.next_item.search(rest) or equal_option(rest, self.options) not in (None, self._index(label)):
            return None  # a list of options, or the text of another
        if not re.search(r"\w", rest) or re.match(r"(?:because|since)\b", rest) or self._is_own_text(label, rest):
            return _name(label)
        if label[0][-1] in ")]":
            return _name(label)
        # `E. coli` is a species, and `A: The image ...` the answering side of a dialogue
        is_item = label[0][-1] in ".:" or line[label.end() : label.end() + 1] in (".", ":")
        return _name(label) if is_item and not rest[0].islower() and _name(label) not in ("A", "I") else None

    # 3. the text of an option

    def _option_text(self, text: str) -> SetReading:
        stated = stated_option(text, self.options)
        if stated is None:
            return SetReading(frozenset(), "nothing stated")
        index, rule = stated
        return SetReading(frozenset({self.labels[index]}), rule)


class _Patterns(NamedTuple):
    """What a label looks like."""

    label: re.Pattern[str]  # where one is expected
    confirmed: re.Pattern[str]  # called correct
    item: re.Pattern[str]  # of an item in a list of options
    next_item: re.Pattern[str]  # of a further item on the same line
    lone: re.Pattern[str]  # on a line of its own


@lru_cache(maxsize=64)
def _patterns(names: tuple[str, ...]) -> _Patterns:
    one = f"(?:{'|'.join(sorted(names, key=len, reverse=True)) or '(?!)'})"
    end = r"(?![A-Za-z0-9_'^=+%°]|-[A-Za-z0-9]|\.[A-Za-z0-9])"
    label = (
        r"(?P<noun>(?:option|choice|letter|选项)\s*)?"
        rf"(?:[(\[<【「\"']\s*(?P<closed>{one})\s*[)\]>】」\"'.]|(?P<bare>{one}){end})"
    )
    correct = (
        r"(?:correct|answer|accurate|(?:right|best|appropriate)"
        r"(?:\s+(?:answer|choice|option|one)|(?=\W*(?:[.,;!\n]|$)|\s+(?:because|since|as))))"
    )
    is_correct = (
        rf"\s+{_IS}\s+(?:also\s+|\w+ly\s+)?(?:the\s+|my\s+)?(?:most\s+|only\s+|best\s+)?(?:\w+ly\s+)?{correct}\b"
    )
    before = (
        r"(?:(?:option|choice|answer|letter)\s*[(\[\"']?|(?<![\w(\[])[(\[](?=\S\W)|^[^\w\n]*|[.,;:!]\s+"
        r"|\b(?:so|thus|hence|therefore|that|think|believe),?\s+)"
    )
    text = r"(?:(?<=[)\]])[.:]?\s[^.\n;!?,]{0,60}?)?"
    confirmed = rf"{before}(?P<label>{one}){end}[)\]\"']?{text}{is_correct}|(?P<zh>{one})(?:选项)?[是为]?(?:正确|对的)"
    return _Patterns(
        re.compile(label, re.IGNORECASE),
        re.compile(confirmed, re.IGNORECASE | re.MULTILINE),
        re.compile(rf"[(\[]{one}[)\]]|(?<![\w']){one}\)|(?:^[ \t•-]*|(?<=[.;,]\s)){one}[.:](?=\s)", re.MULTILINE),
        re.compile(rf"\s{one}[.:]\s"),
        re.compile(rf"^[^\w\n]*{one}[^\w\n]*$", re.MULTILINE),
    )


def _name(label: re.Match[str]) -> str:
    """The label in a match, without brackets, punctuation and the word before it."""
    return re.sub(r"[^A-Z0-9]|OPTION|CHOICE|LETTER", "", label[0].upper())


def _before_reason(sentence: str) -> str:
    reason = _REASON.search(sentence)
    return sentence[: reason.start()] if reason else sentence


def _is_supposed(text: str, match: re.Match[str]) -> bool:
    """Whether the sentence around `match` is a condition or a question."""
    before = SENTENCE_END.split(text[max(0, match.start() - _LONGEST) : match.start()])[-1]
    stop = SENTENCE_END.search(text, match.end(), match.end() + _LONGEST)
    return bool(_SUPPOSED.search(before) or (stop and stop[0] == "?"))
