"""Whether `-k` and `-m` certainly deselect all of a benchmark, told before its data is read.

pytest filters after collection. A benchmark that is certainly not wanted must not be read or downloaded, so its names
are put into the expression by three-valued logic: a word that the benchmark's own names answer is true, a word that
only other benchmarks know is false, any other word (it may be a sample's id) is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Answer = bool | None  # None: unknown
_TOKEN = re.compile(r"\s*(\(|\)|[^\s()]+)")


def certainly_false(expression: str, answer: Callable[[str], Answer]) -> bool:
    """The expression is false whatever the unknown words are. An expression that can't be parsed is not."""
    tokens = _tokens(expression)
    if tokens is None:
        return False
    parser = _Parser(tokens, answer)
    try:
        value = parser.disjunction()
    except _NotParsed:
        return False
    return parser.at_end and value is False


class _NotParsed(Exception):
    """pytest will say what is wrong with the expression."""


def _tokens(expression: str) -> list[str] | None:
    found = _TOKEN.findall(expression)
    return found if "".join(found) == re.sub(r"\s+", "", expression) and found else None


class _Parser:
    """pytest's grammar: `or` of `and` of `not` of words and parentheses."""

    def __init__(self, tokens: list[str], answer: Callable[[str], Answer]) -> None:
        self._tokens, self._next, self._answer = tokens, 0, answer

    @property
    def at_end(self) -> bool:
        return self._next == len(self._tokens)

    def _accept(self, word: str) -> bool:
        if not self.at_end and self._tokens[self._next] == word:
            self._next += 1
            return True
        return False

    def _operands(self, operator: str, operand: Callable[[], Answer]) -> Iterator[Answer]:
        yield operand()
        while self._accept(operator):
            yield operand()

    def disjunction(self) -> Answer:
        values = list(self._operands("or", self.conjunction))
        return True if True in values else None if None in values else False

    def conjunction(self) -> Answer:
        values = list(self._operands("and", self.negation))
        return False if False in values else None if None in values else True

    def negation(self) -> Answer:
        if self._accept("not"):
            value = self.negation()
            return None if value is None else not value
        if self._accept("("):
            value = self.disjunction()
            if not self._accept(")"):
                raise _NotParsed
            return value
        return self._word()

    def _word(self) -> Answer:
        if self.at_end or self._tokens[self._next] in (")", "and", "or", "not"):
            raise _NotParsed
        word = self._tokens[self._next]
        self._next += 1
        if self._accept("("):  # a mark with arguments
            raise _NotParsed
        return self._answer(word)
