"""The arguments by which commands name runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_vqaeval.store import StoredRun, find_run, read_run


def add_run_argument(parser: argparse.ArgumentParser) -> None:
    """RUN and `--out`."""
    parser.add_argument(
        "run_name", metavar="RUN", nargs="?", default="latest", help="folder of a run, its name, or latest"
    )
    add_out_option(parser)


def add_out_option(parser: argparse.ArgumentParser) -> None:
    """`--out`: where runs are looked for by name."""
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path(".vqaeval"),
        help="folder of the run folders (default: .vqaeval)",
    )


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """`--data` and `--media-root`: for runs whose data has moved, or came from another machine."""
    parser.add_argument("--data", metavar="DIR", type=Path, help="folder that holds the benchmarks' data folders")
    parser.add_argument(
        "--media-root", metavar="DIR", type=Path, action="append", default=[], help="further folder of media"
    )


def open_run(asked: argparse.Namespace) -> StoredRun:
    """The run that RUN names.

    Raises:
        UsageError: there is none.
    """
    return read_run(find_run(asked.out, asked.run_name).path)
