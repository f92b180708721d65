"""Which label a reply states, read as a careful reader would; where it states none or several, no answer.

The rules, in their order; each says why it may be trusted. A label read wrongly is worse than one not read, so what no
rule covers gives no answer.

1. Statements: an `ANSWER:` line, a key of JSON (`"answer": "B"`), or a sentence that says which answer is the correct
   one ("the correct option is B", "B is the answer", "I would choose B", 故选B). The last one counts: replies correct
   themselves as they go on. What it states is a label, or the text of an option. Questions, conditions and negations
   state nothing.
2. A label alone, at the head of the first or the last line (`B) text`), or behind its text in a reply of one sentence
   ("the liver (C)"), if no other label heads anything: several make a list of options, echoed or discussed.
3. The text of exactly one option: the whole reply, or what its first or its concluding sentence asserts
   (`pytest_vqaeval.scoring.option_text`).

The words by which replies do so are in `pytest_vqaeval.scoring.choice_wording`. A letter is a label only where a label
is expected; there, `A` and `I` in front of a word are an article and a pronoun.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from pytest_vqaeval.question import labels
from pytest_vqaeval.scoring.choice_evalscope import Reading, SetReading
from pytest_vqaeval.scoring.choice_wording import (
    AFTER_LABEL,
    AND,
    ANNOUNCED,
    DENIED,
    DENIED_AT_ONCE,
    LEAD,
    LONGEST,
    NO_OPTION,
    REASON_GIVEN,
    before_reason,
    is_denied,
    is_supposed,
    label_patterns,
    name_of,
)
from pytest_vqaeval.scoring.option_text import (
    SENTENCE_END,
    equal_option,
    first_sentence,
    hedges,
    leading_option,
    mentioned_options,
    option_tokens,
    plain,
    stated_option,
    tokens,
)

# A model that goes on to write another question has left ours.
_TURN = re.compile(r"^[^\w\n]*(?:question|hint|human|user|问题)\b[ \d]*:", re.IGNORECASE | re.MULTILINE)

_BEGINNING, _ENDING = 8_000, 16_000  # characters of a very long reply that are read: answers stand at either end
_PLACES = 40  # a reply that announces its answer more often repeats itself; its last announcements tell

_LAST_SENTENCE = re.compile(r"(?<=\w\w)[.!]\s+")  # not behind a label

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
        self.patterns = label_patterns(self.labels)

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
        places = [(match, self._announced) for match in ANNOUNCED.finditer(text)]
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
        if DENIED.search(match[0]) or is_denied(text[: match.start()]) or is_supposed(text, match):
            return None
        lead = LEAD.match(text, match.end())
        start = lead.end() if lead else match.end()
        line = text[start : start + LONGEST].split("\n", 1)[0]
        stated = self._stated(line)
        if stated is None or self._is_list(line, text[start + len(line) : start + len(line) + LONGEST]):
            return None
        found, length = stated
        rule = "answer line" if match[0].rstrip()[-1] in ":|=→>" else "statement"
        if rule == "statement" and line.strip() in ("a", "i"):
            return None  # prose that was cut after an article
        return _Statement(match.start(), start + length, found, rule)

    def _confirmed(self, text: str, match: re.Match[str]) -> _Statement | None:
        """The statement "B is the correct answer"."""
        if is_supposed(text, match):
            return None
        return _Statement(
            match.start(),
            match.end(),
            frozenset({(match["label"] or match["listed"] or match["marked"] or match["zh"]).upper()}),
            _CALLED_CORRECT,
        )

    def _stated(self, line: str) -> tuple[frozenset[str], int] | None:
        """The labels that an announced answer gives (none of them: the empty set), and its length; None: no answer."""
        sentence = first_sentence(line)
        alone = self.patterns.label.fullmatch(line.strip().rstrip(".,!\"')] "))
        if alone:
            return frozenset({name_of(alone)}), len(line)
        for text in (line, sentence):
            equal = equal_option(text, self.options)
            if equal is not None:
                return frozenset({self.labels[equal]}), len(text)
        found, end = self._labels_at(line)
        leading = leading_option(line, self.options)
        if found and leading is not None and option_tokens(self.options)[leading].startswith(f" {found[0].lower()} "):
            return frozenset({self.labels[leading]}), len(sentence)  # the option "B cells" is not the label B
        if found and DENIED_AT_ONCE.match(line, end):
            return None
        if found:
            return frozenset(found) | self._further(before_reason(first_sentence(line[end:]))), end
        if NO_OPTION.match(sentence) is None and DENIED.match(sentence):
            return None
        mentioned = mentioned_options(before_reason(sentence), self.options)
        if mentioned:
            return frozenset(self.labels[index] for index, _, _ in mentioned), len(sentence)
        return (frozenset(), len(sentence)) if NO_OPTION.match(sentence) else None

    def _labels_at(self, line: str) -> tuple[list[str], int]:
        """The labels at the beginning of `line`, also as a list (`A, C`, `A and C`, `AC`), and where they end."""
        glued = re.match(r"[A-Z]{2,}(?![\w'-])", line)
        if glued and set(glued[0]).issubset(self.labels) and len(set(glued[0])) == len(glued[0]):
            return list(glued[0]), glued.end()
        found: list[str] = []
        end = start = 0
        while (label := self.patterns.label.match(line, start)) and not self._is_word(line, label):
            found.append(name_of(label))
            end = label.end()
            joined = AND.match(line, end)
            if joined is None:
                break
            start = joined.end()
        return found, end

    def _further(self, rest: str) -> set[str]:
        """More labels in the rest of a sentence: `B) text` and `... and B`."""
        joined = [self.patterns.label.match(rest, word.end()) for word in AND.finditer(rest)]
        names = {
            name_of(label) for label in joined if label and label[0][-1].isupper() and not self._is_word(rest, label)
        }
        return names | {name_of(label) for label in self.patterns.item.finditer(rest)}

    def _is_word(self, line: str, label: re.Match[str]) -> bool:
        """Whether a letter is an article or a pronoun: `A dog`, `I think`."""
        if label["noun"] or label["bare"] is None or label["bare"] not in "AaIi":
            return False
        following = re.compile(r" +([A-Za-z]+)").match(line, label.end())
        if following is None or following[1] in AFTER_LABEL:
            return False
        return equal_option(first_sentence(line[label.end() :]), self.options) != self._index(label)

    def _is_own_text(self, label: re.Match[str], rest: str) -> bool:
        return leading_option(rest, self.options) == self._index(label)

    def _index(self, label: re.Match[str]) -> int:
        return self.labels.index(name_of(label))

    def _is_list(self, line: str, below: str) -> bool:
        """Whether the announced label is only the first of a list of options, one a line."""
        first, second = self.patterns.item.match(line), self.patterns.item.match(below.lstrip())
        return bool(first and second and name_of(first) != name_of(second))

    # 2. a label alone

    def _label_alone(self, text: str) -> SetReading | None:
        text = self._without_mark(text)
        found, end = self._labels_at(text[:LONGEST])
        if found and not re.search(r"\w", re.sub(r"^选?项", "", text[end:])):
            return SetReading(frozenset(found), "label alone")
        paired = self._behind_its_text(text)
        if paired:
            return SetReading(frozenset({paired}), "label behind its text")
        first, last = text.split("\n", 1)[0], text.rsplit("\n", 1)[-1]
        sentence = _LAST_SENTENCE.split(last)[-1]
        with_text = sentence if re.search(r"\w\W+\w", sentence) else ""  # a letter behind a sentence may be cut off
        head = self._head(first) or self._head(last) or self._head(with_text)
        if head is None:
            return None
        # one match of each spelling is enough: replies of thousands of lines repeat themselves
        heads = {
            label[0]: label
            for pattern in (self.patterns.item, self.patterns.lone)
            for label in pattern.finditer(text)
            if not DENIED_AT_ONCE.match(text, label.end())
        }
        others = {name_of(label) for label in heads.values()} - {head}
        return None if others else SetReading(frozenset({head}), "label at the head of a line")

    def _without_mark(self, text: str) -> str:
        """A reply without the bullet, the arrow or the number at its beginning."""
        text = re.sub(r"^[^\w(\[<【「\"'\\]+", "", text)
        text = re.sub(r"^\[(?=[\"'])", "", text)
        number = None if re.search(r"\n\W*\d+[.)]\s", text) else re.match(r"\(?(\d+)[.)]\s+", text)
        return text[number.end() :] if number and number[1] not in self.labels else text

    def _head(self, line: str) -> str | None:
        """The label with which a line begins, if what follows is nothing, a reason, or can be the option's text."""
        line = line[:LONGEST].strip()
        glued = re.match(r"([A-Z0-9]+)[.:)、](?=\S)", line)
        if glued and glued[1] in self.labels:  # "B.text"
            return glued[1] if equal_option(line[glued.end() :], self.options) == self.labels.index(glued[1]) else None
        label = self.patterns.item.match(line)
        if label is None:
            label = self.patterns.label.match(line)
            if label is None or self._is_word(line, label):
                return None
        if DENIED_AT_ONCE.match(line, label.end()):
            return None
        rest = line[label.end() :].lstrip(" ,.:)-")
        if self.patterns.next_item.search(rest) or equal_option(rest, self.options) not in (None, self._index(label)):
            return None  # a list of options, or the text of another
        if not re.search(r"\w", rest) or REASON_GIVEN.match(rest) or self._is_own_text(label, rest):
            return name_of(label)
        if label[0][-1] in ")]":
            return name_of(label)
        # `E. coli` is a species, and `A: The image ...` the answering side of a dialogue
        is_item = label[0][-1] in ".:" or line[label.end() : label.end() + 1] in (".", ":")
        return name_of(label) if is_item and not rest[0].islower() and name_of(label) not in ("A", "I") else None

    def _behind_its_text(self, text: str) -> str | None:
        """The label of a reply that is one sentence and ends with the text and label of an option: "the liver (C)"."""
        ending = re.search(r"[\s,:-]*([(\[\s])([A-Z0-9]+)[)\]]?\W*\Z", text)
        if len(text) > LONGEST or ending is None or ending[2] not in self.labels:
            return None
        before = text[: ending.start()]
        if SENTENCE_END.search(before) or hedges(before):
            return None
        own = option_tokens(self.options)[self.labels.index(ending[2])]
        bare = ending[1].isspace()  # "text - B" only if nothing else is said
        paired = tokens(before) == own if bare else tokens(before).endswith(own)
        return ending[2] if own and paired else None

    # 3. the text of an option

    def _option_text(self, text: str) -> SetReading:
        stated = stated_option(text, self.options)
        if stated is None:
            return SetReading(frozenset(), "nothing stated")
        index, rule = stated
        return SetReading(frozenset({self.labels[index]}), rule)
