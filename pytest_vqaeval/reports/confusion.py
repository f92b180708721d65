"""References against answers, where few references make up a subset: which answers a model takes for which."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import NORMAL_FORM, OF_REFERENCE, Outcome

MOST_REFERENCES = 12
LEAST_SHARE = 0.8  # of the answered samples, that these must make up
OTHER, NONE = "(other)", "(none)"


@dataclass(frozen=True)
class Confusion:
    """A table of counts.

    Attributes:
        references: the rows; the most frequent first.
        answers: the columns: the references, then `(other)` and `(none)` where there are such answers.
        counts: by reference and answer.
        left_out: how many answered samples have a rarer reference.
    """

    references: Sequence[str]
    answers: Sequence[str]
    counts: Counter[tuple[str, str]]
    left_out: int = 0


def confusion(results: Iterable[Result]) -> Confusion | None:
    """The table of the results that have a verdict; None where references are too many, or all the same.

    Texts are compared in their normal form where the scorer tells it. The diagonal holds what was correct, `(other)`
    answers that are no reference of the table, `(none)` replies without an answer.
    """
    answered = [result for result in results if result.outcome.answered and result.reference]
    if any(result.outcome is Outcome.SCORED for result in answered):
        return None
    rows = Counter(map(_reference, answered))
    references = [reference for reference, _ in sorted(rows.items(), key=lambda row: (-row[1], row[0]))]
    references = references[:MOST_REFERENCES]
    kept = sum(rows[reference] for reference in references)
    if len(rows) < 2 or kept < LEAST_SHARE * len(answered):
        return None
    known = {reference.casefold(): reference for reference in references}
    counts = Counter((_reference(result), _answer(result, known)) for result in answered)
    counts = Counter({cell: count for cell, count in counts.items() if cell[0] in references})
    used = {answer for _, answer in counts}
    answers = [*references, *(extra for extra in (OTHER, NONE) if extra in used)]
    return Confusion(references, answers, counts, len(answered) - kept)


def by_subset(results: Iterable[Result]) -> dict[str, Confusion]:
    """The tables of those subsets that have one."""
    parts: defaultdict[str, list[Result]] = defaultdict(list)
    for result in results:
        parts[result.subset].append(result)
    tables = {subset: confusion(part) for subset, part in parts.items()}
    return {subset: table for subset, table in tables.items() if table}


def _reference(result: Result) -> str:
    return result.details.get(OF_REFERENCE) or " | ".join(result.reference)


def _answer(result: Result, known: dict[str, str]) -> str:
    reference = _reference(result)
    if result.outcome is Outcome.CORRECT:
        return reference
    said = result.details.get(NORMAL_FORM) or (result.extracted or "").strip()
    answer = known.get(said.casefold(), OTHER) if said else NONE
    return OTHER if answer == reference else answer
