"""Where a benchmark's data comes from: `--vqa-data`, the cache, or the hubs that publish it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_vqaeval.data import Data
from pytest_vqaeval.errors import DataError
from pytest_vqaeval.names import file_names
from pytest_vqaeval.remote.lockfile import LockFile
from pytest_vqaeval.remote.progress import Progress
from pytest_vqaeval.spec import Spec

if TYPE_CHECKING:
    from pytest_vqaeval.remote.connection import Connection
    from pytest_vqaeval.remote.ranges import RangeFile


def cache_folder() -> Path:
    """Folder of the data that was fetched: `VQA_CACHE`, else `pytest-vqaeval` under the user's cache folder."""
    if own := os.environ.get("VQA_CACHE"):
        return Path(own).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().absolute() / "pytest-vqaeval"


class Hub:
    """Finds the files of benchmarks and fetches what is published. Safe to use from several threads."""

    def __init__(
        self, data: Path | None = None, *, offline: bool = False, whole: bool = False, progress: Progress | None = None
    ) -> None:
        """Nothing is looked for yet.

        Args:
            data: the folder of `--vqa-data`, which holds one folder per benchmark.
            offline: the network is never used.
            whole: everything is fetched whole, and before it is needed.
            progress: tells of downloads.
        """
        self.data, self.offline, self.whole = data, offline, whole
        self.cache = cache_folder()
        self.lock = LockFile(self.cache / "lock.json")
        self.progress = progress or Progress(None)
        self._connected = False

    @cached_property
    def connection(self) -> Connection | None:
        """The connections of this process; None where the network must not be used."""
        if self.offline:
            return None
        from pytest_vqaeval.remote.connection import Connection

        self._connected = True
        return Connection()

    def open(self, spec: Spec) -> Data:
        """The files of a benchmark.

        Raises:
            DataError: they are nowhere; the message lists where they were looked for, and how to mend it.
        """
        if spec.data.package:
            return Data(self, spec, (_package_folder(spec, spec.data.package),))
        folder = spec.data.folder
        if folder is None:
            return Data(self, spec, (spec.path.parent,))
        if self.data and not self.data.is_dir():
            raise DataError(f"no data for {spec.name}: the folder {self.data} (--vqa-data) is not there")
        if self.data and self.data.name == folder and not (self.data / folder).is_dir():
            parent = self.data.parent
            raise DataError(f"no data for {spec.name}: --vqa-data is the folder that holds {folder}/: {parent}")
        places = [place / folder for place in (self.data, self.cache, spec.path.parent) if place]
        found = tuple(place for place in places if place.is_dir())
        if not found and not spec.data.files:
            looked = ", ".join(str(place) for place in places)
            place = f" ({spec.links['data']} publishes it)" if "data" in spec.links else ""
            raise DataError(
                f"no data for {spec.name}: looked for {looked}; --vqa-data names the folder that holds {folder}/{place}"
            )
        return Data(self, spec, found or (self.cache / folder,))

    def close(self) -> None:
        """Close all connections."""
        if self._connected and self.connection:
            self.connection.close()


def record_files(spec: Spec, data: Data) -> Iterator[tuple[str | None, Path | RangeFile]]:
    """The files of the benchmark's records, each with its subset (None: the record says it).

    Where neither the spec nor the record names a subset, each of several files is one.

    Raises:
        DataError: no file matches, one is named twice, or one can't be fetched.
    """
    found: list[tuple[str | None, str]] = []
    for subset, pattern in spec.records.files:
        names = data.names(pattern)
        if subset and not names:
            raise DataError(f"no file {pattern} in {data.folder}")
        found += [(subset, name) for name in names]
    if not found:
        raise DataError(f"no file {' or '.join(name for _, name in spec.records.files)} in {data.folder}")
    if twice := next((name for subset, name in found if found.count((subset, name)) > 1), None):
        raise DataError(f"records: {twice} is named twice, and its samples would count twice")
    if len(found) > 1 and spec.sample.subset is None:
        own_names = file_names([Path(name) for _, name in found])
        found = [(subset or own, name) for (subset, name), own in zip(found, own_names, strict=True)]
    return ((subset, data.open_part(name)) for subset, name in found)


def _package_folder(spec: Spec, package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        install = f"pytest-vqaeval[{spec.data.extra}]" if spec.data.extra else package.replace("_", "-")
        raise DataError(f"no data for {spec.name}: the package {package} is not installed; pip install '{install}'")
    return Path(found.origin).parent / (spec.data.folder or ".")
