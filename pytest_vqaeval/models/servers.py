"""A model that several servers serve: each request goes to the one that is least busy and not known to be down."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pytest_vqaeval.errors import Failure, ModelError
from pytest_vqaeval.models.openai import OpenAI
from pytest_vqaeval.models.pace import Pace
from pytest_vqaeval.models.retry import Patience, ask_patiently
from pytest_vqaeval.question import Message
from pytest_vqaeval.reply import Reply

FIRST_REST_S = 1.0
"""Seconds for which a server that failed is left alone; they double with each further failure in a row."""
LONGEST_REST_S = 30.0


class Share(NamedTuple):
    """What a server did in a run: replies, requests that failed on its account, and why the last of them did."""

    address: str
    replies: int
    failures: int
    last: str


@dataclass(eq=False)
class _Server:
    """One of the servers, and what is known of its state.

    Attributes:
        rests: failures in a row, each of which sends it to rest; 0 after a reply.
        back_at: the moment until which it is left alone.
        lost: the error after which it is asked nothing more: it refuses the key, or has no such model.
        last: the last error that concerned the server.
    """

    model: OpenAI
    in_flight: int = 0
    replies: int = 0
    failures: int = 0
    rests: int = 0
    back_at: float = 0.0
    lost: ModelError | None = None
    last: ModelError | None = None

    def is_ready(self, now: float) -> bool:
        """A request may go there now. One that failed gets one request at first, to see whether it lives."""
        pace = self.model.pace
        trusted = not self.rests or not self.in_flight
        return self.wait_s(now) <= 0 and trusted and pace.in_flight < pace.limit

    def wait_s(self, now: float) -> float:
        """Seconds until it should be asked again."""
        return max(self.back_at - now, self.model.pace.pause_s)


class Servers:
    """Several servers of one model; safe to share by threads.

    A request that fails at one server goes to the next at once; only when none is ready does it wait for another try.

    Args:
        servers: one client per server, which are alike in all but the address.
        retries: how many more rounds may follow a failed one.
        timeout_s: that of one request; no round begins after `retries + 1` times that.
        clock: seconds from an arbitrary moment.

    Attributes:
        name: the model's name.
        concurrency: how many requests a caller should keep in flight, over all servers.
    """

    def __init__(
        self,
        servers: Sequence[OpenAI],
        retries: int,
        timeout_s: float,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name, self.concurrency = servers[0].name, servers[0].concurrency
        self._servers = [_Server(server) for server in servers]
        self._retries, self._total_s, self._clock = retries, timeout_s * (retries + 1), clock
        self._patience = Patience()
        self._lock = threading.Lock()

    @property
    def paces(self) -> tuple[Pace, ...]:
        """The paces of all servers."""
        return tuple(server.model.pace for server in self._servers)

    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The request, which is the same for all servers."""
        return self._servers[0].model.body(messages)

    def key(self, messages: Sequence[Message], kind: str, repeat: int) -> str:
        """The `request_key`, in which the address has no part."""
        return self._servers[0].model.key(messages, kind, repeat)

    def ask(self, messages: Sequence[Message]) -> Reply:
        """Ask, with retries.

        Raises:
            ModelError: there was no reply; it is permanent only where it is so for every server.
        """
        first = self._servers[0].model.pace
        return ask_patiently(
            lambda: self._round(messages),
            self._patience,
            retries=self._retries,
            total_s=self._total_s,
            sleep=first.sleep,
            clock=self._own_clock,
        )

    def close(self) -> None:
        """End all waiting, and close all connections."""
        for server in self._servers:
            server.model.close()

    def shares(self) -> list[Share]:
        """What each server did so far."""
        return [
            Share(server.model.address, server.replies, server.failures, str(server.last or ""))
            for server in self._servers
        ]

    def _own_clock(self) -> float:
        """Stands still while the calling thread waits for a turn at any server."""
        now = self._clock()
        return now + sum(server.model.pace.clock() - now for server in self._servers)

    def _round(self, messages: Sequence[Message]) -> Reply:
        """Ask one server after the other, as long as there is one that is ready."""
        tried: list[_Server] = []
        errors: list[ModelError] = []
        while server := self._take(tried, must=all(error.failure is Failure.PERMANENT for error in errors)):
            tried.append(server)
            try:
                reply = server.model.ask_once(messages)
            except ModelError as error:
                self._give_back(server, error)
                errors.append(error.with_traceback(None))
                if error.failure is Failure.SAMPLE:
                    break
            else:
                self._give_back(server, None)
                return replace(reply, attempts=len(tried))
        raise self._verdict(errors)

    def _verdict(self, errors: Sequence[ModelError]) -> ModelError:
        """The error of a round: the last that another round may survive, else one that none will."""
        lost = [server.lost for server in self._servers if server.lost]
        passing = [error for error in errors if error.failure is not Failure.PERMANENT]
        error = (passing or lost)[-1]
        error.attempts = max(1, len(errors))
        return error

    def _take(self, tried: Sequence[_Server], *, must: bool) -> _Server | None:
        """The server to ask: of those that are ready the least busy; of the others the first to be back, if one must.

        None where there is no such server that was not tried already.
        """
        with self._lock:
            now = self._clock()
            left = [server for server in self._servers if server not in tried and not server.lost]
            ready = [server for server in left if server.is_ready(now)]
            if ready:
                server = min(ready, key=lambda server: (server.in_flight, server.replies))
            elif left and must:
                server = min(left, key=lambda server: (server.wait_s(now), server.in_flight))
            else:
                return None
            server.in_flight += 1
            return server

    def _give_back(self, server: _Server, error: ModelError | None) -> None:
        """Note what became of a request."""
        with self._lock:
            server.in_flight -= 1
            if error is None:
                server.replies += 1
                server.rests = 0
                return
            if error.failure is Failure.SAMPLE:
                return
            server.failures, server.last = server.failures + 1, error
            if error.failure is Failure.PERMANENT:
                server.lost = error
            elif error.failure is not Failure.RATE_LIMIT and server.back_at <= self._clock():  # its pace knows of a 429
                server.back_at = self._clock() + min(LONGEST_REST_S, FIRST_REST_S * 2.0 ** min(server.rests, 16))
                server.rests += 1
