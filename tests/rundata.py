"""Results and scores made by hand, for tests of gates and comparisons."""

from collections.abc import Sequence
from typing import Any

from pytest_vqaeval.results import Result
from pytest_vqaeval.scores import Scores, scores_of
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.summary import About, BenchmarkReport, Summary, summarize

OUTCOMES = {
    "c": Outcome.CORRECT,
    "w": Outcome.WRONG,
    "u": Outcome.UNPARSED,
    "t": Outcome.TRUNCATED,
    "e": Outcome.EMPTY,
    "s": Outcome.SCORED,
    "x": Outcome.ERROR,
    "-": Outcome.NOT_RUN,
}


def row(n: int, outcome: Outcome, **facts: Any) -> Result:
    """A result of sample `n` of benchmark `b`, subset `s`, each in a cluster of its own."""
    score = float(outcome is Outcome.CORRECT) if outcome.answered else None
    known: dict[str, Any] = {
        "benchmark": "b",
        "subset": "s",
        "id": str(n),
        "model": "m",
        "nodeid": f"b.vqa.yaml::s[{n}]",
        "cluster": f"c{n}",
        "outcome": outcome,
        "score": score,
    }
    return Result(**{**known, **facts})


def rows(letters: str, per_cluster: int = 1, **facts: Any) -> list[Result]:
    """A result per letter (see `OUTCOMES`)."""
    return [row(n, OUTCOMES[x], **{"cluster": f"c{n // per_cluster}", **facts}) for n, x in enumerate(letters)]


def graded(values: Sequence[float | None]) -> list[Result]:
    """A graded score each; None is an error."""
    return [
        row(n, Outcome.ERROR) if value is None else row(n, Outcome.SCORED, score=value)
        for n, value in enumerate(values)
    ]


def about(collected: int, **facts: Any) -> About:
    """Benchmark `b`."""
    known: dict[str, Any] = {"name": "b", "title": "B", "scorer": "short_answer", "collected": collected}
    return About(**{**known, "sizes": {"s": collected}, "fingerprint": {"records": "1"}, **facts})


def summary_of_rows(results: Sequence[Result], collected: int | None = None, **facts: Any) -> Summary:
    """A run of benchmark `b`."""
    return summarize([about(len(results) if collected is None else collected, **facts)], results)


def report_of(results: Sequence[Result], collected: int | None = None) -> BenchmarkReport:
    """The only benchmark of such a run."""
    (report,) = summary_of_rows(results, collected).benchmarks
    return report


def scores(results: Sequence[Result], **facts: Any) -> Scores:
    """The same as a baseline."""
    repeats = max(result.repeat for result in results)
    known = about(facts.pop("collected", len(results) // repeats) * repeats, **facts)
    return scores_of(known, results[0].model, results, source="old")
