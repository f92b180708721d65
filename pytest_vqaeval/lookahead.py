"""Requests ahead of the items: while an item runs, the questions of the items that come next are already being asked.

Items run in order in the main thread; daemon threads ask. A thread that is free takes the next item's question by
itself, so that the server is busy whoever is at the head, and how slow it is.

pytest says only what the next item is, and xdist not even that: this module reads the list of items of the session,
and under xdist the worker's own queue. All private names are used here and nowhere else (tests/test_lookahead.py has a
canary for each).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest

from pytest_vqaeval.asking import Asked
from pytest_vqaeval.errors import FatalError
from pytest_vqaeval.turns import TURNS, share_one_core

_FIXTURES = ("vqa_reply", "vqa_model", "vqa_archive")
_WHILE_WAITING = 64  # items ahead per thread while the item at the head waits for its reply ...
_AT_LEAST = 1000
_WHILE_BUSY = 2  # ... and while it does not: the items are what is slow then, and `-x` shall waste little


@dataclass(slots=True)
class _Job:
    """One item's question, asked by a thread."""

    work: Callable[[], Asked]
    done: threading.Event = field(default_factory=threading.Event)
    asked: Asked | None = None
    error: BaseException | None = None

    def run(self) -> None:
        try:
            self.asked = self.work()
        except BaseException as error:  # goes to the item, which raises it in the main thread
            self.error = error
        self.done.set()


class Order(Protocol):
    """Which items come next."""

    def start_at(self, head: pytest.Item) -> None:
        """Forget how far items were given out: go on behind `head`."""

    def upcoming(self, head: pytest.Item) -> Iterator[pytest.Item]:
        """The items behind `head`, as far as they are known; those that were given out may be left out."""


class SessionOrder:
    """Without xdist: the items of the session, in their order."""

    def __init__(self, items: Sequence[pytest.Item]) -> None:
        self._items = items
        self._position = {item: number for number, item in enumerate(items)}
        self._next = 0

    def start_at(self, head: pytest.Item) -> None:
        """Go on behind `head`."""
        self._next = self._position.get(head, len(self._items)) + 1

    def upcoming(self, head: pytest.Item) -> Iterator[pytest.Item]:
        """Each item once."""
        self._next = max(self._next, self._position.get(head, -1) + 1)
        while self._next < len(self._items):
            self._next += 1
            yield self._items[self._next - 1]


class WorkerOrder:
    """In an xdist worker: its queue, which the controller fills and other workers steal from."""

    def __init__(self, items: Sequence[pytest.Item], interactor: Any) -> None:
        self._items, self._interactor = items, interactor

    def start_at(self, head: pytest.Item) -> None:
        """Nothing to do: the queue knows."""

    def upcoming(self, head: pytest.Item) -> Iterator[pytest.Item]:
        """All that is queued now. The next item has left the queue already."""
        with self._interactor.torun.lock() as queue:
            numbers = [self._interactor.nextitem_index, *queue]
        for number in numbers:
            if isinstance(number, int):  # not the mark of the end
                yield self._items[number]


def order_of(session: pytest.Session) -> Order | None:
    """Which items this process runs; None where xdist hides it (another version): then nothing is asked ahead."""
    if not hasattr(session.config, "workerinput"):
        return SessionOrder(session.items)
    for plugin in session.config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor" and hasattr(getattr(plugin, "torun", None), "lock"):
            return WorkerOrder(session.items, plugin)
    return None


def shared_fixtures(item: pytest.Item) -> tuple[object, ...] | None:
    """The definitions of the fixtures that make an item's request; items with equal ones are asked in the same way.

    None where the item can't be asked ahead: the user replaced the archive or the reply, or the model is made anew for
    each item or module.
    """
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    used = [definitions[name][-1] for name in _FIXTURES if definitions.get(name)]
    if len(used) < len(_FIXTURES):
        return None
    reply, model, archive = used
    return tuple(used) if _is_own(reply) and _is_own(archive) and model.scope == "session" else None


def has_own_fixture(item: pytest.Item, name: str) -> bool:
    """The plugin's fixture of that name is the one that the item uses: no user replaced it."""
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    return bool(definitions.get(name)) and _is_own(definitions[name][-1])


def _is_own(fixture: Any) -> bool:
    return bool(fixture.func.__module__ == "pytest_vqaeval.fixtures")


class LookAhead:
    """Asks ahead for the items of one model."""

    def __init__(
        self,
        order: Order,
        threads: int,
        work_of: Callable[[pytest.Item], Callable[[], Asked] | None],
        *,
        waiting_only: bool,
    ) -> None:
        """Nothing is asked yet.

        Args:
            order: which items come next.
            threads: how many requests are kept in flight.
            work_of: what asks an item's question; None where it can't be asked ahead.
            waiting_only: the model only waits for servers; another may need all cores.
        """
        self._order, self._threads, self._work_of, self._waiting_only = order, threads, work_of, waiting_only
        self._most_ahead = max(_AT_LEAST, _WHILE_WAITING * threads)
        self._jobs: dict[str, _Job] = {}  # by node id: asked or being asked, not yet fetched by their item
        self._urgent: deque[_Job] = deque()
        self._head: pytest.Item | None = None
        self._waiting = self._stopped = False
        self._hopeless = False  # a question had an error that no other can escape: only the items' own are asked now
        self._changed = threading.Condition()
        self._started = 0
        self._resting = False

    def ask(self, item: pytest.Item, work: Callable[[], Asked]) -> Asked:
        """The reply to the question of the item whose turn it is: asked ahead, or now by `work`.

        Raises:
            BaseException: what asking raised.
        """
        TURNS.give()
        with self._changed:
            job = self._jobs.pop(item.nodeid, None)
            if job is None:
                job = _Job(work)
                self._urgent.append(job)
                self._order.start_at(item)
            self._head, self._waiting = item, not job.done.is_set()
            self._start_threads()
            if self._urgent or not self._is_far_enough():
                self._changed.notify(self._threads)
        job.done.wait()
        TURNS.take(last=True)
        with self._changed:
            self._waiting = False
        if job.error is not None:
            raise job.error
        assert job.asked is not None
        return job.asked

    def stop(self) -> None:
        """Ask nothing more. Requests in flight are left to their threads, which end with the process."""
        with self._changed:
            self._stopped = True
            self._jobs.clear()
            self._changed.notify_all()

    def _start_threads(self) -> None:
        while self._started < self._threads:
            self._started += 1
            threading.Thread(target=self._serve, name=f"vqa-ask-{self._started}", daemon=True).start()

    def _serve(self) -> None:
        if self._waiting_only:
            share_one_core()
        while job := self._await_next():
            TURNS.take()
            job.run()
            self._hopeless = self._hopeless or isinstance(job.error, FatalError)
        TURNS.give()

    def _await_next(self) -> _Job | None:
        """The next question, as soon as there is one; None when no more are asked."""
        with self._changed:
            while (job := self._next()) is None and not self._stopped:
                TURNS.give()
                self._changed.wait()
        return job

    def _is_far_enough(self) -> bool:
        """While items are what is slow, threads work in bursts: each that runs beside an item slows it down."""
        ahead = len(self._jobs)
        if self._waiting:
            return ahead >= self._most_ahead
        self._resting = ahead > self._threads if self._resting else ahead >= _WHILE_BUSY * self._threads
        return self._resting

    def _next(self) -> _Job | None:
        """The next question to ask: that of the item at the head, or one behind it within the bound."""
        if self._urgent:
            return self._urgent.popleft()
        if self._stopped or self._hopeless or self._head is None or self._is_far_enough():
            return None
        for item in self._order.upcoming(self._head):
            if item.nodeid not in self._jobs and (work := self._work_of(item)):
                job = self._jobs[item.nodeid] = _Job(work)
                return job
        return None
