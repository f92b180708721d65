"""The exit codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum

from pytest_vqaeval.gates.base import Verdict


class Exit(IntEnum):
    """The exit codes that the plugin sets; pytest's own 2, 3 and 5 stay."""

    OK = 0
    FAILED = 1
    USAGE = 4
    INCONCLUSIVE = 20


def exit_code(
    pytest_code: int, *, only_wrong_answers: bool, stopped: bool, unreached: bool, verdicts: Iterable[Verdict]
) -> int:
    """The exit code of a run.

    Args:
        pytest_code: what pytest would return.
        only_wrong_answers: every failure that pytest counted is a wrong answer of a sample, or an error that a gate
            allows; then 1 says no more than the gates do.
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
