"""The cards of the shipped benchmarks in docs/benchmarks; `python -m tests.cards` writes them all anew."""

import contextlib
import io
import os
import tempfile
from pathlib import Path

from pytest_vqaeval.__main__ import main
from pytest_vqaeval.shipped import known_benchmarks
from tests.realdata import ROOT

DOCS = ROOT / "docs" / "benchmarks"
STAND_INS = ("pmc_vqa", "ai2d")
"""Of these the first rows are at hand, with pictures that stand in for the real ones: which are not described."""


def shipped() -> list[str]:
    """The names of the shipped benchmarks."""
    return sorted(known_benchmarks(ROOT))


def arguments(name: str, data: Path) -> list[str]:
    """What `describe` is asked for the card in the docs."""
    return ["describe", name, "--markdown", "--data", str(data), *(["--no-pictures"] if name in STAND_INS else [])]


def write_all() -> None:
    """Write all cards."""
    data = (ROOT / os.environ.get("VQA_REAL_DATA", "../shared/data")).resolve()
    with tempfile.TemporaryDirectory() as empty:
        os.environ["VQA_CACHE"] = empty
        for name in shipped():
            with contextlib.redirect_stdout(io.StringIO()) as card:
                main(arguments(name, data))
            DOCS.joinpath(f"{name}.md").write_text(card.getvalue(), encoding="utf-8")


if __name__ == "__main__":
    write_all()
