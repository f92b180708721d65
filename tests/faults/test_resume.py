"""`--vqa-resume` after whatever ended a run: what is stored is not asked again, and the numbers come out the same."""

import json
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from pytest_vqaeval.store import read_run
from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import Run, counts_of, rows, write_rows
from tests.faults.conftest import ALL, Start, account, many, number_of, right, stored_replies

SAMPLES, ROUNDS = 400, 20


def mixed(request: Request) -> Answer:
    """Every fifth answer is wrong."""
    number = number_of(request.text)
    return Answer(right(number + (number % 5 == 0)), latency_s=0.01)


def numbers(shapes: Path) -> dict[str, object]:
    """What a run found out: everything in its summary but times, tokens and how often it asked."""
    (benchmark,) = json.loads(shapes.joinpath("out.json").read_text())["benchmarks"]
    return {key: benchmark[key] for key in ("collected", "overall", "categories", "subsets", "groups")}


def test_twenty_kills_lose_nothing(shapes: Path, start: Start, pytester: pytest.Pytester) -> None:
    """`kill -9` at a random moment, twenty times, and a last line that was torn now and then (ES#552)."""
    many(shapes, SAMPLES)
    with ModelServer(mixed) as server:
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-out=undisturbed")
    undisturbed = numbers(shapes)
    shapes.joinpath("out.json").unlink()

    chance, asked, known = random.Random(20), 0, set[int]()
    with ModelServer(mixed) as server:
        arguments = [f"--vqa-model=m@{server.url}", "--vqa-concurrency=4"]
        for number in range(ROUNDS):
            process = start(*arguments, *(["--vqa-resume"] if known else []))
            wanted = asked + chance.randrange(1, SAMPLES // ROUNDS)
            while server.count < wanted and process.poll() is None:
                time.sleep(0.002)
            time.sleep(chance.random() * 0.02)
            process.kill()
            process.wait()
            new = [number_of(request.text) for request in server.requests[asked:]]
            assert not known & set(new), f"round {number}: asked again although it was stored"
            asked = server.count
            if number % 3 == 2:
                tear(shapes / ".vqaeval/latest/replies-main.jsonl", chance)
                tear(shapes / ".vqaeval/latest/samples.jsonl", chance)
            stored = stored_replies(shapes)
            assert len(set(stored)) == len(stored)
            assert number % 3 == 2 or known <= set(stored)
            known = set(stored)
        assert start(*arguments, "--vqa-resume").wait(120) == 1  # answers are wrong
        last = [number_of(request.text) for request in server.requests[asked:]]
    assert not known & set(last)
    assert len(last) + len(known) == SAMPLES
    assert numbers(shapes) == undisturbed
    assert sorted(stored_replies(shapes)) == list(range(SAMPLES))
    assert server.count <= SAMPLES + ROUNDS * 4 + ROUNDS // 3  # in flight when it was killed, or torn
    (benchmark,) = read_run(shapes / ".vqaeval/latest").summary().benchmarks
    assert benchmark.overall.answered == SAMPLES


def tear(file: Path, chance: random.Random) -> None:
    """Cut the last line short, as a power failure may."""
    data = file.read_bytes() if file.exists() else b""
    if data:
        start_of_last = data.rstrip(b"\n").rfind(b"\n") + 1
        file.write_bytes(data[: chance.randrange(start_of_last, len(data))])


def test_a_torn_line_stays_alone(shapes: Path, pytester: pytest.Pytester) -> None:
    with ModelServer(lambda request: Answer(right(number_of(request.text)))) as server:
        option = f"--vqa-model=m@{server.url}"
        pytester.runpytest(*ALL, option, "-k", "not zh")
        for file in shapes.glob(".vqaeval/latest/*s*.jsonl"):
            if file.name != "selected.jsonl":
                file.write_bytes(file.read_bytes()[:-9])
        torn = 8 - len(stored_replies(shapes))
        assert torn >= 1
        pytester.runpytest(*ALL, option, "--vqa-resume")
        assert server.count == 12 + torn
        pytester.runpytest(*ALL, option, "--vqa-resume")
    assert server.count == 12 + torn
    assert account(shapes, 12) == {"correct": 12}


def test_rows_that_a_session_did_not_select_are_not_of_the_run(shapes: Path, pytester: pytest.Pytester) -> None:
    """A sample that the data lost since, and one that `-k` leaves out, do not come back (ES PR#1657)."""
    with ModelServer(lambda request: Answer(right(number_of(request.text)))) as server:
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}")
        write_rows(shapes / "shapes", rows()[2:])
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-resume", "-k", "not zh")
        assert server.count == 12
    assert account(shapes, 6) == {"correct": 6}


def test_a_run_of_nothing_is_not_the_latest(shapes: Path, run: Run) -> None:
    with ModelServer(lambda request: Answer(right(number_of(request.text)))) as server:
        option = f"--vqa-model=m@{server.url}"
        run(*ALL, option)
        first = (shapes / ".vqaeval/latest").resolve()
        assert run(*ALL, option, "-k", "nothing").ret == 5
        assert [path.resolve() for path in shapes.glob(".vqaeval/runs/*")] == [first]
        assert (shapes / ".vqaeval/latest").resolve() == first
        run(*ALL, option, "--vqa-resume")
    assert server.count == 12
    assert account(shapes, 12) == {"correct": 12}


def test_a_resumed_run_that_selects_nothing_stays_as_it_was(shapes: Path, run: Run) -> None:
    with ModelServer(lambda request: Answer(right(number_of(request.text)))) as server:
        option = f"--vqa-model=m@{server.url}"
        run(*ALL, option)
        folder = shapes / ".vqaeval/latest"
        before = {file.name: file.read_bytes() for file in folder.iterdir()}
        result = run(*ALL, option, "--vqa-resume", "-k", "nothing")
        assert result.ret == 5
    assert "not run" not in result.stdout.str()
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_two_sessions_cannot_resume_one_run(shapes: Path, start: Start, pytester: pytest.Pytester) -> None:
    many(shapes, 40)
    with ModelServer(lambda request: Answer(right(number_of(request.text)), latency_s=0.2)) as server:
        option = f"--vqa-model=m@{server.url}"
        process = start(option, "--vqa-concurrency=2")
        while server.count < 4:
            time.sleep(0.01)
        result = pytester.runpytest(*ALL, option, "--vqa-resume")
        assert result.ret == 4
        name = (shapes / ".vqaeval/latest").resolve().name
        result.stderr.fnmatch_lines([f"*--vqa-resume: another session is writing the run {name}; wait for its end"])
        assert process.wait(60) == 0
        assert account(shapes, 40) == {"correct": 40}
        assert server.count == 40
        pytester.runpytest(*ALL, option, "--vqa-resume")  # now it is free, and has all
    assert server.count == 40


def test_two_sessions_that_start_together_have_a_run_each(shapes: Path, start: Start) -> None:
    with ModelServer(lambda request: Answer(right(number_of(request.text)), latency_s=0.05)) as server:
        option = f"--vqa-model=m@{server.url}"
        both = [start(option), start(option)]
        assert [process.wait(60) for process in both] == [0, 0]
    runs = sorted(path.name for path in shapes.glob(".vqaeval/runs/*"))
    assert len(runs) == 2
    for name in runs:
        assert account(shapes, 12, f"runs/{name}") == {"correct": 12}
    assert server.count == 24


def test_a_killed_session_leaves_no_lock(shapes: Path, start: Start, pytester: pytest.Pytester) -> None:
    many(shapes, 40)
    with ModelServer(lambda request: Answer(right(number_of(request.text)), latency_s=0.1)) as server:
        option = f"--vqa-model=m@{server.url}"
        process = start(option, "-n", "2")
        while server.count < 4:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)  # its workers live on for a moment, and may still write
        process.wait()
        assert pytester.runpytest(*ALL, option, "--vqa-resume").ret == 0
    assert account(shapes, 40) == {"correct": 40}
    assert set(stored_replies(shapes)) == set(range(40))


def test_a_latest_that_was_removed_by_hand(shapes: Path, pytester: pytest.Pytester) -> None:
    with ModelServer("yes") as server:
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}")
        shutil.rmtree((shapes / ".vqaeval/latest").resolve())
        result = pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-resume")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--vqa-resume: there is no run 'latest'; there are no runs in *"])
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}
