"""`merge RUN… -o DIR`: shards, or the pieces of a resumed run, become one run, and its gates are judged."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_vqaeval.commands.gateoptions import add_gate_options, read_gate_options
from pytest_vqaeval.commands.runs import add_out_option
from pytest_vqaeval.errors import StoreError, UsageError
from pytest_vqaeval.gates import Exit
from pytest_vqaeval.gates.keeper import Gatekeeper
from pytest_vqaeval.merge import Merged, merge, models_of
from pytest_vqaeval.reports import github
from pytest_vqaeval.reports import json as json_report
from pytest_vqaeval.reports.tables import by_benchmark
from pytest_vqaeval.reports.terminal import gate_lines
from pytest_vqaeval.results import WORKER_LOST
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.store import RunFolder, Selection, StoredRun, find_run, read_run
from pytest_vqaeval.summary import summarize

ABOUT = "put shards, or the pieces of a run, together and judge the gates"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Runs, the new folder, gates and `--json`."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="folder of a run, its name, or `latest`")
    parser.add_argument("-o", dest="folder", metavar="DIR", type=Path, required=True, help="folder of the new run")
    add_out_option(parser)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    add_gate_options(parser)


def run(asked: argparse.Namespace) -> int:
    """Write the new run folder, print its tables and gates.

    Raises:
        UsageError: a run that is not there, or runs that don't go together.
        StoreError: the folder can't be written.
    """
    keeper = read_gate_options(asked)
    runs = [read_run(find_run(asked.out, name).path) for name in asked.runs]
    merged = merge(runs)
    folder = _new_folder(asked.folder)
    summary = summarize(merged.abouts, merged.results)
    header = _header(runs)
    keeper.judge(summary, header["settings"].get("generation", {}))
    gates, saving = keeper.gates, keeper.saving
    code = _exit_code(merged, keeper)
    report = json_report.build(summary, gates, header, code)
    _write(folder, runs, merged, {**header, **{name: report[name] for name in ("benchmarks", "gates", "exit_code")}})
    github.append_summary(summary, gates)
    if asked.json:
        json.dump(report, sys.stdout, ensure_ascii=False, indent=1)
        print()
        if saving and not saving.done:
            print(saving.said, file=sys.stderr)
    else:
        for title, lines in by_benchmark(summary):
            print(f"== {title}", *lines, "", sep="\n")
        said = [line for gate in gates for line in gate_lines(gate)] + ([saving.said] if saving else [])
        print(*said, *github.error_lines(gates), f"run: {asked.folder}", sep="\n")
    return code


def _exit_code(merged: Merged, keeper: Gatekeeper) -> int:
    """As that of one run of all samples would have been."""
    outcomes = Counter(row.outcome for row in merged.results)
    wrong = sum(count for outcome, count in outcomes.items() if outcome.counts_wrong)
    errors = {row.identity for row in merged.results if row.outcome is Outcome.ERROR and row.error != WORKER_LOST}
    failures = wrong + outcomes[Outcome.ERROR]
    return keeper.exit_code(
        Exit.FAILED if failures else Exit.OK,
        failures=failures,
        wrong=wrong,
        errors=errors,
        stopped=False,
        unreached=outcomes[Outcome.NOT_RUN] > 0,
    )


_OF_ONE_RUN = ("schema", "started_in", "benchmarks", "gates", "exit_code", "seconds", "throttled_s")


def _header(runs: Sequence[StoredRun]) -> dict[str, Any]:
    first = {key: value for key, value in runs[0].header.items() if key not in _OF_ONE_RUN}
    return {
        **first,
        "started": min(str(run.header.get("started")) for run in runs),
        "ended": max(str(run.header.get("ended")) for run in runs),
        "models": models_of(runs),
        "served": {label: served for run in runs for label, served in run.header.get("served", {}).items()},
        "settings": {**first.get("settings", {}), "shard": None},
        "merged": [run.path.name for run in runs],
    }


def _new_folder(folder: Path) -> RunFolder:
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        raise UsageError(f"-o: {folder} is there already") from None
    except OSError as error:
        raise StoreError(f"-o: {folder} can't be written: {error.strerror}") from None
    return RunFolder(folder)


def _write(new: RunFolder, runs: Sequence[StoredRun], merged: Merged, header: dict[str, Any]) -> None:
    """The new folder's files, with all replies of the old ones, so that it can be resumed too."""
    new.write_selection(Selection(list(merged.abouts), [row.not_run() for row in merged.results]))
    for row in merged.results:
        if row.outcome is not Outcome.NOT_RUN:
            new.add_result(row)
    for number, old in enumerate(runs, 1):
        for file in old.path.glob("replies-*.jsonl"):
            shutil.copy2(file, new.path / f"replies-{number}-{file.name.removeprefix('replies-')}")
    new.write_header({**header, "started_in": os.path.relpath(runs[0].started_in, new.path)})
    new.close()
