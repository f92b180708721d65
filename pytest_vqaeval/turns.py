"""Turns: the items and the threads that ask run Python one after the other, not all at once.

Python's own lock (the GIL) is free for a moment whenever its holder calls the operating system, which pytest does 30
times an item. Each time the threads that wait for it are woken, mostly for nothing: of 2,000 samples that took a
quarter of all CPU. So a thread that has a reply, or a question to build, waits here, where nothing wakes it, until the
item at the head ends or waits for its own reply; and all these threads share one core, as one at a time can run.

Turns are a courtesy: nobody waits longer than a few milliseconds, for an item may be slow, and a user's code may
wait for anything.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator


class Turns:
    """The turns of one process. A thread that never took one is not concerned."""

    def __init__(self, patience_s: float = 0.005) -> None:
        """The turn is free.

        Args:
            patience_s: how long a thread waits for it, before it goes on without.
        """
        self._patience_s = patience_s
        self._turn = threading.Lock()
        self._waiting: set[int] = set()  # threads
        self._nobody_waits = threading.Event()
        self._own = threading.local()

    def take(self, *, last: bool = False) -> None:
        """Wait for the turn, if the calling thread does not have it, and for all that wait now if it is `last`."""
        if self._has_it:
            return
        if last and self._waiting:
            self._nobody_waits.clear()
            if self._waiting:
                self._nobody_waits.wait(self._patience_s)
        self._waiting.add(me := threading.get_ident())
        self._own.has_it = self._turn.acquire(timeout=self._patience_s)
        self._waiting.discard(me)

    def give(self) -> None:
        """Let others have it."""
        if self._has_it:
            self._own.has_it = False
            self._turn.release()
            if not self._waiting:
                self._nobody_waits.set()

    @contextlib.contextmanager
    def away(self, *, computing: bool = False) -> Iterator[None]:
        """The time in which the calling thread waits for something, or computes without Python, on any core."""
        had_it = self._has_it
        self.give()
        narrow = _widen() if computing else None
        try:
            yield
        finally:
            if narrow:
                _set_cores(narrow)
            if had_it:
                self.take()

    @property
    def _has_it(self) -> bool:
        return getattr(self._own, "has_it", False)


TURNS = Turns()
"""There is one for the process, as there is one GIL."""

_cores = threading.local()  # `.all`: those that the thread may run on; absent in threads that do not share one


def share_one_core() -> None:
    """Let the calling thread run where the others that call this do. Only Linux can."""
    if hasattr(os, "sched_setaffinity"):
        _cores.all = os.sched_getaffinity(0)
        _set_cores({sorted(_cores.all)[os.getpid() % len(_cores.all)]})  # xdist's workers each another


def _widen() -> set[int] | None:
    """Let the calling thread run on any core; the one it had before."""
    if not hasattr(_cores, "all"):
        return None
    before = os.sched_getaffinity(0)
    _set_cores(_cores.all)
    return before


def _set_cores(cores: set[int]) -> None:
    with contextlib.suppress(OSError):  # not allowed, or they were taken from the process meanwhile
        os.sched_setaffinity(0, cores)
