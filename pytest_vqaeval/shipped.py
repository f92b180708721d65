"""The benchmarks that the package ships, and how `--vqa-benchmark` puts them on pytest's list of what to collect."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_vqaeval.errors import SpecError, UsageError
from pytest_vqaeval.templates import nearest

if TYPE_CHECKING:
    from pytest_vqaeval.settings import Settings
    from pytest_vqaeval.suites import Entry

SUFFIX = ".vqa.yaml"


@dataclass(frozen=True)
class Variant:
    """A benchmark as a suite lists it; `by` is the suite, or the benchmark itself where it was named alone."""

    by: str
    entry: Entry


VARIANTS: pytest.StashKey[dict[Path, Variant]] = pytest.StashKey()
"""The benchmarks that `--vqa-benchmark` names, by the path of their spec."""


def shipped_folder() -> Path:
    """The folder of the shipped specs: in the package, or beside it in an editable install."""
    package = Path(__file__).parent
    inside = package / "benchmarks"
    return inside if inside.is_dir() else package.parent / "benchmarks"


def add_benchmarks(config: pytest.Config, settings: Settings) -> None:
    """Collect the benchmarks of `--vqa-benchmark`, beside the paths that were given, or instead of all else.

    Raises:
        UsageError: there is no such benchmark or suite, or there is a mistake in the suite.
    """
    config.stash[VARIANTS] = {}
    if not settings.benchmark:
        return
    arguments = [argument for text in settings.benchmark for argument in _arguments(text, config)]
    given = config.args if config.args_source is config.ArgsSource.ARGS else []
    config.args = [*given, *arguments]


def known_benchmarks(root: Path) -> dict[str, Path]:
    """The specs by name: the shipped ones, and those of a project's own benchmarks/, which go before them."""
    known: dict[str, Path] = {}
    for folder in (shipped_folder(), root / "benchmarks"):
        known.update({file.name.removesuffix(SUFFIX): file for file in sorted(folder.glob(f"*{SUFFIX}"))})
    return known


def _arguments(text: str, config: pytest.Config) -> list[str]:
    """`slake::en_open[11934]` as pytest takes it: path of the spec, then the rest; for a suite all that it lists.

    A spec or suite in the project's own benchmarks/ goes before the shipped one of the same name.
    """
    from pytest_vqaeval.suites import Entry, suite_files

    name, colons, rest = text.partition("::")
    specs = known_benchmarks(config.rootpath)
    suites = {**suite_files(shipped_folder()), **suite_files(config.rootpath / "benchmarks")}
    suite, slash, inner = name.partition("/")
    if ":" in name:
        raise UsageError(f"--vqa-benchmark: {text!r} is not NAME, NAME::SUBSET or NAME::SUBSET[ID]")
    if name in specs:
        _note(specs[name], Variant(name, Entry(name, "")), config.stash[VARIANTS])
        return [f"{specs[name]}{colons}{rest}"]
    if suite not in suites or (colons and not slash):
        listed = f"{', '.join(specs)}; and the suites {', '.join(suites)}" if suites else ", ".join(specs)
        raise UsageError(
            f"--vqa-benchmark: there is no benchmark {name!r}{nearest(name, (*specs, *suites))}; there are {listed}"
        )
    return _of_suite(suite, suites[suite], inner, f"{colons}{rest}", specs, config.stash[VARIANTS])


def _of_suite(
    name: str, file: Path, inner: str, part: str, specs: Mapping[str, Path], variants: dict[Path, Variant]
) -> list[str]:
    """The arguments for all benchmarks of a suite, or for the one of `SUITE/BENCHMARK`."""
    from pytest_vqaeval.suites import read_suite

    try:
        entries = [entry for entry in read_suite(file, specs) if inner in ("", entry.benchmark)]
    except SpecError as error:
        raise UsageError(f"--vqa-benchmark={name}: {error}") from None
    if not entries:
        raise UsageError(f"--vqa-benchmark: the suite {name} lists no {inner}")
    for entry in entries:
        _note(specs[entry.benchmark], Variant(name, entry), variants)
    return [f"{specs[entry.benchmark]}{part or entry.part}" for entry in entries]


def _note(path: Path, variant: Variant, variants: dict[Path, Variant]) -> None:
    """Remember how a benchmark is wanted; it can't be run in two ways at once."""
    known = variants.setdefault(path, variant)
    if known.entry.changes is not variant.entry.changes:
        name = variant.entry.benchmark
        raise UsageError(f"--vqa-benchmark: {name} is wanted in two ways, by {known.by} and {variant.by}")


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
