"""What a run prints about its judges: the rule's figure and the judged one side by side, and how they differ."""

from __future__ import annotations

from collections.abc import Iterator

from tabulate import tabulate

from pytest_vqaeval.judging.judgements import Judgements
from pytest_vqaeval.names import one_line
from pytest_vqaeval.reports.cells import percent, tally_cells
from pytest_vqaeval.summary import BenchmarkReport


def judge_lines(report: BenchmarkReport, judged: Judgements, prefix: str) -> Iterator[str]:
    """The lines below a benchmark's counts."""
    about = report.about.judge
    recall = about.get("strategy") == "llm_recall"
    prompt = about.get("prompt", {})
    yield f"{prefix}judged by {', '.join(map(one_line, about.get('models', ())))} ({about.get('strategy')}):"
    rule = report.overall.by_rule()
    final = report.overall
    names = ("strict (rule)", "recalled") if recall else ("rule", "judge")
    columns = ["answered" if rule.graded else "correct", report.metric]
    if final.graded != rule.graded:  # two measures in one column
        kinds = ["score" if tally.graded else "accuracy" for tally in (rule, final)]
        names, columns = (f"{names[0]}: {kinds[0]}", f"{names[1]}: {kinds[1]}"), ["", ""]
    rows = [[name, *tally_cells(tally, 1)] for name, tally in zip(names, (rule, final), strict=True)]
    table = tabulate(
        rows,
        ["", *columns, "95 % interval"],
        tablefmt="simple",
        disable_numparse=True,
        colalign=("left", *["right"] * 3),
    )
    yield from (f"  {line}" for line in table.split("\n"))
    yield f"  {_turned(judged, recall, graded=rule.graded or final.graded)}"
    if judged.not_judged and recall and not rule.graded:
        between = " to ".join(percent(bound) for bound in final.bounds)
        yield f"  too high: those not judged are all wrong by the rule; it lies at {between}"
    if recall:
        yield "  the recalled figure is not comparable with published ones"
    if judged.agreement is not None:
        kappa = "" if judged.kappa is None else f", Cohen's kappa {judged.kappa:.3f}"
        yield f"  the judges agree on {percent(judged.agreement)} of {judged.compared:,}{kappa}"
    yield f"  judge's prompt: version {prompt.get('version')}, {str(prompt.get('sha256'))[:16]}"


def _turned(judged: Judgements, recall: bool, graded: bool) -> str:
    seen = f"{judged.judged + judged.not_judged:,} {'re-checked' if recall else 'asked about'}"
    turned = [] if graded else [f"{judged.turned_right:,} turned right"]
    if not recall and not graded:
        turned.append(f"{judged.turned_wrong:,} turned wrong")
    return f"{seen}: {', '.join([*turned, f'{judged.not_judged:,} not judged'])}"
