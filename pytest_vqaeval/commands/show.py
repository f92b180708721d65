"""`show RUN`: the tables of a run that is over."""

from __future__ import annotations

import argparse
import json
import sys

from pytest_vqaeval.commands.runs import add_run_argument, open_run
from pytest_vqaeval.reports import json as json_report
from pytest_vqaeval.reports.terminal import by_benchmark

ABOUT = "print the tables of a run"


def arguments(parser: argparse.ArgumentParser) -> None:
    """RUN and `--json`."""
    add_run_argument(parser)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def run(asked: argparse.Namespace) -> int:
    """Print the tables.

    Raises:
        UsageError: there is no such run.
    """
    stored = open_run(asked)
    summary = stored.summary()
    if asked.json:
        report = json_report.build(summary, [], stored.header, stored.header.get("exit_code", 0))
        json.dump(report, sys.stdout, ensure_ascii=False, indent=1)
        print()
    else:
        for title, lines in by_benchmark(summary):
            print(f"== {title}", *lines, "", sep="\n")
    return 0
