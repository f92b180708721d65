"""The model `replay:FILE`: replies that were stored before, scored without any server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vqaeval.errors import DataError, Failure, ModelError, UsageError
from pytest_vqaeval.records import Record, read_records
from pytest_vqaeval.reply import Reply

if TYPE_CHECKING:
    from pytest_vqaeval.question import Message
    from pytest_vqaeval.sample import Sample


class Replay:
    """Replies by the id of their sample: JSON objects with `id`, `reply` and perhaps `finish_reason`.

    Objects may also name `benchmark` and `subset`, where ids alone are not unique.
    """

    def __init__(self, name: str, file: Path) -> None:
        """Read the file.

        Raises:
            UsageError: it is absent, or a row of it can't be used.
        """
        self.name, self._file = name, file
        self._replies: dict[tuple[str, str, str], Record] = {}
        try:
            records = read_records(file)
        except DataError as error:
            raise UsageError(f"--vqa-model=replay: {error}") from None
        for record in records:
            key = self._key(record)
            if key in self._replies:
                first = self._replies[key].where
                raise UsageError(f"--vqa-model=replay: {record.where}: id {key[2]!r} is also that of {first}")
            self._replies[key] = record

    def _key(self, record: Record) -> tuple[str, str, str]:
        row = record.row
        problem = record.problem
        if not problem and not isinstance(row.get("id"), str | int):
            problem = "has no id (a text or a whole number)"
        if not problem and not isinstance(row.get("reply"), str):
            problem = "has no reply (a text)"
        if problem:
            raise UsageError(f"--vqa-model=replay: {record.where}: {problem}")
        return str(row.get("benchmark") or ""), str(row.get("subset") or ""), str(row["id"])

    def reply_for(self, sample: Sample) -> Reply:
        """The stored reply.

        Raises:
            ModelError: there is none for this sample.
        """
        for key in (
            (sample.benchmark, sample.subset, sample.id),
            (sample.benchmark, "", sample.id),
            ("", sample.subset, sample.id),
            ("", "", sample.id),
        ):
            if key in self._replies:
                return _reply(self._replies[key].row)
        raise ModelError(f"no reply for this sample in {self._file.name}", Failure.SAMPLE)

    def ask(self, messages: Sequence[Message]) -> Reply:
        """Replies are found by sample, not by message."""
        raise ModelError("replay: stored replies are found by sample id, not by message", Failure.SAMPLE)


def _reply(row: dict[str, Any]) -> Reply:
    finish = row.get("finish_reason")
    return Reply(row["reply"], finish if isinstance(finish, str) else None, attempts=0, reused=True)
