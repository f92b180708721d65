"""What the reports must know of a benchmark, gathered by the process that collected it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_vqaeval.archive import media_roots
from pytest_vqaeval.errors import DataError
from pytest_vqaeval.fingerprint import archives, fingerprint
from pytest_vqaeval.gates.base import field_of
from pytest_vqaeval.gates.written import rule_to_json
from pytest_vqaeval.sample import Sample
from pytest_vqaeval.spec import Spec
from pytest_vqaeval.summary import NO_VALUE, About, Source

if TYPE_CHECKING:
    from pytest_vqaeval.evaluation import Evaluation


def about(spec: Spec, subsets: Sequence[str], samples: Sequence[Sample], evaluation: Evaluation) -> About:
    """What is known when a benchmark is collected.

    Args:
        spec: the benchmark.
        subsets: in the order of the tables.
        samples: all of them, selected or not, each once.
        evaluation: of the process.
    """
    settings, panel = evaluation.settings, evaluation.named_panel(spec)
    of_gates = (field_of(rule.scope, spec.name) for rule in (*settings.gates, *spec.gates))
    asked_for = [name for name in (*settings.group, *of_gates) if name]
    known = [name for name in asked_for if any(sample.fields([name]) for sample in samples)]
    own = () if settings.group else spec.groups
    return About(
        name=spec.name,
        title=spec.title,
        scorer=spec.score.scorer,
        collected=len(samples) * settings.repeats,
        subsets=subsets,
        categories=tuple(spec.categories),
        groups=tuple(dict.fromkeys([*own, *known])),
        judge=panel.to_json() if panel else {},
        metrics=[[metric.name, metric.kind] for metric, _ in spec.metrics],
        gates=[rule_to_json(rule) for rule in spec.gates],
        source=_source(spec, evaluation),
    )


def complete(about: About, samples: Sequence[Sample], evaluation: Evaluation) -> About:
    """Add what takes a look at every sample of the benchmark, and at its files."""
    spec = samples[0].spec
    sizes = {part: n * evaluation.settings.repeats for part, n in _sizes(samples, about.groups).items()}
    panel, scorer = evaluation.named_panel(spec), evaluation.scorer(spec)
    facts = fingerprint(spec, samples, scorer, lambda name: evaluation.archive(spec).fingerprint(name), panel)
    return replace(about, sizes=sizes, fingerprint=facts, files=_files(spec, evaluation))


def _source(spec: Spec, evaluation: Evaluation) -> Source:
    """Where the benchmark was read from, so that its questions can be read again when the run is over."""

    def shown(path: Path) -> str:
        return os.path.relpath(path, evaluation.started_in)

    data, roots = evaluation.settings.data, media_roots(evaluation.settings.media_root)
    return Source(shown(spec.path), shown(data) if data else None, tuple(map(shown, roots)))


def _files(spec: Spec, evaluation: Evaluation) -> dict[str, dict[str, int | str]]:
    """The benchmark's records and archives, as a run's header names them."""
    try:
        data = evaluation.data(spec)
    except DataError:
        return {}  # each sample says so
    names = [name for _, pattern in spec.records.files for name in data.names(pattern)]
    facts = {
        name: data.facts(name, lambda zip_name: evaluation.archive(spec).fingerprint(zip_name))
        for name in dict.fromkeys([*names, *archives(spec)])
    }
    return {name: known for name, known in facts.items() if known}


def _sizes(samples: Sequence[Sample], groups: Sequence[str]) -> dict[str, int]:
    """How many samples each part of a benchmark has, by the names that `BenchmarkReport.part` knows."""
    subsets = Counter(sample.subset for sample in samples)
    categories = Counter(sample.category for sample in samples if sample.category is not None)
    fields = (sample.fields(groups) for sample in samples)
    values = Counter(f"{name}:{row.get(name, NO_VALUE)}" for row in fields for name in groups)
    return {**values, **categories, **subsets}
