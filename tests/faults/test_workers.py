"""Lost xdist workers, and every number and way of xdist: each sample is asked once, and none is missing in silence."""

import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import counts_of
from tests.faults.conftest import ALL, account, many, number_of, right, stored_replies


def correct(request: Request) -> Answer:
    return Answer(right(number_of(request.text)), latency_s=0.02)


KILLED = """\
import os, signal
from pathlib import Path
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if "[q25]" in item.name and {times} > len(list(Path({folder!r}).glob("killed-*"))):
        Path({folder!r}, f"killed-{{os.getpid()}}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
"""


def kills(shapes: Path, times: int) -> None:
    """The worker that is about to run q25 is killed, so many times; what it asked ahead is in flight or stored."""
    shapes.joinpath("conftest.py").write_text(KILLED.format(times=times, folder=str(shapes)))


@pytest.mark.parametrize("dist", ["load", "worksteal", "loadscope"])
def test_what_a_killed_worker_was_on_is_asked_again(shapes: Path, pytester: pytest.Pytester, dist: str) -> None:
    many(shapes, 60)
    kills(shapes, 1)
    stored: list[int] = []
    asked: list[int] = []

    def answer(request: Request) -> Answer:
        if not stored and list(shapes.glob("killed-*")):  # the first request after the kill
            stored.extend(stored_replies(shapes))
        if stored:
            asked.append(number_of(request.text))
        return correct(request)

    with ModelServer(answer) as server:
        option = f"--vqa-model=m@{server.url}"
        result = pytester.runpytest_subprocess(*ALL, option, "-n", "2", "--dist", dist, "--vqa-concurrency=4")
    assert account(shapes, 60) == {"correct": 60}
    assert not set(stored) & set(asked)
    assert max(Counter(number_of(request.text) for request in server.requests).values()) <= 2
    assert server.count <= 60 + 4  # what was in flight
    if dist in ("load", "worksteal"):
        assert result.ret == 0
        result.stdout.fnmatch_lines(["60 passed, 1 asked again in *"])
    else:
        assert result.ret == 1  # xdist itself reports the loss as a failure, and runs the rest of the group again


def test_a_sample_that_kills_twice_is_an_error(shapes: Path, pytester: pytest.Pytester) -> None:
    many(shapes, 40)
    kills(shapes, 2)
    with ModelServer(correct) as server:
        result = pytester.runpytest_subprocess(*ALL, f"--vqa-model=m@{server.url}", "-n", "2")
    assert account(shapes, 40) == {"correct": 39, "error": 1}
    assert result.ret == 1
    result.stdout.fnmatch_lines(["1 x the xdist worker crashed", "    first: *q25*"])


def test_workers_that_may_not_be_replaced(shapes: Path, pytester: pytest.Pytester) -> None:
    """Nothing failed then, and yet the exit code is not 0."""
    many(shapes, 40)
    kills(shapes, 1)
    with ModelServer(correct) as server:
        arguments = ["-n", "1", "--max-worker-restart=0", "--vqa-fail-under=0.1"]
        result = pytester.runpytest_subprocess(*ALL, f"--vqa-model=m@{server.url}", *arguments)
    counts = account(shapes, 40)
    assert counts["not_run"] == 40 - 17  # q25 is the eighteenth
    assert result.ret != 0


def test_an_ordinary_test_that_kills_its_worker_is_xdists_own_matter(shapes: Path, pytester: pytest.Pytester) -> None:
    shapes.joinpath("test_dies.py").write_text("import os\ndef test_dies(): os._exit(3)\n")
    with ModelServer(correct) as server:
        arguments = [*ALL, "test_dies.py", f"--vqa-model=m@{server.url}", "-n", "2"]
        result = pytester.runpytest_subprocess(*arguments)
    assert account(shapes, 12) == {"correct": 12}
    assert result.ret == 1
    result.stdout.fnmatch_lines(["1 failed, 12 passed in *"])


def test_eight_workers(shapes: Path, pytester: pytest.Pytester) -> None:
    many(shapes, 80)
    with ModelServer(correct) as server:
        result = pytester.runpytest_subprocess(*ALL, f"--vqa-model=m@{server.url}", "-n", "8", "--vqa-concurrency=8")
    assert account(shapes, 80) == {"correct": 80}
    assert server.count == 80
    assert server.max_in_flight <= 8
    assert sorted(stored_replies(shapes)) == list(range(80))
    assert result.ret == 0


def test_a_worker_that_is_killed_from_outside(shapes: Path, pytester: pytest.Pytester) -> None:
    """At a moment that nobody chose: while it waits for replies."""
    many(shapes, 80)
    shapes.joinpath("conftest.py").write_text(
        "import os\nfrom pathlib import Path\ndef pytest_sessionstart(session):\n"
        "    if hasattr(session.config, 'workerinput'): Path(f'pid-{os.getpid()}').touch()\n"
    )

    def kill() -> None:
        while server.count < 20:
            time.sleep(0.01)
        first = min(shapes.glob("pid-*"), key=lambda file: file.stat().st_mtime_ns)
        os.kill(int(first.name.removeprefix("pid-")), signal.SIGKILL)

    with ModelServer(correct) as server:
        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        result = pytester.runpytest_subprocess(*ALL, f"--vqa-model=m@{server.url}", "-n", "2", "--vqa-concurrency=4")
        killer.join(10)
    assert account(shapes, 80) == {"correct": 80}
    assert server.count <= 80 + 4
    assert result.ret == 0
    assert counts_of(shapes) == {"correct": 80}
