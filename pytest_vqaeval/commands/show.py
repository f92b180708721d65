"""`show RUN`: the tables of a run that is over."""

from __future__ import annotations

import argparse
import json
import sys

from pytest_vqaeval.commands.runs import add_run_argument, open_run
from pytest_vqaeval.gates import GateResult
from pytest_vqaeval.reports import json as json_report
from pytest_vqaeval.reports.terminal import by_benchmark, gate_lines

ABOUT = "print the tables of a run"


def arguments(parser: argparse.ArgumentParser) -> None:
    """RUN and `--json`."""
    add_run_argument(parser)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def run(asked: argparse.Namespace) -> int:
    """Print the tables and what the gates said.

    Raises:
        UsageError: there is no such run.
    """
    stored = open_run(asked)
    summary = stored.summary()
    gates = [GateResult.from_json(row) for row in stored.header.get("gates", [])]
    if asked.json:
        report = json_report.build(summary, gates, stored.header, stored.header.get("exit_code", 0))
        json.dump(report, sys.stdout, ensure_ascii=False, indent=1)
        print()
    else:
        for title, lines in by_benchmark(summary):
            print(f"== {title}", *lines, "", sep="\n")
        for gate in gates:
            print(*gate_lines(gate), sep="\n")
    return 0
