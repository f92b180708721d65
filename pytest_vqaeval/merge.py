"""Several runs as one: shards of a benchmark, or the pieces of a run that was taken up again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_vqaeval.errors import UsageError
from pytest_vqaeval.results import Identity, Result
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.store import StoredRun
from pytest_vqaeval.summary import About


@dataclass(frozen=True)
class Merged:
    """What several runs say together; `results` has one row per sample, model and repeat."""

    abouts: Sequence[About]
    results: Sequence[Result]


def merge(runs: Sequence[StoredRun]) -> Merged:
    """Put runs together. A verdict goes before an error, an error before a sample that was never reached.

    Raises:
        UsageError: the runs are not of the same data, prompt, scorer or parameters, or a sample has two verdicts.
    """
    abouts: dict[str, tuple[About, StoredRun]] = {}
    rows: dict[Identity, tuple[Result, StoredRun]] = {}
    for run in runs:
        for about in run.abouts:
            first, of = abouts.setdefault(about.name, (about, run))
            _check(first, of, about, run)
        for row in run.results:
            known = rows.get(row.identity)
            if known is None or _rank(row) > _rank(known[0]):
                rows[row.identity] = row, run
            elif _rank(row) == _rank(known[0]) == _ANSWERED and _verdict(row) != _verdict(known[0]):
                names = f"{known[1].path.name} and {run.path.name}"
                raise UsageError(f"{row.nodeid} ({row.model}) has different results in {names}")
    return Merged([about for about, _ in abouts.values()], [row for row, _ in rows.values()])


_ANSWERED = 2


def _rank(row: Result) -> int:
    return _ANSWERED if row.outcome.answered else int(row.outcome is Outcome.ERROR)


def _verdict(row: Result) -> tuple[object, ...]:
    return row.outcome, row.score, row.guessed, row.extracted, row.reply, dict(row.metrics)


def _check(first: About, of: StoredRun, about: About, run: StoredRun) -> None:
    """Only what was asked and scored alike can be one run."""
    unequal = [name for name in about.fingerprint if about.fingerprint[name] != first.fingerprint.get(name)]
    if about.collected != first.collected and not unequal:
        unequal.append("number of samples or repeats")
    if _generation(of) != _generation(run):
        unequal.append("generation parameters")
    if unequal:
        names = f"{of.path.name} and {run.path.name}"
        raise UsageError(f"{names} can't be merged: {about.name} has other {', '.join(unequal)}")


def _generation(run: StoredRun) -> object:
    return run.header.get("settings", {}).get("generation")


def models_of(runs: Iterable[StoredRun]) -> list[str]:
    """All models, in order of first appearance."""
    return list(dict.fromkeys(model for run in runs for model in run.header.get("models", [])))
