"""The policy of retries, without a network and without waiting."""

import ssl

import pytest

from pytest_vqaeval.errors import Failure, ModelError
from pytest_vqaeval.models.retry import (
    BACKOFF_S,
    MAX_BACKOFF_S,
    Patience,
    ask_with_retries,
    failure_of_exception,
    failure_of_status,
    meant_status,
    retry_after_s,
    wait_s,
)
from pytest_vqaeval.reply import Reply

NOW = 784111777.0  # Sun, 06 Nov 1994 08:49:37 GMT


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        (200, Failure.TRANSIENT),
        (307, Failure.PERMANENT),
        (400, Failure.SAMPLE),
        (401, Failure.PERMANENT),
        (402, Failure.PERMANENT),
        (403, Failure.PERMANENT),
        (404, Failure.PERMANENT),
        (405, Failure.PERMANENT),
        (408, Failure.TRANSIENT),
        (409, Failure.TRANSIENT),
        (413, Failure.SAMPLE),
        (422, Failure.SAMPLE),
        (429, Failure.RATE_LIMIT),
        (500, Failure.TRANSIENT),
        (503, Failure.TRANSIENT),
        (529, Failure.TRANSIENT),
    ],
)
def test_failure_of_status(status, failure):
    assert failure_of_status(status) is failure


@pytest.mark.parametrize(
    ("response", "meant"),
    [
        ((400,), 400),
        ((400, "context_length_exceeded"), 400),
        ((401, "invalid_api_key", "invalid_request_error"), 401),
        ((401, None, "invalid_request_error"), 401),
        ((403, "content_filter"), 400),
        ((429, "insufficient_quota", "insufficient_quota"), 402),
        ((429, "rate_limit_exceeded"), 429),
        ((200, 429), 429),
        ((200, "503"), 503),
        ((200, None, "overloaded_error"), 529),
        ((200, 200), 200),
        ((200, "9" * 5000), 200),
        ((500, 400), 500),
        ((400, None, None, "The model `x` does not exist."), 404),
        ((400, None, None, 'model "x" not found, try pulling it first'), 404),
        ((400, None, None, "Model Not Exist"), 404),
        ((400, None, None, "the model got a picture that was not found"), 400),
        ((400, {"odd": 1}, ["odd"]), 400),
    ],
)
def test_meant_status(response, meant):
    assert meant_status(*response) == meant


def test_a_refused_certificate_is_permanent_and_other_exceptions_are_not():
    outer = ConnectionError("outer")
    assert failure_of_exception(outer, connecting=False) is Failure.TRANSIENT
    assert failure_of_exception(outer, connecting=True) is Failure.UNREACHABLE
    outer.__cause__ = ConnectionError("inner")
    outer.__cause__.__context__ = ssl.SSLCertVerificationError("self-signed")
    assert failure_of_exception(outer, connecting=True) is Failure.PERMANENT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:47 GMT"}, 10.0),
        ({"retry-after": "Sun, 06 Nov 1994 08:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon", "x-ratelimit-reset": "7"}, 7.0),
        ({"x-ratelimit-reset-requests": "6m0s"}, 360.0),
        ({"x-ratelimit-reset-requests": "120ms"}, 0.12),
        ({"x-ratelimit-reset-requests": "1h2m3.5s"}, 3723.5),
        ({"x-ratelimit-reset-requests": ""}, None),
        ({"x-ratelimit-reset": f"{NOW + 1e9 + 5:.0f}"}, 1e9 + 5),
        ({"x-ratelimit-reset": f"{(NOW + 1e9) * 1000:.0f}"}, 1e9),
    ],
)
def test_retry_after(headers, seconds):
    assert retry_after_s(headers, NOW) == (None if seconds is None else pytest.approx(seconds))


def test_what_is_used_up_decides_on_the_reset():
    headers = {
        "x-ratelimit-remaining-requests": "17",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "20s",
    }
    assert retry_after_s(headers, NOW) == 20
    headers["x-ratelimit-remaining-tokens"] = "500"
    assert retry_after_s(headers, NOW) == 1


def test_backoff_doubles_under_full_jitter_up_to_its_cap():
    assert [wait_s(attempt, None, 1.0) for attempt in (1, 2, 3)] == [BACKOFF_S, 2 * BACKOFF_S, 4 * BACKOFF_S]
    assert wait_s(3, None, 0.25) == BACKOFF_S
    assert wait_s(10_000, None, 1.0) == MAX_BACKOFF_S


def test_the_servers_wish_is_the_least_wait():
    assert wait_s(1, 10.0, 0.0) == 10.0
    assert wait_s(1, 10.0, 1.0) == pytest.approx(11.0)
    assert wait_s(6, 0.0, 0.5) == 8.0


class World:
    """A clock that only moves by sleeping (or by `send`), and what was slept."""

    def __init__(self, *results):
        self.results, self.now, self.slept = list(results), 0.0, []

    def send(self):
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def ask(self, retries=5, total_s=60.0):
        return ask_with_retries(
            self.send, retries=retries, total_s=total_s, sleep=self.sleep, clock=lambda: self.now, random=lambda: 1.0
        )


def test_a_reply_says_how_many_attempts_it_took():
    world = World(ModelError("a"), ModelError("b", Failure.RATE_LIMIT, retry_after_s=7), Reply("yes"))
    assert world.ask() == Reply("yes", attempts=3)
    assert world.slept == [0.5, pytest.approx(7.7)]


@pytest.mark.parametrize("failure", [Failure.PERMANENT, Failure.SAMPLE])
def test_what_another_try_cannot_mend_is_not_tried_again(failure):
    world = World(ModelError("no", failure), Reply("yes"))
    with pytest.raises(ModelError, match="no") as caught:
        world.ask()
    assert (caught.value.attempts, world.slept) == (1, [])


def test_attempts_are_capped_and_the_last_error_is_raised():
    world = World(ModelError("a"), ModelError("b", Failure.UNREACHABLE), ModelError("c"), Reply("yes"))
    with pytest.raises(ModelError, match="c") as caught:
        world.ask(retries=2)
    assert caught.value.attempts == 3


def test_rate_limits_use_up_time_but_no_retries():
    def storm():
        return [ModelError("429", Failure.RATE_LIMIT, retry_after_s=5) for _ in range(10)]

    world = World(*storm(), ModelError("a"), ModelError("b"), *storm(), Reply("yes"))
    assert world.ask(retries=2, total_s=1000) == Reply("yes", attempts=23)
    world = World(*storm(), *storm(), Reply("yes"))
    with pytest.raises(ModelError, match="429"):
        world.ask(retries=2, total_s=60)
    assert sum(world.slept) <= 60


def test_without_retries_a_rate_limit_is_not_tried_again_either():
    world = World(ModelError("429", Failure.RATE_LIMIT), Reply("yes"))
    with pytest.raises(ModelError, match="429"):
        world.ask(retries=0)


def test_no_wait_that_would_end_after_the_total_time():
    world = World(ModelError("a"), ModelError("b", Failure.RATE_LIMIT, retry_after_s=3600), Reply("yes"))
    with pytest.raises(ModelError, match="b") as caught:
        world.ask(total_s=60)
    assert (caught.value.attempts, world.slept) == (2, [0.5])


def test_the_time_that_attempts_take_counts_too():
    world = World()

    def send():
        world.now += 25
        raise ModelError("slow")

    world.send = send
    with pytest.raises(ModelError) as caught:
        world.ask(total_s=60)
    assert caught.value.attempts == 3


def test_patience_ends_after_a_row_of_samples_without_a_response_and_returns_with_a_reply():
    patience, dead, broken = Patience(limit=3), ModelError("refused"), ModelError("HTTP 500", status=500)
    for error in (dead, dead, broken, dead, dead, None, dead, dead):
        patience.note(error)
        assert patience.retries(5) == 5
    patience.note(dead)
    assert patience.retries(5) == 0
    patience.note(broken)
    assert patience.retries(5) == 0
    patience.note(None)
    assert patience.retries(5) == 5
