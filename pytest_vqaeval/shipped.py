"""The benchmarks that the package ships, and how `--vqa-benchmark` puts them on pytest's list of what to collect."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_vqaeval.errors import UsageError
from pytest_vqaeval.templates import nearest

if TYPE_CHECKING:
    import pytest

    from pytest_vqaeval.settings import Settings

SUFFIX = ".vqa.yaml"


def shipped_folder() -> Path:
    """The folder of the shipped specs: in the package, or beside it in an editable install."""
    package = Path(__file__).parent
    inside = package / "benchmarks"
    return inside if inside.is_dir() else package.parent / "benchmarks"


def add_benchmarks(config: pytest.Config, settings: Settings) -> None:
    """Collect the benchmarks of `--vqa-benchmark`, beside the paths that were given, or instead of all else.

    Raises:
        UsageError: there is no such benchmark.
    """
    if not settings.benchmark:
        return
    arguments = [_argument(text, config.rootpath) for text in settings.benchmark]
    given = config.args if config.args_source is config.ArgsSource.ARGS else []
    config.args = [*given, *arguments]


def known_benchmarks(root: Path) -> dict[str, Path]:
    """The specs by name: the shipped ones, and those of a project's own benchmarks/, which go before them."""
    known: dict[str, Path] = {}
    for folder in (shipped_folder(), root / "benchmarks"):
        known.update({file.name.removesuffix(SUFFIX): file for file in sorted(folder.glob(f"*{SUFFIX}"))})
    return known


def _argument(text: str, root: Path) -> str:
    """`slake::en_open[11934]` as pytest takes it: path of the spec, then the rest."""
    name, rest = (re.match(r"([^:]*)(.*)", text, re.DOTALL) or ("", text, "")).groups()  # type: ignore[union-attr]
    known = known_benchmarks(root)
    if name not in known:
        raise UsageError(
            f"--vqa-benchmark: there is no benchmark {name!r}{nearest(name, known)}; there are {', '.join(known)}"
        )
    if rest and not rest.startswith("::"):
        raise UsageError(f"--vqa-benchmark: {text!r} is not NAME, NAME::SUBSET or NAME::SUBSET[ID]")
    return f"{known[name]}{rest}"


def refuse_spec_without_model(config: pytest.Config, settings: Settings) -> None:
    """A spec that was asked for by name can't run without a model.

    Raises:
        UsageError: that is so; the message names the option.
    """
    if settings.model or config.option.collectonly:
        return
    for argument in config.args:
        path = argument.split("::")[0]
        if path.endswith(SUFFIX):
            name = os.path.basename(path)
            raise UsageError(f"{name} needs a model: --vqa-model=NAME (and --vqa-url), or --vqa-model=demo")
