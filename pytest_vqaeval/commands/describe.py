"""`describe BENCHMARK|FILE`: the card of a benchmark."""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

from pytest_vqaeval.arguments import SUFFIXES
from pytest_vqaeval.card import make_card
from pytest_vqaeval.datafile import read_data_files
from pytest_vqaeval.errors import UsageError
from pytest_vqaeval.formats.placeholders import PlaceholderWarning
from pytest_vqaeval.reports.card import as_markdown, as_text
from pytest_vqaeval.shipped import SUFFIX, known_benchmarks
from pytest_vqaeval.spec import Spec, read_spec
from pytest_vqaeval.templates import nearest

ABOUT = "print the card of a benchmark or data file: what it is, its samples, prompts and pictures"


def arguments(parser: argparse.ArgumentParser) -> None:
    """BENCHMARK, and where its data is."""
    parser.add_argument("benchmark", metavar="BENCHMARK|FILE", help="a shipped benchmark, a *.vqa.yaml or a data file")
    parser.add_argument("--markdown", action="store_true", help="write Markdown")
    parser.add_argument(
        "--data",
        "--vqa-data",
        metavar="DIR",
        type=Path,
        help="folder that holds the benchmarks' data folders [env: VQA_DATA]",
    )
    parser.add_argument(
        "--media-root",
        "--vqa-media-root",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="further folder of media",
    )
    parser.add_argument("--no-pictures", action="store_true", help="count the pictures, but do not read them")


def run(asked: argparse.Namespace) -> int:
    """Print the card.

    Raises:
        UsageError: there is no such benchmark, or the data file can't be used.
        SpecError: the spec can't be used.
    """
    here = Path.cwd()
    own = os.environ.get("VQA_DATA")
    data = asked.data or (Path(own) if own else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlaceholderWarning)
        card = make_card(
            _spec(asked.benchmark, here),
            data.expanduser().absolute() if data else None,
            started_in=here,
            roots=[root.expanduser().absolute() for root in asked.media_root],
            look=not asked.no_pictures,
        )
    print((as_markdown if asked.markdown else as_text)(card), end="")
    return 0


def _spec(name: str, here: Path) -> Spec:
    path = here / name
    if name.endswith(SUFFIX) and path.is_file():
        return read_spec(path)
    if path.suffix.lower() in SUFFIXES and path.is_file():
        return read_data_files([path])[path].spec
    known = known_benchmarks(here)
    if name in known:
        return read_spec(known[name])
    raise UsageError(f"there is no benchmark or data file {name!r}{nearest(name, known)}; there are {', '.join(known)}")
