"""The `score:` block of a spec: which scorer scores a reply, with which options."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pytest_vqaeval.errors import DataError, MissingExtra, SpecError
from pytest_vqaeval.names import one_line
from pytest_vqaeval.question import Question
from pytest_vqaeval.scoring import with_correct_from
from pytest_vqaeval.scoring.base import Score, Scorer
from pytest_vqaeval.templates import ELSE, Template, nearest
from pytest_vqaeval.yamlblock import Block


@dataclass(frozen=True)
class ScoreRule:
    """How replies are scored.

    Attributes:
        scorer: its name.
        options: its options.
        where: where the spec names it, for errors.
        correct_from: from which value on an answer of a graded scorer counts as correct, 0 to 1; None: values stay.
    """

    scorer: str
    options: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    correct_from: float | None = None

    @property
    def scorers(self) -> tuple[str, ...]:
        """The names of all scorers: one."""
        return (self.scorer,)

    @property
    def described(self) -> dict[str, Any]:
        """All that makes two runs incomparable, but for the parser."""
        options = {key: value for key, value in self.options.items() if key != "parser"}
        if self.correct_from is not None:
            options["correct_from"] = self.correct_from
        least = {} if self.correct_from is None else {"correct_from": self.correct_from}
        return {"scorer": self.scorer, **options, **least}

    def bind(self, scorers: Mapping[str, Any], parser: str | None = None) -> Scorer:
        """The scorer as a function of question and text.

        Args:
            scorers: all scorers by name.
            parser: goes before the spec's own option `parser`, where the scorer has one.

        Raises:
            SpecError: no such scorer, or an option that it does not have or take.
        """
        if self.scorer not in scorers:
            known = ", ".join(sorted(scorers))
            raise SpecError(
                f"{self.where}: unknown scorer {self.scorer!r}{nearest(self.scorer, scorers)}; there are {known}"
            )
        function = scorers[self.scorer]
        if not callable(function):
            raise SpecError(
                f"{self.where}: the scorer {self.scorer!r} is no function, but {one_line(repr(function))[:80]}"
            )
        takes = inspect.signature(function).parameters
        options = {name: p for name, p in takes.items() if p.kind is p.KEYWORD_ONLY}
        open_ended = any(p.kind is p.VAR_KEYWORD for p in takes.values())
        for key in self.options:
            if key not in options and not open_ended:
                has = f"; it takes {', '.join(options)}" if options else "; it takes none"
                raise SpecError(f"{self.where}: {self.scorer} has no option {key!r}{nearest(key, options)}{has}")
        given = {**self.options, "parser": parser} if parser and "parser" in options else self.options
        bound: Scorer = partial(function, **{key: _frozen(value) for key, value in given.items()})
        if self.correct_from is not None:
            bound = with_correct_from(bound, self.scorer, self.correct_from)
        if getattr(function, "__module__", "").startswith("pytest_vqaeval.") and (
            given or self.correct_from is not None
        ):
            self._try(bound)
        return bound

    def _try(self, scorer: Scorer) -> None:
        """A wrong option value shows at once, not in every sample."""
        try:
            scorer(TRIAL, "A")
        except ValueError as error:
            raise SpecError(f"{self.where}: {self.scorer}: {error}") from None
        except TypeError:
            given = ", ".join(f"{key}: {value!r}" for key, value in self.options.items())
            raise SpecError(f"{self.where}: {self.scorer}: a value is of the wrong type ({given})") from None
        except MissingExtra:
            pass  # no mistake of the spec: said when the first sample runs


TRIAL = Question("", [], ("A",) * 10, ("x", "y"))
"""A question that every scorer of the package can score, to see whether it is ready."""


@dataclass(frozen=True)
class ScoreSwitch:
    """A rule for each value of a field; `other` for all values that are not listed."""

    by: Template
    cases: Mapping[str, ScoreRule | ScoreSwitch]
    other: ScoreRule | ScoreSwitch | None
    said: str  # `by` as it is written, for errors

    @property
    def scorers(self) -> tuple[str, ...]:
        """The names of all scorers."""
        rules = [*self.cases.values(), *([self.other] if self.other else [])]
        return tuple(dict.fromkeys(name for rule in rules for name in rule.scorers))

    @property
    def scorer(self) -> str:
        """The names of all scorers, for people."""
        return ", ".join(self.scorers)

    @property
    def described(self) -> dict[str, Any]:
        """All that makes two runs incomparable, but for the parser."""
        cases = {value: rule.described for value, rule in self.cases.items()}
        return {"by": self.said, "cases": cases, ELSE: self.other.described if self.other else None}

    def bind(self, scorers: Mapping[str, Any], parser: str | None = None) -> Scorer:
        """The scorer that looks at the record and hands over to that of one of the rules.

        Raises:
            SpecError: as `ScoreRule.bind`.
        """
        bound = {value: rule.bind(scorers, parser) for value, rule in self.cases.items()}
        return SwitchedScorer(self.by, bound, self.other.bind(scorers, parser) if self.other else None, self.said)


@dataclass(frozen=True)
class SwitchedScorer:
    """A scorer for each value of a field."""

    by: Template
    cases: Mapping[str, Scorer]
    other: Scorer | None
    said: str

    @property
    def scorers(self) -> tuple[Scorer, ...]:
        """All of them."""
        return (*self.cases.values(), *([self.other] if self.other else []))

    def __call__(self, question: Question, text: str, /) -> Score:
        """Score with the scorer that the question's record asks for.

        Raises:
            DataError: there is none.
        """
        value = self.by.render(question.record)
        scorer = self.cases.get(value, self.other)
        if scorer is None:
            raise DataError(f"field {self.said!r} is {value!r}; the spec has scorers for {', '.join(self.cases)}")
        return scorer(question, text)


def parts_of(scorer: Scorer) -> tuple[Scorer, ...]:
    """The scorers that a scorer chooses from; itself where it does not choose."""
    return (
        tuple(part for inner in scorer.scorers for part in parts_of(inner))
        if isinstance(scorer, SwitchedScorer)
        else (scorer,)
    )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def read_score_rule(block: Block) -> ScoreRule | ScoreSwitch:
    """The `score:` block: a scorer with its options, or one for each value of the field `by`.

    Raises:
        SpecError: names file, line and key.
    """
    if not block.has("by"):
        scorer = block.text("scorer", required=True)
        correct_from = block.number("correct_from", low=0, high=1) if block.has("correct_from") else None
        options = block.rest()
        where = block.where(block.names()[0])  # in a spec that extends another its own keys come first
        return ScoreRule(scorer, options, where, correct_from)
    by, written = block.by()
    cases = {
        name: read_score_rule(block.block(name, required=True)) for name in block.names() if name not in ("by", ELSE)
    }
    other = read_score_rule(block.block(ELSE)) if block.has(ELSE) else None
    if not cases:
        raise block.error("by", f"has no scorer for any value of {written}")
    return ScoreSwitch(by, cases, other, written)
