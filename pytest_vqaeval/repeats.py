"""Several replies to one question (`--vqa-repeats`): how often one of k is right, and how often verdicts differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum
from typing import TYPE_CHECKING

from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.stats import pass_at_k

if TYPE_CHECKING:
    from pytest_vqaeval.results import Result

_EACH_K_UP_TO = 5  # above, k doubles


@dataclass(frozen=True, slots=True)
class Repeats:
    """What the repeats of one benchmark and model say.

    Attributes:
        per_sample: how often each question was asked.
        samples: how many samples were asked.
        whole: those of which all repeats have a verdict; only these count for what follows.
        unstable: how many of these got different verdicts, or scores, for the same question.
        pass_at_k: by k the mean over samples of the chance that one of k replies is right (Chen et al. 2021); empty for
            a scorer without right and wrong, and without whole samples.
    """

    per_sample: int
    samples: int
    whole: int
    unstable: int
    pass_at_k: Mapping[int, float] = field(default_factory=dict)


def repeats_of(results: Iterable[Result]) -> Repeats | None:
    """Compare the repeats of each sample of one benchmark and model; None where each was asked once."""
    by_sample: defaultdict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        by_sample[result.subset, result.id].append(result)
    wanted = max((result.repeat for rows in by_sample.values() for result in rows), default=1)
    if wanted == 1:
        return None
    whole = [rows for rows in by_sample.values() if sum(row.outcome.answered for row in rows) == wanted]
    unstable = sum(len({row.score for row in rows}) > 1 for rows in whole)
    if any(row.outcome is Outcome.SCORED for rows in whole for row in rows):
        return Repeats(wanted, len(by_sample), len(whole), unstable)
    right = [sum(row.outcome is Outcome.CORRECT for row in rows) for rows in whole]
    chances = {k: [pass_at_k(wanted, count, k) for count in right] for k in _ks(wanted)}
    return Repeats(wanted, len(by_sample), len(whole), unstable, {k: fsum(p) / len(p) for k, p in chances.items() if p})


def _ks(wanted: int) -> list[int]:
    if wanted <= _EACH_K_UP_TO:
        return list(range(1, wanted + 1))
    return [k for k in (2**n for n in range(wanted.bit_length())) if k < wanted] + [wanted]
