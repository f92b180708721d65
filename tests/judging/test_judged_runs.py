"""Runs with a judge: what is asked, what is stored, and what becomes of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_vqaeval.testing import ModelServer, Request
from tests.conftest import Run, counts_of

RUN = ["shapes.vqa.yaml", "--vqa-json=out.json", "--vqa-retries=0", "-q"]


def say(verdict: str, reason: str = "because") -> str:
    return json.dumps({"reasoning": reason, "verdict": verdict})


def sample_of(request: Request) -> dict[str, Any]:
    """The data that a judge was sent."""
    sample: dict[str, Any] = json.loads(request.text)
    return sample


def number_of(request: Request) -> int:
    """Of the sample that a judge was asked about: `Is number 3 even?`."""
    return int(sample_of(request)["question"][0]["content"].split()[3])


def judge_by(verdict_of: Callable[[int], str]) -> Callable[[Request], str]:
    return lambda request: verdict_of(number_of(request))


def results_of(root: Path) -> dict[str, dict[str, Any]]:
    lines = (root / ".vqaeval/latest/samples.jsonl").read_text().splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def test_recall_judges_what_the_rule_did_not_find_right(shapes: Path, run: Run) -> None:
    """The model says yes; the rule finds the six odd numbers wrong; the judge takes four of those for right."""
    with (
        ModelServer("yes") as model,
        ModelServer(judge_by(lambda n: say("A" if n < 8 else "B")), keep_bodies=True) as judge,
    ):
        options = [f"--vqa-model=m@{model.url}", f"--vqa-judge=j@{judge.url}", "--vqa-judge-strategy=llm_recall"]
        run(*RUN, *options)
        assert sorted(map(number_of, judge.requests)) == [1, 3, 5, 7, 9, 11]
        assert counts_of(shapes) == {"correct": 10, "wrong": 2}
        again = run(*RUN, *options, "--vqa-resume")
        assert (model.count, judge.count) == (12, 6)
    assert counts_of(shapes) == {"correct": 10, "wrong": 2}
    assert again.ret == 1
    row = results_of(shapes)["q9"]
    assert row["judge"]["rule"] == {"outcome": "wrong", "score": 0.0}
    assert row["judge"]["judges"][0]["reason"] == "because"
