"""A YAML mapping that knows the line of each key, so that every mistake can be shown where it was made.

Texts are taken as they are written: `no`, `01` and `1e3` stay texts where a text is wanted.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from pytest_vqaeval.errors import SpecError
from pytest_vqaeval.templates import ELSE, Switch, Template, nearest, parse

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TELLS_KIND = ("by", "scorer")


class _Named(io.StringIO):
    """A text that knows its file: YAML's marks then do, also those of keys that another file takes over."""

    def __init__(self, text: str, path: Path) -> None:
        super().__init__(text)
        self.name = str(path)


def load(path: Path, keys: str = "name:, records:, sample:, score:") -> Block:
    """Read a YAML file that holds a mapping.

    Args:
        path: the file.
        keys: those that one would expect, for the error.

    Raises:
        SpecError: it can't be read, is not YAML, or holds something else.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        node = yaml.compose(_Named(text, path), Loader=_Loader)
    except OSError as error:
        raise SpecError(f"{path}: can't be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        raise SpecError(f"{path}:{number}: is not UTF-8 (byte {error.start})") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise SpecError(f"{path}{line}: is not valid YAML: {problem}") from None
    if not isinstance(node, yaml.MappingNode):
        raise SpecError(f"{path}:1: is not a mapping of keys ({keys})")
    return Block(path, node, "")


class Block:
    """A mapping. What is taken of it becomes the known keys; `done` complains of the others."""

    def __init__(self, path: Path, node: yaml.MappingNode, name: str) -> None:
        self._path, self._name, self._line = path, name, node.start_mark.line + 1
        self._nodes: dict[str, tuple[Path, yaml.Node, int]] = {}
        self._asked: dict[str, None] = {}
        for key_node, value in node.value:
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
            file, line = Path(key_node.start_mark.name), key_node.start_mark.line + 1
            if key in self._nodes:
                raise SpecError(f"{file}:{line}: {self._key(key)} is given twice (first in line {self._nodes[key][2]})")
            if not _is_null(value):
                self._nodes[key] = (file, value, line)

    def over(self, base: Block) -> Block:
        """Add to this block the keys of `base` that it lacks.

        Where both have a mapping, the inner keys are merged, unless it is of another kind: the options of one scorer
        are not those of another, and the cases of one field not those of another.
        """
        for key, (path, node, line) in base._nodes.items():
            if key not in self._nodes:
                self._nodes[key] = (path, node, line)
                continue
            mine = self._nodes[key][1]
            if isinstance(node, yaml.MappingNode) and isinstance(mine, yaml.MappingNode) and not _other(mine, node):
                mine.value = _merged(mine, node)
        return self

    def without(self, key: str) -> Block:
        """The same mapping without a key, and as if nothing had been asked for yet."""
        rest = Block(self._path, yaml.MappingNode("", [], yaml.Mark("", 0, self._line - 1, 0, None, 0)), self._name)
        rest._nodes = {name: node for name, node in self._nodes.items() if name != key}
        return rest

    def _key(self, key: str) -> str:
        return ".".join(part for part in (self._name, key) if part)

    def where(self, key: str) -> str:
        """`file:line: key`."""
        path, _, line = self._nodes.get(key, (self._path, None, self._line))
        return f"{path}:{line}: {self._key(key)}"

    def error(self, key: str, message: str) -> SpecError:
        """The error to raise for a key."""
        return SpecError(f"{self.where(key)}: {message}")

    def has(self, key: str) -> bool:
        """The key is there and not null."""
        return self._node(key) is not None

    def names(self) -> list[str]:
        """All keys that are there; they count as known."""
        self._asked.update(dict.fromkeys(self._nodes))
        return list(self._nodes)

    def is_map(self, key: str) -> bool:
        """The key holds a mapping."""
        return isinstance(self._node(key), yaml.MappingNode)

    def is_list(self, key: str) -> bool:
        """The key holds a list."""
        return isinstance(self._node(key), yaml.SequenceNode)

    def _node(self, key: str, required: bool = False) -> Any:
        self._asked[key] = None
        if key in self._nodes:
            return self._nodes[key][1]
        if required:
            lacking = f"{self._path}:{self._line}: {self._key(key)} is missing"
            stranger = nearest(key, tuple(k for k in self._nodes if k not in self._asked))
            raise SpecError(lacking + stranger.replace("did you mean", "was it meant by"))
        return None

    def text(self, key: str, default: str = "", *, required: bool = False) -> str:
        """A text, as it is written."""
        node = self._node(key, required)
        return default if node is None else self._scalar(key, node)

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """A list of texts, or one text."""
        node = self._node(key, required)
        if node is None:
            return ()
        items = node.value if isinstance(node, yaml.SequenceNode) else [node]
        return tuple(self._scalar(key, item) for item in items)

    def template(self, key: str, default: str = "", *, required: bool = False) -> Template:
        """A text with fields in it."""
        return self._template(key, self.text(key, default, required=required))

    def optional_template(self, key: str) -> Template | None:
        """A text with fields in it; None where it is absent."""
        return self.template(key) if self.has(key) else None

    def switch(self, key: str) -> Template | Switch | None:
        """A text with fields in it, or one for each value of another (`by`); None where it is absent."""
        if not self.has(key) or not self.is_map(key):
            return self.optional_template(key)
        inner = self.block(key)
        by, written = inner.by()
        cases = {name: inner.template(name) for name in inner.names() if name not in ("by", ELSE)}
        other = inner.optional_template(ELSE)
        if not cases:
            raise self.error(key, f"has no text for any value of {written}")
        return Switch(by, cases, other, written)

    def by(self, key: str = "by") -> tuple[Template, str]:
        """What tells cases apart: a field, or a text with fields in it; parsed, and as it is written."""
        text = self.text(key, required=True)
        return self._template(key, text if "{" in text else f"{{{text}}}"), text

    def templates(self, key: str) -> tuple[Template, ...]:
        """A list of texts with fields in them."""
        return tuple(self._template(key, text) for text in self.texts(key))

    def _template(self, key: str, text: str) -> Template:
        try:
            return parse(text)
        except ValueError as error:
            raise self.error(key, str(error)) from None

    def one_of(self, key: str, *known: str) -> str:
        """One of a few words; the first where it is absent."""
        text = self.text(key, known[0])
        if text not in known:
            raise self.error(key, f"{text!r} is none of {', '.join(known)}{nearest(text, known)}")
        return text

    def number(self, key: str, *, low: float, high: float) -> float:
        """A required number from `low` to `high`."""
        text = self.text(key, required=True)
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:  # also true for NaN
            raise self.error(key, f"{text!r} is not a number from {low:g} to {high:g}")
        return value

    def flag(self, key: str) -> bool:
        """`true` or `false`; false where it is absent."""
        text = self.text(key, "false")
        if text not in ("true", "false"):
            raise self.error(key, f"{text!r} is not true or false")
        return text == "true"

    def text_map(self, key: str) -> dict[str, str]:
        """A mapping of texts to texts."""
        inner = self.block(key)
        return {name: inner.text(name) for name in inner.names()}

    def texts_map(self, key: str) -> dict[str, tuple[str, ...]]:
        """A mapping of texts to lists of texts."""
        inner = self.block(key)
        return {name: inner.texts(name) for name in inner.names()}

    def block(self, key: str, *, required: bool = False) -> Block:
        """A mapping; an empty one where it is absent."""
        node = self._node(key, required)
        if node is None:
            return Block(self._path, yaml.MappingNode("", [], yaml.Mark("", 0, self._line - 1, 0, None, 0)), key)
        if not isinstance(node, yaml.MappingNode):
            raise self.error(key, "is not a mapping")
        return Block(self._nodes[key][0], node, self._key(key))

    def blocks(self, key: str) -> list[Block]:
        """A list of mappings; empty where it is absent."""
        node = self._node(key)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode) or not all(isinstance(n, yaml.MappingNode) for n in node.value):
            raise self.error(key, "is not a list of mappings")
        path = self._nodes[key][0]
        return [Block(path, item, f"{self._key(key)}[{i}]") for i, item in enumerate(node.value)]

    def texts_or_blocks(self, key: str) -> list[str | Block]:
        """A list of texts and mappings; empty where it is absent."""
        node = self._node(key)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(key, "is not a list")
        path = self._nodes[key][0]
        return [
            Block(path, item, f"{self._key(key)}[{i}]")
            if isinstance(item, yaml.MappingNode)
            else self._scalar(key, item)
            for i, item in enumerate(node.value)
        ]

    def rest(self) -> dict[str, Any]:
        """All keys not asked for yet, as YAML's plain values."""
        others = [key for key in self._nodes if key not in self._asked]
        self._asked.update(dict.fromkeys(others))
        return {key: _plain(self._nodes[key][1]) for key in others}

    def done(self, also: Sequence[str] = ()) -> None:
        """Complain of the first key that nothing asked for."""
        known = tuple(dict.fromkeys([*self._asked, *also]))
        for key in self._nodes:
            if key not in known:
                raise self.error(key, f"unknown key{nearest(key, known)}; there are {', '.join(known)}")

    def _scalar(self, key: str, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(key, "is not a text")
        return str(node.value)


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def _other(mine: yaml.MappingNode, base: yaml.MappingNode) -> bool:
    """A mapping that names a scorer, or a field that tells cases apart, and not the one that the other names."""
    own, others = (
        {key.value: value.value for key, value in node.value if key.value in _TELLS_KIND} for node in (mine, base)
    )
    return bool(own) and own != others


def _merged(mine: yaml.MappingNode, base: yaml.MappingNode) -> list[tuple[yaml.Node, yaml.Node]]:
    has = {key.value for key, _ in mine.value}
    return [*mine.value, *((key, value) for key, value in base.value if key.value not in has)]


def _plain(node: yaml.Node) -> Any:
    return yaml.SafeLoader("").construct_object(node, deep=True)
