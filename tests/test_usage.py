"""What a run cost: tokens, latency, retries and pauses; what was stored before costs nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval.replies import ReplyStore
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.results import Identity, Result
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.testing import Answer, ModelServer, Request
from pytest_vqaeval.usage import Usage, usage_of
from tests.conftest import Run, counts_of, summary_of

ALL = ["shapes.vqa.yaml", "--vqa-json=out.json", "-q"]
SPENT = {"prompt_tokens": 120, "completion_tokens": 24, "total_tokens": 144}


def usage(folder: Path) -> Any:
    (benchmark,) = summary_of(folder)["benchmarks"]  # type: ignore[misc]
    return benchmark["usage"]["answer"]


def result(**facts: Any) -> Result:
    known = {"benchmark": "b", "subset": "s", "id": "1", "model": "m", "nodeid": "n", "cluster": "1"}
    return Result(**{**known, "outcome": Outcome.CORRECT, "reply": "yes", **facts})


def test_tokens_latency_and_retries(shapes: Path, run: Run) -> None:
    with ModelServer(lambda request: Answer("yes", status=503 if request.number == 1 else 200)) as server:
        out = run(*ALL, f"--vqa-model=m@{server.url}")
    found = usage(shapes)
    assert (found["replies"], found["reused"], found["retries"], found["tokens"]) == (12, 0, 1, SPENT)
    assert 0 < found["latency_s"]["p50"] <= found["latency_s"]["p90"] <= found["latency_s"]["p99"] < 10
    line = "  answers: 12 asked, 1 retry, 120 prompt + 24 completion tokens, p50 * ms*"
    out.stdout.fnmatch_lines([line])
    assert all(len(line) <= 80 for line in out.outlines[out.outlines.index("12 samples:") :])


def test_reused_replies_are_not_spent(shapes: Path, run: Run) -> None:
    with ModelServer(lambda request: Answer("" if request.number == 1 else "yes")) as server:
        run(*ALL, f"--vqa-model=m@{server.url}")
        out = run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-resume")
    found = usage(shapes)
    assert (found["replies"], found["reused"]) == (1, 11)
    assert found["tokens"] == {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    out.stdout.fnmatch_lines(["  answers: 1 asked, 11 replies reused, *"])


def test_replayed_replies_are_reused(shapes: Path, pytester: pytest.Pytester) -> None:
    lines = [json.dumps({"id": f"q{n}", "reply": "yes", "usage": {"prompt_tokens": 5}}) for n in range(12)]
    shapes.joinpath("replies.jsonl").write_text("\n".join(lines))
    pytester.runpytest(*ALL, "--vqa-model=replay:replies.jsonl")
    assert usage(shapes) == {"replies": 0, "reused": 12, "retries": 0, "tokens": {}, "latency_s": {}}


def test_pauses_that_the_server_wanted(shapes: Path, run: Run) -> None:
    def answer(request: Request) -> Answer:
        return Answer(status=429, headers={"Retry-After": "0.3"}) if request.number == 1 else Answer("yes")

    with ModelServer(answer) as server:
        out = run(*ALL, f"--vqa-model=m@{server.url}")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}
    assert 0.3 <= summary_of(shapes)["run"]["throttled_s"]["m"] < 1  # type: ignore[index]
    out.stdout.fnmatch_lines(["throttled: m wanted a pause for 0.? s (HTTP 429)"])
    header = json.loads((shapes / ".vqaeval/latest/run.json").read_text())
    assert header["throttled_s"] == summary_of(shapes)["run"]["throttled_s"]  # type: ignore[index]


def test_an_unhurried_run_says_nothing_of_pauses(shapes: Path, pytester: pytest.Pytester) -> None:
    with ModelServer("yes") as server:
        out = pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}")
    assert summary_of(shapes)["run"]["throttled_s"] == {}  # type: ignore[index]
    out.stdout.no_fnmatch_line("throttled*")


def test_a_function_costs_nothing_that_is_measured(always_yes: Path, run: Run) -> None:
    out = run(*ALL, "--vqa-model=m")
    assert usage(always_yes) == {"replies": 12, "reused": 0, "retries": 0, "tokens": {}, "latency_s": {}}
    out.stdout.no_fnmatch_line("*answers:*")


def test_retries_of_samples_that_got_no_reply_count(shapes: Path, run: Run) -> None:
    def answer(request: Request) -> Answer:
        return Answer("yes", status=503 if "number 3 " in request.text else 200)

    with ModelServer(answer) as server:
        run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-retries=2")
    assert counts_of(shapes)["error"] == 1
    found = usage(shapes)
    assert (server.count, found["replies"], found["retries"], found["tokens"]["prompt_tokens"]) == (14, 11, 2, 110)


def test_percentiles_are_over_what_was_asked() -> None:
    asked = [result(id=str(n), latency_s=n / 100, attempts=1) for n in range(101)]
    found = usage_of([*asked, result(id="old", latency_s=900.0, reused=True, usage={"prompt_tokens": 7})])
    assert found.latency_s == pytest.approx({"p50": 0.5, "p90": 0.9, "p99": 0.99})
    assert (found.replies, found.reused, found.tokens) == (101, 1, {})
    assert not usage_of([])
    assert usage_of([]) == Usage()


def test_a_reply_that_a_rerun_scores_again_is_spent_by_this_run(tmp_path: Path) -> None:
    identity = Identity("b", "s", "1", 1, "m")
    store = ReplyStore(tmp_path, "main", resume=False)
    store.add("key", identity, Reply("yes", "stop", {"prompt_tokens": 3}), kind="answer", asked="m")
    again = store.find("key", identity)
    resumed = ReplyStore(tmp_path, "main", resume=True).find("key", identity)
    assert again is not None
    assert resumed is not None
    assert (again.reused, resumed.reused) == (False, True)
