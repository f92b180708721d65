"""`html RUN…`: the page of one run, or of several to compare."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_vqaeval.commands.runs import add_data_options, add_out_option
from pytest_vqaeval.reports.page import write_page
from pytest_vqaeval.store import find_run, read_run

ABOUT = "write the page of a run: all samples with pictures, in one HTML file"


def arguments(parser: argparse.ArgumentParser) -> None:
    """RUN…, `-o FILE`, and where data is."""
    parser.add_argument(
        "runs",
        metavar="RUN",
        nargs="*",
        default=["latest"],
        help="folder of a run, its name, or latest; of two, the first is what the second is compared with",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, default=Path("vqa.html"), help="the page (default: vqa.html)"
    )
    add_out_option(parser)
    add_data_options(parser)


def run(asked: argparse.Namespace) -> int:
    """Write the page.

    Raises:
        UsageError: there is no such run.
        MissingExtra: Jinja2 is not installed.
        StoreError: the file can't be written.
    """
    runs = [read_run(find_run(asked.out, name).path) for name in asked.runs]
    write_page(asked.output, runs, asked.data, asked.media_root)
    print(f"{asked.output}: {asked.output.stat().st_size / 1e6:.1f} MB")
    return 0
