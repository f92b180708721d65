"""Which label a reply states, read as a careful reader would; where it states none or several, no answer.

The rules, in their order; each says why it may be trusted. A label read wrongly is worse than one not read, so what no
rule covers gives no answer.

1. Statements: an `ANSWER:` line, or a sentence that says which answer is the correct one ("the correct option is B",
   "B is the answer", "I would choose B", 故选B). The last one counts, because a reply corrects itself downwards. What it
   states is a label, or the text of an option. Questions, conditions and negations state nothing.
2. A label alone, or at the head of the first or the last line (`B) text`), if no other label heads a line: several
   make a list of options, echoed or discussed.
3. The text of exactly one option: the whole reply, or what its first or its concluding sentence asserts.

A letter is a label only where a label is expected; there, `A` and `I` in front of a word are an article and a pronoun.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pytest_vqaeval.question import labels
from pytest_vqaeval.scoring.choice_evalscope import Reading, SetReading
from pytest_vqaeval.scoring.option_text import (
    equal_option,
    leading_option,
    mentioned_options,
    option_tokens,
    plain,
    tokens,
)

# A model that goes on to write another question has left ours.
_TURN = re.compile(r"^\W*(?:question|hint|human|user|问题)\b[ \d]*:", re.IGNORECASE | re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[\n;。！？；]")
_IS = r"\b(?:is|are|was|would\ be|should\ be|must\ be|will\ be|to\ be|matches|seems\ to\ be|appears\ to\ be)\b"
_BEST = r"(?:correct|right|best|final|true|my|chosen|selected|appropriate|accurate|suitable|likely|closest|proper)"
_CHOICE = r"(?:choice|option|letter|selection|statement|label)"

# Where an answer is announced: the answer comes next.
_ANNOUNCED = re.compile(
    rf"""
      \banswers?\b[\s"')]*[:|=]                                                 # ANSWER: B, "answer": "B", | Answer | B |
    | 答案(?:应该?)?[是为选]?\s*:?                                                # 答案：B, 答案是B
    | 正确的?选项(?:应该?)?[是为]?\s*:?
    | (?<![不别未])(?<!不能)选(?![项不])择?\s*:?                                  # 故选B, 我选择B
    | \banswers?\b[^.\n:;?!]{{0,60}}?(?:{_IS}|:)                                # the answer is B
    | \b{_BEST}\s+(?:\w+\s+)?{_CHOICE}\b[^.\n:;?!]{{0,60}}?(?:{_IS}|:)          # the correct option is B
    | \b(?:I|we)(?:\s+\w+|'\w+)?\s+(?:choose|select|pick|chose|go\ with|opt\ for)\b  # I would choose B
    | \banswer[\s-]+(?=[(\[]?(?-i:[A-Z])[)\]]?(?:\W|$))                         # the answer (B), ANSWER - B
    | \b(?:it\ is|it's|hence|therefore|thus|so|definitely|I(?:'d|\ would)\ say),?\s+                 # It is B. Hence B.
      (?=(?:option\s+)?[(\[]?(?-i:[A-Z])[)\]]?\s*(?:[.!](?:\s|$)|$|because|since))
    | ^\W*(?:\w+[ ]){{0,2}}\w+:(?=\s*[(\[]?(?-i:[A-Z])[)\]]?\W*\Z)              # Choice: B, at the end of the reply
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_DENIED = re.compile(r"\b(?:not|never|cannot|neither)\b|n't\b|不", re.IGNORECASE)
_SUPPOSED = re.compile(r"\b(?:if|whether|unless|suppose|assum(?:e|ing)|example)\b|如果|是否", re.IGNORECASE)
_LEAD = re.compile(
    r"""[\s:="'>|~]*(?:(?:therefore|thus|(?:most\s+)?likely|probably|clearly|indeed|approximately|either|closest\s+to
    |the|(?:correct|final|right)\s+(?:answer|option|choice)|answer|is)\b[\s:"'|]*)*""",
    re.IGNORECASE | re.VERBOSE,
)
_NO_OPTION = re.compile(
    r"(?:none|n/?a|cannot|can't|unable|unknown|unclear|undetermined|not (?:listed|given|among|available|provided|possible"
    r"|enough|applicable|sure|determinable|in the))\b|无法|不确定|都不",
    re.IGNORECASE,
)
_REASON = re.compile(r"\b(?:because|since|as|while|whereas|but|rather|not|given|due)\b|因为|而不", re.IGNORECASE)
_AND = re.compile(r"\s*(?:,?\s*\b(?:and|or)\b|[,/&+、;]|[和或与及])\s*", re.IGNORECASE)
# Words that may follow a label directly in a sentence; in front of others, `A` is an article and `I` a pronoun.
_AFTER_LABEL = frozenset(["because", "since", "as", "is", "was", "and", "or", "for", "due", "given", "which", "but"])

_CONCLUDES = re.compile(
    r"\s*(?:therefore|thus|hence|so\b|in conclusion|in summary|overall|consequently|因此|所以)", re.IGNORECASE
)
_ASSERTS = re.compile(
    r" (?:is|are|was|were|be|=|show\w*|indicat\w*|suggest\w*|represent\w*|depict\w*|demonstrat\w*|using|at|called|as"
    r"|presence of|evidence of|consistent with|是|为|示)(?: \S+){0,3} $"
)
_HEDGES = re.compile(
    r"\b(?:not|no|never|neither|nor|without|cannot|unable|unlikely|incorrect|wrong|false|if|or|could|may|might|can|option)\b|n't\b"
    r"|[不没无非]",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\b(?:cannot|can't|unable|not possible|(?:do not|don't) have|(?:actually|actual) see|more (?:\w+ )?(?:information|details)"
    r"|not (?:provided|clear|enough)|unclear|difficult to)\b|无法|不能",
    re.IGNORECASE,
)
# Option texts that every other sentence contains: an answer only as a clause of their own.
_COMMON = frozenset(["yes", "no", "true", "false", "none", "both", "neither", "all", "for", "if", "else", "and", "or", "not", "one", "left", "right"])


@dataclass(frozen=True, slots=True)
class _Statement:
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
    return _Reader(tuple(options)).read(plain(text))


class _Reader:
    """The rules, for one list of options."""

    def __init__(self, options: tuple[str, ...]) -> None:
        self.options = options
        self.labels = labels(len(options))
        self.label, self.confirmed, self.item = _patterns(self.labels)

    def read(self, text: str) -> SetReading:
        starts = [0, *(turn.start() for turn in _TURN.finditer(text)), len(text)]
        turns = [turn for turn in map(lambda a, b: text[a:b], starts, starts[1:]) if turn.strip()]
        for turn in turns:
            stated = self._last_statement(turn)
            if stated:
                return SetReading(stated.labels, stated.rule)
        if not turns:
            return SetReading(frozenset(), "empty")
        return self._label_alone(turns[0]) or self._option_text(turns[0]) or SetReading(frozenset(), "nothing stated")

    # 1. statements

    def _last_statement(self, text: str) -> _Statement | None:
        found = [self._announced(text, match) for match in _ANNOUNCED.finditer(text)]
        found += [self._confirmed(text, match) for match in self.confirmed.finditer(text)]
        statements = sorted((stated for stated in found if stated), key=lambda stated: stated.start)
        if not statements:
            return None
        last = statements[-1]
        for before in statements[-2:-1]:
            # Different answers in a row, without a word between them, are a list and not a correction.
            if before.labels != last.labels and not re.search(r"\w", text[before.end : last.start]):
                both = before.labels | last.labels if last.labels else last.labels
                return _Statement(last.start, last.end, both, "contradicting statements")
        return last

    def _announced(self, text: str, match: re.Match[str]) -> _Statement | None:
        if _DENIED.search(match[0]) or _is_supposed(text, match.start(), match.end()):
            return None
        lead = _LEAD.match(text, match.end())
        start = lead.end() if lead else match.end()
        line = text[start : start + 500].split("\n", 1)[0]
        rule = "answer line" if re.search(r"[:|=：]\s*$", match[0]) else "statement"
        stated = self._stated(line)
        if stated is None or self._is_list_head(text, start, line):
            return None
        found, length = stated
        return _Statement(match.start(), start + length, found, rule)

    def _stated(self, line: str) -> tuple[frozenset[str], int] | None:
        """The labels that an announced answer gives (none of them: the empty set), and its length; None: no answer."""
        sentence = line[: _end_of_sentence(line, 0)]
        alone = self.label.fullmatch(line.strip().rstrip(".,!\"')] "))
        if alone:
            return frozenset({_name(alone)}), len(line)
        for text in (line, sentence):
            equal = equal_option(text, self.options)
            if equal is not None:
                return frozenset({self.labels[equal]}), len(text)
        leading = leading_option(line, self.options)
        found, end = self._labels_at(line)
        if leading is not None and found and option_tokens(self.options)[leading].startswith(f" {found[0].lower()} "):
            return frozenset({self.labels[leading]}), len(sentence)  # an option "B cells" is not the label B
        if found:
            rest = line[end : max(end, _end_of_sentence(line, end))]
            reason = _REASON.search(rest)
            return frozenset(found) | self._further(rest[: reason.start()] if reason else rest), end
        if _DENIED.match(sentence) and not _NO_OPTION.match(sentence):
            return None
        reason = _REASON.search(sentence)
        mentioned = mentioned_options(sentence[: reason.start()] if reason else sentence, self.options)
        if mentioned:
            return frozenset(self.labels[index] for index, _ in mentioned), len(sentence)
        return (frozenset(), len(sentence)) if _NO_OPTION.match(sentence) else None

    def _labels_at(self, line: str) -> tuple[list[str], int]:
        """The labels at the beginning of `line`, as a list (`A, C`, `A and C`, `AC`), and where they end."""
        glued = re.match(r"[A-Z]{2,}(?![\w'-])", line)
        if glued and set(glued[0]).issubset(self.labels) and len(set(glued[0])) == len(glued[0]):
            return list(glued[0]), glued.end()
        found: list[str] = []
        end = start = 0
        while (label := self.label.match(line, start)) and not self._is_word(line, label):
            found.append(_name(label))
            end = label.end()
            joined = _AND.match(line, end)
            if joined is None:
                break
            start = joined.end()
        return found, end

    def _further(self, rest: str) -> set[str]:
        """More labels in the rest of a sentence: `B) text` and `... and B`."""
        joined = [self.label.match(rest, word.end()) for word in _AND.finditer(rest)]
        names = {
            _name(label) for label in joined if label and label[0][-1].isupper() and not self._is_word(rest, label)
        }
        return names | {_name(label) for label in self.item.finditer(rest)}

    def _is_word(self, line: str, label: re.Match[str]) -> bool:
        """Whether a letter is an article or a pronoun: `A dog`, `I think`."""
        if label["bare"] is None or label["noun"] or label["bare"] not in "AaIi":
            return False
        following = re.match(r" +([A-Za-z]+)", line[label.end() : label.end() + 60])
        if following is None or following[1] in _AFTER_LABEL:
            return False
        return leading_option(line[label.end() :], self.options) != self.labels.index(_name(label))

    def _is_list_head(self, text: str, start: int, line: str) -> bool:
        """Whether the announced label is the first of a list of options, one a line."""
        first = self.item.match(line)
        following = re.match(r"\s*", text[start + len(line) :])
        second = self.item.match(text, start + len(line) + (following.end() if following else 0))
        return bool(first and second and _name(first) != _name(second))

    def _confirmed(self, text: str, match: re.Match[str]) -> _Statement | None:
        if _is_supposed(text, match.start(), match.end()):
            return None
        return _Statement(match.start(), match.end(), frozenset({(match["label"] or match["zh"]).upper()}), "statement")

    # 2. a label alone

    def _label_alone(self, text: str) -> SetReading | None:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if len(lines) == 1:
            found, end = self._labels_at(lines[0])
            if found and not re.search(r"\w", lines[0][end:]):
                return SetReading(frozenset(found), "label alone")
        heads = {line: self._head(line) for line in lines}
        heading = {label for label in heads.values() if label}
        if len(heading) != 1 or not (heads[lines[0]] or heads[lines[-1]]):
            return None
        further = {_name(label) for line in lines for label in self.item.finditer(line)}
        return None if further - heading else SetReading(frozenset(heading), "label at the head of a line")

    def _head(self, line: str) -> str | None:
        """The label with which a line begins, if what follows can be the option's text or nothing."""
        label = self.item.match(line) or self.label.match(line)
        if label is None:
            return None
        rest = line[label.end() :].lstrip(" ,.:)-")
        if not re.search(r"\w", rest) or re.match(r"(?:because|since)\b", rest):
            return _name(label)
        own = leading_option(rest, self.options) == self.labels.index(_name(label))
        if own:
            return _name(label)
        separated = line[label.end() - 1 : label.end() + 1].strip(" ")[-1:] in (")", "]", ".", ":")
        return (
            _name(label)
            if separated and equal_option(rest, self.options) is None and self._may_head(label, rest)
            else None
        )

    @staticmethod
    def _may_head(label: re.Match[str], rest: str) -> bool:
        """`E. coli` is a species, `A: The image ...` the answering side of a dialogue, `a.` the end of an abbreviation."""
        if label[0].endswith((")", "]")):
            return True
        return not rest[0].islower() and _name(label) not in ("A", "I")

    # 3. the text of an option

    def _option_text(self, text: str) -> SetReading | None:
        for part in (
            text,
            text.strip().split("\n", 1)[0],
            text[: _end_of_sentence(text, len(text) - len(text.lstrip()))],
        ):
            equal = equal_option(part[:2000], self.options)
            if equal is not None:
                return SetReading(frozenset({self.labels[equal]}), "option text alone")
        sentences = [part for part in _SENTENCE_END.split(text) if part.strip()]
        opening = equal_option(sentences[0].split(",", 1)[0], self.options) if sentences else None
        if opening is not None and option_tokens(self.options)[opening].strip() in _COMMON:
            return SetReading(frozenset({self.labels[opening]}), "option text first")
        if _REFUSES.search(text):
            return None
        concluding = [sentence for sentence in sentences if _CONCLUDES.match(sentence)]
        for sentence in [*concluding[-1:], *sentences[:1]]:
            cut_off = text.rstrip().endswith(sentence.rstrip())
            asserted = self._asserted(sentence, cut_off)
            if asserted:
                return SetReading(frozenset({asserted}), "option text asserted")
        return None

    def _asserted(self, sentence: str, cut_off: bool) -> str | None:
        """The label of the one option that `sentence` asserts; where the sentence has no end, it must end with it."""
        mentioned = mentioned_options(sentence, self.options)
        if len(mentioned) != 1:
            return None
        index, before = mentioned[0]
        option = option_tokens(self.options)[index]
        if cut_off and not tokens(sentence).endswith(option):
            return None
        if option.strip() in _COMMON or _HEDGES.search(before) or not _ASSERTS.search(before):
            return None
        return self.labels[index]


@lru_cache(maxsize=64)
def _patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """What a label looks like: where one is expected, confirmed as correct, and as the head of a list item."""
    one = "|".join(sorted(names, key=len, reverse=True)) or r"(?!)"
    end = r"(?![A-Za-z0-9_'^=+%°]|-[A-Za-z0-9]|\.[A-Za-z0-9])"
    label = re.compile(
        rf"(?P<noun>(?:option|choice|letter|选项)\s*)?(?:[(\[<【「\"']\s*(?P<closed>{one})\s*[)\]>】」\"'.]|(?P<bare>{one}){end})",
        re.IGNORECASE,
    )
    is_best = (
        rf"\s+{_IS}\s+(?:\w+ly\s+)?(?:the\s+|my\s+)?(?:most\s+|only\s+|best\s+)?(?:\w+ly\s+)?(?:correct|answer|accurate|"
        r"(?:right|best|appropriate)(?:\s+(?:answer|choice|option|one)|(?=\W*(?:[.,;!\n]|$)|\s+(?:because|since|as))))\b"
    )
    confirmed = re.compile(
        rf"(?:{_CHOICE}\s*[(\[\"']?|(?<![\w(\[])[(\[](?=\S\W)|^\W*|[.,;:!]\s+|\b(?:so|thus|hence|therefore|that|think|believe),?\s+)"
        rf"(?P<label>{one}){end}[)\]\"']?(?:(?<=[)\]])[.:]?\s[^.\n;!?,]{{0,60}}?)?{is_best}"
        rf"|选项?(?P<zh>{one})(?:是|为)?(?:正确|对)",
        re.IGNORECASE | re.MULTILINE,
    )
    item = re.compile(rf"[(\[](?:{one})[)\]]|(?<![\w'])(?:{one})\)|^(?-i:{one})[.:](?=\s)", re.MULTILINE)
    return label, confirmed, item


def _name(label: re.Match[str]) -> str:
    return re.sub(r"[^A-Z0-9]", "", re.sub(r"(?i)option|choice|letter", "", label[0]).upper())


def _is_supposed(text: str, start: int, end: int) -> bool:
    """Whether the sentence around is a condition or a question."""
    before = text[max(0, start - 200) : start]
    begin = max((stop.end() for stop in _SENTENCE_END.finditer(before)), default=0)
    stop = _SENTENCE_END.search(text, end, end + 300)
    return bool(_SUPPOSED.search(before[begin:]) or (stop and stop[0] in "?？"))


def _end_of_sentence(text: str, start: int) -> int:
    stop = _SENTENCE_END.search(text, start)
    return stop.start() if stop else len(text)
