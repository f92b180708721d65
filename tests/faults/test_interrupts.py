"""Whatever stops a session early: it ends at once, keeps what it has, and says what is missing."""

import os
import signal
import time
from pathlib import Path

import pytest

from pytest_vqaeval.store import read_run
from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import Run, counts_of
from tests.faults.conftest import ALL, Start, account, many, number_of, right, stored_replies

WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "n2"])


def correct(request: Request) -> Answer:
    return Answer(right(number_of(request.text)))


def hangs(request: Request) -> Answer:
    """After thirty quick replies the server is silent."""
    return Answer(right(number_of(request.text)), latency_s=0.01 if request.number <= 30 else 60)


def until_it_hangs(server: ModelServer) -> None:
    while server.count < 33:
        time.sleep(0.01)
    time.sleep(0.3)


@WORKERS
def test_ctrl_c_writes_the_run(shapes: Path, start: Start, workers: tuple[str, ...]) -> None:
    """As a terminal sends it: to all processes (C21: an abort lost all verdicts, and there was no report)."""
    many(shapes, 100)
    with ModelServer(hangs) as server:
        process = start(f"--vqa-model=m@{server.url}", "--vqa-concurrency=4", *workers, start_new_session=True)
        until_it_hangs(server)
        pressed = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) == 2
    assert time.monotonic() - pressed < 30
    counts = account(shapes, 100)
    assert counts["not_run"] >= 70
    assert counts["correct"] <= 30 == len(stored_replies(shapes))
    assert "all samples" in shapes.joinpath("output.txt").read_text()
    with ModelServer(correct) as second:
        assert start(f"--vqa-model=m@{second.url}", "--vqa-resume").wait(60) == 0
    assert account(shapes, 100) == {"correct": 100}
    assert second.count == 70


@WORKERS
def test_ctrl_c_twice_ends_now(shapes: Path, start: Start, workers: tuple[str, ...]) -> None:
    many(shapes, 100)
    with ModelServer(hangs) as server:
        process = start(f"--vqa-model=m@{server.url}", "--vqa-concurrency=4", *workers, start_new_session=True)
        until_it_hangs(server)
        pressed = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) != 0
    assert time.monotonic() - pressed < 30
    run = read_run(shapes / ".vqaeval/latest")
    assert len(run.results) == 100
    assert len(stored_replies(shapes)) == 30
    with ModelServer(correct) as second:
        assert start(f"--vqa-model=m@{second.url}", "--vqa-resume").wait(60) == 0
    assert account(shapes, 100) == {"correct": 100}
    assert second.count == 70


def test_maxfail_wastes_little(shapes: Path, run: Run) -> None:
    many(shapes, 400)

    def answer(request: Request) -> Answer:
        return Answer(
            "no" if number_of(request.text) in (4, 12, 14) else right(number_of(request.text)), latency_s=0.01
        )

    with ModelServer(answer) as server:
        result = run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-concurrency=4", "--maxfail=3")
    assert result.ret in (1, 2)  # xdist calls it an interruption
    assert server.count < 200  # with xdist it is the controller that stops, when it has heard of the third
    assert "3 wrong" in result.stdout.str()


STOPS = {
    "pytest.exit": "pytest.exit('enough')",
    "pytest.exit with 0": "pytest.exit('enough', returncode=0)",
    "shouldstop": "item.session.shouldstop = 'enough'",
    "shouldfail": "item.session.shouldfail = 'enough'",
}


@pytest.mark.parametrize("how", STOPS)
def test_other_plugins_may_stop_the_session(shapes: Path, pytester: pytest.Pytester, how: str) -> None:
    many(shapes, 200)
    shapes.joinpath("conftest.py").write_text(
        f"import pytest\ndef pytest_runtest_teardown(item):\n    if '[q19]' in item.name: {STOPS[how]}\n"
    )
    started = time.monotonic()
    with ModelServer(lambda request: Answer(right(number_of(request.text)), latency_s=0.01)) as server:
        result = pytester.runpytest_subprocess(*ALL, f"--vqa-model=m@{server.url}", "--vqa-concurrency=4")
    assert time.monotonic() - started < 30
    assert account(shapes, 200) == {"correct": 16, "not_run": 184}
    assert server.count < 100
    assert result.ret == {"shouldfail": 1, "pytest.exit with 0": 1}.get(how, 2)


def test_a_timeout_of_pytest_timeout_hits_one_sample(shapes: Path, pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_timeout")
    with ModelServer(lambda r: Answer("yes", latency_s=30 if number_of(r.text) == 4 else 0)) as server:
        pytester.runpytest_subprocess(*ALL, f"--vqa-model=m@{server.url}", "--timeout=1", "--vqa-show=0")
    assert counts_of(shapes) == {"correct": 5, "wrong": 6, "error": 1}


def test_faulthandlers_timeout_only_tells(shapes: Path, pytester: pytest.Pytester) -> None:
    def answer(request: Request) -> Answer:
        return Answer(right(number_of(request.text)), latency_s=0.6 if number_of(request.text) == 4 else 0)

    with ModelServer(answer) as server:
        arguments = [*ALL, f"--vqa-model=m@{server.url}", "-o", "faulthandler_timeout=0.2"]
        assert pytester.runpytest_subprocess(*arguments).ret == 0
    assert account(shapes, 12) == {"correct": 12}


def test_nothing_hangs_at_exit(shapes: Path, start: Start) -> None:
    """Requests in flight when the session is over, a minute before their replies would come, hold up nobody."""
    many(shapes, 40)

    def answer(request: Request) -> Answer:
        number = number_of(request.text)
        return Answer(right(number + 1), latency_s=0 if number == 0 else 60)

    with ModelServer(answer) as server:
        began = time.monotonic()
        process = start(f"--vqa-model=m@{server.url}", "-x", "--vqa-concurrency=8")
        assert process.wait(50) == 1
    assert time.monotonic() - began < 50
