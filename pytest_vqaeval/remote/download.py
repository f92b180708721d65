"""A file fetched whole: resumed after a cut, checked, and there under its name only when all of it is."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.remote.connection import (
    TRIES,
    Answer,
    Connection,
    Interrupted,
    SourceError,
    Unreachable,
    wait_before,
)
from pytest_vqaeval.remote.lockfile import LockFile, once
from pytest_vqaeval.remote.note import read_note, write_note
from pytest_vqaeval.remote.progress import Bar, Progress, megabytes
from pytest_vqaeval.remote.source import PublishedFile, Source


@dataclass(frozen=True)
class Downloader:
    """What all downloads of a process share."""

    connection: Connection
    progress: Progress
    lock: LockFile

    def fetch(self, file: PublishedFile, name: str, target: Path) -> Path:
        """Fetch a file, unless it is there or another process fetches it just now.

        Args:
            file: the file and its sources, which are tried in order.
            name: what it is called in messages and in the lock file: `slake/imgs.zip`.
            target: where it shall lie.

        Raises:
            DataError: no source gives it, or it can't be written; each source's reason is in the message.
        """
        with once(target, lambda: self.progress.wait(name)):
            if target.is_file():
                return target
            known = dict(self.lock.facts(name))
            known |= {fact: value for fact, value in (("size", file.size), ("sha256", file.sha256)) if value}
            problems = []
            for source in file.sources:
                try:
                    _Download(self, name, target, source, known).run()
                    return target
                except SourceError as error:
                    problems.append(f"{source.title}: {error}")
            raise DataError(f"{name} can't be fetched: {'; '.join(problems)}")


class _Download:
    """One file from one source."""

    def __init__(self, shared: Downloader, name: str, target: Path, source: Source, known: Mapping[str, Any]) -> None:
        self._shared, self._name, self._target, self._source, self._known = shared, name, target, source, known
        self._part = target.with_name(f"{target.name}.part")
        self._note = target.with_name(f"{target.name}.part.note")  # from where the part is, and its ETag
        self._digest = hashlib.sha256()
        self._done = 0  # bytes of the file that are in the part, and in the digest
        self._linked: str | None = None  # the hub's own checksum

    def run(self) -> None:
        """Fetch, check, and put into place."""
        try:
            with self._open_part() as part:
                self._fill(part)
                os.fsync(part.fileno())  # or the name might outlive the bytes when the power fails
            self._check()
            self._shared.lock.hold(self._name, self._source.title, size=self._done, sha256=self._digest.hexdigest())
            self._part.replace(self._target)
            self._note.unlink(missing_ok=True)
        except OSError as error:
            folder = self._target.parent
            raise DataError(f"{self._name} can't be written to {folder}: {error.strerror}") from None

    def _open_part(self) -> IO[bytes]:
        """What an earlier try left, if it can be gone on with."""
        descriptor = os.open(self._part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        part = open(descriptor, "r+b", buffering=0)  # noqa: SIM115 - the caller closes it
        if read_note(self._note).get("source") != self._source.text:
            part.truncate()
        while chunk := part.read(1 << 20):
            self._digest.update(chunk)
            self._done += len(chunk)
        return part

    def _fill(self, part: IO[bytes]) -> None:
        """Ask, and after a cut ask for the rest, until the file is whole."""
        started, failures = self._done, 0
        while True:
            before = self._done
            try:
                if self._ask(part):
                    return
            except Interrupted as error:
                failures = 1 if self._done > before else failures + 1
                if self._done == started and isinstance(error, Unreachable):  # nothing came: go on to the next source
                    self._shared.connection.give_up(self._source, error)
                    raise
                if failures >= TRIES:
                    raise
                wait_before(failures, error)

    def _ask(self, part: IO[bytes]) -> bool:
        """One request; True if the file is whole after it."""
        note = read_note(self._note)
        if self._done and self._done == note.get("size"):  # killed before it could be checked
            self._linked = note.get("sha256")
            return True
        pinned, etag = self._source.pinned, note.get("etag")
        if self._done and not (pinned or etag):
            self._restart(part)  # nothing tells whether the rest would belong to what is here
        headers = {"range": f"bytes={self._done}-"} if self._done else {}
        if headers and not pinned:
            headers["if-range"] = str(etag)
        with self._shared.connection.get(self._source, headers) as answer:
            if answer.start != self._done:
                self._restart(part)
            size = answer.size
            self._linked = answer.sha256
            if answer.start != self._done:
                raise SourceError("it sends another range than the one that was asked for")
            if size is not None:
                self._compare("size", size)
            self._room_for(size)
            note = {"source": self._source.text, "etag": answer.etag, "size": size, "sha256": answer.sha256}
            write_note(self._note, note)
            with self._shared.progress.bar(self._name, self._source.title, size, self._done) as bar:
                self._receive(answer, part, bar)
                if size is not None and self._done != size:
                    raise Interrupted(f"the connection was cut at {megabytes(self._done)} of {megabytes(size)}")
            return True

    def _receive(self, answer: Answer, part: IO[bytes], bar: Bar) -> None:
        for chunk in answer.chunks():
            rest = chunk
            while rest:  # short writes happen on full disks
                rest = rest[part.write(rest) :]
            self._digest.update(chunk)
            self._done += len(chunk)
            bar.move(self._done)

    def _restart(self, part: IO[bytes]) -> None:
        part.seek(0)
        part.truncate()
        self._digest, self._done = hashlib.sha256(), 0

    def _room_for(self, size: int | None) -> None:
        needed, free = (size or 0) - self._done, shutil.disk_usage(self._target.parent).free
        if needed > free:
            raise OSError(errno.ENOSPC, f"{megabytes(needed)} are needed, {megabytes(free)} are free")

    def _check(self) -> None:
        """Throw the bytes away if they are not those that the spec, the lock file or the hub names."""
        found = self._digest.hexdigest()
        try:
            self._compare("size", self._done)
            self._compare("sha256", found)
            if self._linked not in (None, found):
                raise SourceError(f"sha256 is {found}, not {self._linked} as the hub itself says")
        except SourceError:
            self._part.unlink(missing_ok=True)
            self._note.unlink(missing_ok=True)
            raise

    def _compare(self, fact: str, found: object) -> None:
        expected = self._known.get(fact)
        if expected in (None, found):
            return
        lock = self._shared.lock
        first = lock.facts(self._name).get(fact) == expected
        who = f"{lock.path} (take its entry out of there to accept another file)" if first else "the spec"
        raise SourceError(f"{fact} is {found}, not {expected} as {who} says")
