"""The model `replay:FILE|RUN`: replies that were stored before, scored without any server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pytest_vqaeval.errors import Failure, ModelError, UsageError
from pytest_vqaeval.models.evalscope import find_predictions, is_prediction_file, read_predictions
from pytest_vqaeval.models.stored import read_reply_file, read_run_replies
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.store import find_run, is_run

if TYPE_CHECKING:
    from pytest_vqaeval.question import Message
    from pytest_vqaeval.sample import Sample

PREFIX = "replay:"


class Replies(Protocol):
    """Stored replies."""

    def find(self, sample: Sample, /) -> Reply:
        """The reply to a sample.

        Raises:
            ModelError: there is none.
        """


class Replay:
    """A model that repeats what is stored."""

    def __init__(self, name: str, replies: Replies) -> None:
        self.name, self._replies = name, replies

    def reply_for(self, sample: Sample) -> Reply:
        """The stored reply.

        Raises:
            ModelError: there is none for this sample.
        """
        return self._replies.find(sample)

    def ask(self, messages: Sequence[Message]) -> Reply:
        """Replies are found by sample, not by message."""
        raise ModelError("replay: stored replies are found by sample id, not by message", Failure.SAMPLE)


def locate(name: str, out: Path, folder: Path) -> str:
    """The same name with a whole path: that of a file, a folder, or a run that is called by its name.

    Args:
        name: `replay:PLACE` or `replay:PLACE::MODEL`.
        out: the folder of the run folders.
        folder: the folder pytest was started in.

    Raises:
        UsageError: there is nothing of that name.
    """
    place, colons, model = name.removeprefix(PREFIX).partition("::")
    path = folder / Path(place).expanduser()
    if not path.exists():
        try:
            path = find_run(out, place).path
        except UsageError as error:
            raise UsageError(f"--vqa-model={name}: {path} is not there, and {error}") from None
    return f"{PREFIX}{path.resolve()}{colons}{model}"


def open_replies(name: str, repeats: int) -> Replies:
    """The replies that a name from `locate` stands for.

    Args:
        name: `replay:PATH` or `replay:PATH::MODEL`.
        repeats: how often each sample is asked in this run.

    Raises:
        UsageError: they can't be read, or it is not clear which are meant.
    """
    place, _, model = name.removeprefix(PREFIX).partition("::")
    path = Path(place)
    try:
        if is_run(path):
            return read_run_replies(path, model)
        if path.is_dir():
            return read_predictions(find_predictions(path, model), repeats)
        if is_prediction_file(path):
            return read_predictions([path], repeats)
        return read_reply_file(path, model)
    except UsageError as error:
        raise UsageError(f"--vqa-model=replay: {error}") from None
