"""What the replies of a run cost: requests, retries, tokens and time. Replies from a file cost nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_vqaeval.stats import quantile

if TYPE_CHECKING:
    from pytest_vqaeval.results import Result

ANSWER = "answer"
"""The kind of the requests that ask the samples' questions."""
JUDGE = "judge"
"""The kind of those that ask for a verdict on a reply."""
_PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class Usage:
    """What requests of one kind cost.

    Attributes:
        replies: how many were asked for and came.
        reused: replies that came from a file: an earlier run's, or replayed ones.
        retries: requests beyond the first of a sample (or for a verdict), whether a reply came in the end or not.
        tokens: sums of the counts that the server gave, by its names (`prompt_tokens`, `completion_tokens`, ...).
        latency_s: percentiles (`p50`, `p90`, `p99`) of the seconds that a reply took; empty where none was measured.
    """

    replies: int = 0
    reused: int = 0
    retries: int = 0
    tokens: Mapping[str, int] = field(default_factory=dict)
    latency_s: Mapping[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """There is something to tell: functions and built-in models cost nothing that is measured."""
        return bool(self.reused or self.retries or self.tokens or self.latency_s)


def usage_of(results: Iterable[Result]) -> Usage:
    """What the replies to the samples cost."""
    results = list(results)
    asked = [result for result in results if not result.reused]
    return Usage(
        replies=sum(result.reply is not None for result in asked),
        reused=len(results) - len(asked),
        retries=sum(max(0, (result.attempts or 1) - 1) for result in asked),
        tokens=_sums(result.usage for result in asked),
        latency_s=_percentiles(result.latency_s for result in asked),
    )


def judge_usage_of(results: Iterable[Result]) -> Usage:
    """What the verdicts on them cost; the latency is that of a verdict, its repair included."""
    opinions = [opinion for result in results for opinion in result.judge.get("judges", ())]
    return Usage(
        replies=sum(opinion.get("asked", 0) for opinion in opinions),
        reused=sum(opinion.get("reused", 0) for opinion in opinions),
        retries=sum(opinion.get("retries", 0) for opinion in opinions),
        tokens=_sums(opinion.get("usage", {}) for opinion in opinions),
        latency_s=_percentiles(opinion.get("latency_s") for opinion in opinions),
    )


def tokens_spent(result: Result) -> int:
    """All tokens that a sample cost, verdicts included, as far as servers count them."""
    counts = [{} if result.reused else result.usage]
    counts += [opinion.get("usage", {}) for opinion in result.judge.get("judges", ())]
    return sum(
        count.get("total_tokens") or count.get("prompt_tokens", 0) + count.get("completion_tokens", 0)
        for count in counts
    )


def _sums(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _percentiles(latencies: Iterable[float | None]) -> dict[str, float]:
    known = [latency for latency in latencies if latency is not None]
    values = ((name, quantile(known, share)) for name, share in _PERCENTILES.items())
    return {name: round(value, 4) for name, value in values if value is not None}
