"""`show RUN`: the tables of a run that is over, some of its samples, or one of them in full."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable

from pytest_vqaeval.commands.runs import add_data_options, add_run_argument, open_run
from pytest_vqaeval.gates import GateResult
from pytest_vqaeval.reopened import Reopened
from pytest_vqaeval.reports import curl
from pytest_vqaeval.reports import json as json_report
from pytest_vqaeval.reports.block import explain, place_of
from pytest_vqaeval.reports.listing import Wanted, confusion_lines, find, listing
from pytest_vqaeval.reports.tables import by_benchmark
from pytest_vqaeval.reports.terminal import gate_lines
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.store import StoredRun

ABOUT = "print the tables of a run, some of its samples, or one sample in full"


def arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, ID, filters, and what is shown."""
    add_run_argument(parser)
    parser.add_argument("sample", metavar="ID", nargs="?", help="a sample: ID, SUBSET[ID] or BENCHMARK::SUBSET[ID]")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    known = [outcome.value for outcome in Outcome]
    parser.add_argument("--outcome", action="append", default=[], choices=known, help="list samples of this outcome")
    for field in ("benchmark", "subset", "category", "model"):
        parser.add_argument(f"--{field}", action="append", default=[], help=f"list samples of this {field}")
    parser.add_argument("--limit", metavar="N", type=_count, default=20, help="list at most N samples (default: 20)")
    parser.add_argument("--confusion", action="store_true", help="references against answers, where they are few")
    parser.add_argument(
        "--requests", metavar="ID", help="write the request of a sample, and print the curl that sends it"
    )
    add_data_options(parser)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def run(asked: argparse.Namespace) -> int:
    """Print what was asked for.

    Raises:
        UsageError: there is no such run, sample or subset.
        VqaError: a request can't be put together again.
    """
    stored = open_run(asked)
    gates = [GateResult.from_json(row) for row in stored.header.get("gates", [])]
    wanted = Wanted(asked.outcome, asked.benchmark, asked.subset, asked.category, asked.model)
    results = wanted.of(stored.results)
    if asked.json:
        report = json_report.build(stored.summary(), gates, stored.header, stored.header.get("exit_code", 0))
        json.dump(report, sys.stdout, ensure_ascii=False, indent=1)
        print()
    elif asked.confusion:
        lines = list(confusion_lines(results))
        print(*(lines or ["no subset has so few references that a table would say something"]), sep="\n")
    elif asked.requests or asked.sample or wanted != Wanted([], [], [], [], []):
        opened = Reopened(stored, asked.data, asked.media_root)
        try:
            _print_samples(asked, stored, results, opened)
        finally:
            opened.close()
    else:
        for title, lines in by_benchmark(stored.summary()):
            print(f"== {title}", *lines, "", sep="\n")
        for gate in gates:
            print(*gate_lines(gate), sep="\n")
    return 0


def _print_samples(asked: argparse.Namespace, stored: StoredRun, results: list[Result], opened: Reopened) -> None:
    if asked.requests:
        _print_requests(stored, find(results, asked.requests), opened)
    elif asked.sample:
        _print_blocks(find(results, asked.sample), opened)
    else:
        print(*listing(results[: asked.limit], opened), sep="\n")
        if len(results) > asked.limit:
            print(f"{asked.limit:,} of {len(results):,} (--limit N shows more; `show RUN ID` shows one in full)")
    print(*opened.problems, sep="\n", end="\n" if opened.problems else "", file=sys.stderr)


def _print_blocks(results: Iterable[Result], opened: Reopened) -> None:
    for result in results:
        sample = opened.sample(result)
        print(f"== {result.nodeid}: {result.model}")
        print(explain(result, opened.question(result), where=place_of(sample) if sample else ""), end="\n\n")


def _print_requests(stored: StoredRun, results: list[Result], opened: Reopened) -> None:
    for result in results:
        request = curl.rebuild(stored, opened, result)
        if not request.same:
            print(
                f"{result.nodeid}: not the request that was answered: data, a hook or the way of asking has changed"
                if result.request_key
                else f"{result.nodeid}: it was never answered, so nothing says whether this is what was sent",
                file=sys.stderr,
            )
        print(curl.command(stored, request, curl.write_body(stored, result, request)))
