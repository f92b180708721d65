"""What `compare` prints: the runs side by side, then each pair with its verdict. Everything fits in 80 columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from string import ascii_lowercase
from typing import Any

from tabulate import tabulate

from pytest_vqaeval.comparison import POWER, Change, Comparison
from pytest_vqaeval.names import one_line
from pytest_vqaeval.scores import Scores
from pytest_vqaeval.stats import holm

SCHEMA = 1
_RUN = re.compile(r"\d{8}-\d{6}-")  # how the name of a run begins


@dataclass(frozen=True)
class Pair:
    """Two of the runs.

    Attributes:
        old: position of the older, or first named.
        new: position of the other.
        comparison: of the samples that both have; None where the two can't be compared.
        why: they can't.
        p: two-sided, adjusted for all pairs.
        verdict: `worse`, `better` or `no difference seen`; of the new one.
    """

    old: int
    new: int
    comparison: Comparison | None
    why: str = ""
    p: float = 1.0
    verdict: str = ""


@dataclass(frozen=True)
class Compared:
    """The runs of one benchmark."""

    runs: Sequence[Scores]
    pairs: Sequence[Pair]


def compare_all(groups: Sequence[Sequence[Scores]], alpha: float) -> list[Compared]:
    """All pairs of all benchmarks, with Holm's correction over them."""
    drawn = [(runs, [_pair(runs, old, new) for old, new in combinations(range(len(runs)), 2)]) for runs in groups]
    possible = [pair.comparison for _, pairs in drawn for pair in pairs if pair.comparison]
    adjusted = iter(holm([comparison.p_either for comparison in possible]))
    return [Compared(runs, [_judged(pair, adjusted, alpha) for pair in pairs]) for runs, pairs in drawn]


def _pair(runs: Sequence[Scores], old: int, new: int) -> Pair:
    why = runs[new].incomparable(runs[old])
    comparison = None if why else Comparison(runs[old], runs[new])
    if comparison and not comparison.samples:
        return Pair(old, new, None, "no sample has a score in both")
    return Pair(old, new, comparison, why)


def _judged(pair: Pair, adjusted: Iterator[float], alpha: float) -> Pair:
    if pair.comparison is None:
        return pair
    p = next(adjusted)
    told = "no difference seen" if p > alpha else "worse" if pair.comparison.difference < 0 else "better"
    return Pair(pair.old, pair.new, pair.comparison, "", p, told)


def lines(compared: Compared, alpha: float, show: int) -> Iterator[str]:
    """Everything about one benchmark."""
    runs = compared.runs
    yield f"== {one_line(runs[0].title)}: {len(runs)} runs compared"
    yield from _table(runs)
    for pair in compared.pairs:
        yield ""
        yield from _pair_lines(compared, pair, alpha)
        if pair.comparison and len(runs) == 2:
            yield from _changes("worse", pair.comparison.worse, show)
            yield from _changes("better", pair.comparison.better, show)


def _short(source: str) -> str:
    """At most 18 characters: the start of a run's name, which is its time, else the end of a path."""
    return source[:18] if _RUN.match(source) else source[-18:]


def _table(runs: Sequence[Scores]) -> list[str]:
    rows = []
    for letter, scores in zip(_letters(len(runs)), runs, strict=True):
        interval = scores.interval
        known = sum(sample.known for sample in scores.samples.values())
        of = f"{known:,}" if known == scores.collected else f"{known:,} (of {scores.collected:,})"
        between = f"{100 * interval.low:.1f} - {100 * interval.high:.1f}" if interval else ""
        mean = "-" if scores.mean is None else f"{100 * scores.mean:.2f} %"
        rows.append([letter, one_line(scores.model)[:18], _short(one_line(scores.source)), of, mean, between])
    metric = "score" if runs[0].graded else "accuracy"
    header = ["", "model", "from", "samples", metric, "95 % interval"]
    return tabulate(rows, header, tablefmt="simple", disable_numparse=True).split("\n")


def _pair_lines(compared: Compared, pair: Pair, alpha: float) -> Iterator[str]:
    letters = _letters(len(compared.runs))
    name = f"{letters[pair.old]} -> {letters[pair.new]}"
    comparison = pair.comparison
    if comparison is None:
        yield f"{name}: {one_line(pair.why)}"
        return
    interval = comparison.interval
    between = f" (95 % {100 * interval.low:+.2f} to {100 * interval.high:+.2f})" if interval else ""
    holm_said = f" (Holm, {len(compared.pairs)} pairs)" if len(compared.pairs) > 1 else ""
    yield f"{name}: {pair.verdict}: {100 * comparison.difference:+.2f} points{between}, p {pair.p:.2g}{holm_said}"
    worse, better = len(comparison.worse), len(comparison.better)
    yield f"  {worse:,} worse, {better:,} better, of {comparison.samples:,} samples in {_clusters(comparison)}"
    changes = compared.runs[pair.new].changes(compared.runs[pair.old])
    yield from (f"  compared: {one_line(change)}" for change in changes)
    yield from (f"  {line}" for line in _advice(comparison, alpha, same=not changes))


def _clusters(comparison: Comparison) -> str:
    return f"{comparison.clusters:,} cluster{'s' * (comparison.clusters != 1)}"


def _advice(comparison: Comparison, alpha: float, *, same: bool) -> Iterator[str]:
    """What a gate could see, judged by these two; two runs of the same model show its noise."""
    flips = len(comparison.worse) + len(comparison.better)
    if same:
        rate = f"{100 * flips / comparison.samples:.1f} % ({flips:,} of {comparison.samples:,})"
        yield f"the same model, prompt and parameters: {rate} flipped by themselves"
    visible = comparison.visible_drop(alpha)
    if visible is None:
        yield f"{_clusters(comparison)} can't move a gate at alpha {alpha:g}"
    else:
        yield f"a gate at alpha {alpha:g} sees a drop of {100 * visible:.2f} points ({100 * POWER:.0f} % power)"
        if same and flips:
            yield "with --vqa-repeats=4 on both sides, about half of that"


def _changes(name: str, changes: Sequence[Change], show: int) -> Iterator[str]:
    if not changes or not show:
        return
    shown = f"{min(show, len(changes)):,} of {len(changes):,}" if len(changes) > show else f"{len(changes):,}"
    yield from ("", f"{name} ({shown}):")
    for change in changes[:show]:
        yield f"  {one_line(change.nodeid)}  {_score(change, old=True)} -> {_score(change, old=False)}"


def _score(change: Change, *, old: bool) -> str:
    sample = change.old if old else change.new
    return sample.outcome.value if sample.outcome else f"{sample.low:.2f}"


def _letters(count: int) -> list[str]:
    return [ascii_lowercase[n] if n < 26 else str(n + 1) for n in range(count)]


def build_json(compared: Sequence[Compared], alpha: float) -> dict[str, Any]:
    """The same for programs; all changed samples are in it."""
    return {
        "schema": SCHEMA,
        "alpha": alpha,
        "benchmarks": [
            {
                "name": group.runs[0].benchmark,
                "runs": [_run_json(scores) for scores in group.runs],
                "pairs": [_pair_json(group, pair, alpha) for pair in group.pairs],
            }
            for group in compared
        ],
    }


def _run_json(scores: Scores) -> dict[str, Any]:
    interval = scores.interval
    return {
        "model": scores.model,
        "from": scores.source,
        "samples": sum(sample.known for sample in scores.samples.values()),
        "collected": scores.collected,
        "repeats": scores.repeats,
        "score": scores.mean,
        "ci": [interval.low, interval.high] if interval else None,
    }


def _pair_json(group: Compared, pair: Pair, alpha: float) -> dict[str, Any]:
    facts: dict[str, Any] = {"old": pair.old, "new": pair.new}
    if pair.comparison is None:
        return {**facts, "problem": pair.why}
    comparison, interval = pair.comparison, pair.comparison.interval
    return {
        **facts,
        "verdict": pair.verdict,
        "difference": comparison.difference,
        "ci": [interval.low, interval.high] if interval else None,
        "p": pair.p,
        "samples": comparison.samples,
        "clusters": comparison.clusters,
        "flip_rate": len(comparison.changes) / comparison.samples,
        "visible_drop": comparison.visible_drop(alpha),
        "changes": group.runs[pair.new].changes(group.runs[pair.old]),
        "worse": [change.nodeid for change in comparison.worse],
        "better": [change.nodeid for change in comparison.better],
    }
