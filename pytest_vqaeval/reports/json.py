"""The summary as JSON: `--vqa-json FILE`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_vqaeval.gates import GateResult
from pytest_vqaeval.results import BenchmarkReport, Named, Summary, Tally
from pytest_vqaeval.scoring.base import Outcome

SCHEMA = 1


def build(summary: Summary, gates: Sequence[GateResult], run: Mapping[str, Any], exit_code: int) -> dict[str, Any]:
    """The whole summary; scores are 0 to 1, what does not apply is null."""
    return {
        "schema": SCHEMA,
        "run": dict(run),
        "benchmarks": [_benchmark(report) for report in summary.benchmarks],
        "gates": [{**asdict(gate), "verdict": gate.verdict.value} for gate in gates],
        "exit_code": exit_code,
    }


def write(file: Path, report: Mapping[str, Any]) -> None:
    """Write the summary, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f".{file.name}-{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as stream:
        json.dump(report, stream, ensure_ascii=False, indent=1)
        stream.write("\n")
    fresh.replace(file)


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
    }


def _named(named: Named) -> dict[str, Any]:
    return {"name": named.name, **_tally(named.tally)}


def _tally(tally: Tally) -> dict[str, Any]:
    interval = tally.interval
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
    }
