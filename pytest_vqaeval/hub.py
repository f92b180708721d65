"""Where a benchmark's data lies on this machine."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.names import file_names, is_pattern
from pytest_vqaeval.spec import Spec


def cache_folder() -> Path:
    """Folder of the data that was fetched: `VQA_CACHE`, else `pytest-vqaeval` under the user's cache folder."""
    if own := os.environ.get("VQA_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "pytest-vqaeval"


def find_data(spec: Spec, data: Path | None) -> Path:
    """The folder that holds the benchmark's files.

    Args:
        spec: the benchmark.
        data: the folder of `--vqa-data`, which holds one folder per benchmark.

    Raises:
        DataError: it is nowhere; the message lists where it was looked for, and how to mend it.
    """
    if spec.data.package:
        return _package_folder(spec, spec.data.package)
    folder = spec.data.folder
    if folder is None:
        return spec.path.parent
    places = [place / folder for place in (data, cache_folder(), spec.path.parent) if place]
    for place in places:
        if place.is_dir():
            return place
    if data and not data.is_dir():
        raise DataError(f"no data for {spec.name}: the folder {data} (--vqa-data) is not there")
    if data and data.name == folder and data.is_dir():
        raise DataError(f"no data for {spec.name}: --vqa-data is the folder that holds {folder}/: {data.parent}")
    looked = ", ".join(str(place) for place in places)
    raise DataError(f"no data for {spec.name}: looked for {looked}; --vqa-data names the folder that holds {folder}/")


def record_files(spec: Spec, folder: Path) -> Iterator[tuple[str | None, Path]]:
    """The files of the benchmark's records, each with its subset (None: the record says it).

    Where neither the spec nor the record names a subset, each of several files is one.

    Raises:
        DataError: no file matches.
    """
    found: list[tuple[str | None, Path]] = []
    for subset, name in spec.records.files:
        files = sorted(folder.glob(name)) if is_pattern(name) else [folder / name]
        if subset and not files:
            raise DataError(f"no file {name} in {folder}")
        found += [(subset, file) for file in files]
    if not found:
        raise DataError(f"no file {' or '.join(name for _, name in spec.records.files)} in {folder}")
    if len(found) > 1 and spec.sample.subset is None:
        names = file_names([file.relative_to(folder) for _, file in found])
        found = [(subset or name, file) for (subset, file), name in zip(found, names, strict=True)]
    return iter(found)


def _package_folder(spec: Spec, package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        install = f"pytest-vqaeval[{spec.data.extra}]" if spec.data.extra else package.replace("_", "-")
        raise DataError(f"no data for {spec.name}: the package {package} is not installed; pip install '{install}'")
    return Path(found.origin).parent / (spec.data.folder or ".")
