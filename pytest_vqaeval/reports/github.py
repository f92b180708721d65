"""GitHub Actions: the summary on the job's page, and an annotation for each gate that failed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_vqaeval.errors import StoreError
from pytest_vqaeval.gates import GateResult, Verdict
from pytest_vqaeval.names import one_line
from pytest_vqaeval.reports import markdown
from pytest_vqaeval.summary import Summary


def append_summary(summary: Summary, gates: Sequence[GateResult]) -> None:
    """Append the summary as Markdown to the file that `GITHUB_STEP_SUMMARY` names, if it does.

    Raises:
        StoreError: it can't be written.
    """
    if file := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(file).open("a", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(markdown.build(summary, gates) + "\n")
        except OSError as error:
            raise StoreError(f"GITHUB_STEP_SUMMARY: {file} can't be written: {error.strerror}") from None


def error_lines(gates: Iterable[GateResult]) -> list[str]:
    """The lines that make annotations, under GitHub Actions only; a line a failed gate."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return []
    return [
        f"::error title=vqaeval gate failed::{_escaped(f'{gate.about}: {gate.rule}: {gate.said}')}"
        for gate in gates
        if gate.verdict is Verdict.FAIL
    ]


def _escaped(text: str) -> str:
    """As workflow commands want it; control characters would end the command."""
    return one_line(text).replace("%", "%25")
