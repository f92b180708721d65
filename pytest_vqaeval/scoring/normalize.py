"""Named steps that bring an answer to a normal form, in the order that a spec lists them under `normalize:`."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import lru_cache, reduce
from string import punctuation

Step = Callable[[str], str]

# ASCII punctuation moved to its full-width form (U+FF01 to U+FF5E). The full-width full stop stays a letter for
# EvalScope; CJK punctuation beyond these, curly quotes, dashes and the ellipsis stay as well.
_FULL_WIDTH = "".join(chr(ord(mark) + 0xFEE0) for mark in punctuation if mark != ".")
_TO_SPACE = str.maketrans(dict.fromkeys(punctuation + _FULL_WIDTH + "。、《》【】", " "))
_REMOVE_ASCII = str.maketrans("", "", punctuation)

_ARTICLES = frozenset({"a", "an", "the"})
_NUMBERS = {
    word: str(number)
    for words in ("zero one two three four five six seven eight nine ten", "零 一 二 三 四 五 六 七 八 九 十")
    for number, word in enumerate(words.split())
} | {"none": "0", "两": "2"}

_XRAY = frozenset({"x ray", "x光", "x 光", "x射线", "x 射线"})
_YES = ("yes", "yeah", "yep", "true", "是", "是的", "有", "包含", "存在", "可以", "能", "会")
_NO = ("no", "nope", "false", "否", "不是", "没有", "无", "不包含", "不存在", "不可以", "不能", "不会", "不正常")
_YES_NO = dict.fromkeys(_YES, "yes") | dict.fromkeys(_NO, "no")

# The contractions of the VQA evaluation code; each is recognised with one of its apostrophes missing. Those that would
# be other words then (she'll, we'd, let's) are not among them.
_CONTRACTIONS = """
    ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't he'd he'd've
    he's how'd how'll how's isn't it'd it'd've it'll ma'am might've mightn't mightn't've must've mustn't needn't not've
    o'clock oughtn't 'ow's'at shan't she'd've should've shouldn't shouldn't've somebody'd somebody'd've somebody'll
    somebody's someone'd someone'd've someone'll someone's something'd something'd've something'll that's there'd
    there'd've there're there's they'd they'd've they'll they're they've 'twas wasn't we'd've we've weren't what'll
    what're what's what've when's where'd where's where've who'd who'd've who'll who's who've why'll why're why's won't
    would've wouldn't wouldn't've y'all y'all'll y'all'd've you'd you'd've you'll you're you've
"""
_WITHOUT_APOSTROPHE = {
    word[:at] + word[at + 1 :]: word
    for word in _CONTRACTIONS.split()
    for at, letter in enumerate(word)
    if letter == "'"
}
_VQA_PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'  # the rest, apostrophe and colon among it, stays
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_PERIOD = re.compile(r"\.(?!\d)")

_ASCII_PARENTHESES = re.compile(r"\([^)]*\)")
_FULL_WIDTH_PARENTHESES = re.compile(r"（[^）]*）")


def _drop_parentheses(text: str) -> str:
    # ASCII pairs first: in "(（) x）" the ASCII pair swallows the full-width opener, as in EvalScope
    return _FULL_WIDTH_PARENTHESES.sub(" ", _ASCII_PARENTHESES.sub(" ", text))


def _number(word: str) -> str:
    """A number word as digits; the counter 个 goes if all the rest is a number (两个, 2个)."""
    bare = word.removesuffix("个")
    if bare.isdigit() or bare in _NUMBERS:
        word = bare
    return _NUMBERS.get(word, word)


def _vqa_punctuation(text: str) -> str:
    """A mark goes where it touches a space or the text has a number like 1,000; else it becomes a space."""
    form = text
    for mark in _VQA_PUNCTUATION:
        remove = f"{mark} " in text or f" {mark}" in text or _COMMA_IN_NUMBER.search(text)
        form = form.replace(mark, "" if remove else " ")
    return _PERIOD.sub("", form)


STEPS: dict[str, Step] = {
    "lowercase": str.lower,
    "drop_parentheses": _drop_parentheses,
    "punctuation_to_space": lambda text: text.translate(_TO_SPACE),
    "drop_ascii_punctuation": lambda text: text.translate(_REMOVE_ASCII),
    "collapse_space": lambda text: " ".join(text.split()),
    "lines_to_spaces": lambda text: text.strip().replace("\n", " "),
    "remove_space": lambda text: "".join(text.split()),
    "number_words": lambda text: " ".join(map(_number, text.split())),
    "drop_articles": lambda text: " ".join(word for word in text.split() if word not in _ARTICLES),
    "vqa_punctuation": _vqa_punctuation,
    "contractions": lambda text: " ".join(_WITHOUT_APOSTROPHE.get(word, word) for word in text.split()),
    "xray_spellings": lambda text: "xray" if text in _XRAY else text,
    "yes_no": lambda text: _YES_NO.get(text, text),
}
"""The steps by name. The last two look at the whole answer: "x ray" becomes "xray", "chest x ray" stays."""

SLAKE: tuple[str, ...] = (
    "lowercase",
    "drop_parentheses",
    "punctuation_to_space",
    "collapse_space",
    "number_words",
    "drop_articles",
    "xray_spellings",
    "yes_no",
)
"""EvalScope 1.14's rule for SLAKE: the preprocessing of the official med-vqa code (lower case, no punctuation, no
articles, numbers as digits), with English and Chinese words for yes, no and X-ray brought together. Applied twice it
gives the same as once."""

VQA: tuple[str, ...] = (
    "collapse_space",
    "vqa_punctuation",
    "lowercase",
    "number_words",
    "drop_articles",
    "contractions",
)
"""The normalisation of the VQA evaluation code (Antol et al., ICCV 2015; GT-Vision-Lab/VQA): punctuation, number words
up to ten, articles, and missing apostrophes of contractions. Number words in Chinese are added."""

WORDS: tuple[str, ...] = ("lowercase", "punctuation_to_space", "collapse_space", "number_words", "drop_articles")
"""The words of a text, without regard to case, punctuation and articles."""


@lru_cache(maxsize=64)
def normalizer(steps: tuple[str, ...]) -> Step:
    """One function that applies `steps` in order.

    Raises:
        ValueError: a step that does not exist; the message names the nearest that does.
    """
    for name in steps:
        if name not in STEPS:
            near = get_close_matches(name, STEPS, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(STEPS)}"
            raise ValueError(f"no normalize step {name!r}; {hint}")
    functions = [STEPS[name] for name in steps]
    return lambda text: reduce(lambda form, step: step(form), functions, text)
