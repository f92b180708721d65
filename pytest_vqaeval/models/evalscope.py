"""EvalScope's stored predictions: `outputs/<time>/predictions/<model>/<benchmark>_<subset>.jsonl`.

A row names its sample by its position in the subset alone (`index`), so the question that it stores is compared with
the sample's: a reply to another question is never scored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vqaeval.errors import Failure, ModelError, UsageError
from pytest_vqaeval.formats.placeholders import PLACEHOLDER
from pytest_vqaeval.models.stored import choose_model
from pytest_vqaeval.reply import Reply

if TYPE_CHECKING:
    from pytest_vqaeval.sample import Sample

_FINISH = {"max_tokens": "length"}  # EvalScope's words for what a server said; others are the same
_TOKENS = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens", "total_tokens": "total_tokens"}
_NOT_TEXT = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class _Row:
    """A prediction without its pictures.

    Attributes:
        asked: the letters and digits of all that the user said.
        reply: the reply, or why there is none.
        line: in the file, from 1.
    """

    asked: str
    reply: Reply | str
    line: int


class Predictions:
    """The predictions of one model."""

    def __init__(self, files: Mapping[str, Mapping[int, _Row]], repeats: int) -> None:
        """What was read.

        Args:
            files: by the stem of the file, then by index.
            repeats: how often each sample was asked: the repeats of a sample stand one after the other.
        """
        self._files, self._repeats = files, repeats

    def find(self, sample: Sample) -> Reply:
        """The reply to a sample.

        Raises:
            ModelError: there is none, or the one in its place answers another question.
        """
        stem = self._stem(sample)
        row = self._files[stem].get(sample.position * self._repeats + sample.repeat - 1)
        if row is None:
            raise ModelError(f"no reply for this sample in {stem}.jsonl", Failure.SAMPLE)
        if letters(sample.question().text) not in row.asked:
            times = "once" if self._repeats == 1 else f"{self._repeats} times"
            raise ModelError(
                f"the reply in this sample's place in {stem}.jsonl answers another question: EvalScope read another "
                f"data file, or another order of it, or did not ask each sample {times} (--vqa-repeats)",
                Failure.SAMPLE,
            )
        if isinstance(row.reply, str):
            raise ModelError(f"no reply in {stem}.jsonl, but an error: {row.reply}", Failure.SAMPLE)
        return row.reply

    def _stem(self, sample: Sample) -> str:
        """The file of the sample's subset: EvalScope's own name of it, else the only one that could be it."""
        exact = f"{sample.benchmark}_{sample.subset}"
        if exact in self._files:
            return exact
        ends = [stem for stem in self._files if stem.endswith((f"_{sample.subset}", f"_{sample.benchmark}"))]
        likely = list(self._files) if len(self._files) == 1 else ends
        if len(likely) == 1:
            return likely[0]
        raise ModelError(f"no file {exact}.jsonl among {', '.join(sorted(self._files))}", Failure.SAMPLE)


def is_prediction_file(file: Path) -> bool:
    """It is JSONL, and its first row is a prediction."""
    if file.suffix != ".jsonl":
        return False
    try:
        with file.open("rb") as stream:
            row = json.loads(stream.readline())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(row, dict) and "model_output" in row and "index" in row


def find_predictions(folder: Path, wanted: str = "") -> list[Path]:
    """The files of one model.

    Args:
        folder: EvalScope's output folder of a run, `predictions/` in it, or the folder of a model in that.
        wanted: the model's folder, if there are several.

    Raises:
        UsageError: there are none, or those of several models.
    """
    inner = folder / "predictions"
    base = inner if inner.is_dir() else folder
    folders = (file.parent for pattern in ("*/*.jsonl", "*/*/*.jsonl") for file in base.glob(pattern))
    of_models = {path.relative_to(base).as_posix(): path for path in folders}  # a model may be called org/name
    chosen = base if any(base.glob("*.jsonl")) else of_models.get(choose_model(folder, of_models, wanted))
    if chosen is None:
        raise UsageError(f"{folder} is neither a run (run.json) nor a folder of EvalScope's predictions (*.jsonl)")
    return sorted(chosen.glob("*.jsonl"))


def read_predictions(files: Sequence[Path], repeats: int) -> Predictions:
    """Read predictions, without their pictures.

    Args:
        files: of one model.
        repeats: how often each sample was asked.

    Raises:
        UsageError: a file can't be read, or has two replies for one sample.
    """
    return Predictions({file.stem: _read(file) for file in files}, repeats)


def _read(file: Path) -> dict[int, _Row]:
    rows: dict[int, _Row] = {}
    for line, value in _values(file):
        index = value.get("index")
        if type(index) is not int:
            raise UsageError(f"{file.name}:{line}: has no index (a whole number)")
        row = _Row(letters(said_by_user(value.get("messages"))), _reply(value), line)
        known = rows.setdefault(index, row)
        if known.reply != row.reply:
            raise UsageError(
                f"{file.name}:{line}: index {index} is also that of line {known.line}, with another reply; remove one"
            )
    return rows


def _values(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows, one at a time: with their pictures they may be larger than memory. A torn one is no reply."""
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(value, dict):
                    yield number, value
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}") from None


def _reply(row: Mapping[str, Any]) -> Reply | str:
    output = row.get("model_output")
    if not isinstance(output, dict):
        return "no output"
    try:
        choice = output["choices"][0]
        text, reason = _text(choice["message"].get("content")), choice.get("stop_reason")
    except (LookupError, TypeError, AttributeError):
        return str(output.get("error") or "no output")
    if output.get("error") or reason == "model_length":  # the server's refusal of a request stands where a reply would
        return str(output.get("error") or text)
    counted: Any = output.get("usage")
    usage = counted if isinstance(counted, dict) else {}
    tokens = {ours: usage[theirs] for theirs, ours in _TOKENS.items() if type(usage.get(theirs)) is int}
    seconds = output.get("time")
    return Reply(
        text,
        _FINISH.get(reason, reason) if isinstance(reason, str) else None,
        tokens,
        seconds if isinstance(seconds, float) else None,
        attempts=0,
        reused=True,
    )


def said_by_user(messages: Any) -> str:
    """All that the user said."""
    rows = messages if isinstance(messages, list) else []
    return "\n".join(_text(row.get("content")) for row in rows if isinstance(row, dict) and row.get("role") == "user")


def _text(content: Any) -> str:
    """A text, or the texts among the parts of a content; reasoning and pictures are none."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and part.get("type") == "text")


def letters(text: str) -> str:
    """Letters and digits alone; a placeholder is none, as EvalScope stores the medium in its place."""
    text = PLACEHOLDER.sub("", text)
    return _NOT_TEXT.sub("", text).lower()
