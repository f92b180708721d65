"""Items and asking threads run one after the other, and nobody waits long for a turn."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_vqaeval.testing import Answer, ModelServer
from pytest_vqaeval.turns import Turns, share_one_core
from tests.conftest import counts_of, rows, write_rows

needs_cores = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs Linux and two cores"
)


def in_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_one_thread_at_a_time() -> None:
    turns, inside, most = Turns(patience_s=60), [0], [0]

    def work() -> None:
        for _ in range(20):
            turns.take()
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0.0001)  # the GIL is free here: others would come in
            inside[0] -= 1
            turns.give()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_nobody_waits_long_for_a_turn() -> None:
    turns = Turns()
    turns.take()
    started = time.monotonic()
    in_thread(turns.take)
    assert 0.004 < time.monotonic() - started < 1.0
    turns.give()


def test_the_last_lets_all_that_wait_go_first() -> None:
    turns, order = Turns(patience_s=60), []
    turns.take()

    def work() -> None:
        turns.take()
        order.append("thread")
        turns.give()

    thread = threading.Thread(target=work)
    thread.start()
    while not turns._waiting:
        time.sleep(0)
    turns.give()
    turns.take(last=True)
    order.append("last")
    turns.give()
    thread.join()
    assert order == ["thread", "last"]


def test_the_turn_of_who_is_away_is_free() -> None:
    turns, seen = Turns(), []
    turns.take()
    with turns.away():
        in_thread(lambda: seen.append(turns._turn.acquire(blocking=False)))
        turns._turn.release()
    assert seen == [True]
    in_thread(lambda: seen.append(turns._turn.acquire(blocking=False)))
    assert seen == [True, False], "it comes back with its turn"
    turns.give()


def test_away_without_a_turn_takes_none() -> None:
    turns = Turns()
    with turns.away():
        pass
    assert turns._turn.acquire(blocking=False)


@needs_cores
def test_threads_share_a_core_but_to_compute() -> None:
    before, seen = os.sched_getaffinity(0), []

    def work() -> None:
        share_one_core()
        seen.append(os.sched_getaffinity(0))
        with Turns().away(computing=True):
            seen.append(os.sched_getaffinity(0))
        seen.append(os.sched_getaffinity(0))

    in_thread(work)
    in_thread(work)
    assert [len(cores) for cores in seen] == [1, len(before), 1] * 2
    assert seen[0] == seen[2] == seen[3]
    assert os.sched_getaffinity(0) == before, "what the items run, and all that they start, has all cores"


MODEL = """\
import os, pytest
from pathlib import Path
class Model:
    concurrency = 4
    def ask(self, messages):
        Path(f"cores-{len(os.sched_getaffinity(0))}").touch()
        return "yes"
@pytest.fixture(scope="session")
def vqa_model():
    return Model()
"""


@needs_cores
def test_a_model_of_the_user_has_all_cores(shapes: Path, pytester: pytest.Pytester) -> None:
    shapes.joinpath("conftest.py").write_text(MODEL)
    pytester.runpytest_subprocess("shapes.vqa.yaml", "--vqa-model=own", "-q")
    assert [file.name for file in shapes.glob("cores-*")] == [f"cores-{len(os.sched_getaffinity(0))}"]


HOOK = """\
import os
from pathlib import Path
def pytest_vqa_request(sample, body):
    Path(f"cores-{len(os.sched_getaffinity(0))}").touch()
"""


@needs_cores
def test_a_hook_of_the_user_has_all_cores(shapes: Path, pytester: pytest.Pytester) -> None:
    shapes.joinpath("conftest.py").write_text(HOOK)
    with ModelServer("yes") as server:
        pytester.runpytest_subprocess("shapes.vqa.yaml", f"--vqa-model=m@{server.url}", "-q")
    assert [file.name for file in shapes.glob("cores-*")] == [f"cores-{len(os.sched_getaffinity(0))}"]


SLOW_SCORER = """\
import time
def slow(question, text):
    time.sleep(0.03)
    return True
def pytest_vqa_scorers():
    return {"slow": slow}
"""


def test_slow_items_keep_no_thread_from_asking(shapes: Path, pytester: pytest.Pytester) -> None:
    spec = shapes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text().replace("scorer: short_answer", "scorer: slow"))
    write_rows(shapes / "shapes", [{**rows()[n % 12], "id": f"q{n}", "question": f"Number {n}?"} for n in range(60)])
    shapes.joinpath("conftest.py").write_text(SLOW_SCORER)
    started = time.monotonic()
    with ModelServer(lambda request: Answer("yes", latency_s=0.02)) as server:
        pytester.runpytest_subprocess("shapes.vqa.yaml", f"--vqa-model=m@{server.url}", "--vqa-json=out.json", "-q")
    assert counts_of(shapes) == {"correct": 60}
    assert server.max_in_flight == 8
    assert time.monotonic() - started < 60 * 0.05 + 5, "replies come while items run"
