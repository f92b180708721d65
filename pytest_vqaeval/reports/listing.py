"""Some of a run's samples on the terminal: which ones, a line each, or their confusion."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tabulate import tabulate

from pytest_vqaeval.errors import UsageError
from pytest_vqaeval.names import one_line
from pytest_vqaeval.reopened import Reopened
from pytest_vqaeval.reports.confusion import by_subset
from pytest_vqaeval.results import Result
from pytest_vqaeval.templates import nearest

_WIDEST = 120  # columns of a terminal that are used
_MOST_TIMES = 5  # that a message lists


@dataclass(frozen=True)
class Wanted:
    """Which results are wanted: of each field any of the values; empty means all.

    Attributes:
        outcome: values of `Outcome`.
    """

    outcome: Sequence[str] = ()
    benchmark: Sequence[str] = ()
    subset: Sequence[str] = ()
    category: Sequence[str] = ()
    model: Sequence[str] = ()

    def of(self, results: Sequence[Result]) -> list[Result]:
        """The wanted ones.

        Raises:
            UsageError: the run has no such benchmark, subset, category or model.
        """
        for name in ("benchmark", "subset", "category", "model"):
            known = {str(getattr(result, name)) for result in results}
            for value in getattr(self, name):
                if value not in known:
                    there_are = ", ".join(sorted(known)) or "none"
                    raise UsageError(
                        f"--{name}: {value!r} is not in the run{nearest(value, tuple(known))}; there are {there_are}"
                    )
        return [result for result in results if self._has(result)]

    def _has(self, result: Result) -> bool:
        if self.outcome and result.outcome.value not in self.outcome:
            return False
        names = ("benchmark", "subset", "category", "model")
        return all(not getattr(self, name) or str(getattr(result, name)) in getattr(self, name) for name in names)


def find(results: Sequence[Result], name: str) -> list[Result]:
    """The results of a sample: all its models and repeats, and its namesakes in other subsets.

    Args:
        results: where it is looked for.
        name: `ID`, `SUBSET[ID]` or `BENCHMARK::SUBSET[ID]`, or a node id.

    Raises:
        UsageError: there is none.
    """
    found = [result for result in results if name in _names(result)]
    if found:
        return found
    known = [result.id for result in results]
    raise UsageError(
        f"there is no sample {name!r} in the run{nearest(name, tuple(known))}; it has {len(known):,} results"
    )


def _names(result: Result) -> tuple[str, ...]:
    inner = f"{result.subset}[{result.id}]"
    return result.id, inner, f"{result.benchmark}::{inner}", result.nodeid


def listing(results: Sequence[Result], opened: Reopened) -> Iterator[str]:
    """A line a sample: where it is, what was right, what was answered, and the question."""
    several = {(r.benchmark, r.model) for r in results}
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    rows = []
    for result in results:
        name = f"{result.benchmark}::" * (len({b for b, _ in several}) > 1) + f"{result.subset}[{result.id}]"
        row = [name, result.outcome.value, " | ".join(result.reference), result.extracted or result.error or ""]
        if len({model for _, model in several}) > 1:
            row.append(result.model)
        question = opened.question(result)
        rows.append([_cell(text, 24) for text in row] + [_cell(question.text if question else "", width)])
    if not rows:
        yield "no sample of the run is such a one"
        return
    header = ["sample", "outcome", "reference", "answer", "model", "question"]
    if len(rows[0]) < len(header):
        header.remove("model")
    table = tabulate(rows, header, tablefmt="simple", disable_numparse=True)
    for line in table.split("\n"):
        yield line[:width].rstrip()


def _cell(text: str, most: int) -> str:
    text = one_line(" ".join(text.split()))
    return text if len(text) <= most else text[: most - 1] + "…"


def confusion_lines(results: Sequence[Result]) -> Iterator[str]:
    """References against answers, for each benchmark, model and subset where there are few references."""
    for benchmark, model in dict.fromkeys((result.benchmark, result.model) for result in results):
        part = [result for result in results if (result.benchmark, result.model) == (benchmark, model)]
        for subset, table in by_subset(part).items():
            yield f"== {one_line(benchmark)} {one_line(subset)}: {one_line(model)}"
            header = ["reference \\ answer", *(_cell(answer, 10) for answer in table.answers)]
            rows = [
                [_cell(reference, 18), *(table.counts[reference, answer] or "·" for answer in table.answers)]
                for reference in table.references
            ]
            yield from tabulate(
                rows, header, tablefmt="simple", colalign=["left", *["right"] * len(table.answers)]
            ).split("\n")
            if table.left_out:
                yield f"{table.left_out:,} samples with rarer references are left out"
            yield ""
