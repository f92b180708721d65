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


def open_run(asked: argparse.Namespace) -> StoredRun:
    """The run that RUN names.

    Raises:
        UsageError: there is none.
    """
    return read_run(find_run(asked.out, asked.run_name).path)
