"""Suites: `benchmarks/suites/*.yaml`, lists of benchmarks that `--vqa-benchmark=SUITE` runs together."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pytest_vqaeval.templates import nearest
from pytest_vqaeval.yamlblock import Block, load

FOLDER, SUFFIX = "suites", ".yaml"


@dataclass(frozen=True)
class Entry:
    """A benchmark of a suite.

    Attributes:
        benchmark: its name.
        part: what follows the name on the command line: empty, or `::SUBSET`.
        changes: gives the keys of a spec that go before the benchmark's own, as if the suite extended it; None: there
            are none.
    """

    benchmark: str
    part: str
    changes: Callable[[], Block] | None = None


def suite_files(folder: Path) -> dict[str, Path]:
    """The suites in a folder of benchmarks, by name."""
    return {file.name.removesuffix(SUFFIX): file for file in sorted((folder / FOLDER).glob(f"*{SUFFIX}"))}


def read_suite(path: Path, known: Collection[str]) -> list[Entry]:
    """Read a suite: `benchmarks:`, a list of names (`slake::en_open` for a part), or of mappings.

    A mapping has the name under `benchmark`; its other keys are those of a spec (`limit: 20`, `score: ...`).

    Args:
        path: the file.
        known: the names of the benchmarks that there are.

    Raises:
        SpecError: a mistake in it, in one line with file, line and key.
    """
    block = load(path, "benchmarks:")
    block.text("title")
    entries: list[Entry] = []
    for item in block.texts_or_blocks("benchmarks"):
        written = item if isinstance(item, str) else item.text("benchmark", required=True)
        name, colons, part = written.partition("::")
        if name not in known:
            problem = f"there is no benchmark {name!r}{nearest(name, tuple(known))}"
            raise block.error("benchmarks", problem) if isinstance(item, str) else item.error("benchmark", problem)
        if any(entry.benchmark == name for entry in entries):
            raise block.error("benchmarks", f"{name} is listed twice")
        changes = partial(item.without, "benchmark") if isinstance(item, Block) and len(item.names()) > 1 else None
        entries.append(Entry(name, colons + part, changes))
    block.done()
    if not entries:
        raise block.error("benchmarks", "lists no benchmark")
    return entries
