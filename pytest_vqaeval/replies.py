"""The replies of a run on disk: each is written before its item can see it, and none that is there is asked again."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_vqaeval.appendfile import AppendFile
from pytest_vqaeval.reply import Reply, without_reasoning
from pytest_vqaeval.results import Identity


@dataclass(slots=True)
class _Place:
    """Where a reply stands; replies themselves are not held in memory."""

    file: Path
    offset: int
    length: int


ALONE = "main"
"""The name of a process that has no xdist workers beside it."""


class ReplyStore:
    """The files `replies-<worker>.jsonl` of a run folder. Safe to use from several threads.

    Replies of this run are found by request and sample: whatever they were, they are scored again after a rerun.
    Replies of an earlier, resumed run are found by request, the sample's own first, and only good ones: an empty,
    truncated or withheld reply is asked again. So are the verdicts on the replies of runs that are replayed.
    """

    def __init__(self, folder: Path, worker: str, *, resume: bool, replayed: Iterable[Path] = ()) -> None:
        """Read what the folder holds already: an earlier run's replies, or what a crashed worker left.

        Args:
            folder: of the run.
            worker: this process's name in it.
            resume: the run is an earlier one that goes on.
            replayed: the folders of the runs whose replies are repeated in this one.
        """
        self._folder = folder
        self._has_others = worker != ALONE
        self._own = AppendFile(folder / f"replies-{worker}.jsonl")
        self._earlier: dict[str | tuple[str, Identity], _Place] = {}
        self._of_this_run: dict[tuple[str, Identity], _Place] = {}
        self._read_to: dict[Path, int] = {}
        self._lock = threading.Lock()
        for file in (file for other in replayed for file in sorted(other.glob("replies-*.jsonl"))):
            verdicts = ((place, row) for place, row in _rows(file, 0) if row.get("kind") == "judge")
            self._earlier |= {str(row.get("key")): place for place, row in verdicts if _worth_keeping(row)}
        for place, row in self._news():
            if not resume:
                self._of_this_run[_name(row)] = place
            elif _worth_keeping(row):
                self._earlier[str(row.get("key"))] = self._earlier[_name(row)] = place

    def find(self, key: str, identity: Identity) -> Reply | None:
        """The stored reply to a request, if there is one."""
        place = self._of_this_run.get((key, identity))
        if place is None and self._has_others and self._others_wrote():
            place = self._of_this_run.get((key, identity))
        if place is not None:
            return _reply(place, reused=False)  # asked and paid for in this run
        earlier = self._earlier.get((key, identity)) or self._earlier.get(key)
        return _reply(earlier, reused=True) if earlier else None

    def add(self, key: str, identity: Identity, reply: Reply, *, kind: str, asked: str) -> None:
        """Store a reply of this run.

        Args:
            key: hash of the request.
            identity: the sample and the model whose answer it is, or whose answer is judged.
            reply: what came.
            kind: `answer`, or `judge` for a verdict.
            asked: the label of the model that gave it.

        Raises:
            StoreError: it can't be written.
        """
        row = {
            "key": key,
            "kind": kind,
            **identity._asdict(),
            "asked": asked,
            "reply": reply.text,
            "finish_reason": reply.finish_reason,
            "usage": dict(reply.usage),
            "latency_s": reply.latency_s and round(reply.latency_s, 4),
            "attempts": reply.attempts,
        }
        offset, length = self._own.append(row)
        self._of_this_run[key, identity] = _Place(self._own.path, offset, length)

    def close(self) -> None:
        """Close the file."""
        self._own.close()

    def _others_wrote(self) -> bool:
        """Take in what other workers wrote since: one of them may have asked a sample that xdist moved to this one."""
        news = {_name(row): place for place, row in self._news()}
        self._of_this_run.update(news)
        return bool(news)

    def _news(self) -> list[tuple[_Place, dict[str, Any]]]:
        """Rows that were not read yet, but for this worker's own: those it knows."""
        with self._lock:
            news: list[tuple[_Place, dict[str, Any]]] = []
            for file in self._folder.glob("replies-*.jsonl"):
                if file == self._own.path and file in self._read_to:
                    continue
                rows = list(_rows(file, self._read_to.get(file, 0)))
                if rows:
                    self._read_to[file] = rows[-1][0].offset + rows[-1][0].length
                news += rows
            self._read_to.setdefault(self._own.path, 0)
            return news


def _name(row: dict[str, Any]) -> tuple[str, Identity]:
    return str(row.get("key")), Identity._make(row.get(name) for name in Identity._fields)


def _rows(file: Path, start: int) -> Iterator[tuple[_Place, dict[str, Any]]]:
    """The whole rows behind `start`; a torn last line (the process was killed) is passed over."""
    with open(file, "rb") as stream:
        stream.seek(start)
        offset = start
        for line in stream:
            if line.endswith(b"\n"):
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    row = None
                if isinstance(row, dict):
                    yield _Place(file, offset, len(line)), row
            offset += len(line)


def _worth_keeping(row: dict[str, Any]) -> bool:
    text, finish = row.get("reply"), row.get("finish_reason")
    if not isinstance(text, str) or finish in ("length", "content_filter"):
        return False
    return bool((without_reasoning(text) or "").strip())


def _reply(place: _Place, *, reused: bool) -> Reply:
    with open(place.file, "rb") as stream:
        line = os.pread(stream.fileno(), place.length, place.offset)
    row = json.loads(line)
    usage = row.get("usage") or {}
    return Reply(row["reply"], row.get("finish_reason"), usage, row.get("latency_s"), row.get("attempts", 1), reused)
