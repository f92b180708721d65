"""The gate `baseline`: the run must not be significantly worse than an earlier one on the same samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pytest_vqaeval.comparison import POWER, Comparison
from pytest_vqaeval.gates.base import ALPHA, Finding, Part, Verdict
from pytest_vqaeval.scores import Key, Scores, scores_of
from pytest_vqaeval.stats import least_moved

_TOLERATED = 0.01  # without a margin: a fall up to here, of too few clusters for any verdict, passes
_WORST_NAMED = 10


@dataclass(frozen=True)
class Baseline:
    """Fails if the run is worse than the baseline, by more than `margin`, at the level `alpha` (Holm over all gates).

    Attributes:
        source: a baseline file, or a run.
        margin: how much may be lost, as a score from 0 to 1.
    """

    source: str
    scope: str | None = None
    alpha: float = ALPHA
    margin: float = 0.0
    kind: ClassVar[str] = "baseline"

    @property
    def name(self) -> str:
        """The rule in words."""
        return f"baseline, {f'margin {self.margin:g}, ' if self.margin else ''}alpha {self.alpha:g}"

    def compare(self, part: Part, old: Sequence[Scores], generation: Mapping[str, Any]) -> Comparison | Finding:
        """The comparison to be judged, or why there is none."""
        assert part.about is not None
        candidates = [scores for scores in old if scores.benchmark == part.benchmark]
        if len(candidates) > 1:
            candidates = [scores for scores in candidates if scores.model == part.model]
        if len(candidates) != 1:
            models = ", ".join(scores.model for scores in old if scores.benchmark == part.benchmark) or "nothing"
            return Finding(Verdict.INCONCLUSIVE, f"the baseline has {models} of {part.benchmark}")
        new = scores_of(part.about, part.model, part.tally.results, source="", generation=generation)
        if why := new.incomparable(candidates[0]):
            return Finding(Verdict.INCONCLUSIVE, f"{why}; --vqa-save-baseline saves a new baseline")
        keys: list[Key] = list(new.samples)
        repeats = max(1, new.repeats)
        comparison = Comparison(candidates[0], new, keys=keys, deselected=part.deselected // repeats)
        if not comparison.samples:
            return Finding(Verdict.INCONCLUSIVE, f"no sample has a score in both (of {part.size // repeats:,})")
        return comparison

    def judge(self, comparison: Comparison, p_best: float, p_worst: float, gates: int) -> Finding:
        """The verdict.

        Args:
            comparison: what `compare` returned.
            p_best: Holm's adjusted p-value if all missing samples were in favour of the run.
            p_worst: the same if all were against it.
            gates: how many comparisons the session judges.
        """
        alpha = self.alpha / gates
        visible = comparison.visible_drop(alpha, self.margin)
        verdict, why = self._verdict(comparison, p_best, p_worst, alpha, visible)
        said = [_difference(comparison), _p_values(p_best, p_worst, gates), *([why] if why else [])]
        if visible is not None:
            said.append(f"sees a drop of {visible:.4f} ({100 * POWER:.0f} % power)")
        changes = comparison.new.changes(comparison.old)
        return Finding(
            verdict,
            ", ".join(said),
            _numbers(comparison, p_best, p_worst, visible),
            [f"compared: {'; '.join(changes)}"] if changes else [],
            [change.nodeid for change in comparison.worse[:_WORST_NAMED]],
        )

    def _verdict(
        self, comparison: Comparison, p_best: float, p_worst: float, alpha: float, visible: float | None
    ) -> tuple[Verdict, str]:
        """The verdict, and why, where the numbers alone don't say it."""
        fails = {p_best <= self.alpha, p_worst <= self.alpha}
        if fails == {True}:
            return Verdict.FAIL, ""
        if len(fails) > 1:
            return Verdict.INCONCLUSIVE, f"the {comparison.missing:,} missing decide"
        if visible is None:
            return Verdict.INCONCLUSIVE, f"no drop can be seen with {comparison.clusters:,} clusters"
        fell = comparison.difference < -(self.margin or _TOLERATED)
        if fell and comparison.moved < least_moved(alpha):
            return Verdict.INCONCLUSIVE, f"{comparison.moved} moved clusters are too few to tell this from luck"
        return Verdict.PASS, ""


def _difference(comparison: Comparison) -> str:
    between = comparison.interval
    interval = f" (95 % {between.low:+.4f} to {between.high:+.4f})" if between else ""
    before, now = comparison.old_mean or 0.0, comparison.new_mean or 0.0
    return f"{now:.4f} of {comparison.samples:,}, before {before:.4f}: {comparison.difference:+.4f}{interval}"


def _p_values(p_best: float, p_worst: float, gates: int) -> str:
    said = f"p {p_worst:.2g}" if p_best == p_worst else f"p {p_worst:.2g} to {p_best:.2g} by what is missing"
    return f"{said} (Holm, {gates} gates)" if gates > 1 else said


def _numbers(comparison: Comparison, p_best: float, p_worst: float, visible: float | None) -> dict[str, Any]:
    interval = comparison.interval
    return {
        "samples": comparison.samples,
        "missing": comparison.missing,
        "score": comparison.new_mean,
        "baseline": comparison.old_mean,
        "difference": comparison.difference,
        "ci": [interval.low, interval.high] if interval else None,
        "p": [p_worst, p_best],
        "worse": len(comparison.worse),
        "better": len(comparison.better),
        "visible_drop": visible,
    }
