"""Specs: `*.vqa.yaml` files that describe a benchmark. YAML -> `Spec`, every mistake in one line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_vqaeval.aggregates import ALL_RIGHT, KINDS, Metric
from pytest_vqaeval.gates.written import Rule, read_gates
from pytest_vqaeval.judging.rule import JudgeRule, read_judge_rule
from pytest_vqaeval.names import file_names, is_pattern
from pytest_vqaeval.remote.source import PublishedFile, Source
from pytest_vqaeval.samplerule import SampleRule, read_sample_rule
from pytest_vqaeval.scorerule import ScoreRule, ScoreSwitch, read_score_rule
from pytest_vqaeval.templates import Switch, Template, lookup, nearest
from pytest_vqaeval.yamlblock import Block, load

SUFFIX = ".vqa.yaml"
DEFAULT_SUBSET = "default"


@dataclass(frozen=True)
class DataSource:
    """Where the data files lie.

    Attributes:
        folder: under `--vqa-data` or the cache (or beside the spec), or under the installed package.
        package: an installed Python package that carries the data.
        extra: the extra of pytest-vqaeval that installs it.
        samples: how many samples the published benchmark has, so that a part of it is known as such.
        files: those that can be fetched, by name.
    """

    folder: str | None = None
    package: str | None = None
    extra: str | None = None
    samples: int | None = None
    files: Mapping[str, PublishedFile] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordFiles:
    """Which files hold the records: pairs of subset (None: from the record or the file) and file name or pattern.

    `columns` names the columns of rows that are JSON arrays.
    """

    files: tuple[tuple[str | None, str], ...]
    columns: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The subsets where neither spec nor record names them: the only one, or a file each; empty if unknown yet."""
        if any(is_pattern(name) for _, name in self.files):
            return ()
        return file_names([Path(name) for _, name in self.files]) if len(self.files) > 1 else (DEFAULT_SUBSET,)


@dataclass(frozen=True)
class Spec:
    """A benchmark: a named set of samples with a prompt and a scorer."""

    path: Path
    name: str
    title: str
    data: DataSource
    records: RecordFiles
    sample: SampleRule
    prompt: Template | Switch | None
    score: ScoreRule | ScoreSwitch
    description: str = ""
    license: str = ""
    links: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    media_roots: tuple[Path, ...] = ()
    gates: tuple[Rule, ...] = ()
    judge: JudgeRule = field(default_factory=JudgeRule)
    limit: int | None = None
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    metrics: tuple[tuple[Metric, Template | None], ...] = ()  # each with what tells its units apart

    @property
    def subsets(self) -> tuple[str, ...]:
        """The declared subsets, in order; empty where they come from the data alone."""
        listed = [subset for subsets in self.categories.values() for subset in subsets]
        listed += [subset for subset, _ in self.records.files if subset and subset not in listed]
        if not listed and self.sample.subset is None:
            listed = list(self.records.names)
        return tuple(listed)

    def problem_with(self, row: Mapping[str, Any]) -> str | None:
        """Why `where` does not say of a row whether it belongs to the benchmark: it lacks the field."""
        return next((f"field {name!r} is missing (where)" for name in self.where if lookup(row, name) is None), None)

    def keeps(self, row: Mapping[str, Any]) -> bool:
        """The row belongs to the benchmark, as far as `where` says."""
        return all(str(lookup(row, name)) in values for name, values in self.where.items())

    def category_of(self, subset: str) -> str | None:
        """The category that holds a subset."""
        return next((name for name, subsets in self.categories.items() if subset in subsets), None)


@lru_cache(maxsize=256)
def read_spec(path: Path) -> Spec:
    """Read a spec file.

    Raises:
        SpecError: anything that is wrong with it: file, line, key, nearest valid key.
    """
    return _spec(path, _extended(path, ()))


def read_variant(path: Path, changes: Block) -> Spec:
    """A spec with some of its keys changed, as a suite lists them.

    Raises:
        SpecError: see `read_spec`; a mistake in the changes names their file.
    """
    return _spec(path, changes.over(_extended(path, ())))


def _extended(path: Path, seen: tuple[Path, ...]) -> Block:
    block = load(path)
    base = block.text("extends", "")
    if not base:
        return block
    other = (path.parent / (base if base.endswith(SUFFIX) else base + SUFFIX)).resolve()
    if other in (*seen, path.resolve()):
        raise block.error("extends", f"{base} extends this file again")
    if not other.is_file():
        raise block.error("extends", f"there is no {other.name} beside this file")
    return block.over(_extended(other, (*seen, path.resolve())))


def _spec(path: Path, block: Block) -> Spec:
    name = block.text("name", path.name.removesuffix(SUFFIX))
    spec = Spec(
        path=path,
        name=name,
        title=block.text("title", name),
        description=block.text("description", ""),
        license=block.text("license", ""),
        links=block.text_map("links"),
        tags=block.texts("tags"),
        data=_data(block.block("data")),
        records=_records(block),
        sample=read_sample_rule(block.block("sample", required=True)),
        prompt=block.switch("prompt"),
        categories={key: tuple(values) for key, values in block.texts_map("categories").items()},
        groups=block.texts("groups"),
        marks=block.texts("marks"),
        score=read_score_rule(block.block("score", required=True)),
        limit=_limit(block),
        where=block.texts_map("where"),
        metrics=_metrics(block),
        media_roots=tuple(path.parent.absolute() / Path(root).expanduser() for root in block.texts("media_roots")),
        gates=read_gates(block, name, path.parent.absolute()),
        judge=read_judge_rule(block.block("judge")),
    )
    block.done()
    _check_prompt(block, spec)
    return spec


def _data(block: Block) -> DataSource:
    source = DataSource(
        folder=block.text("folder", "") or None,
        package=block.text("package", "") or None,
        extra=block.text("extra", "") or None,
        samples=int(block.number("samples", low=1, high=10**12)) if block.has("samples") else None,
        files=_published(block.block("files")),
    )
    if _leads_out(source.folder or "."):
        raise block.error("folder", f"{source.folder!r} leads out of the data folder")
    if source.files and not source.folder:
        raise block.error("files", "need a `folder`, the name of the benchmark's folder in the cache")
    block.done()
    return source


def _published(block: Block) -> dict[str, PublishedFile]:
    """The `data.files` block: a mapping per file, with its sources and what was verified of it."""
    files = {}
    for name in block.names():
        if _leads_out(name) or not Path(name).name:
            raise block.error(name, "leads out of the data folder")
        inner = block.block(name)
        size, sha256 = inner.text("size", ""), inner.text("sha256", "").lower()
        if size and not size.isdecimal():
            raise inner.error("size", f"{size!r} is no number of bytes")
        if sha256 and not re.fullmatch("[0-9a-f]{64}", sha256):
            raise inner.error("sha256", "is not 64 hex digits")
        try:
            sources = tuple(Source(text) for text in inner.texts("sources", required=True))
        except ValueError as error:
            raise inner.error("sources", str(error)) from None
        inner.done()
        files[name] = PublishedFile(name, sources, int(size) if size else None, sha256 or None)
    return files


def _leads_out(name: str) -> bool:
    """A name of a file or folder that is not below where it should be."""
    return Path(name).is_absolute() or ".." in Path(name).parts or not name.isprintable()


def _records(block: Block) -> RecordFiles:
    columns = block.texts("columns")
    if block.is_map("records"):
        files: tuple[tuple[str | None, str], ...] = tuple(block.text_map("records").items())
    else:
        files = tuple((None, name) for name in block.texts("records", required=True))
    for _, name in files:
        if _leads_out(name):
            raise block.error("records", f"{name!r} leads out of the data folder")
    return RecordFiles(files, columns)


def _check_prompt(block: Block, spec: Spec) -> None:
    if spec.sample.uses("prompt") and spec.prompt is None:
        raise block.error("sample", "a message uses {prompt}, but the spec has no prompt")


def _limit(block: Block) -> int | None:
    """The `limit:` of a spec: at most so many samples of each subset, unless `--vqa-limit` says otherwise."""
    text = block.text("limit", "")
    if text and not (text.isdecimal() and int(text) > 0):
        raise block.error("limit", f"{text!r} is not a whole number of at least 1")
    return int(text) if text else None


def _metrics(block: Block) -> tuple[tuple[Metric, Template | None], ...]:
    """The `metrics:` block: kinds of aggregate metrics, and mappings with `all_right_by` and perhaps `name`."""
    found: list[tuple[Metric, Template | None]] = []
    for item in block.texts_or_blocks("metrics"):
        if isinstance(item, str):
            if item not in KINDS or item == ALL_RIGHT:
                known = [kind for kind in KINDS if kind != ALL_RIGHT]
                hint = f"{nearest(item, tuple(known))}; there are {', '.join(known)}, and {ALL_RIGHT}: FIELD"
                raise block.error("metrics", f"unknown metric {item!r}{hint}")
            found.append((Metric(item, item), None))
            continue
        by, written = item.by(ALL_RIGHT)
        found.append((Metric(item.text("name", f"all right by {written}"), ALL_RIGHT), by))
        item.done()
    names = [metric.name for metric, _ in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise block.error("metrics", f"{twice} is given twice")
    return tuple(found)
