"""One model behind several servers."""

import contextlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_vqaeval.errors import Failure, ModelError
from pytest_vqaeval.models.openai import OpenAI
from pytest_vqaeval.models.pace import Pace
from pytest_vqaeval.models.servers import Servers
from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import Run, counts_of

DEAD = "http://127.0.0.1:9/v1"


class Clock:
    """Time that passes only when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waits between rounds take no time; what they would have taken."""
    slept: list[float] = []
    monkeypatch.setattr(Pace, "sleep", lambda pace, seconds: slept.append(seconds))
    return slept


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def model(clock: Clock):
    """Makes a model of several servers, and closes it at the end."""
    with contextlib.ExitStack() as stack:

        def make(*urls: str, retries: int = 0, concurrency: int = 8) -> Servers:
            clients = [OpenAI(name="m", url=url, timeout_s=5, retries=retries, concurrency=concurrency) for url in urls]
            made = Servers(clients, retries, 5, clock=clock)
            stack.callback(made.close)
            return made

        yield make


@pytest.fixture
def server():
    """Starts servers."""
    with contextlib.ExitStack() as stack:
        yield lambda answer: stack.enter_context(ModelServer(answer))


def say(text: object = "?") -> list[dict[str, object]]:
    return [{"role": "user", "content": str(text)}]


def test_the_least_busy_server_is_asked(model, server):
    slow, fast = server(lambda request: Answer("slow", latency_s=0.6)), server("fast")
    asking = model(slow.url, fast.url)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(asking.ask, say())
        while not slow.count:
            pass
        assert [asking.ask(say()).text for _ in range(5)] == ["fast"] * 5
        assert first.result().text == "slow"


def test_servers_that_are_idle_take_turns(model, server):
    both = server("a"), server("b")
    asking = model(*(one.url for one in both))
    for _ in range(6):
        asking.ask(say())
    assert [one.count for one in both] == [3, 3]


@pytest.mark.parametrize("retries", [0, 2])
def test_one_that_dies_in_the_middle_loses_nothing(model, server, retries):
    answered: Counter[str] = Counter()

    def lives(request: Request) -> Answer:
        answered[request.text] += 1
        return Answer("yes", latency_s=0.005)

    def dies(request: Request) -> Answer:
        return Answer(cut_after=0, latency_s=0.005) if request.number > 20 else lives(request)

    survivor, victim = server(lives), server(dies)
    asking = model(survivor.url, victim.url, retries=retries)
    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(asking.ask, (say(n) for n in range(200))))
    assert [reply.text for reply in replies] == ["yes"] * 200
    assert answered == {str(n): 1 for n in range(200)}  # none lost, none asked again after it was answered
    assert victim.count <= 20 + 8  # what was in flight; after that it is left alone
    assert survivor.max_in_flight == 8  # fully used
    assert sum(reply.attempts for reply in replies) == survivor.count + victim.count


def test_one_that_failed_is_tried_again_after_a_while(model, server, clock):
    ill = [True]
    first, second = server(lambda request: Answer("x", status=503) if ill[0] else "first"), server("second")
    asking = model(first.url, second.url)
    assert [asking.ask(say()).text for _ in range(5)] == ["second"] * 5
    assert first.count == 1
    clock.now += 1.1
    assert asking.ask(say()).text == "second"
    assert first.count == 2  # tried, and still ill: now it is left alone for two seconds
    clock.now += 1.1
    assert asking.ask(say()).text == "second"
    assert first.count == 2
    ill[0] = False
    clock.now += 1.0
    assert "first" in [asking.ask(say()).text for _ in range(2)]


def test_a_reply_ends_the_doubling(model, server, clock):
    ill = [True]
    first, second = server(lambda request: Answer("x", status=503) if ill[0] else "first"), server("second")
    asking = model(first.url, second.url)

    def asked_first() -> int:
        before = first.count
        for _ in range(20):
            asking.ask(say())
        return first.count - before

    assert asked_first() == 1
    clock.now += 1.1
    assert asked_first() == 1  # a second failure in a row: the next would be a rest of four seconds
    clock.now += 2.1
    ill[0] = False
    assert asked_first() > 5
    ill[0] = True
    assert asked_first() == 1
    clock.now += 1.1
    assert asked_first() == 1  # a rest of one second


def test_one_request_at_a_time_finds_out_whether_a_server_is_back(model, server, clock):
    first = server(lambda request: Answer("x", status=503, latency_s=0.2))
    second = server(lambda request: Answer("second", latency_s=0.01))
    asking = model(first.url, second.url)
    asking.ask(say())
    clock.now += 1.1
    with ThreadPoolExecutor(4) as threads:
        assert {reply.text for reply in threads.map(asking.ask, [say()] * 20)} == {"second"}
    assert first.count == 2


def test_a_server_that_wants_a_pause_is_passed_over(model, server, waits):
    first = server(lambda request: Answer("slow down", status=429, headers={"Retry-After": "3"}))
    second = server("second")
    asking = model(first.url, second.url)
    assert [asking.ask(say()).text for _ in range(4)] == ["second"] * 4
    assert (first.count, waits) == (1, [])


def test_a_refused_key_concerns_its_server_alone(model, server):
    first, second = server(lambda request: Answer("who are you?", status=401)), server("second")
    asking = model(first.url, second.url)
    assert [asking.ask(say()).text for _ in range(4)] == ["second"] * 4
    assert first.count == 1
    (lost, fine) = asking.shares()
    assert lost[:3] == (first.url, 0, 1)
    assert lost.last.startswith(f"HTTP 401 from {first.url}/chat/completions: the server wants an API key")
    assert fine == (second.url, 4, 0, "")


def test_when_all_refuse_no_sample_can_be_answered(model, server):
    refusing = [server(lambda request: Answer("no", status=404)) for _ in range(2)]
    asking = model(*(one.url for one in refusing))
    for _ in range(2):
        with pytest.raises(ModelError, match="no such model or address") as caught:
            asking.ask(say())
        assert caught.value.failure is Failure.PERMANENT
    assert [one.count for one in refusing] == [1, 1]


def test_a_server_that_is_only_down_for_now_keeps_the_run_alive(model, server, clock):
    down = [True]
    first, second = (
        server(lambda request: Answer("x", status=503) if down[0] else "back"),
        server(lambda request: Answer("no", status=401)),
    )
    asking = model(first.url, second.url)
    with pytest.raises(ModelError, match="HTTP 503") as caught:
        asking.ask(say())
    assert (caught.value.failure, caught.value.attempts) == (Failure.TRANSIENT, 2)
    down[0] = False
    assert asking.ask(say()).text == "back"  # at once: nobody else is left to ask


def test_a_sample_that_is_refused_is_not_passed_on(model, server):
    first, second = server(lambda request: Answer("too long", status=400)), server("second")
    asking = model(first.url, second.url)
    with pytest.raises(ModelError, match="too long"):
        asking.ask(say())
    assert second.count == 0


def test_all_unreachable(model, waits):
    with pytest.raises(ModelError, match="no connection") as caught:
        model(DEAD, DEAD.replace("9", "19"), retries=2).ask(say())
    assert caught.value.failure is Failure.UNREACHABLE
    assert len(waits) == 2


def test_requests_have_one_key_wherever_they_go(model):
    one, two = model("http://a/v1", "http://b/v1"), model("http://c/v1")
    assert one.key(say(), "answer", 1) == two.key(say(), "answer", 1)


# as a user sees it


def test_a_run_over_two_servers_of_which_one_dies(shapes: Path, run: Run) -> None:
    def dies(request: Request) -> Answer | str:
        return Answer(cut_after=0) if request.number > 2 else "yes"

    with ModelServer("yes") as survivor, ModelServer(dies) as victim:
        urls = [f"--vqa-url={server.url}" for server in (survivor, victim)]
        result = run("shapes.vqa.yaml", "--vqa-model=m", *urls, "--vqa-json=out.json")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}
    assert victim.count >= 3
    result.stdout.fnmatch_lines_random(
        [
            f"server {survivor.url}: 10 replies",
            f"server {victim.url}: 2 replies, * failed requests (the last: the connection to *",
        ]
    )


def test_all_servers_refuse_the_key(shapes: Path, run: Run) -> None:
    with ModelServer(lambda request: Answer("no", status=401)) as one, ModelServer(lambda r: Answer(status=401)) as two:
        result = run("shapes.vqa.yaml", "--vqa-model=m", f"--vqa-url={one.url}", f"--vqa-url={two.url}")
    assert result.ret == 4


def test_a_server_given_twice(shapes: Path, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        "shapes.vqa.yaml", "--vqa-model=m", "--vqa-url=http://u:pass@a/v1", "--vqa-url=http://u:pass@a/v1/"
    )
    result.stderr.fnmatch_lines(["ERROR: --vqa-url: http://a/v1 is given twice"])
    assert result.ret == 4
