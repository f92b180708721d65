"""The summary as JSON: `--vqa-json FILE`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_vqaeval.errors import StoreError
from pytest_vqaeval.gates import GateResult
from pytest_vqaeval.judging.judgements import Judgements
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.store import write_whole
from pytest_vqaeval.summary import BenchmarkReport, Named, Summary
from pytest_vqaeval.tally import Tally

SCHEMA = 1


def build(summary: Summary, gates: Sequence[GateResult], run: Mapping[str, Any], exit_code: int) -> dict[str, Any]:
    """The whole summary; scores are 0 to 1, what does not apply is null."""
    return {
        "schema": SCHEMA,
        "run": dict(run),
        "benchmarks": [_benchmark(report) for report in summary.benchmarks],
        "gates": [gate.to_json() for gate in gates],
        "exit_code": exit_code,
    }


def write(file: Path, report: Mapping[str, Any]) -> None:
    """Write the summary, whole or not at all.

    Raises:
        StoreError: it can't be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{file} can't be written: {error.strerror}") from None
    write_whole(file, json.dumps(report, ensure_ascii=False, indent=1) + "\n")


def _benchmark(report: BenchmarkReport) -> dict[str, Any]:
    return {
        "name": report.name,
        "title": report.about.title,
        "model": report.model,
        "metric": report.metric,
        "collected": report.collected,
        "overall": {**_tally(report.overall), "macro": report.macro, "bounds": list(report.overall.bounds)},
        "categories": [_named(named) for named in report.categories],
        "subsets": [{**_named(named), "category": named.category} for named in report.subsets],
        "groups": {field: [_named(named) for named in values] for field, values in report.groups.items()},
        "metrics": report.overall.metrics(),
        "usage": {kind: asdict(usage) for kind, usage in report.usage.items()},
        "judge": _judge(report, report.judged) if report.judged else None,
        "files": {name: dict(facts) for name, facts in report.about.files.items()},
        "repeats": asdict(report.repeats) if report.repeats else None,
    }


def _judge(report: BenchmarkReport, judged: Judgements) -> dict[str, Any]:
    return {**report.about.judge, **asdict(judged), "rule": _tally(report.overall.by_rule())}


def _named(named: Named) -> dict[str, Any]:
    return {"name": named.name, **_tally(named.tally)}


def _tally(tally: Tally) -> dict[str, Any]:
    interval = tally.interval
    aggregates = {name: of._asdict() for name, of in tally.aggregates().items()}
    return {
        "samples": tally.samples,
        "answered": tally.answered,
        **{outcome.value: tally.counts[outcome] for outcome in Outcome},
        "guessed": tally.guessed,
        "accuracy": tally.accuracy,
        "score": tally.mean_score,
        "ci": [interval.low, interval.high] if interval else None,
        "clusters": interval.clusters if interval else None,
        "effective_n": interval.effective_n if interval else None,
        **({"aggregates": aggregates} if aggregates else {}),
    }
