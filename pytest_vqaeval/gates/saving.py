"""Whether a run may become a baseline: only a whole one, so that nothing that is compared with it is missing there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_vqaeval.baselinefile import write_baseline
from pytest_vqaeval.gates.base import GateResult, Verdict
from pytest_vqaeval.gates.session import allowed_errors
from pytest_vqaeval.scores import scores_of
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.summary import Summary


@dataclass(frozen=True)
class Saving:
    """What became of a baseline file.

    Attributes:
        said: in a line.
        done: it was written.
    """

    said: str
    done: bool


def save_baseline(file: Path, summary: Summary, gates: Iterable[GateResult], generation: Mapping[str, Any]) -> Saving:
    """Write the run's scores to a baseline file, unless the run is no whole one.

    Raises:
        StoreError: it can't be written.
    """
    if why := _refusal(summary, list(gates)):
        return Saving(f"{file} was not saved: {why}", done=False)
    saved = [
        scores_of(report.about, report.model, report.overall.results, source=str(file), generation=generation)
        for report in summary.benchmarks
    ]
    write_baseline(file, saved)
    return Saving(f"baseline saved: {file} ({sum(len(scores.samples) for scores in saved):,} samples)", done=True)


def _refusal(summary: Summary, gates: list[GateResult]) -> str:
    if not summary.benchmarks:
        return "no sample was selected"
    allowed = allowed_errors(summary, gates)
    for report in summary.benchmarks:
        name, tally = f"{report.name} {report.model}", report.overall
        if tally.samples != report.collected:
            return f"{name} is partial: {tally.samples:,} of {report.collected:,} samples were selected"
        missing = [result for result in tally.results if not result.outcome.answered]
        unruly = [result for result in missing if result.identity not in allowed]
        if unruly:
            errors = sum(result.outcome is Outcome.ERROR for result in unruly)
            hint = " (--vqa-max-errors says how many errors are allowed)" if errors == len(unruly) else ""
            return f"{name} is incomplete: {len(unruly):,} of {tally.samples:,} samples have no verdict{hint}"
        if tally.headline is None:
            return f"{name} has no sample with a score"
    failed = [gate for gate in gates if gate.verdict is Verdict.FAIL]
    return f"a gate failed ({failed[0].about}: {failed[0].rule})" if failed else ""
