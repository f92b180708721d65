"""Where a benchmark's data lies on this machine."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from pytest_vqaeval.errors import DataError
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


def _package_folder(spec: Spec, package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        install = f"pytest-vqaeval[{spec.data.extra}]" if spec.data.extra else package.replace("_", "-")
        raise DataError(f"no data for {spec.name}: the package {package} is not installed; pip install '{install}'")
    return Path(found.origin).parent / (spec.data.folder or ".")
