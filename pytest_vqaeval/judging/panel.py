"""The judges of a benchmark together, and what their verdicts make of the rule's score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_vqaeval.judging import Strategy
from pytest_vqaeval.judging.judge import Line, Opinion, ask_judge
from pytest_vqaeval.judging.rule import Combine, JudgeRule
from pytest_vqaeval.question import Message, Question
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.scoring.base import Outcome, Score


@dataclass(frozen=True, slots=True)
class Judged:
    """A sample's score by the rule, and what became of it.

    Attributes:
        rule: the rule's score.
        score: the score that counts; None if the judges gave no verdict.
        problem: why they gave none.
        opinions: of each judge that was asked; empty where the rule's score stands.
        prompt: hash of what the judges were told.
    """

    rule: Score
    score: Score | None
    problem: str | None = None
    opinions: tuple[Opinion, ...] = ()
    prompt: str = ""

    def to_json(self) -> dict[str, Any]:
        """The key `judge` of a result; `value` is that of all judges, null where they gave none."""
        rule = self.rule
        row: dict[str, Any] = {"rule": {"outcome": rule.outcome.value, "score": rule.value, "guessed": rule.guessed}}
        if self.score is not rule:
            row["value"] = self.score.value if self.score else None
        if self.opinions:
            row |= {"prompt": self.prompt, "judges": [opinion.to_json() for opinion in self.opinions]}
        return row


@dataclass(frozen=True)
class Panel:
    """All judges of a benchmark, with the rule by which they judge.

    Attributes:
        judges: their labels.
        strategy: `llm` or `llm_recall`.
    """

    judges: tuple[str, ...]
    strategy: Strategy
    rule: JudgeRule

    def to_json(self) -> dict[str, Any]:
        """Who judges and how, for the reports."""
        prompt = self.rule.prompt
        return {
            "strategy": self.strategy,
            "models": list(self.judges),
            "combine": self.rule.combine,
            "images": self.rule.images,
            "prompt": {"version": prompt.version, "sha256": prompt.sha256},
        }

    def judge(
        self,
        question: Question,
        reply: Reply,
        score: Score,
        line_to: Callable[[str], Line],
        pictures: Callable[[], Sequence[Message]],
    ) -> Judged:
        """Ask the judges, where the strategy wants it, and combine what they say.

        Args:
            question: what was asked.
            reply: what is judged.
            score: the rule's.
            line_to: a way to the judge of that label.
            pictures: the parts of the question's messages that are pictures, loaded; called only if they are shown.

        Raises:
            FatalError: no sample can be judged.
            DataError: a picture can't be read.
        """
        if self.strategy == "llm_recall" and score.outcome is Outcome.CORRECT:
            return Judged(score, score)
        if not question.references:
            return Judged(score, None, "the sample has no reference to judge by")
        shown = pictures() if self.rule.images else ()
        messages = self.rule.prompt.messages(question, reply, score.extracted, shown)
        opinions = tuple(ask_judge(label, line_to(label), self.rule.prompt, messages) for label in self.judges)
        value, problem = combined(opinions, self.rule.combine)
        final = None if value is None else self._score(score, value, opinions)
        return Judged(score, final, problem, opinions, self.rule.prompt.sha256[:16])

    def _score(self, rule: Score, value: float, opinions: Sequence[Opinion]) -> Score:
        """The rule's score as the judges see it; its metrics stay its own."""
        if self.rule.combine == "mean":
            outcome = Outcome.SCORED
        elif value == 1:
            outcome = Outcome.CORRECT
        else:  # why the rule found it wrong stays known
            outcome = rule.outcome if rule.outcome.counts_wrong else Outcome.WRONG
        score = f" {rule.value:.4f}" if rule.outcome is Outcome.SCORED and rule.value is not None else ""
        by_rule = {} if outcome is rule.outcome else {"by the rule": rule.outcome.value + score}
        labels = [f"judge {number}" for number in range(1, len(opinions) + 1)] if len(opinions) > 1 else ["judge"]
        said = dict(zip(labels, map(_said, opinions), strict=True))
        return replace(rule, outcome=outcome, value=value, guessed=False, details={**by_rule, **rule.details, **said})


def combined(opinions: Sequence[Opinion], combine: Combine) -> tuple[float | None, str | None]:
    """The verdict of all judges from 0 to 1, or None and why there is none.

    `majority`: what more than half of all judges say, whatever became of the others. `mean`: of all judges' values;
    the mean of some of them would be that of another panel.
    """
    values = [opinion.verdict.value for opinion in opinions if opinion.verdict]
    if combine == "majority":
        for value in set(values):
            if 2 * values.count(value) > len(opinions):
                return value, None
    elif len(values) == len(opinions):
        return sum(values) / len(values), None
    problems = [f"{opinion.judge}: {opinion.problem}" for opinion in opinions if opinion.problem]
    return None, "; ".join(problems) or "the judges are divided"


def _said(opinion: Opinion) -> str:
    if opinion.verdict is None:
        return f"{opinion.judge}: no verdict: {opinion.problem}"
    return f"{opinion.judge}: {opinion.verdict.said}: {opinion.verdict.reason or '(no reason given)'}"
