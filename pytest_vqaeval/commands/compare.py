"""`compare RUN_OR_BASELINE…`: two or more runs on the same samples."""

from __future__ import annotations

import argparse
import json
import sys

from pytest_vqaeval.baselinefile import read_scores
from pytest_vqaeval.commands.runs import add_out_option
from pytest_vqaeval.comparison import by_benchmark
from pytest_vqaeval.errors import UsageError
from pytest_vqaeval.gates.base import ALPHA, read_alpha
from pytest_vqaeval.reports import comparison as report

ABOUT = "compare runs or baseline files on the same samples"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Runs, `--alpha`, `--show` and `--json`."""
    parser.add_argument(
        "runs", metavar="RUN_OR_BASELINE", nargs="+", help="run folder, its name, `latest`, or a baseline file"
    )
    add_out_option(parser)
    parser.add_argument("--alpha", default=str(ALPHA), metavar="A", help=f"level of the verdicts (default: {ALPHA})")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="samples listed on each side (default: 10)")
    parser.add_argument("--json", action="store_true", help="print all as JSON")


def run(asked: argparse.Namespace) -> int:
    """Print the comparison.

    Raises:
        UsageError: a run that is not there, or nothing to compare.
    """
    try:
        alpha = read_alpha(asked.alpha)
    except ValueError as error:
        raise UsageError(f"--alpha: {error}") from None
    found = [scores for name in asked.runs for scores in read_scores(name, asked.out)]
    groups = [runs for runs in by_benchmark(found).values() if len(runs) > 1]
    if not groups:
        names = ", ".join(dict.fromkeys(scores.benchmark for scores in found))
        raise UsageError(f"there is nothing to compare: no benchmark is there twice (found: {names})")
    compared = report.compare_all(groups, alpha)
    if asked.json:
        json.dump(report.build_json(compared, alpha), sys.stdout, ensure_ascii=False, indent=1)
        print()
    else:
        for group in compared:
            print(*report.lines(group, alpha, asked.show), "", sep="\n")
    return 0
