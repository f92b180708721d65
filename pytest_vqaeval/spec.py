"""Specs: `*.vqa.yaml` files that describe a benchmark. YAML -> `Spec`, every mistake in one line."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from pytest_vqaeval.errors import MissingExtra, SpecError
from pytest_vqaeval.gates import FailUnder
from pytest_vqaeval.judging.rule import JudgeRule, read_judge_rule
from pytest_vqaeval.names import file_names, is_pattern
from pytest_vqaeval.prompts import Prompt, read_prompt
from pytest_vqaeval.question import Question
from pytest_vqaeval.samplerule import SampleRule, read_sample_rule
from pytest_vqaeval.scoring import with_correct_from
from pytest_vqaeval.scoring.base import Scorer
from pytest_vqaeval.templates import nearest
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
    """

    folder: str | None = None
    package: str | None = None
    extra: str | None = None


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
class ScoreRule:
    """How replies are scored.

    Attributes:
        scorer: its name.
        options: its options.
        where: where the spec names it, for errors.
        correct_from: from which value on an answer of a graded scorer counts as correct, 0 to 1; None: values stay.
    """

    scorer: str
    options: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    correct_from: float | None = None

    def bind(self, scorers: Mapping[str, Any], parser: str | None = None) -> Scorer:
        """The scorer as a function of question and text.

        Args:
            scorers: all scorers by name.
            parser: goes before the spec's own option `parser`, where the scorer has one.

        Raises:
            SpecError: no such scorer, or an option that it does not have or take.
        """
        if self.scorer not in scorers:
            known = ", ".join(sorted(scorers))
            raise SpecError(
                f"{self.where}: unknown scorer {self.scorer!r}{nearest(self.scorer, scorers)}; there are {known}"
            )
        function = scorers[self.scorer]
        takes = inspect.signature(function).parameters
        options = {name: p for name, p in takes.items() if p.kind is p.KEYWORD_ONLY}
        open_ended = any(p.kind is p.VAR_KEYWORD for p in takes.values())
        for key in self.options:
            if key not in options and not open_ended:
                has = f"; it takes {', '.join(options)}" if options else "; it takes none"
                raise SpecError(f"{self.where}: {self.scorer} has no option {key!r}{nearest(key, options)}{has}")
        given = {**self.options, "parser": parser} if parser and "parser" in options else self.options
        bound: Scorer = partial(function, **{key: _frozen(value) for key, value in given.items()})
        if self.correct_from is not None:
            bound = with_correct_from(bound, self.scorer, self.correct_from)
        if getattr(function, "__module__", "").startswith("pytest_vqaeval.") and (
            given or self.correct_from is not None
        ):
            self._try(bound)
        return bound

    def _try(self, scorer: Scorer) -> None:
        """A wrong option value shows at once, not in every sample."""
        try:
            scorer(TRIAL, "A")
        except (ValueError, TypeError) as error:
            raise SpecError(f"{self.where}: {self.scorer}: {error}") from None
        except MissingExtra:
            pass  # no mistake of the spec: said when the first sample runs


TRIAL = Question("", [], ("A",) * 10, ("x", "y"))
"""A question that every scorer of the package can score, to see whether it is ready."""


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True)
class Spec:
    """A benchmark: a named set of samples with a prompt and a scorer."""

    path: Path
    name: str
    title: str
    data: DataSource
    records: RecordFiles
    sample: SampleRule
    prompt: Prompt | None
    score: ScoreRule
    description: str = ""
    license: str = ""
    links: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    media_roots: tuple[Path, ...] = ()
    fail_under: float | None = None
    judge: JudgeRule = field(default_factory=JudgeRule)

    @property
    def subsets(self) -> tuple[str, ...]:
        """The declared subsets, in order; empty where they come from the data alone."""
        listed = [subset for subsets in self.categories.values() for subset in subsets]
        listed += [subset for subset, _ in self.records.files if subset and subset not in listed]
        if not listed and self.sample.subset is None:
            listed = list(self.records.names)
        return tuple(listed)

    def category_of(self, subset: str) -> str | None:
        """The category that holds a subset."""
        return next((name for name, subsets in self.categories.items() if subset in subsets), None)

    @property
    def gate(self) -> FailUnder | None:
        """The spec's own gate."""
        return None if self.fail_under is None else FailUnder(self.fail_under, self.name)


@lru_cache(maxsize=256)
def read_spec(path: Path) -> Spec:
    """Read a spec file.

    Raises:
        SpecError: anything that is wrong with it: file, line, key, nearest valid key.
    """
    return _spec(path, _extended(path, ()))


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
        prompt=read_prompt(block),
        categories={key: tuple(values) for key, values in block.texts_map("categories").items()},
        groups=block.texts("groups"),
        marks=block.texts("marks"),
        score=_score(block.block("score", required=True)),
        media_roots=tuple(path.parent.absolute() / Path(root).expanduser() for root in block.texts("media_roots")),
        fail_under=_fail_under(block),
        judge=read_judge_rule(block.block("judge")),
    )
    block.done()
    _check_prompt(block, spec)
    return spec


def _data(block: Block) -> DataSource:
    source = DataSource(
        block.text("folder", "") or None, block.text("package", "") or None, block.text("extra", "") or None
    )
    folder = Path(source.folder or ".")
    if folder.is_absolute() or ".." in folder.parts:
        raise block.error("folder", f"{source.folder!r} leads out of the data folder")
    block.done()
    return source


def _records(block: Block) -> RecordFiles:
    columns = block.texts("columns")
    if block.is_map("records"):
        files: tuple[tuple[str | None, str], ...] = tuple(block.text_map("records").items())
    else:
        files = tuple((None, name) for name in block.texts("records", required=True))
    for _, name in files:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise block.error("records", f"{name!r} leads out of the data folder")
    return RecordFiles(files, columns)


def _check_prompt(block: Block, spec: Spec) -> None:
    if spec.sample.uses("prompt") and spec.prompt is None:
        raise block.error("sample", "a message uses {prompt}, but the spec has no prompt")


def _score(block: Block) -> ScoreRule:
    scorer = block.text("scorer", required=True)
    correct_from = block.number("correct_from", low=0, high=1) if block.has("correct_from") else None
    return ScoreRule(scorer, block.rest(), block.where("scorer"), correct_from)


def _fail_under(block: Block) -> float | None:
    """The `gates:` block: a list of mappings, each with one rule."""
    values = []
    for gate in block.blocks("gates"):
        values.append(gate.number("fail_under", low=0, high=1))
        gate.done()
    if len(values) > 1:
        raise block.error("gates", "fail_under is given twice")
    return values[0] if values else None
