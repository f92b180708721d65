"""Faults of the server: what could be answered is, the rest are errors, and none of them is a wrong answer."""

import contextlib
import json
import time
from pathlib import Path

import pytest

from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import Run, counts_of
from tests.faults.conftest import ALL, account, many, number_of, right, stored_replies

BODIES = {
    "empty": b"",
    "broken": b'{"choices": [{"message": {"cont',
    "HTML": b"<!DOCTYPE html><title>gateway</title>",
    "error in 200": b'{"error": {"message": "engine died", "code": 500}}',
    "choices null": b'{"choices": null}',
}


def correct(request: Request) -> Answer:
    return Answer(right(number_of(request.text)))


def test_every_seventh_request_fails(shapes: Path, run: Run) -> None:
    many(shapes, 40)

    def answer(request: Request) -> Answer:
        return Answer("overloaded", status=500) if request.number % 7 == 0 else correct(request)

    with ModelServer(answer) as server:
        result = run(*ALL, f"--vqa-model=m@{server.url}")
    assert account(shapes, 40) == {"correct": 40}
    assert server.count == 40 + server.count // 7
    assert sorted(stored_replies(shapes)) == list(range(40))
    assert result.ret == 0


@pytest.mark.parametrize("header", [{"Retry-After": "0.2"}, {}], ids=["retry-after", "silent"])
def test_a_storm_of_429_outlasts_more_requests_than_there_are_retries(
    shapes: Path, pytester: pytest.Pytester, header: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_vqaeval.models.retry.BACKOFF_S", 0.05)
    began = time.monotonic()

    def answer(request: Request) -> Answer:
        return Answer("slow down", status=429, headers=header) if time.monotonic() < began + 2 else correct(request)

    with ModelServer(answer) as server:
        result = pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-retries=1", "--vqa-timeout=30")
    assert account(shapes, 12) == {"correct": 12}
    attempts = [json.loads(line)["attempts"] for line in (shapes / ".vqaeval/latest/samples.jsonl").open()]
    assert max(attempts) > 2
    assert sum(attempts) == server.count
    assert server.count < 12 * 2 / 0.05  # and still nobody hurries the server
    assert result.ret == 0


def test_a_storm_without_end_ends_after_the_time_that_a_sample_gets(shapes: Path, pytester: pytest.Pytester) -> None:
    many(shapes, 60)
    started = time.monotonic()
    with ModelServer(lambda request: Answer("slow down", status=429, headers={"Retry-After": "0.3"})) as server:
        result = pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-retries=1", "--vqa-timeout=1")
    assert account(shapes, 60) == {"error": 60}
    assert time.monotonic() - started < 30
    assert server.count < 60
    assert result.ret == 1
    result.stdout.fnmatch_lines(["* x HTTP 429: the server has let nothing through for longer than a sample gets *"])


@pytest.mark.parametrize("retries", [0, 2])
def test_bodies_that_are_no_replies(shapes: Path, pytester: pytest.Pytester, retries: int) -> None:
    many(shapes, 20)
    bad = dict(zip(range(3, 20, 3), BODIES.values(), strict=False))  # 3, 6, 9, 12, 15
    seen: set[int] = set()

    def answer(request: Request) -> Answer:
        number = number_of(request.text)
        first = number not in seen
        seen.add(number)
        return Answer(body=bad[number]) if number in bad and first else correct(request)

    with ModelServer(answer) as server:
        result = pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", f"--vqa-retries={retries}")
    assert account(shapes, 20) == ({"correct": 20} if retries else {"correct": 15, "error": 5})
    assert server.count == (25 if retries else 20)
    assert result.ret == (0 if retries else 1)
    assert len(stored_replies(shapes)) == (20 if retries else 15)  # a failure is not stored


def test_connections_that_break_or_stall(shapes: Path, pytester: pytest.Pytester) -> None:
    many(shapes, 20)
    faults = {4: Answer("yes", cut_after=20), 8: Answer("yes", stall_s=5), 12: Answer("yes", latency_s=5)}

    def answer(request: Request) -> Answer:
        return faults.get(number_of(request.text)) or correct(request)

    started = time.monotonic()
    with ModelServer(answer) as server:
        result = pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-retries=1", "--vqa-timeout=0.5")
    assert account(shapes, 20) == {"correct": 17, "error": 3}
    assert server.count == 17 + 3 * 2
    assert time.monotonic() - started < 60
    assert result.ret == 1
    result.stdout.fnmatch_lines(["2 x no reply within 0.5 s (--vqa-timeout)", "1 x the connection to * broke *"])


def test_a_server_that_goes_away(shapes: Path, pytester: pytest.Pytester) -> None:
    many(shapes, 300)
    started = time.monotonic()
    with SERVERS:
        server = SERVERS.enter_context(ModelServer(correct))
        shapes.joinpath("conftest.py").write_text(GOES_AWAY)
        result = pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-retries=2", "--vqa-concurrency=2")
    counts = account(shapes, 300)
    assert counts["correct"] == len(stored_replies(shapes)) >= 10
    assert counts["error"] >= 200
    assert time.monotonic() - started < 60  # a dead server is not asked thrice for each of hundreds
    assert result.ret == 1
    result.stdout.fnmatch_lines(["* x no connection to * check --vqa-url"])


SERVERS = contextlib.ExitStack()
GOES_AWAY = """\
from tests.faults.test_server import SERVERS
seen = []
def pytest_vqa_result(result):
    seen.append(result)
    if len(seen) == 10: SERVERS.close()
"""


def test_a_key_that_is_refused_in_the_middle_stops_the_run(
    shapes: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    many(shapes, 200)

    def answer(request: Request) -> Answer:
        return Answer("expired", status=401) if request.number > 30 else correct(request)

    with ModelServer(answer) as server:
        result = run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-concurrency=4")
    counts = account(shapes, 200)
    assert counts["correct"] <= 30
    assert 1 <= counts["error"] <= 2  # one for each process
    assert counts["not_run"] >= 160
    assert len(stored_replies(shapes)) == 30
    assert server.count <= 30 + 4 + 2  # what was in flight, and what each process asked for its next item
    assert result.ret == 4
    assert "the server wants an API key and none is set; check --vqa-api-key-env" in result.stdout.str()
    with ModelServer(correct) as second:
        assert run(*ALL, f"--vqa-model=m@{second.url}", "--vqa-resume").ret == 0
    assert account(shapes, 200) == {"correct": 200}
    assert second.count == 170


def test_refused_samples_leave_their_neighbours_alone(shapes: Path, pytester: pytest.Pytester) -> None:
    refusals = {
        2: Answer("at most 4096 tokens", status=400),
        5: Answer("image too large", status=413),
        7: Answer("at most 4096 tokens", status=400),
    }

    def answer(request: Request) -> Answer:
        return refusals.get(number_of(request.text)) or correct(request)

    with ModelServer(answer) as server:
        result = pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}")
    assert account(shapes, 12) == {"correct": 9, "error": 3}
    assert server.count == 12  # nothing is gained by asking again
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["2 x HTTP 400: at most 4096 tokens", "    first: *q2*", "1 x HTTP 413: image too large"]
    )


def test_the_next_session_asks_errors_again_and_replies_not(shapes: Path, pytester: pytest.Pytester) -> None:
    with ModelServer(
        lambda request: Answer(status=500) if number_of(request.text) == 3 else correct(request)
    ) as server:
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-retries=0")
    assert counts_of(shapes) == {"correct": 11, "error": 1}
    with ModelServer(correct) as second:
        assert pytester.runpytest(*ALL, f"--vqa-model=m@{second.url}", "--vqa-resume").ret == 0
    assert [number_of(request.text) for request in second.requests] == [3]
    assert account(shapes, 12) == {"correct": 12}
