"""The samples of a page, as the JSON that its script reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_vqaeval.media import Media
from pytest_vqaeval.names import cut_middle
from pytest_vqaeval.question import Question, values_in
from pytest_vqaeval.reports.page.columns import Column
from pytest_vqaeval.reports.page.pictures import Pictures
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome

MOST_TEXT = 24_000_000
"""Characters of all replies together: a page of 10,000 long replies must still open at once."""
LONGEST_TEXT, SHORTEST_TEXT = 20_000, 1_000  # of one reply

# Controls, and characters that turn the direction of what follows; joiners, which scripts need, stay.
_HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)

_Key = tuple[str, str, str, int]


def samples_of(columns: Sequence[Column], pictures: Pictures) -> list[dict[str, Any]]:
    """One object per sample, with an answer for each column (null: the column has none).

    What does not apply is left out. Keys are those of `samples.jsonl` where it has them.
    """
    rows: dict[_Key, dict[str, Any]] = {}
    longest = _longest_text(columns)
    for place, column in enumerate(columns):
        for result in column.results:
            key = (result.benchmark, result.subset, result.id, result.repeat)
            row = rows.setdefault(key, _sample(result, [None] * len(columns)))
            if "question" not in row and (question := column.opened.question(result)):
                row.update(_asked(question, column, result, pictures))
            row["answers"][place] = _answer(result, longest)
            row["references"] = row["references"] or [shown(text) for text in result.reference]
    return list(rows.values())


def shown(text: str) -> str:
    """Characters that hide or reorder others, as escapes."""
    return _HIDDEN.sub(lambda match: f"\\u{ord(match.group()):04x}", text.replace("\r\n", "\n"))


def _longest_text(columns: Sequence[Column]) -> int:
    count = sum(len(column.results) for column in columns)
    return max(SHORTEST_TEXT, min(LONGEST_TEXT, MOST_TEXT // max(1, count)))


def _sample(result: Result, answers: list[Any]) -> dict[str, Any]:
    facts = {
        "benchmark": result.benchmark,
        "subset": result.subset,
        "category": result.category,
        "id": result.id,
        "repeat": result.repeat if result.repeat > 1 else None,
        "nodeid": result.nodeid,
        "fields": dict(result.fields),
    }
    row = {name: _shown(value) for name, value in facts.items() if value not in (None, {})}
    return {**row, "references": [], "answers": answers}


def _asked(question: Question, column: Column, result: Result, pictures: Pictures) -> Iterator[tuple[str, Any]]:
    yield "question", shown(cut_middle(question.text, LONGEST_TEXT))
    yield "references", [shown(text) for text in question.references]
    if question.options:
        labels = zip(question.labels, question.options, strict=True)
        yield "options", [[label, shown(cut_middle(text, LONGEST_TEXT))] for label, text in labels]
    media = values_in(question.messages, Media)
    archive = column.opened.archive(result.benchmark)
    yield "pictures", [pictures.number(medium, archive) for medium in media if medium.kind == "image"]
    yield "media", [shown(medium.name) for medium in media]


def _answer(result: Result, longest: int) -> dict[str, Any]:
    facts = {
        "outcome": result.outcome.value,
        "guessed": result.guessed or None,
        "score": result.score if result.outcome is Outcome.SCORED else None,
        "metrics": {name: round(value, 4) for name, value in result.metrics.items()},
        "reply": None if result.reply is None else cut_middle(result.reply, longest),
        "length": None if result.reply is None else len(result.reply),
        "extracted": None if result.extracted is None else cut_middle(result.extracted, longest),
        "details": dict(result.details),
        "finish_reason": result.finish_reason,
        "tokens": [result.usage[name] for name in ("prompt_tokens", "completion_tokens") if name in result.usage],
        "latency_s": result.latency_s,
        "attempts": result.attempts if (result.attempts or 0) > 1 else None,
        "error": result.error and cut_middle(result.error, longest),
    }
    return {name: _shown(value) for name, value in facts.items() if value not in (None, {}, [])}


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {shown(key): _shown(inner) for key, inner in value.items()}
    return value
