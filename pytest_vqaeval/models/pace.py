"""How fast a server may be asked: turns for attempts, pauses after a 429, and the end of all waiting."""

from __future__ import annotations

import contextlib
import math
import random as _random
import threading
import time
from collections.abc import Callable, Iterator

from pytest_vqaeval.errors import Failure, ModelError
from pytest_vqaeval.models.retry import wait_s

ADAPT_ABOVE = 16
"""The largest limit that stays as it is by default: servers that grant a few requests at once grant these."""


class Pace:
    """Lets at most `limit` attempts run at once, and none while the server wants a pause; safe to share by threads.

    The limit adapts by additive increase and multiplicative decrease (Chiu and Jain, "Analysis of the Increase and
    Decrease Algorithms for Congestion Avoidance in Computer Networks", 1989): the first 429 of a pause halves it, a
    success adds 1/limit. What was sent before the last pause began counts for neither: it tells of the old limit.

    Args:
        limit: the largest number of attempts at once; at least 1.
        adapt: whether a 429 lowers the limit.
        longest_s: a pause of more seconds is not waited for, nor the next one after so many seconds of pauses without
            a success.
        clock: seconds from an arbitrary moment.
        random: uniform in [0, 1).

    Attributes:
        in_flight: how many attempts run now.
    """

    def __init__(
        self,
        limit: int,
        *,
        adapt: bool,
        longest_s: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = _random.random,
    ) -> None:
        self.in_flight = 0
        self._most, self._limit = limit, float(limit)
        self._adapt, self._longest_s, self._clock, self._random = adapt, longest_s, clock, random
        self._pauses = 0
        self._refused = 0  # pauses in a row without a success ...
        self._refused_since = -math.inf  # ... and when the first of them began
        self._paused_until = -math.inf
        self._paused_s = 0.0  # all pauses, up to `_paused_until`
        self._stopped = threading.Event()
        self._door = threading.Lock()  # who holds it gets the next turn; so one thread wakes for a turn, not all
        self._changed = threading.Condition(threading.Lock())
        self._thread = threading.local()

    @property
    def limit(self) -> int:
        """How many attempts may run at once now."""
        return int(self._limit)

    @property
    def pause_s(self) -> float:
        """Seconds until a turn can begin, as far as the server wants a pause; 0 if it wants none."""
        return max(0.0, self._paused_until - self._clock())

    @property
    def throttled_s(self) -> float:
        """Seconds in which the server wanted a pause, whether few or many threads waited."""
        with self._changed:
            return self._throttled_s()

    def clock(self) -> float:
        """Seconds from an arbitrary moment; stands still while the calling thread waits for its turn."""
        return self._clock() - self._waited_s()

    def sleep(self, seconds: float) -> None:
        """Wait, or return at once when the pace is stopped."""
        self._stopped.wait(seconds)

    def stop(self) -> None:
        """End all waiting, for good: who waits for a turn, or asks for one later, gets an error."""
        self._stopped.set()
        with self._changed:
            self._paused_s, self._paused_until = self._throttled_s(), -math.inf
            self._changed.notify()

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """The time of one attempt, which tells by its ModelError, or by none, what the server thinks of the pace.

        Raises:
            ModelError: the pace is stopped (Failure.SAMPLE), or the pause is longer than `longest_s`.
        """
        pauses = self._begin()
        try:
            yield
        except ModelError as error:
            if error.failure is Failure.RATE_LIMIT:
                self._slow_down(pauses, error.retry_after_s)
            raise
        else:
            self._speed_up(pauses)
        finally:
            with self._changed:
                self.in_flight -= 1
                self._changed.notify()

    def _begin(self) -> int:
        """Wait for a turn; how many pauses there were before it."""
        came = self._clock()
        with self._door, self._changed:
            while (wait := self._pause_s()) > 0 or self.in_flight >= self.limit:
                self._changed.wait(wait if wait > 0 else None)
            self.in_flight += 1
            self._thread.waited_s = self._waited_s() + self._clock() - came
            return self._pauses

    def _pause_s(self) -> float:
        """Seconds until the pause ends, not positive if there is none."""
        if self._stopped.is_set():
            raise ModelError("the run ended before this sample was asked", Failure.SAMPLE)
        now = self._clock()
        wait = self._paused_until - now
        if wait > self._longest_s:
            why = "the server asks for a longer wait than a sample gets"
        elif wait > 0 and now - self._refused_since > self._longest_s:
            why = "the server has let nothing through for longer than a sample gets"
        else:
            return wait
        message = f"HTTP 429: {why} (--vqa-timeout, --vqa-retries)"
        raise ModelError(message, Failure.RATE_LIMIT, status=429, retry_after_s=wait)

    def _throttled_s(self) -> float:
        return self._paused_s - max(0.0, self._paused_until - self._clock())

    def _waited_s(self) -> float:
        return getattr(self._thread, "waited_s", 0.0)

    def _slow_down(self, pauses: int, asked_s: float | None) -> None:
        with self._changed:
            if pauses == self._pauses:
                self._pauses += 1
                self._refused += 1
                if self._refused == 1:
                    self._refused_since = self._clock()
                if self._adapt:
                    self._limit = max(1.0, self._limit / 2)
            elif asked_s is None:
                return
            begin = max(self._clock(), self._paused_until)
            wait = wait_s(self._refused, asked_s, self._random())
            if asked_s is None or asked_s <= self._longest_s:  # only the server's own wish may be too long
                wait = min(wait, self._longest_s)
            until = self._clock() + wait
            if until > begin:
                self._paused_s += until - begin
                self._paused_until = until

    def _speed_up(self, pauses: int) -> None:
        with self._changed:
            if pauses == self._pauses:
                self._refused = 0
                self._limit = min(self._most, self._limit + 1 / self._limit)
