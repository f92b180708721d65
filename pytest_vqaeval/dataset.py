"""A benchmark's data as a whole: all its samples, and the archive of their media."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_vqaeval.archive import Archive, media_roots
from pytest_vqaeval.data import Data
from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.vlmevalkit import link_pictures
from pytest_vqaeval.parquet import Remote
from pytest_vqaeval.records import Record, read_records
from pytest_vqaeval.sample import Sample, build_samples
from pytest_vqaeval.spec import Spec


def read_samples(spec: Spec, files: Iterable[tuple[str | None, Path | Remote]]) -> list[Sample]:
    """All samples of a benchmark.

    Args:
        spec: the benchmark.
        files: its files of records, each with its subset (None: the record says it).

    Raises:
        DataError: a file is absent, broken as a whole or empty, or no record belongs to the benchmark.
        MissingExtra: a file can't be read without an extra.
    """
    records = list(_records(spec, files))
    if not records:  # a file without any is an error before
        wanted = ", ".join(f"{field}: {' or '.join(values)}" for field, values in spec.where.items())
        raise DataError(f"where: no record has {wanted}")
    return list(build_samples(spec, records))


def _records(spec: Spec, files: Iterable[tuple[str | None, Path | Remote]]) -> Iterator[tuple[str | None, Record]]:
    before = 0
    for subset, file in files:
        records = read_records(file, spec.records.columns)
        if subset is None and before:
            records = [replace(record, before=before) for record in records]
        before += len(records) if subset is None else 0
        if _is_table(spec):
            records = link_pictures(records)
        for record in records:
            if record.problem:
                yield subset, record
            elif problem := spec.problem_with(record.row):
                yield subset, replace(record, problem=problem)
            elif spec.keeps(record.row):
                yield subset, record


def open_archive(spec: Spec, data: Data, started_in: Path, roots: Sequence[Path]) -> Archive:
    """The media of a benchmark.

    Args:
        spec: the benchmark.
        data: its files.
        started_in: the folder that relative paths may also be relative to.
        roots: the media roots of the run; the spec's own, and VLMEvalKit's, come after them.
    """
    places = media_roots((*roots, *spec.media_roots))
    if _is_table(spec):  # where VLMEvalKit keeps the pictures of a table
        places += tuple(root / "images" / spec.path.stem for root in places)
    return Archive(data.folder, started_in=started_in, roots=places, data=data)


def _is_table(spec: Spec) -> bool:
    return spec.sample.format.startswith("vlmevalkit")
