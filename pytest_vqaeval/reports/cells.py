"""The cells of tables: counts, shares and intervals as people read them."""

from __future__ import annotations

from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.tally import Tally

FEW = 20  # samples; a share of fewer is marked: a single answer moves it by five points and more


def tally_cells(tally: Tally, models: int) -> list[str]:
    """A tally in three cells, or in one where several models stand side by side."""
    if models > 1:
        return [f"{percent(tally.headline)} of {tally.answered:,}" if tally.answered else "none answered"]
    interval = tally.interval
    between = f"{100 * interval.low:.1f} - {100 * interval.high:.1f}" if interval else ""
    return [answered(tally), percent(tally.headline), between]


def answered(tally: Tally) -> str:
    """`529 of 1,061` right; `(+ 3 missing)` where samples have no verdict."""
    right = f"{tally.answered:,}" if tally.graded else f"{tally.counts[Outcome.CORRECT]:,} of {tally.answered:,}"
    return f"{right} (+ {tally.missing:,} missing)" if tally.missing else right


def percent(share: float | None) -> str:
    """A share, with two places."""
    return "-" if share is None else f"{100 * share:.2f} %"
