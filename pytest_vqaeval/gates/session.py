"""All gates of a session together: what each is about, and Holm's correction over those with a p-value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_vqaeval.baselinefile import read_scores
from pytest_vqaeval.comparison import Comparison
from pytest_vqaeval.errors import UsageError, VqaError
from pytest_vqaeval.gates.base import Finding, GateResult, Part, Verdict
from pytest_vqaeval.gates.baseline import Baseline
from pytest_vqaeval.gates.limit import MaxErrors
from pytest_vqaeval.gates.written import Rule, rule_from_json
from pytest_vqaeval.results import Identity
from pytest_vqaeval.scores import Scores
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.stats import holm
from pytest_vqaeval.summary import About, BenchmarkReport, Summary
from pytest_vqaeval.tally import Tally
from pytest_vqaeval.templates import nearest

ReadBaseline = Callable[[str], Sequence[Scores]]
"""The scores in a baseline file or a run, by its name; raises VqaError."""


def judge(
    summary: Summary,
    rules: Iterable[Rule],
    read_baseline: ReadBaseline = lambda source: (),
    generation: Mapping[str, Any] | None = None,
) -> list[GateResult]:
    """Judge a run by all its gates, in their order.

    Args:
        summary: the run.
        rules: the gates.
        read_baseline: reads what `Baseline` gates name.
        generation: the run's generation parameters.
    """
    cases = [(rule, part) for rule in rules for part in _parts(rule, summary)]
    found = [_look(rule, part, read_baseline, generation or {}) for rule, part in cases]
    compared = [(rule, seen) for (rule, _), seen in zip(cases, found, strict=True) if isinstance(seen, Comparison)]
    best, worst = (
        iter(holm([seen.p(missing, rule.margin) for rule, seen in compared if isinstance(rule, Baseline)]))
        for missing in ("best", "worst")
    )
    results = []
    for (rule, part), seen in zip(cases, found, strict=True):
        if isinstance(seen, Comparison) and isinstance(rule, Baseline):
            seen = rule.judge(seen, next(best), next(worst), len(compared))
        assert isinstance(seen, Finding)
        results.append(
            GateResult(
                part.benchmark,
                part.model,
                rule.name,
                seen.verdict,
                seen.said,
                part.name,
                seen.numbers,
                seen.notes,
                seen.worse,
            )
        )
    return results


def _look(rule: Rule, part: Part, read_baseline: ReadBaseline, generation: Mapping[str, Any]) -> Finding | Comparison:
    """What the rule says, or the comparison that waits for the p-values of all others."""
    if part.problem:
        return Finding(Verdict.INCONCLUSIVE, part.problem)
    if not isinstance(rule, Baseline):
        return rule.judge(part)
    try:
        return rule.compare(part, read_baseline(rule.source), generation)
    except VqaError as error:
        return Finding(Verdict.INCONCLUSIVE, str(error))


def _parts(rule: Rule, summary: Summary) -> Iterator[Part]:
    """What a gate is about, once for each model. A gate that is about nothing can't pass."""
    reports = [report for report in summary.benchmarks if _concerns(rule.scope, report.name)]
    for report in reports:
        yield _part(report, (rule.scope or report.name)[len(report.name) + 1 :])
    if not reports:
        others = ", ".join(dict.fromkeys(report.name for report in summary.benchmarks))
        problem = "no sample was selected" + (f"; there are {others}" if others else "")
        yield Part(rule.scope or "any benchmark", "", "", Tally([]), 0, problem=problem)


def _concerns(scope: str | None, benchmark: str) -> bool:
    return scope is None or scope == benchmark or scope.startswith(f"{benchmark}/")


def _part(report: BenchmarkReport, name: str) -> Part:
    about = report.about
    if not name:
        return Part(report.name, report.model, "", report.overall, about.collected, about)
    tally = report.part(name)
    problem = ""
    if tally is None and name not in about.sizes:
        problem = f"there is no part {name!r}{nearest(name, tuple(about.sizes))}; there are {', '.join(about.sizes)}"
    size = about.sizes.get(name, tally.samples if tally else 0)
    return Part(report.name, report.model, name, tally or Tally([]), size, about, problem)


@dataclass(frozen=True)
class GateSettings:
    """What the options say of gates.

    Attributes:
        rules: all but those on baselines.
        baselines: the contents of the baselines, by name. They take the place of those that specs name.
        alpha: goes before that of specs.
        margin: goes before that of specs.
        out: where runs are looked for by name.
    """

    rules: Sequence[Rule]
    baselines: Mapping[str, Sequence[Scores]]
    alpha: float | None
    margin: float | None
    out: Path

    @classmethod
    def read(
        cls, rules: Sequence[Rule], baselines: Sequence[str], alpha: float | None, margin: float | None, out: Path
    ) -> GateSettings:
        """Read the baselines now: a mistake in them is one of the command line.

        Args:
            rules: see the class.
            baselines: their names.
            alpha: see the class.
            margin: see the class.
            out: where runs are looked for by name.

        Raises:
            UsageError: one is not there, or can't be used.
        """
        try:
            read = {name: read_scores(name, out) for name in baselines}
        except UsageError as error:
            raise UsageError(f"--vqa-baseline: {error}") from None
        return cls(rules, read, alpha, margin, out)


def judge_session(summary: Summary, settings: GateSettings, generation: Mapping[str, Any]) -> list[GateResult]:
    """Judge a run by the gates of its options and its specs."""
    abouts = {report.name: report.about for report in summary.benchmarks}
    rules = rules_of_session(settings, abouts.values())

    def read(name: str) -> Sequence[Scores]:
        return settings.baselines.get(name) or read_scores(name, settings.out)

    return judge(summary, rules, read, generation)


def allowed_errors(summary: Summary, gates: Iterable[GateResult]) -> set[Identity]:
    """The errors that a passed `max_errors` gate speaks for: they alone don't fail the run."""
    passed = {
        (gate.benchmark, gate.model, gate.part)
        for gate in gates
        if gate.rule.startswith(MaxErrors.kind) and gate.verdict is Verdict.PASS
    }
    return {
        result.identity
        for report in summary.benchmarks
        for benchmark, model, part in passed
        if (benchmark, model) == (report.name, report.model)
        for result in ((report.part(part) if part else report.overall) or Tally([])).results
        if result.outcome is Outcome.ERROR
    }


def rules_of_session(settings: GateSettings, abouts: Iterable[About]) -> list[Rule]:
    """The gates of the options, then those of the specs that ran, then those on baselines."""
    of_specs = [rule_from_json(row) for about in abouts for row in about.gates]
    own = [rule for rule in of_specs if isinstance(rule, Baseline)]
    found, replaced = [], set()
    for source, scores in settings.baselines.items():
        for benchmark in dict.fromkeys(old.benchmark for old in scores):
            fitting = [rule for rule in own if _concerns(rule.scope, benchmark)]
            found += [replace(rule, source=source) for rule in fitting or [Baseline(source, benchmark)]]
            replaced |= set(fitting)
    found += [rule for rule in own if rule not in replaced]
    baselines = [
        replace(
            rule,
            alpha=rule.alpha if settings.alpha is None else settings.alpha,
            margin=rule.margin if settings.margin is None else settings.margin,
        )
        for rule in found
    ]
    return [*settings.rules, *(rule for rule in of_specs if not isinstance(rule, Baseline)), *baselines]
