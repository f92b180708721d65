"""From the columns of a data file to the way its questions are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_vqaeval.errors import DataError


@dataclass(frozen=True, slots=True)
class Format:
    """A way of writing questions.

    Attributes:
        name: as a spec names it (`sample.format`).
        title: for people.
        columns: the columns by which it is recognised; of a tuple, one is enough.
        scorer: what scores it where no spec says so, with the scorer's options.
    """

    name: str
    title: str
    columns: tuple[str | tuple[str, ...], ...]
    scorer: str
    options: Mapping[str, Any]

    def fits(self, columns: Iterable[str]) -> bool:
        """All its columns are there."""
        there = set(columns)
        return all(not there.isdisjoint((want,) if isinstance(want, str) else want) for want in self.columns)

    def __str__(self) -> str:
        columns = (want if isinstance(want, str) else " or ".join(want) for want in self.columns)
        return f"{self.title} ({', '.join(columns)})"


FORMATS = (
    Format("messages", "General-VQA", ("messages",), "text_overlap", {}),
    Format("vmcq", "General-VMCQ", ("question", "options"), "choice", {}),
    # the table's wording asks for no answer line, so what is said is read, and nothing is guessed
    Format("vlmevalkit_choice", "VLMEvalKit multiple choice", ("question", "A", "B"), "choice", {"parser": "strict"}),
    Format(
        "vlmevalkit_vqa", "VLMEvalKit question and answer", ("question", ("image", "image_path")), "short_answer", {}
    ),
)
"""In the order in which they are tried."""

_FIRST = 20  # records whose columns are looked at


def recognise(rows: Iterable[Mapping[str, Any]], where: str) -> Format:
    """The format of a data file.

    Args:
        rows: its records; the first are looked at.
        where: the file, for the error.

    Raises:
        DataError: none fits; lists the columns found and the formats known.
    """
    columns: dict[str, None] = {}
    for _, row in zip(range(_FIRST), rows, strict=False):
        columns.update(dict.fromkeys(row))
    for known in FORMATS:
        if known.fits(columns):
            return known
    found = ", ".join(map(str, columns)) or "none"
    raise DataError(f"{where}: no known format has its columns ({found}); there are {'; '.join(map(str, FORMATS))}")
