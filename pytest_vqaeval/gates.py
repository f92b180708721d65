"""Gates: rules that turn a run into pass, fail or inconclusive; and the exit code that follows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_vqaeval.results import Summary, Tally


class Verdict(str, Enum):
    """What a gate says of a run."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


class Exit(IntEnum):
    """The exit codes that the plugin sets; pytest's own 2, 3 and 5 stay."""

    OK = 0
    FAILED = 1
    USAGE = 4
    INCONCLUSIVE = 20


@dataclass(frozen=True)
class FailUnder:
    """The overall score of a benchmark (of every benchmark if None) must be `score` or more; 0 to 1."""

    score: float
    benchmark: str | None = None

    def concerns(self, benchmark: str) -> bool:
        """The gate is for this benchmark."""
        return self.benchmark in (None, benchmark)

    def judge(self, overall: Tally, collected: int) -> tuple[Verdict, str]:
        """The verdict by the bounds: with all missing samples wrong, and with all missing right.

        Args:
            overall: the benchmark's tally.
            collected: how many samples the benchmark has; those that were not selected are missing too.
        """
        if overall.headline is None:
            why = "no references: replies only" if overall.replies_only else "no sample was answered"
            return Verdict.INCONCLUSIVE, f"{why} (of {collected:,})"
        deselected = max(0, collected - overall.samples)
        low, high = overall.bounds_with(deselected)
        said = f"{overall.headline:.4f} of {overall.answered:,} answered"
        if missing := overall.missing + deselected:
            said += f", {low:.4f} to {high:.4f} with the {missing:,} missing"
        if low >= self.score:
            return Verdict.PASS, said
        return (Verdict.FAIL if high < self.score else Verdict.INCONCLUSIVE), said


@dataclass(frozen=True)
class GateResult:
    """One gate's verdict on one benchmark and model."""

    benchmark: str
    model: str
    rule: str
    verdict: Verdict
    said: str


def parse_fail_under(text: str) -> FailUnder:
    """`0.6` or `slake=0.6`.

    Raises:
        ValueError: no number from 0 to 1.
    """
    benchmark, equals, number = text.rpartition("=")
    try:
        score = float(number)
    except ValueError:
        score = math.nan
    if not 0 <= score <= 1:  # also false for NaN
        raise ValueError(f"{number!r} is not a score from 0 to 1")
    if equals and not benchmark.strip():
        raise ValueError("names no benchmark before the =")
    return FailUnder(score, benchmark.strip() or None)


def judge(summary: Summary, gates: Sequence[FailUnder]) -> list[GateResult]:
    """Judge a run by all its gates.

    A gate that names a benchmark of which nothing was selected can't pass: it is inconclusive.
    """
    results = []
    for gate in gates:
        judged = [report for report in summary.benchmarks if gate.concerns(report.name)]
        for report in judged:
            verdict, said = gate.judge(report.overall, report.collected)
            rule = f"fail_under {gate.score:g}"
            results.append(GateResult(report.name, report.model, rule, verdict, said))
        if not judged:
            name = gate.benchmark or "any benchmark"
            results.append(
                GateResult(name, "", f"fail_under {gate.score:g}", Verdict.INCONCLUSIVE, "no sample was selected")
            )
    return results


def exit_code(
    pytest_code: int, *, only_wrong_answers: bool, stopped: bool, unreached: bool, verdicts: Iterable[Verdict]
) -> int:
    """The exit code of a run.

    Args:
        pytest_code: what pytest would return.
        only_wrong_answers: every failure that pytest counted is a wrong answer of a sample; then 1 says no more than
            the gates do.
        stopped: the run was stopped by an error that no further sample could survive (a wrong key, a wrong URL, a full
            disk).
        unreached: selected samples were neither asked nor skipped; then 0 would say too much.
        verdicts: of all gates. Without any, pytest's code stays.
    """
    if stopped:
        return Exit.USAGE
    code = _judged(pytest_code, only_wrong_answers, list(verdicts))
    return Exit.FAILED if code == Exit.OK and unreached else code


def _judged(pytest_code: int, only_wrong_answers: bool, verdicts: Sequence[Verdict]) -> int:
    if not verdicts or pytest_code not in (Exit.OK, Exit.FAILED):
        return pytest_code
    if pytest_code == Exit.FAILED and not only_wrong_answers:
        return pytest_code
    if Verdict.FAIL in verdicts:
        return Exit.FAILED
    return Exit.INCONCLUSIVE if Verdict.INCONCLUSIVE in verdicts else Exit.OK
