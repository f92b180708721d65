"""Replies by the id of their sample: files of JSON objects with `id` and `reply`, and run folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_vqaeval.appendfile import read_rows
from pytest_vqaeval.errors import DataError, Failure, ModelError, UsageError
from pytest_vqaeval.names import one_line
from pytest_vqaeval.records import Record, read_records
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.results import Result
from pytest_vqaeval.store import read_run

if TYPE_CHECKING:
    from pytest_vqaeval.sample import Sample


class _Key(NamedTuple):
    """Whose reply it is; benchmark and subset are "" where ids alone tell."""

    benchmark: str
    subset: str
    id: str
    repeat: int

    @property
    def shown(self) -> str:
        place = "/".join(part for part in (self.benchmark, self.subset) if part)
        return f"{place + ' ' if place else ''}{self.id!r}" + (f", repeat {self.repeat}" if self.repeat > 1 else "")


class StoredReplies:
    """Replies, and failures, by sample."""

    def __init__(self, name: str, replies: Mapping[_Key, Reply | str]) -> None:
        """What was read.

        Args:
            name: of the file or run, for messages.
            replies: a text says why there is no reply.
        """
        self._name, self._replies = name, replies

    def find(self, sample: Sample) -> Reply:
        """The reply to a sample; benchmark and subset count where the file has them.

        Raises:
            ModelError: there is none.
        """
        for benchmark in (sample.benchmark, ""):
            for subset in (sample.subset, ""):
                found = self._replies.get(_Key(benchmark, subset, sample.id, sample.repeat))
                if isinstance(found, Reply):
                    return found
                if found is not None:
                    raise ModelError(f"no reply in {self._name}, but an error: {found}", Failure.SAMPLE)
        repeat = " and repeat" if sample.repeat > 1 else ""
        raise ModelError(f"no reply for this sample{repeat} in {self._name}", Failure.SAMPLE)


def choose_model(place: Path, models: Iterable[str], wanted: str) -> str:
    """The model whose replies are meant: the wanted one, or the only one ("" where none is named).

    Raises:
        UsageError: there are several, or not the wanted one.
    """
    known = sorted(set(models))
    # a run that was itself a replay names its models `replay:PLACE::MODEL`
    meant = [model for model in known if not wanted or wanted == model or model.endswith(f"::{wanted}")]
    if len(meant) == 1 or wanted in meant:
        return wanted if wanted in meant else meant[0]
    if not known and not wanted:
        return ""
    names = one_line(", ".join(known))
    if wanted:
        raise UsageError(f"{place} has no replies of {wanted!r}" + (f", only of {names}" if known else ""))
    raise UsageError(f"{place} has replies of {names}: say whose, as in replay:{place}::{one_line(known[0])}")


def read_reply_file(file: Path, wanted: str = "") -> StoredReplies:
    """A file of objects with `id`, `reply`, and perhaps `benchmark`, `subset`, `repeat`, `model`, `finish_reason`.

    Args:
        file: of any format of records.
        wanted: the model whose replies are meant, if there are several.

    Raises:
        UsageError: it is absent, a row of it can't be used, or two are of one sample.
    """
    try:
        records = read_records(file)
    except DataError as error:
        raise UsageError(str(error)) from None
    answers = [record for record in records if record.row.get("kind") in (None, "answer")]
    model = choose_model(file, (str(r.row["model"]) for r in answers if r.row.get("model")), wanted)
    replies: dict[_Key, Reply | str] = {}
    first: dict[_Key, str] = {}
    for record in answers:
        if str(record.row.get("model") or model) != model:
            continue
        key = _key(record)
        if key in replies:
            raise UsageError(
                f"{record.where}: id {key.id!r} is also that of {first[key]}; leave one out, "
                "or tell them apart by `subset`, `benchmark` or `repeat` (1, 2, ...)"
            )
        replies[key], first[key] = _reply_or_error(record.row), record.where
    return StoredReplies(file.name, replies)


def _key(record: Record) -> _Key:
    row, problem = record.row, record.problem
    repeat = row.get("repeat") or 1
    if not problem and not isinstance(row.get("id"), str | int):
        problem = "has no id (a text or a whole number)"
    if not problem and not isinstance(row.get("reply"), str) and not row.get("error"):
        problem = "has no reply (a text)"
    if not problem and not str(repeat).isdecimal():
        problem = "repeat is no whole number"
    if problem:
        raise UsageError(f"{record.where}: {problem}")
    return _Key(str(row.get("benchmark") or ""), str(row.get("subset") or ""), str(row["id"]), int(repeat))


def _reply_or_error(row: Mapping[str, Any]) -> Reply | str:
    """As it was: an empty or truncated reply is one here too."""
    if not isinstance(row.get("reply"), str):
        return str(row["error"])
    finish, usage, latency = row.get("finish_reason"), row.get("usage"), row.get("latency_s")
    return Reply(
        row["reply"],
        finish if isinstance(finish, str) else None,
        {name: n for name, n in usage.items() if type(n) is int} if isinstance(usage, dict) else {},
        latency if isinstance(latency, float | int) else None,
        attempts=0,
        reused=True,
    )


def read_run_replies(folder: Path, wanted: str = "") -> StoredReplies:
    """The replies of a run: those that it scored, and those that came when it had ended.

    Raises:
        UsageError: it can't be read, has several models, or has two replies for a sample that it did not score.
    """
    try:
        run = read_run(folder)
    except (LookupError, TypeError, ValueError):
        raise UsageError(f"{folder} has rows that pytest-vqaeval did not write") from None
    rows = [row for file in sorted(folder.glob("replies-*.jsonl")) for row in read_rows(file)]
    answers = [row for row in rows if row.get("kind") == "answer" and isinstance(row.get("reply"), str)]
    answers = [row for row in answers if type(row.get("repeat")) is int]
    scored = [result for result in run.results if result.reply is not None or result.error]
    models = {str(row.get("model")) for row in answers} | {result.model for result in scored}
    model = choose_model(folder, models, wanted)
    replies: dict[_Key, Reply | str] = {}
    for row in answers:
        if row.get("model") == model:
            _add(replies, row, folder)
    for result in scored:
        if result.model == model:
            replies[_key_of(result)] = _reply_or_error(result.to_json())
    if ambiguous := [key for key, reply in replies.items() if reply == _AMBIGUOUS]:
        first = ambiguous[0].shown
        raise UsageError(
            f"{folder} has two replies for {first} and scored neither; go on with that run (--vqa-resume), "
            "or name one of its files replies-*.jsonl"
        )
    return StoredReplies(folder.name, replies)


_AMBIGUOUS = "two replies"


def _add(replies: dict[_Key, Reply | str], row: Mapping[str, Any], folder: Path) -> None:
    key = _Key(str(row.get("benchmark")), str(row.get("subset")), str(row.get("id")), row["repeat"])
    reply, known = _reply_or_error(row), replies.get(key)
    assert isinstance(reply, Reply)
    same = isinstance(known, Reply) and (known.text, known.finish_reason) == (reply.text, reply.finish_reason)
    replies[key] = reply if known is None or same else _AMBIGUOUS


def _key_of(result: Result) -> _Key:
    return _Key(result.benchmark, result.subset, result.id, result.repeat)
