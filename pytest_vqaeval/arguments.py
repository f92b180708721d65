"""Data files that are named on pytest's command line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_vqaeval.errors import UsageError

if TYPE_CHECKING:
    import pytest

    from pytest_vqaeval.settings import Settings

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")


def named_data_files(config: pytest.Config, settings: Settings) -> list[Path]:
    """The data files among the arguments, each once; those in folders and ini files are left alone.

    Raises:
        UsageError: there are some, and no model to ask.
    """
    if config.args_source is not config.ArgsSource.ARGS:
        return []
    folder = config.invocation_params.dir
    paths = (Path(os.path.abspath(folder / argument.split("::")[0])) for argument in config.args)
    files = list(dict.fromkeys(path for path in paths if path.suffix.lower() in SUFFIXES and path.is_file()))
    if files and not settings.model and not config.option.collectonly:
        raise UsageError(f"{files[0].name} needs a model: --vqa-model=NAME (and --vqa-url), or --vqa-model=demo")
    return files
