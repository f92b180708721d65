"""What was fetched first, `lock.json` in the cache: later downloads of the same file are held to it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.remote.note import read_note, write_note


class LockFile:
    """Facts of files by name (`slake/test.json`): `size`, `sha256`; `members_sha256` of a zip that is read in place."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def facts(self, name: str) -> Mapping[str, Any]:
        """What is known of a file; empty if nothing is.

        Raises:
            DataError: the lock file is broken.
        """
        facts = self._read().get(name, {})
        return facts if isinstance(facts, dict) else {}

    def hold(self, name: str, source: str, **facts: int | str) -> None:
        """Compare what is known of a file with what is found now, and write down what was not known yet.

        Raises:
            DataError: it is another file than the one that was fetched first; or the lock file can't be used.
        """
        with exclusive(self.path):
            known = self._read()
            old = known.get(name) or {}
            for fact, value in facts.items():
                if fact in old and old[fact] != value:
                    raise DataError(
                        f"{name} from {source} is not the file that was fetched first: {fact} is {value}, not "
                        f"{old[fact]} as {self.path} says; take its entry out of there to accept the new one"
                    )
            if any(fact not in old for fact in facts):
                known[name] = {"source": source, "fetched": time.strftime("%Y-%m-%d"), **old, **facts}
                write_note(self.path, known)

    def _read(self) -> dict[str, Any]:
        try:
            known = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise DataError(f"{self.path} can't be read ({error}): mend or remove it") from None
        return known if isinstance(known, dict) else {}


@contextmanager
def once(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Only one thread of all processes does it for a path. Who waited while it failed, fails alike and tries no more.

    Raises:
        DataError: what is done in here raised it, just now; or the folder can't be written.
    """
    since, note = time.time(), path.with_name(f".{path.name}.failed")
    with exclusive(path, waiting):
        failure = read_note(note)
        if failure.get("at", 0) >= since:
            raise DataError(str(failure.get("error")))
        try:
            yield
        except DataError as error:
            with suppress(DataError):
                write_note(note, {"at": time.time(), "error": str(error)})
            raise
        if failure:
            note.unlink(missing_ok=True)


@contextmanager
def exclusive(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Only one thread of all processes of this machine is in here for a path; `waiting` is called if others are.

    Raises:
        DataError: the folder can't be written.
    """
    import fcntl

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DataError(f"{path.parent} can't be written: {error.strerror}; VQA_CACHE names another cache") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # a file system without locks: two processes may fetch twice, each whole
            pass
        yield
    finally:
        os.close(descriptor)
