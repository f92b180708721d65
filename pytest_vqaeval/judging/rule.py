"""When and how a benchmark is judged: the `judge:` block of its spec, and what the options say about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, cast

from pytest_vqaeval.judging import STRATEGIES, Strategy
from pytest_vqaeval.judging.prompt import JudgePrompt
from pytest_vqaeval.judging.verdict import Form
from pytest_vqaeval.yamlblock import Block

Combine = Literal["majority", "mean"]


@dataclass(frozen=True)
class JudgeRule:
    """How a benchmark is judged.

    Attributes:
        strategy: `rule` (no judge), `llm` (each sample), `llm_recall` (those that the rule did not find right); None
            leaves it to the options.
        combine: how several judges come to one verdict.
        images: the judge sees the pictures.
        where: the place of `strategy` in the spec, for messages.
    """

    strategy: Strategy | None = None
    combine: Combine = "majority"
    images: bool = False
    prompt: JudgePrompt = field(default_factory=JudgePrompt)
    where: str = ""

    def strategy_for(self, option: str | None, *, judges: int) -> Strategy:
        """The strategy that holds: the option's, else the spec's, else `llm` where there is a judge."""
        return cast("Strategy", option or self.strategy or ("llm" if judges else "rule"))


def read_judge_rule(block: Block) -> JudgeRule:
    """The `judge:` block of a spec.

    Raises:
        SpecError: names file, line and key.
    """
    form = cast("Form", block.one_of("verdict", "label", "score"))
    rule = JudgeRule(
        strategy=cast("Strategy | None", block.one_of("strategy", *STRATEGIES) if block.has("strategy") else None),
        combine=cast("Combine", block.one_of("combine", *(("majority", "mean") if form == "label" else ("mean",)))),
        images=block.one_of("images", "false", "true") == "true",
        prompt=JudgePrompt(form, block.text("prompt").strip()),
        where=block.where("strategy"),
    )
    if rule.strategy == "llm_recall" and rule.combine == "mean":
        raise block.error("strategy", "llm_recall needs verdicts of right and wrong, not their mean: use llm")
    block.done()
    return rule
