"""Is this text an option? Options and replies are compared as sequences of tokens, without markup and punctuation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

# Full-width forms are one block in the order of ASCII; typographic quotes, dashes and spaces are what they look like.
_FOLD: dict[int, str] = {0xFEE0 + code: chr(code) for code in range(0x21, 0x7F)}
_FOLD |= {ord(char): "'" for char in "‘’"} | {ord(char): '"' for char in "“”"}
_FOLD |= {ord(char): "-" for char in "–—−‐‑"} | {ord(char): " " for char in "\u3000\xa0"}

_MEDIUM = re.compile(r"<(image|video|audio)[ _](\d+)>")
_TEX_SPACE = re.compile(r"\\[,;:! ]")
_TEX_FONT = re.compile(r"\\(?:text|math|operatorname|mbox|bf|rm|displaystyle|left|right)[a-z]*(?![A-Za-z])\*?")
_TEX_DEGREE = re.compile(r"\^?\{?\\circ(?![A-Za-z])\}?")
_TEX_ROOT = re.compile(r"(?:\\sqrt|√)\s*\{([^{}]{0,200})\}")
_TEX_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]{0,200})\}\s*\{([^{}]{0,200})\}")
_STATED = re.compile(r"\\?f?boxed(?=\s*\{)|\\fbox|<answer>", re.IGNORECASE)
_STATED_GROUP = re.compile(
    r"(?:\\?f?boxed|\\fbox)\s*\{+([^{}\n]{0,200})\}+"
    r"|<(?:final_?)?(?:answer|ans|response)>([^<]{0,200})</",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?(?:(?-i:[bisup])|strong|em|br|code|span|div)\s*/?>|<\|[a-z_]{1,20}\|>", re.IGNORECASE)
_MARKUP = re.compile(
    r"\*\*+|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|__+|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)|`+|\$+|\\[()\[\]]|[{}]|^[ \t]*#+",
    re.MULTILINE,
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_TOKEN = re.compile(r"(?:(?<![\w)])-)?\d+(?:\.\d+)?|[^\W\d_\u4e00-\u9fff]+(?:'[a-z]+)?|[\u4e00-\u9fff]|[/=√+*^<>≤≥±×%]")
_ARTICLE = re.compile(r"^\W*(?:a|an|the)\s+(?=\w)")
_OPERATORS = frozenset("/√+*^×±")

SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[\n;。！？；]")
_LONGEST = 1000  # characters of a sentence that may assert an option

_CONCLUDES = re.compile(
    r"\s*(?:therefore|thus|hence|so\b|in conclusion|in summary|overall|consequently|因此|所以)", re.IGNORECASE
)
# The verb by which a sentence asserts what it ends with, up to three words before the option (token form).
_ASSERTS = re.compile(
    r" (?:is|are|was|were|be|will|would|(?:it|that|this)'s|=|looks? like|show\w*|indicat\w*|suggest\w*|represent\w*"
    r"|depict\w*|demonstrat\w*|using|at|called|as|(?:attributed|belongs?|points?|pointing) to|(?:took place|located) in"
    r"|presence of|evidence of|consistent with|是|为|示)(?: \S+){0,3} $"
)
# What may stand before the option where it is all that is said: "In 2005.", "I think it's green."
_OPENING = re.compile(
    r"(?:(?:in|on|at|it is|this is)\b|i (?:think|believe|guess|would say)(?: that)?(?: it is| it's| this is)?\b)",
    re.IGNORECASE,
)
_TITLED = re.compile(r"(?:\w+ ){0,2}\w+:(.+)")  # "Diagnosis: ..." as the whole reply
_CALLED = re.compile(
    r"^(?:[^,\n]*, )?(.+?) is (?:(?:the|my) (?:\w+ )?(?:answer|option|choice)|the most (?:appropriate|likely))\W*$",
    re.MULTILINE,
)
_GLOSS = re.compile(r"\s*\([^()\n]*\)\W*\Z")  # "MRI (magnetic resonance imaging)"
_BECAUSE = re.compile(r",?\s+(?:because|since)\b", re.IGNORECASE)
_FEW = 3  # sentences of a reply whose last one may assert the answer
_CONTRAST = re.compile(r",\s*(?:(?:and|but)\s+)?not\b|\b(?:rather than|instead of)\b", re.IGNORECASE)
_HEDGES = re.compile(
    r"\b(?:not|no|never|neither|nor|without|cannot|unable|unlikely|incorrect|wrong|false|if|or|could|may|might|option"
    r"|can(?! be (?:seen|\w+ed)\b)|what|whether|none|nothing|nobody)\b|n't\b|[不没无非]",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\b(?:cannot|can't|unable|not possible|(?:do not|don't) have|actual(?:ly)? see"
    r"|more (?:\w+ )?(?:information|details)|not (?:provided|clear|enough)|unclear|difficult to)\b|无法|不能",
    re.IGNORECASE,
)
# Option texts that any sentence may contain: an answer only as a clause of their own ("No, there is none.").
_COMMON = frozenset(
    [
        "yes",
        "no",
        "true",
        "false",
        "none",
        "both",
        "neither",
        "all",
        "for",
        "if",
        "else",
        "and",
        "or",
        "not",
        "one",
        "left",
        "right",
    ]
)


def plain(text: str) -> str:
    r"""`text` without emphasis, TeX fonts and HTML tags, and with ASCII for full-width forms.

    What is in `\boxed{}` or `<answer>` is stated as the answer by convention: it becomes an `ANSWER:` line.
    """
    text = _MEDIUM.sub(r"\1 \2", _TEX_SPACE.sub(" ", text.translate(_FOLD)))
    text = _TEX_DEGREE.sub("", _TEX_FONT.sub("", text))
    text = _TEX_FRACTION.sub(r"\1/\2", _TEX_ROOT.sub(r"√\1", text))
    text = _STATED_GROUP.sub(lambda group: f"\nANSWER: {group[1] or group[2] or ''}\n", text)
    return _MARKUP.sub("", _TAG.sub("", _STATED.sub("", text)))


def tokens(text: str) -> str:
    """The words, numbers and operators of plain text, lower case, each between spaces; a leading article is dropped.

    Numbers are written without thousands separators and closing zeros: 26.0 is 26.
    """
    text = _ARTICLE.sub("", _THOUSANDS.sub("", text.lower()))
    found = [_number(token) for token in _TOKEN.findall(text)]
    return f" {' '.join(found)} " if found else ""


def _number(token: str) -> str:
    return token.rstrip("0").rstrip(".") if "." in token else token


@lru_cache(maxsize=256)
def option_tokens(options: tuple[str, ...]) -> tuple[str, ...]:
    """The token form of each option."""
    return tuple(tokens(plain(option)) for option in options)


def equal_option(text: str, options: tuple[str, ...]) -> int | None:
    """The position of the one option whose text `text` is, or None."""
    form = tokens(text)
    found = [index for index, option in enumerate(option_tokens(options)) if option and option == form]
    return found[0] if len(found) == 1 else None


def leading_option(text: str, options: tuple[str, ...]) -> int | None:
    """The position of the longest option with which `text` begins, or None."""
    form = tokens(text)
    found = [
        (len(option), index)
        for index, option in enumerate(option_tokens(options))
        if option and form.startswith(option)
    ]
    return max(found)[1] if found else None


def mentioned_options(text: str, options: tuple[str, ...]) -> list[tuple[int, str, str]]:
    """The options that `text` mentions, each with the token form of what stands before and after its first mention.

    A mention inside the mention of a longer option is none, and neither is a number inside an expression.
    """
    form = tokens(text)
    found: list[tuple[int, str, str]] = []
    by_length = sorted(enumerate(option_tokens(options)), key=lambda pair: -len(pair[1]))
    for index, option in by_length:
        start = form.find(option) if option.strip() else -1
        if start < 0 or _in_expression(form, option, start):
            continue
        found.append((index, form[: start + 1], form[start + len(option) :]))
        form = form.replace(option, " \0 ")
    return found


def _in_expression(form: str, option: str, start: int) -> bool:
    """Whether a bare number is part of a fraction, product or root."""
    if not re.fullmatch(r" -?[\d.]+ ", option):
        return False
    before, after = form[:start].split()[-1:], form[start + len(option) :].split()[:1]
    return bool(_OPERATORS & set(before + after))


def hedges(text: str) -> bool:
    """Whether a sentence denies, doubts or offers alternatives."""
    return _HEDGES.search(text) is not None


def first_sentence(text: str) -> str:
    """`text` up to the end of its first sentence."""
    return SENTENCE_END.split(text, maxsplit=1)[0]


def stated_option(text: str, options: tuple[str, ...]) -> tuple[int, str] | None:
    """The position of the option whose text the reply `text` gives as its answer, and the rule that says so.

    The whole reply, its first line or its first sentence is the option; or its concluding sentence, else its first
    sentence, asserts exactly one option; or the last of a few sentences, where they speak of no other option. A reply
    that refuses or asks for more asserts nothing.
    """
    opening = text[:_LONGEST]
    opened = [opening[start.end() :]] if (start := _OPENING.match(opening)) else []
    named = [titled[1]] if (titled := _TITLED.fullmatch(opening)) else _CALLED.findall(opening)
    first = first_sentence(opening)
    told = [first, _BECAUSE.split(first)[0]] if first in _told(opening) else []  # no question
    glossed = [_GLOSS.sub("", opening)] if len(mentioned_options(opening, options)) == 1 else []
    for part in (opening, *glossed, opening.split("\n", 1)[0], *told, *opened, *named):
        equal = equal_option(part, options)
        if equal is not None:
            return equal, "option text alone"
    first_clause = equal_option(first.split(",", 1)[0], options)
    if first_clause is not None and _is_common(first_clause, options) and not _REFUSES.search(first):
        return first_clause, "option text first"
    if _REFUSES.search(text):
        return None
    sentences = list(_told(text))
    concluding = [sentence for sentence in sentences if _CONCLUDES.match(sentence)]
    only_one = len(sentences) <= _FEW and len(mentioned_options(text, options)) == 1
    for sentence in (*concluding[-1:], *sentences[:1], *(sentences[-1:] if only_one else ())):
        asserted = equal_option(_CONCLUDES.sub("", sentence[:_LONGEST], count=1), options)
        if asserted is None:
            asserted = _asserted(sentence[:_LONGEST], options, is_cut_off=text.endswith(sentence))
        if asserted is not None:
            return asserted, "option text asserted"
    return None


def _told(text: str) -> Iterator[str]:
    """The sentences of `text` that are no questions."""
    start = 0
    for stop in SENTENCE_END.finditer(text):
        if stop[0] != "?" and text[start : stop.start()].strip():
            yield text[start : stop.start()]
        start = stop.end()
    if text[start:].strip():
        yield text[start:]


def _asserted(sentence: str, options: tuple[str, ...], *, is_cut_off: bool) -> int | None:
    """The one option that `sentence` asserts; a sentence without its end must end with it."""
    sentence = _CONTRAST.split(sentence, maxsplit=1)[0]
    mentioned = mentioned_options(sentence, options)
    if len(mentioned) != 1:
        return None
    index, before, after = mentioned[0]
    before = before.rsplit(" but ", 1)[-1]
    if (is_cut_off and after) or re.match(r"(?:and|or)\b|[和或与及]", after):
        return None
    if _is_common(index, options) or _HEDGES.search(before) or not _ASSERTS.search(before):
        return None
    return index


def _is_common(index: int, options: tuple[str, ...]) -> bool:
    return option_tokens(options)[index].strip() in _COMMON
