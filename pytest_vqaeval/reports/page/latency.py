"""How long replies took: a histogram."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_vqaeval.results import Result
from pytest_vqaeval.stats import quantile

BINS = 30


@dataclass(frozen=True)
class Latency:
    """The seconds that replies took.

    Attributes:
        counts: of each bin, from 0 on.
        width: of a bin, in seconds; what lies beyond the last bin is counted in it.
    """

    counts: Sequence[int]
    width: float
    median: float
    p90: float
    p99: float
    most: float


def latency_of(results: Iterable[Result]) -> Latency | None:
    """The histogram, in bins of 1, 2 or 5 times a power of ten up to the 99th percentile; None without any latency."""
    seconds = [result.latency_s for result in results if result.latency_s is not None]
    if not seconds:
        return None
    median, p90, p99 = (quantile(seconds, share) or 0.0 for share in (0.5, 0.9, 0.99))
    width = _round_up(max(p99, 1e-3) / BINS)
    counts = [0] * (math.ceil(max(p99, 1e-3) / width) or 1)
    for second in seconds:
        counts[min(int(second / width), len(counts) - 1)] += 1
    return Latency(counts, width, median, p90, p99, max(seconds))


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9))
