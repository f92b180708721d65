"""Requests ahead of the items: full, bounded, nothing asked twice, and hopeless runs stopped."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from xdist.remote import WorkerInteractor

from pytest_vqaeval import lookahead
from pytest_vqaeval.asking import Asked
from pytest_vqaeval.lookahead import LookAhead
from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import Run, counts_of, rows, write_rows

ALL = ["shapes.vqa.yaml", "--vqa-json=out.json", "--vqa-retries=0", "-q"]


def many(folder: Path, count: int = 200) -> None:
    """The small benchmark with more questions, each of its own wording."""
    records = [
        {**rows()[n % 12], "id": f"q{n}", "question": f"Is number {n} even?", "answer": "no" if n % 2 else "yes"}
        for n in range(count)
    ]
    write_rows(folder / "shapes", records)


def test_requests_are_in_flight_together(shapes: Path, run: Run) -> None:
    many(shapes)
    with ModelServer(lambda request: Answer("yes", latency_s=0.05)) as server:
        run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-concurrency=16")
    assert counts_of(shapes) == {"correct": 100, "wrong": 100}
    assert server.count == 200
    assert 12 <= server.max_in_flight <= 16


def test_one_at_a_time(shapes: Path, pytester: pytest.Pytester) -> None:
    with ModelServer("yes") as server:
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-concurrency=1")
    assert (server.count, server.max_in_flight) == (12, 1)


def test_a_slow_head_does_not_hold_up_the_others(shapes: Path, pytester: pytest.Pytester) -> None:
    many(shapes)

    def answer(request: Request) -> Answer:
        return Answer("yes", latency_s=1.0 if request.number == 1 else 0.01)

    started = time.monotonic()
    with ModelServer(answer) as server:
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-concurrency=4")
        assert server.count == 200
    assert time.monotonic() - started < 8
    assert counts_of(shapes) == {"correct": 100, "wrong": 100}


def test_exitfirst_wastes_little(shapes: Path, pytester: pytest.Pytester) -> None:
    many(shapes, 1000)
    with ModelServer(lambda request: Answer("yes", latency_s=0.01)) as server:
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-concurrency=4", "-x")
    assert server.count < 60


def test_nothing_is_sent_for_what_is_deselected_or_skipped(shapes: Path, run: Run) -> None:
    shapes.joinpath("conftest.py").write_text(
        "import pytest\ndef pytest_collection_modifyitems(items):\n"
        "    for item in items:\n        if '[q3]' in item.name: item.add_marker(pytest.mark.skip)\n"
    )
    with ModelServer("yes") as server:
        run(*ALL, f"--vqa-model=m@{server.url}", "-k", "not zh")
    assert server.count == 7


@pytest.mark.parametrize("dist", ["load", "loadfile", "loadscope", "worksteal"])
def test_every_way_of_xdist_asks_once(shapes: Path, pytester: pytest.Pytester, dist: str) -> None:
    many(shapes)
    with ModelServer(lambda request: Answer("yes", latency_s=0.005)) as server:
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "-n", "3", "--dist", dist)
    assert counts_of(shapes) == {"correct": 100, "wrong": 100}
    stored = [
        json.loads(line)["id"]
        for file in (shapes / ".vqaeval/latest").glob("replies-*.jsonl")
        for line in file.read_text().splitlines()
    ]
    assert set(stored) == {f"q{n}" for n in range(200)}
    assert server.count - len(stored) == 0
    if dist != "worksteal":  # what is stolen while it is in flight may be asked twice
        assert len(stored) == 200


@pytest.mark.parametrize(("status", "said"), [(401, "--vqa-api-key-env"), (404, "--vqa-url")])
def test_a_permanent_error_stops_the_run(shapes: Path, run: Run, status: int, said: str) -> None:
    many(shapes)
    with ModelServer(lambda request: Answer("no", status=status)) as server:
        result = run(*ALL, f"--vqa-model=m@{server.url}")
    assert result.ret == 4
    assert server.count < 60
    assert said in result.stdout.str()
    assert "correct" not in counts_of(shapes)


def test_no_server_at_the_start_stops_the_run(shapes: Path, run: Run) -> None:
    result = run(*ALL, "--vqa-model=m@http://127.0.0.1:9/v1")
    assert result.ret == 4
    assert counts_of(shapes)["not_run"] >= 8


def test_resume_asks_only_what_is_missing(shapes: Path, run: Run) -> None:
    with ModelServer(lambda request: Answer("" if request.number % 4 == 0 else "yes")) as server:
        run(*ALL, f"--vqa-model=m@{server.url}")
    assert counts_of(shapes)["empty"] == 3
    with ModelServer("yes") as second:
        run(*ALL, f"--vqa-model=m@{second.url}", "--vqa-resume")
    assert second.count == 3  # the empty ones
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}


def test_resume_asks_again_what_changed(shapes: Path, pytester: pytest.Pytester) -> None:
    with ModelServer("yes") as server:
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}")
        records = [{**row, "question": row["question"].replace("q", "Q")} for row in rows()]
        records[3]["question"] = "Another question?"
        write_rows(shapes / "shapes", [*records[6:], *records[:6]])
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-resume", "--vqa-limit=100")
        assert server.count == 13
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-resume", "--vqa-generation=top_p=0.5")
        assert server.count == 25


def test_resume_without_a_run(shapes: Path, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*ALL, "--vqa-model=m", "--vqa-resume")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--vqa-resume: there is no run 'latest'; there are no runs in *"])


def test_a_killed_run_loses_no_reply(shapes: Path) -> None:
    many(shapes)
    command = [sys.executable, "-m", "pytest", *ALL, "--vqa-concurrency=4", "-p", "no:cacheprovider"]
    with ModelServer(lambda request: Answer("yes", latency_s=0.02)) as server:
        process = subprocess.Popen([*command, f"--vqa-model=m@{server.url}"], cwd=shapes, stdout=subprocess.DEVNULL)
        while server.count < 60:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    stored = (shapes / ".vqaeval/latest/replies-main.jsonl").read_text().count("\n")
    (shapes / ".vqaeval/latest/replies-main.jsonl").open("a").write('{"torn')
    with ModelServer("yes") as second:
        arguments = [*command, f"--vqa-model=m@{second.url}", "--vqa-resume"]
        subprocess.run(arguments, cwd=shapes, stdout=subprocess.DEVNULL, check=False)
    assert second.count == 200 - stored
    assert counts_of(shapes) == {"correct": 100, "wrong": 100}


def test_an_item_that_was_not_expected_is_asked_even_if_enough_is_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookahead, "_AT_LEAST", 2)
    monkeypatch.setattr(lookahead, "_WHILE_WAITING", 1)
    items = [cast(pytest.Item, SimpleNamespace(nodeid=str(number))) for number in range(9)]
    order = SimpleNamespace(start_at=lambda head: None, upcoming=lambda head: iter(items[1:]))
    reply = cast(Asked, object())
    ahead = LookAhead(order, 2, lambda item: lambda: reply, waiting_only=False)
    answers: list[Asked] = []

    def run() -> None:
        answers.append(ahead.ask(items[0], lambda: time.sleep(0.2) or reply))
        answers.append(ahead.ask(cast(pytest.Item, SimpleNamespace(nodeid="0 again")), lambda: reply))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    ahead.stop()
    assert answers == [reply, reply]


def test_the_private_names_of_xdist_are_there() -> None:
    """Canary: without them samples are asked one by one under xdist."""
    source = Path(sys.modules[WorkerInteractor.__module__].__file__ or "").read_text()
    assert "self.torun = TestQueue(" in source
    assert "self.nextitem_index" in source
    assert hasattr(sys.modules[WorkerInteractor.__module__].TestQueue, "lock")


def test_the_private_names_of_pytest_are_there(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Canary: without them samples are asked one by one."""
    (definition,) = request.node._fixtureinfo.name2fixturedefs["tmp_path"]
    assert (definition.scope, definition.func.__module__) == ("function", "_pytest.tmpdir")
