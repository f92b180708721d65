"""What every fault has to leave behind: a run in which each selected sample is answered, an error or not run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_vqaeval.store import read_run
from tests.conftest import counts_of, rows, write_rows

ALL = ["shapes.vqa.yaml", "--vqa-json=out.json", "-q", "-p", "no:cacheprovider"]
WRONG = ("wrong", "unparsed", "truncated", "empty")


def many(root: Path, count: int) -> None:
    """The small benchmark with more questions: every second answer is yes, a word of the question is its number."""
    records = [
        {**rows()[n % 12], "id": f"q{n}", "question": f"Is number {n} even?", "answer": "no" if n % 2 else "yes"}
        for n in range(count)
    ]
    write_rows(root / "shapes", records)


def number_of(text: str) -> int:
    """The number of the question that a request asks."""
    return int(text.split()[2])


def right(number: int) -> str:
    """The right answer to a question."""
    return "no" if number % 2 else "yes"


def account(root: Path, selected: int, run: str = "latest") -> dict[str, int]:
    """The counts of a run whose model never answers wrong: the same in summary and run folder, and none is missing."""
    counts = counts_of(root)
    assert sum(counts.values()) == selected
    assert not set(counts) & set(WRONG), f"an error was counted as wrong: {counts}"
    (benchmark,) = read_run(root / ".vqaeval" / run).summary().benchmarks
    stored = {outcome.value: count for outcome, count in benchmark.overall.counts.items() if count}
    assert stored == counts
    return counts


def stored_replies(root: Path, run: str = "latest") -> list[int]:
    """The numbers of the questions whose replies are stored, one for each whole line."""
    numbers = []
    for file in (root / ".vqaeval" / run).glob("replies-*.jsonl"):
        for line in file.read_text().split("\n"):
            try:
                numbers.append(int(json.loads(line)["id"][1:]))
            except ValueError:
                continue  # torn
    return numbers


Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(shapes: Path) -> Start:
    """Start pytest on the small benchmark as a process of its own, with its output in output.txt."""

    def start(*arguments: str, **more: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "pytest", *ALL, *arguments]
        output = shapes.joinpath("output.txt").open("wb")
        return subprocess.Popen(command, cwd=shapes, stdout=output, stderr=output, **more)  # type: ignore[call-overload]

    return start
