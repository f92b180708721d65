"""Names made of data: node ids, marks, folder names, and texts that a terminal may show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

_NOT_IN_ID = re.compile(r"[^\w-]+")  # \w: letters of any script, digits and the underscore
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")

# What CI services obey in a log: `::command` where a line begins (GitHub Actions), `##[command]`, `##teamcity[`.
_CI_COMMAND = re.compile(r"(?m)^([^\S\n]*):(?=:)|#(?=#\w*\[)")


def node_name(text: str) -> str:
    """A part of a node id. A dot would print as `::`, and brackets and colons have a meaning there."""
    return _NOT_IN_ID.sub("-", text) or "-"


def mark_name(text: str) -> str:
    """A mark for a value of the data: `X-Ray` -> `x-ray`; empty if nothing fit is left."""
    return _NOT_IN_ID.sub("-", text.strip()).strip("-_").lower()


def folder_name(text: str) -> str:
    """A folder name of letters, digits, `.`, `_` and `-`."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:60] or "model"


def is_pattern(name: str) -> bool:
    """A file name with wild cards."""
    return any(char in name for char in "*?[")


def file_names(files: Sequence[Path]) -> tuple[str, ...]:
    """A name for each file: its stem, or as much more of its path as tells it from the others."""
    names = [
        [file.stem, *("/".join(file.parts[-count:]) for count in range(1, len(file.parts))), file.as_posix()]
        for file in files
    ]
    taken = Counter(name for of_file in names for name in dict.fromkeys(of_file))
    return tuple(next((name for name in of_file if taken[name] == 1), of_file[-1]) for of_file in names)


def printable(text: str) -> str:
    r"""Control and direction characters shown as escapes: data must not move the cursor or turn lines round.

    Nor may it speak to the CI service that reads the log: `::add-mask::` becomes `\x3a:add-mask::`.
    """
    if text.isprintable() and "::" not in text and "#" not in text:  # as nearly all are
        return text
    return _without_commands(_visible(text))


def _visible(text: str) -> str:
    return _CONTROL.sub(lambda match: match.group() if match.group() == "\n" else _escape(match.group()), text)


def _without_commands(text: str) -> str:
    return _CI_COMMAND.sub(lambda match: "\\x23" if match.group() == "#" else f"{match[1]}\\x3a", text)


def _escape(char: str) -> str:
    return {"\t": " ", "\r": "\\r"}.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")


def one_line(text: str) -> str:
    """For messages: printable, and new lines shown as such."""
    return _without_commands(_visible(text).replace("\n", "\\n"))


def cut_middle(text: str, most: int) -> str:
    """At most about `most` characters; what is left out is counted in the middle."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} … {len(text) - 2 * half:,} characters left out … {text[-half:]}"
