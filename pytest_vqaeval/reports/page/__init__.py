"""The page of a run: one HTML file that needs no network, `--vqa-html FILE` and `python -m pytest_vqaeval html`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_vqaeval.errors import StoreError
from pytest_vqaeval.reopened import Reopened
from pytest_vqaeval.store import StoredRun, write_whole


def write_page(file: Path, runs: Sequence[StoredRun], data: Path | None = None, roots: Sequence[Path] = ()) -> None:
    """Write the page of one run or several, whole or not at all.

    Args:
        file: where.
        runs: the runs; of two, the first is the one that the other is compared with.
        data: `--vqa-data`, where the data of the runs has moved since.
        roots: further media roots.

    Raises:
        MissingExtra: Jinja2 is not installed.
        StoreError: the file can't be written.
    """
    from pytest_vqaeval.reports.page.render import render

    opened = [(run, Reopened(run, data, roots)) for run in runs]
    try:
        text = render(opened)
    finally:
        for _, benchmarks in opened:
            benchmarks.close()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{file} can't be written: {error.strerror}") from None
    write_whole(file, text)
