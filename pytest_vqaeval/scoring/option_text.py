"""Is this text an option? Options and replies are compared as sequences of tokens, without markup and punctuation."""

from __future__ import annotations

import re
from functools import lru_cache

# Full-width forms are one block in the order of ASCII; typographic quotes, dashes and spaces are what they look like.
_FOLD: dict[int, str] = {0xFEE0 + code: chr(code) for code in range(0x21, 0x7F)}
_FOLD |= {ord(char): "'" for char in "‘’"} | {ord(char): '"' for char in "“”"}
_FOLD |= {ord(char): "-" for char in "–—−‐‑"} | {ord(char): " " for char in "\u3000\xa0"}

_TEX_SPACE = re.compile(r"\\[,;:! ]")
_TEX_FONT = re.compile(r"\\(?:text|math|operatorname|mbox|bf|rm|displaystyle|left|right)[a-z]*(?![A-Za-z])\*?")
_TEX_DEGREE = re.compile(r"\^?\{?\\circ(?![A-Za-z])\}?")
_TEX_ROOT = re.compile(r"(?:\\sqrt|√)\s*\{([^{}]{0,200})\}")
_TEX_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]{0,200})\}\s*\{([^{}]{0,200})\}")
_STATED = re.compile(r"\\f?boxed|\\fbox|<answer>", re.IGNORECASE)
_STATED_GROUP = re.compile(
    r"(?:\\f?boxed|\\fbox)\s*\{+([^{}\n]{0,200})\}+|<answer>([^<]{0,200})</answer>", re.IGNORECASE
)
_TAG = re.compile(r"</?(?:b|strong|i|em|u|s|p|br|code|span|div)\s*/?>|<\|[a-z_]{1,20}\|>", re.IGNORECASE)
_MARKUP = re.compile(r"\*\*+|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|__+|`+|\$+|\\[()\[\]]|[{}]|^[ \t]*#+", re.MULTILINE)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_TOKEN = re.compile(r"(?:(?<![\w)])-)?\d+(?:\.\d+)?|[^\W\d_\u4e00-\u9fff]+(?:'[a-z]+)?|[\u4e00-\u9fff]|[/=√+*^<>≤≥±×%]")
_ARTICLE = re.compile(r"^\W*(?:a|an|the)\s+(?=\w)")
_OPERATORS = frozenset("/√+*^×±")


def plain(text: str) -> str:
    r"""`text` without emphasis, TeX fonts and HTML tags, and with ASCII for full-width forms.

    What is in `\boxed{}` or `<answer>` is stated as the answer by convention: it becomes an `ANSWER:` line.
    """
    text = _TEX_SPACE.sub(" ", text.translate(_FOLD))
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


def mentioned_options(text: str, options: tuple[str, ...]) -> list[tuple[int, str]]:
    """The options that `text` mentions, with the token form of what stands before.

    A mention inside the mention of a longer option is none, and neither is a number inside an expression.
    """
    form = tokens(text)
    found: list[tuple[int, str]] = []
    by_length = sorted(enumerate(option_tokens(options)), key=lambda pair: -len(pair[1]))
    for index, option in by_length:
        start = form.find(option) if option.strip() else -1
        if start < 0 or _in_expression(form, option, start):
            continue
        found.append((index, form[: start + 1]))
        form = form.replace(option, " \0 ")
    return found


def _in_expression(form: str, option: str, start: int) -> bool:
    """Whether a bare number is part of a fraction, product or root."""
    if not re.fullmatch(r" -?[\d.]+ ", option):
        return False
    before, after = form[:start].split()[-1:], form[start + len(option) :].split()[:1]
    return bool(_OPERATORS & set(before + after))
