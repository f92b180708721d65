"""Gates: rules that turn a run into pass, fail or inconclusive; one rule per file. And the exit code that follows."""

from pytest_vqaeval.gates.base import Finding, GateResult, Part, Verdict
from pytest_vqaeval.gates.exits import Exit, exit_code

__all__ = ["Exit", "Finding", "GateResult", "Part", "Verdict", "exit_code"]
