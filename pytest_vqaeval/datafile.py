"""A data file without a spec is a benchmark by itself: how its questions are written is told from its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_vqaeval.errors import DataError, MissingExtra, UsageError
from pytest_vqaeval.formats.recognise import Format, recognise
from pytest_vqaeval.formats.vlmevalkit import CATEGORY_COLUMNS
from pytest_vqaeval.names import file_names
from pytest_vqaeval.records import Record, read_records
from pytest_vqaeval.samplerule import SampleRule
from pytest_vqaeval.scorerule import ScoreRule
from pytest_vqaeval.spec import DataSource, RecordFiles, Spec
from pytest_vqaeval.templates import parse

_ID_COLUMNS = ("id", "index", "qid")


@dataclass(frozen=True)
class DataFile:
    """A data file that was recognised.

    Attributes:
        spec: the benchmark that it is.
        about: what was recognised, for the header.
    """

    spec: Spec
    about: str


def read_data_files(files: Sequence[Path]) -> dict[Path, DataFile]:
    """The benchmarks that some data files are.

    Raises:
        UsageError: a file can't be read, or no format has its columns.
    """
    return {file: _read(file, name) for file, name in zip(files, file_names(files), strict=True)}


def _read(file: Path, name: str) -> DataFile:
    try:
        records = read_records(file)
        usable = [record for record in records if not record.problem]
        if not usable:
            place = file.parent / records[0].where
            raise DataError(f"{place}: {records[0].problem} (none of the {len(records):,} records can be read)")
        known = recognise((record.row for record in usable), str(file))
    except (DataError, MissingExtra) as error:
        raise UsageError(str(error)) from None
    shown = file.name if name == file.stem else name
    about = f"{shown} is {known.title}: {len(records):,} records, scored by {known.scorer}"
    return DataFile(_spec(file, name, shown, known, usable), about)


def _spec(file: Path, name: str, shown: str, known: Format, records: Sequence[Record]) -> Spec:
    id_column = next((column for column in _ID_COLUMNS if any(column in record.row for record in records)), "row")
    return Spec(
        path=file,
        name=name,
        title=f"{shown} ({known.title})",
        data=DataSource(),
        records=RecordFiles(((None, file.name),)),
        sample=SampleRule(id=parse(f"{{{id_column}}}"), format=known.name),
        prompt=None,
        groups=tuple(column for column in CATEGORY_COLUMNS if any(record.row.get(column) for record in records)),
        score=ScoreRule(known.scorer, known.options, str(file)),
    )
