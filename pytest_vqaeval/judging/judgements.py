"""What the judges did to the results of one benchmark and model: how many they saw, turned and left open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.stats import cohen_kappa

if TYPE_CHECKING:
    from pytest_vqaeval.results import Result


@dataclass(frozen=True, slots=True)
class Judgements:
    """Counts of samples (times repeats).

    Attributes:
        judged: those that have a verdict of the judges.
        not_judged: those for which they gave none; these are errors.
        turned_right: found wrong by the rule and right by the judges.
        turned_wrong: the other way round.
        compared: those on which each of several judges gave a verdict.
        agreement: share of `compared` on which all agree; None without any.
        kappa: Cohen's kappa of two judges over `compared`; None for other numbers of them, or where it is undefined.
    """

    judged: int
    not_judged: int
    turned_right: int
    turned_wrong: int
    compared: int
    agreement: float | None
    kappa: float | None


def judgements_of(results: Iterable[Result]) -> Judgements | None:
    """Sum up; None where nothing was judged, or should have been."""
    rows = [result for result in results if "value" in result.judge]
    if not rows:
        return None
    by_rule = {id(row): Outcome(row.judge["rule"]["outcome"]) for row in rows}
    verdicts = [tuple(judge.get("value") for judge in row.judge.get("judges", ())) for row in rows]
    compared = [said for said in verdicts if len(said) > 1 and None not in said]
    agreeing = sum(len(set(said)) == 1 for said in compared)
    pairs = [(said[0], said[1]) for said in compared if len(said) == 2]
    return Judgements(
        judged=sum(row.judge["value"] is not None for row in rows),
        not_judged=sum(row.judge["value"] is None for row in rows),
        turned_right=sum(row.outcome is Outcome.CORRECT and by_rule[id(row)].counts_wrong for row in rows),
        turned_wrong=sum(row.outcome.counts_wrong and by_rule[id(row)] is Outcome.CORRECT for row in rows),
        compared=len(compared),
        agreement=agreeing / len(compared) if compared else None,
        kappa=cohen_kappa(pairs),
    )
