"""How the text of an option is read. All raise ValueError with what is wrong, without the option's name."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_vqaeval.gates.limit import Limit, parse_limit


def a_text(text: str, _base: Path) -> str:
    """A text that is not empty."""
    if not text.strip():
        raise ValueError("is empty")
    return text


def a_model(text: str, _base: Path) -> str:
    """The name of a model, perhaps with its server."""
    name, _, _ = a_text(text, _base).partition("@http")
    if text.removeprefix("replay:").strip() == "":
        raise ValueError("replay: names no file and no run")
    if not name or ("://" in name and not text.startswith("replay:")):  # never the text: it may hold a password
        raise ValueError("give it as NAME, or as NAME@URL with http:// or https://")
    return text


def a_path(text: str, base: Path) -> Path:
    """A path, relative to the place of the option."""
    return (base / Path(a_text(text, base)).expanduser()).absolute()


def a_page(text: str, base: Path) -> Path:
    """The file of a page; pages need an extra."""
    if importlib.util.find_spec("jinja2") is None:
        raise ValueError("needs an extra: pip install 'pytest-vqaeval[html]'")
    return a_file(text, base)


def a_folder(text: str, base: Path) -> Path:
    """A folder that is there."""
    path = a_path(text, base)
    if not path.is_dir():
        raise ValueError(f"there is no folder {path}")
    return path


def a_file(text: str, base: Path) -> Path:
    """A file, which need not be there."""
    path = a_path(text, base)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file")
    if not (there := next(parent for parent in path.parents if parent.exists())).is_dir():
        raise ValueError(f"{there} is a file, not a folder")
    return path


def one_of(*known: str) -> Callable[[str, Path], str]:
    """One of a few words."""

    def parse(text: str, _base: Path) -> str:
        if text not in known:
            raise ValueError(f"{text!r} is none of {', '.join(known)}")
        return text

    return parse


def a_count(least: int) -> Callable[[str, Path], int]:
    """A whole number of at least `least`."""

    def parse(text: str, _base: Path) -> int:
        if not text.strip().isdecimal() or int(text) < least:
            raise ValueError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return parse


def a_time(text: str, _base: Path) -> float:
    """A time in seconds, above 0."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ValueError(f"{text!r} is not a time in seconds above 0")
    return seconds


def _pair(text: str, what: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ValueError(f"give it as {what}")  # never the text: it may hold a secret
    return key.strip(), value


def a_parameter(text: str, _base: Path) -> tuple[str, Any]:
    """A generation parameter: its key, and its value from JSON."""
    key, value = _pair(text, "KEY=JSON")
    try:
        return key, json.loads(value)
    except ValueError:
        raise ValueError(f"the value of {key} is not JSON: {value} (quote a text: '{key}=\"text\"')") from None


def yes_or_no(text: str, _base: Path) -> bool:
    """A switch."""
    value = text.strip().lower()
    if value not in ("yes", "true", "on", "1", "no", "false", "off", "0"):
        raise ValueError(f"{text!r} is neither yes nor no")
    return value in ("yes", "true", "on", "1")


def a_header(text: str, _base: Path) -> tuple[str, str]:
    """An HTTP header: its name and its value."""
    return _pair(text, "NAME=VALUE")


def a_limit(kind: type[Limit]) -> Callable[[str, Path], Limit]:
    """A gate's limit."""
    return lambda text, _base: parse_limit(kind, text)


def a_number(number: Callable[[str], float]) -> Callable[[str, Path], float]:
    """What another function reads, wherever it stands."""
    return lambda text, _base: number(text)


def file_or_run(text: str, base: Path) -> str:
    """A path is made whole; another text is the name of a run."""
    path = a_path(text, base)
    return str(path) if path.exists() or path.suffix == ".json" else text
