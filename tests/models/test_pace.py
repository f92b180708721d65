"""Turns, pauses and the limit that adapts: by a clock of the test, or in real but short time where threads wait."""

import contextlib
import threading
import time

import pytest

from pytest_vqaeval.errors import Failure, ModelError
from pytest_vqaeval.models.pace import Pace


class Clock:
    """A clock that the test moves."""

    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def pace_of(limit, clock=time.monotonic, adapt=True, chance=1.0, **more):
    return Pace(limit, adapt=adapt, clock=clock, random=lambda: chance, **more)


def succeed(pace, times=1):
    for _ in range(times):
        with pace.turn():
            pass


def refuse(pace, asked_s=None):
    with contextlib.suppress(ModelError), pace.turn():
        raise ModelError("429", Failure.RATE_LIMIT, retry_after_s=asked_s)


def start(*jobs):
    threads = [threading.Thread(target=job, daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    return threads


def until(condition):
    for _ in range(500):
        if condition():
            return
        time.sleep(0.002)
    raise AssertionError("nothing happened within a second")


def test_never_more_turns_at_once_than_the_limit():
    pace, seen = pace_of(3), []

    def ask():
        for _ in range(5):
            with pace.turn():
                seen.append(pace.in_flight)
                time.sleep(0.001)

    for thread in start(*[ask] * 8):
        thread.join(5)
    assert (len(seen), max(seen), pace.in_flight) == (40, 3, 0)


@pytest.mark.parametrize("error", [ModelError("503"), KeyboardInterrupt()])
def test_a_turn_ends_however_it_ends(error):
    pace = pace_of(1)
    with pytest.raises(type(error)), pace.turn():
        raise error
    assert pace.in_flight == 0
    succeed(pace)


def test_a_429_halves_and_successes_add_one_a_window(clock):
    pace = pace_of(64, clock)
    refuse(pace, 1)
    assert pace.limit == 32
    clock.now += 2
    succeed(pace, 33)
    assert pace.limit == 33
    succeed(pace, 10_000)
    assert pace.limit == 64


def test_a_limit_that_does_not_adapt_pauses_all_the_same(clock):
    pace = pace_of(8, clock, adapt=False)
    refuse(pace, 1)
    clock.now += 0.5
    assert (pace.limit, pace.throttled_s) == (8, 0.5)


def test_the_limit_is_never_under_one(clock):
    pace = pace_of(2, clock)
    for _ in range(5):
        refuse(pace, 1)
        clock.now += 100
    assert pace.limit == 1


def test_what_was_sent_before_the_pause_tells_nothing_new(clock):
    pace = pace_of(64, clock)
    with contextlib.suppress(ModelError), pace.turn():
        refuse(pace, 1)
        clock.now += 5
        raise ModelError("429", Failure.RATE_LIMIT)
    clock.now += 100
    assert pace.limit == 32
    assert pace.throttled_s == pytest.approx(1.1)


def test_an_old_success_raises_nothing(clock):
    pace = pace_of(2, clock)
    with pace.turn():
        refuse(pace, 1)
    clock.now += 2
    assert pace.limit == 1


def test_without_a_wish_the_pauses_double_until_a_success(clock):
    pace, ends = pace_of(64, clock), []
    for _ in range(3):
        refuse(pace)
        before = pace.throttled_s
        clock.now += 100
        ends.append(pace.throttled_s - before)
    assert ends == [0.5, 1, 2]
    succeed(pace)
    refuse(pace)
    clock.now += 100
    assert pace.throttled_s == 4


def test_a_longer_wish_stretches_the_pause_and_time_counts_once(clock):
    pace = pace_of(64, clock)
    with contextlib.suppress(ModelError), pace.turn():
        with contextlib.suppress(ModelError), pace.turn():
            refuse(pace, 10)
            clock.now += 4
            raise ModelError("429", Failure.RATE_LIMIT, retry_after_s=1)  # ends earlier
        raise ModelError("429", Failure.RATE_LIMIT, retry_after_s=20)
    clock.now += 100
    assert pace.throttled_s == pytest.approx(4 + 22)
    assert pace.limit == 32


def test_turns_begin_after_the_pause_and_their_wait_stands_outside_of_the_threads_clock():
    pace = pace_of(4, chance=0.0)
    refuse(pace, 0.1)
    begun, own = [], []

    def ask():
        before = pace.clock()
        with pace.turn():
            begun.append(time.monotonic())
        own.append(pace.clock() - before)

    started = time.monotonic()
    for thread in start(*[ask] * 6):
        thread.join(5)
    assert min(begun) - started >= 0.09
    assert max(own) < 0.05
    assert 0.09 < pace.throttled_s <= 0.11


def test_a_pause_that_is_too_long_is_refused(clock):
    pace = pace_of(4, clock, longest_s=60)
    refuse(pace, 3600)
    with pytest.raises(ModelError) as caught:
        succeed(pace)
    assert (caught.value.failure, caught.value.status) == (Failure.RATE_LIMIT, 429)
    assert caught.value.retry_after_s == pytest.approx(3960)
    assert pace.in_flight == 0
    clock.now += 4000
    succeed(pace)


def test_a_storm_of_refusals_is_waited_for_no_longer_than_the_longest_pause(clock):
    pace = pace_of(4, clock, longest_s=60)
    for _ in range(3):
        refuse(pace, 20)
        clock.now += 25
    refuse(pace, 20)  # 75 s after the first: it may still try, as the pause is over ...
    with pytest.raises(ModelError, match="HTTP 429: the server has let nothing through for longer than a sample gets"):
        succeed(pace)  # ... but nobody waits for the next one
    clock.now += 25
    succeed(pace)
    refuse(pace, 20)
    assert pace.throttled_s < 100
    clock.now += 25
    succeed(pace)


@pytest.mark.parametrize("asked_s", [None, 1])
def test_a_pause_that_the_server_did_not_ask_for_is_never_too_long(clock, asked_s):
    pace = pace_of(4, clock, longest_s=4)
    for _ in range(10):
        refuse(pace, asked_s)
        assert pace.pause_s <= 4
        clock.now += 4.1
    succeed(pace)


def test_stop_wakes_all_who_wait_and_refuses_all_who_come():
    pace, errors, held = pace_of(1), [], threading.Event()

    def hold():
        with pace.turn():
            held.wait(5)

    def ask():
        try:
            succeed(pace)
        except ModelError as error:
            errors.append((str(error), error.failure))

    threads = start(hold)
    until(lambda: pace.in_flight == 1)
    threads += start(*[ask] * 5, lambda: pace.sleep(60))
    time.sleep(0.05)
    assert not errors
    pace.stop()
    for thread in threads[1:]:
        thread.join(1)
    ask()
    held.set()
    threads[0].join(1)
    assert errors == [("the run ended before this sample was asked", Failure.SAMPLE)] * 6
    assert not any(thread.is_alive() for thread in threads)


def test_stop_ends_a_pause():
    pace = pace_of(4)
    refuse(pace, 60)

    def ask():
        with pytest.raises(ModelError, match="the run ended"):
            succeed(pace)

    threads = start(*[ask] * 3)
    time.sleep(0.02)
    pace.stop()
    for thread in threads:
        thread.join(1)
    assert not any(thread.is_alive() for thread in threads)
    taken = pace.throttled_s
    time.sleep(0.01)
    assert pace.throttled_s == taken < 1
