"""A stored run's benchmarks opened again: `samples.jsonl` holds no questions and no pictures, spec and data do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_vqaeval.archive import Archive
from pytest_vqaeval.data import Data
from pytest_vqaeval.datafile import read_data_files
from pytest_vqaeval.dataset import open_archive, read_samples
from pytest_vqaeval.errors import DataError, UsageError, VqaError
from pytest_vqaeval.hub import Hub, record_files
from pytest_vqaeval.question import Question
from pytest_vqaeval.results import Result
from pytest_vqaeval.sample import Sample
from pytest_vqaeval.shipped import shipped_folder
from pytest_vqaeval.spec import SUFFIX, Spec, read_spec
from pytest_vqaeval.store import StoredRun
from pytest_vqaeval.summary import About


@dataclass(frozen=True)
class _Benchmark:
    """A benchmark that could be opened again."""

    samples: dict[tuple[str, str], Sample]  # by subset and id
    archive: Archive
    data: Data


class Reopened:
    """The benchmarks of a run, opened again as far as their specs and data are still there. Nothing is downloaded.

    Attributes:
        problems: a line for each benchmark that could not be opened.
        changed: how many results are of a question whose references are other ones by now.
    """

    def __init__(self, run: StoredRun, data: Path | None = None, media_roots: Sequence[Path] = ()) -> None:
        """Read specs and records.

        Args:
            run: the stored run.
            data: `--vqa-data`, where the data has moved since.
            media_roots: further media roots.
        """
        self.problems: list[str] = []
        self.changed = 0
        self._run, self._data, self._roots = run, data, tuple(media_roots)
        self._opened: dict[str, _Benchmark] = {}
        for about in run.abouts:
            try:
                self._opened[about.name] = self._open(about)
            except VqaError as error:
                self.problems.append(f"{about.name}: questions and pictures can't be read again: {error}")

    def sample(self, result: Result) -> Sample | None:
        """The sample that a result is of; None where it is not there, or has other references by now."""
        opened = self._opened.get(result.benchmark)
        sample = opened.samples.get((result.subset, result.id)) if opened else None
        if sample is None or sample.problem:
            return None
        if result.outcome.answered and tuple(result.reference) != _references(sample):
            self.changed += 1
            return None
        return replace(sample, repeat=result.repeat)

    def question(self, result: Result) -> Question | None:
        """What was asked; None where that can't be told any more."""
        sample = self.sample(result)
        try:
            return sample.question() if sample else None
        except DataError:
            return None

    def archive(self, benchmark: str) -> Archive:
        """The media of a benchmark of which there are samples."""
        return self._opened[benchmark].archive

    def close(self) -> None:
        """Close the archives."""
        for opened in self._opened.values():
            opened.archive.close()
            opened.data.close()

    def _open(self, about: About) -> _Benchmark:
        if about.source is None:
            raise UsageError("the run does not say where they were")
        spec = self._spec(self._path(about.source.spec), about.name)
        noted = about.source.data and self._path(about.source.data)
        hub = Hub(self._data or (noted if noted and noted.is_dir() else None), offline=True)
        data = hub.open(spec)
        roots = (*self._roots, *(self._path(root) for root in about.source.media_roots))
        samples = {(sample.subset, sample.id): sample for sample in read_samples(spec, record_files(spec, data))}
        return _Benchmark(samples, open_archive(spec, data, self._run.started_in, roots), data)

    def _path(self, relative: str) -> Path:
        """A path of the run: relative to the folder that pytest was started in."""
        return Path(os.path.normpath(self._run.started_in / relative))

    def _spec(self, path: Path, name: str) -> Spec:
        if not path.name.endswith(SUFFIX):
            return replace(read_data_files([path])[path].spec, name=name)
        if not path.is_file() and (shipped_folder() / path.name).is_file():  # the run came from another machine
            path = shipped_folder() / path.name
        return read_spec(path)


def _references(sample: Sample) -> tuple[str, ...]:
    try:
        return sample.question().references
    except DataError:
        return ()
