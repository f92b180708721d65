"""Wrong and errored samples as files: `--vqa-artifacts DIR`. Picture, prompt, reply, and the block that explains."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

from pytest_vqaeval.errors import DataError, StoreError
from pytest_vqaeval.media import Encoded, Media, MediaCache
from pytest_vqaeval.names import node_name
from pytest_vqaeval.question import Question, values_in
from pytest_vqaeval.reopened import Reopened
from pytest_vqaeval.reports.block import explain, place_of, sent_text
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.store import StoredRun, write_private

LONGEST_NAME = 80  # characters of a folder's name
_ENDINGS = {"image/jpeg": ".jpg", "image/png": ".png", "image/webp": ".webp", "image/gif": ".gif"}


def write_artifacts(folder: Path, run: StoredRun) -> None:
    """Write a folder for each wrong or errored sample: `DIR/RUN/BENCHMARK/SUBSET/ID`.

    A run has a folder of its own, so that files of an earlier one are never taken for its.

    Raises:
        StoreError: a file can't be written.
    """
    opened = Reopened(run)
    several = len(run.header.get("models") or []) > 1
    try:
        for result in run.results:
            if result.outcome.counts_wrong or result.outcome is Outcome.ERROR:
                _write(folder / run.path.name / _place(result, several), result, opened)
    finally:
        opened.close()


def _place(result: Result, several: bool) -> Path:
    parts = [result.benchmark, result.subset, result.id]
    if result.repeat > 1:
        parts[-1] += f"-repeat{result.repeat}"
    if several:
        parts.append(result.model)
    return Path(*map(safe_name, parts))


def safe_name(text: str) -> str:
    """A name for a folder, whatever the text holds: where that is not the text itself, a hash tells it from others."""
    name = node_name(text)[:LONGEST_NAME]
    return name if name == text else f"{name}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _write(folder: Path, result: Result, opened: Reopened) -> None:
    question, sample = opened.question(result), opened.sample(result)
    files = {"about.txt": explain(result, question, where=place_of(sample) if sample else "").encode()}
    if result.reply is not None:
        files["reply.txt"] = result.reply.encode("utf-8", "backslashreplace")
    if question:
        files["prompt.txt"] = sent_text(question).encode("utf-8", "backslashreplace")
        files.update(_pictures(question, result, opened))
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(f"{folder} can't be written: {error.strerror}") from None
    for name, content in files.items():
        write_private(folder / name, content)


def _pictures(question: Question, result: Result, opened: Reopened) -> Iterator[tuple[str, bytes]]:
    """The pictures as they are in the data; one that can't be read is missing, and `about.txt` says why."""
    pictures = [medium for medium in values_in(question.messages, Media) if medium.kind == "image"]
    for number, medium in enumerate(pictures, 1):
        try:
            (loaded,) = MediaCache(0).load([{"picture": medium}], opened.archive(result.benchmark))
        except DataError:
            continue
        picture = loaded["picture"]
        if isinstance(picture, Encoded):
            content = base64.b64decode(picture.partition(",")[2])
            yield f"picture-{number}{_ENDINGS.get(picture.mime, '.bin')}", content
