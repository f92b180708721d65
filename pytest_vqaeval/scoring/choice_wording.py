"""How replies word an answer: announcements, denials, confirmations, and what a label looks like."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from pytest_vqaeval.scoring.option_text import SENTENCE_END

LONGEST = 300  # characters of an announced answer, and of what is looked at around one

_IS = r"\b(?:is|are|was|(?:would|should|must|will|to|only)(?:\ therefore|\ then)?\ be|matches)\b"
_BEST = (
    r"(?:correct|right|best|final|true|my|chosen|selected|appropriate|accurate|suitable|likely|closest|proper"
    r"|remaining)"
)
_CHOICE = r"(?:choice|option|letter|selection|statement|label)"
# Before a label that ends its sentence or gives its reason: `B.`, `(B) because ...`
_LAST_WORD = r"(?=(?:(?:option|letter)\s+)?[(\[]?(?-i:[A-Z])[)\]]?\s*(?:[.!](?:\s|$)|$|because|since|as\ the))"
_MARKERS = r"""
      \b(?:answers?|ans\b\.?)[\s"')]*(?:[:|=→⇒]|->)                       # ANSWER: B, "answer": "B", | Answer | B |
    | ["'](?:\w+_)?(?:answer|choice|prediction|response|output|result|final)(?:_\w+)?["']\s*:  # "final_answer": "B"
    | ["'](?:correct|selected|chosen|final|best)_(?:option|label|letter)["']\s*:
    | \b(?:answer|ans\b\.?)[\s-]+(?=[(\[]?(?-i:[A-Z])[)\]]?(?:\W|$))       # the answer (B), ANSWER - B
    | ^[^\w\n]*(?:\w+[ ]){0,2}\w+["']?:(?=\s*[(\[]?(?-i:[A-Z])[)\]]?\W*\Z)  # Choice: B, at the end of the reply
"""
_CHINESE = r"""
      答案】?(?:就|应该?)?[是为选]?\s*:?                                     # 答案：B, 答案是B, 【答案】B
    | (?:正确的?选项|认为)(?:应该?)?[是为]?\s*:?
    | (?:^|最[^\s，。]{1,6})选项[是为]
    | 对应(?=选项)
    | (?<!不)(?:而|应该?|应当|就|显然|肯定|一定)[是为]                       # 不是A，而是C
    | (?<![不别未])(?<!不能)选(?![项不])择?\s*:?                            # 故选B, 我选择B
"""
_SENTENCES = rf"""
      \banswers?\b[^.\n:;?!]{{0,60}}?(?:{_IS}|:)                          # the answer is B
    | \b{_BEST}\s+(?:\w+\s+)?{_CHOICE}\b[^.\n:;?!]{{0,60}}?(?:{_IS}|:|\ -\ )  # the correct option is B
    | \b{_CHOICE}\ (?:that|which)\b[^.\n:;?!]{{0,20}}?\b(?:best|fits|matches|describes|applies)\b
      [^.\n:;?!]{{0,60}}?{_IS}                                            # the option that fits best is B
    | \b(?:(?:best|my)\ (?:guess|pick)|(?:correct|best)\ one)\b[^.\n:;?!]{{0,30}}?(?:{_IS}|:)
    | \b(?:I|we)(?:\s+\w+|'\w+)?\s+(?:choose|select|pick|chose|guess|go\ with|opt\ for|answer\ with)\b
    | \bleaning\ towards?\b
    | \b(?:best|most\ closely)\s+(?:match(?:es)?|fits?|resembles?|corresponds\ to)\b  # it best matches option B
    | \b(?:consistent\ with|correspond(?:s|ing)\ to|points\ to|match(?:es)?|aligns\ with|supports|indicates
      |(?:which|that|this)\ is)\ (?=option|choice)                        # which is option B
"""
_LEADS_TO = rf"""
      \b(?:it\ is|it's|that's|hence|therefore|thus|so|in\ conclusion|conclude|I(?:'d|\ would)\ say|(?:going|go)\ with
      |(?:must|should|would|has\ to)\ be|(?:leaves|leaving)(?:\ us)?(?:\ with)?(?:\ only)?
      |(?:seems|appears)\ to\ be|looks\ like|okay|ok|yes|definitely|probably|likely|clearly|obviously|certainly
      |surely),?\s+{_LAST_WORD}  # It is B. Hence B.
    | \b(?:based\ on|according\ to|given)\b[^.\n:;?!]{{0,80}},\ +(?=[(\[]?(?-i:[A-HJ-Z])[)\]]?\s*[.!]?\s*$)
"""
# Where an answer is announced: the answer comes next.
ANNOUNCED = re.compile("|".join((_MARKERS, _CHINESE, _SENTENCES, _LEADS_TO)), re.IGNORECASE | re.MULTILINE | re.VERBOSE)
DENIED = re.compile(r"\b(?:not|never|cannot|neither)\b|n't\b|不", re.IGNORECASE)
# "The answer A is wrong": behind a label
DENIED_AT_ONCE = re.compile(
    r"[)\]\"']*\s+(?:is|are|was|seems|appears)\s+(?:\w+\s+)?(?:not|wrong|incorrect|false|unlikely|ruled|excluded)\b",
    re.IGNORECASE,
)
_OBLIGED = re.compile(r"\bif (?:i|we) (?:had|have|must|were|am|are)(?: forced)?(?: to)? \w+", re.IGNORECASE)
_SUPPOSED = re.compile(r"\b(?:if|whether|unless|suppose|assum(?:e|ing)|example)\b|如果|是否", re.IGNORECASE)
# What may stand between the announcement and the answer.
LEAD = re.compile(
    r"""(?:[\s:="|>~→⇒]|'(?!\w{1,2}'))*(?:\.{2,}\s*|…\s*|[-•]\s+)?(?:\[(?=["']))?(?:(?:therefore|thus|(?:most\s+)?likely|probably|clearly|indeed|approximately|either|closest\s+to
    |the|(?:correct|final|right)\s+(?:answer|option|choice)|answer|is)\b[\s:"'|]*)*""",
    re.IGNORECASE | re.VERBOSE,
)
NO_OPTION = re.compile(
    r"(?:none|n/?a|cannot|can't|unable|unknown|unclear|undetermined|not (?:listed|given|among|available|provided"
    r"|possible|enough|applicable|sure|determinable|in the))\b|无法|不确定|都不",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|as|while|whereas|although|though|but|rather|not|given|due)\b|因为|而不", re.IGNORECASE
)
# Behind a label: why, or how sure.
REASON_GIVEN = re.compile(
    r"(?:because|since|rather|instead|as (?:it|the)|i (?:think|guess|believe)|probably)\b|因为", re.IGNORECASE
)
AND = re.compile(r"\s*(?:,?\s*\b(?:and|or)\b|[,/&+、;]|还是|[和或与及])\s*", re.IGNORECASE)
# Words that may follow a label in a sentence; in front of any other, `A` is an article and `I` a pronoun.
AFTER_LABEL = frozenset(["because", "since", "as", "is", "was", "and", "or", "for", "due", "given", "which", "but"])


class LabelPatterns(NamedTuple):
    """What a label looks like."""

    label: re.Pattern[str]  # where one is expected
    confirmed: re.Pattern[str]  # called correct
    item: re.Pattern[str]  # of an item in a list of options
    next_item: re.Pattern[str]  # of a further item on the same line
    lone: re.Pattern[str]  # on a line of its own


@lru_cache(maxsize=64)
def label_patterns(names: tuple[str, ...]) -> LabelPatterns:
    """What the labels of a question look like."""
    one = f"(?:{'|'.join(sorted(names, key=len, reverse=True)) or '(?!)'})"
    end = r"(?![A-Za-z0-9_'^=+%°]|-[A-Za-z0-9]|\.[A-Za-z0-9])"
    label = (
        r"(?P<noun>(?:option|choice|letter|选项)\s*)?"
        rf"(?:[(\[<【「\"']\s*(?P<closed>{one})\s*[)\]>】」\"'.]|(?P<bare>{one}){end})"
    )
    correct = (
        r"(?:what\s+I\s+(?:would\s+)?(?:choose|pick|select|answer)|only\s+(?:one|option|choice)\s+that\s+(?:fits|matches)|correct|answer|accurate|(?:right|best|appropriate|most\s+(?:likely|plausible|probable|consistent))"
        r"(?:\s+(?:answer|choice|option|one|fit|match|candidate|description)|(?=\W*(?:[.,;!\n]|$)|\s+(?:because|since|as|with))))"
    )
    marked = (
        rf"(?:^[^\w\n]*|\b(?:option|choice)\s+)(?P<marked>{one})\s*[).:-]+\s*(?:[✓✔✅]|correct(?=\s*(?:[.;,!)]|$)))"
    )
    verb = rf"(?:{_IS}|(?:seems|appears)(?:\s+to\s+be)?)"
    degree = r"(?:also\s+|\w+ly\s+)?(?:the\s+|my\s+)?(?:most\s+|only\s+|best\s+)?(?:\w+ly\s+)?"
    is_correct = rf"\s+{verb}\s+{degree}{correct}"
    before = (
        r"(?:(?:option|choice|answer|letter)\s*[(\[\"']?|(?<![\w(\[])[(\[](?=\S\W)|^[^\w\n]*|[.,;:!]\s+"
        r"|(?<!\bnot )\b(?:only|so|thus|hence|therefore|that|think|believe),?\s+)"
    )
    text = r"(?:(?<=[)\]])[.:]?\s[^.\n;!?,]{0,60}?)?"
    fits = r"\s+(?:best\s+(?:fits|matches|describes)|(?:fits|matches)\s+best)"
    listed = (  # C) Horse - correct
        rf"^[^\w\n]*(?P<listed>{one})[).:][^\n]{{0,100}}?"
        r"(?:[-:(✅✔✓]\s*(?:this is |it is )?(?:the )?(?:correct|yes|true)\b(?: (?:answer|option|choice))?"
        rf"(?:\W*$|[,;](?![^\n]*\b{one}[).:]))"
        r"|[✅✔✓]\W*$)"
    )
    confirmed = (
        rf"{before}(?P<label>{one})(?:{end}|(?='\W))[)\]\"']?{text}(?:{is_correct}|{fits})\b|{listed}|{marked}"
        rf"|(?P<zh>{one})(?:选?项)?[是为]?(?:正确|对的)"
    )
    return LabelPatterns(
        re.compile(label, re.IGNORECASE),
        re.compile(confirmed, re.IGNORECASE | re.MULTILINE),
        re.compile(rf"[(\[]{one}[)\]]|(?<![\w']){one}\)|(?:^[ \t•-]*|(?<=[.;,]\s)){one}[.:](?=\s)", re.MULTILINE),
        re.compile(rf"\s{one}[.:]\s"),
        re.compile(rf"^[^\w\n]*{one}[^\w\n]*$", re.MULTILINE),
    )


def name_of(label: re.Match[str]) -> str:
    """The label in a match, without brackets, punctuation and the word before it."""
    return re.sub(r"[^A-Z0-9]|OPTION|CHOICE|LETTER", "", label[0].upper())


def before_reason(sentence: str) -> str:
    """A sentence up to where it gives reasons or speaks of others."""
    reason = _REASON.search(sentence)
    return sentence[: reason.start()] if reason else sentence


def is_denied(before: str) -> bool:
    """Whether a negation stands in the three words, without a conjunction, before an announcement."""
    clause = re.split(r"[^\w\s'-]|\n", before[-60:])[-1]
    words = re.split(r"\b(?:and|so|but|then|therefore|hence|thus)\b", clause)[-1].split()
    return re.search(rf"{DENIED.pattern}|\b(?:no|nothing|none)\b", " ".join(words[-3:]), re.IGNORECASE) is not None


def is_supposed(text: str, match: re.Match[str]) -> bool:
    """Whether the sentence around `match` is a condition or a question."""
    before = SENTENCE_END.split(text[max(0, match.start() - LONGEST) : match.start()])[-1]
    before = _OBLIGED.sub("", before)
    stop = SENTENCE_END.search(text, match.end(), match.end() + LONGEST)
    after = text[match.end() : stop.start() if stop else match.end() + LONGEST]
    would = re.search(r"\bwould\b", match[0]) and re.search(r"\b(?:if|unless)\b", after)  # "would be B if ..."
    return bool(_SUPPOSED.search(before) or would or (stop and stop[0] == "?"))
