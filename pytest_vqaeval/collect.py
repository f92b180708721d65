"""Specs -> pytest items: a spec is a module, a subset a test function, a sample one of its parameters."""

from __future__ import annotations

import types
import warnings
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_vqaeval.dataset import read_samples
from pytest_vqaeval.errors import DataError, MissingExtra, SpecError
from pytest_vqaeval.hub import record_files
from pytest_vqaeval.names import mark_name, node_name
from pytest_vqaeval.sample import Sample, placeholders, repeated, with_units
from pytest_vqaeval.selection import certainly_false
from pytest_vqaeval.shipped import VARIANTS
from pytest_vqaeval.spec import SUFFIX, Spec, read_spec, read_variant

if TYPE_CHECKING:
    from pytest_vqaeval.evaluation import Evaluation


class VqaWarning(pytest.PytestWarning):
    """Something in the data that the user should know of."""


class SpecModule(pytest.Module):
    """A spec file. Its `obj` is made up, so that all that pytest does with modules and functions works."""

    evaluation: Evaluation
    spec: Spec
    of_data: Spec | None

    @classmethod
    def of(
        cls, parent: pytest.Collector, path: Path, evaluation: Evaluation, of_data: Spec | None = None
    ) -> SpecModule:
        """The collector of a spec; outside rootdir, where pytest's own node id would be empty, it gets one.

        Args:
            parent: the collector of its folder.
            path: the spec, or a data file.
            evaluation: the process's side of the run.
            of_data: the spec that was made for a data file.
        """
        inside = path.is_relative_to(parent.config.rootpath)
        nodeid = None if inside else f"{path.parent.name if of_data else 'benchmarks'}/{path.name}"
        module: SpecModule = cls.from_parent(parent, path=path, nodeid=nodeid)
        module.evaluation, module.of_data = evaluation, of_data
        return module

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """The items of all samples that are not certainly deselected."""
        try:
            self.spec = self.of_data or self._read()
            check_tags(self.config, self.spec)
            for tag in self.spec.tags:  # also of a benchmark that is left out: `-m` must know the mark
                self.add_marker(_mark(self.config, tag))
            if _certainly_deselected(self.config, self.spec):
                self.obj = types.ModuleType(self.spec.name)
                return []
            self.evaluation.scorer(self.spec)
            self.obj = self._module(self._samples())
        except SpecError as error:
            raise self.CollectError(str(error)) from None
        return super().collect()

    def _read(self) -> Spec:
        """The spec, with the changes of the suite that it was named by."""
        variant = self.config.stash[VARIANTS].get(self.path)
        changes = variant.entry.changes if variant else None
        return read_variant(self.path, changes()) if changes else read_spec(self.path)

    def funcnamefilter(self, name: str) -> bool:
        """Every function of the made-up module is a test."""
        return isinstance(vars(self.obj).get(name), types.FunctionType)

    def _samples(self) -> dict[str, list[Sample]]:
        """The samples of each function, in the order of the spec's subsets."""
        try:
            data = self.evaluation.data(self.spec)
            if self.evaluation.settings.download:
                data.fetch_all()
            found = with_units(self.spec, read_samples(self.spec, record_files(self.spec, data)))
        except (DataError, MissingExtra) as error:
            found = list(placeholders(self.spec, str(error)))
        by_subset: dict[str, list[Sample]] = {subset: [] for subset in self.spec.subsets}
        for sample in found:
            by_subset.setdefault(sample.subset, []).append(sample)
        self.evaluation.about(self.spec, list(by_subset), found)
        self._warn_of_groups(found)
        functions: defaultdict[str, list[Sample]] = defaultdict(list)
        for subset, part in self._selected(by_subset).items():
            functions[node_name(subset)] += part
        return {name: part for name, part in functions.items() if part}

    def _warn_of_groups(self, samples: list[Sample]) -> None:
        if any(sample.record for sample in samples):  # without data nothing is known of its fields
            for name in self.evaluation.settings.group:
                if name not in self.evaluation.abouts[self.spec.name].groups:
                    text = f"--vqa-group={name}: no record of {self.spec.name} has this field"
                    warnings.warn(VqaWarning(text), stacklevel=2)

    def _selected(self, by_subset: dict[str, list[Sample]]) -> dict[str, list[Sample]]:
        """The samples that `--vqa-limit` leaves, and of these the shard's: all shards together are the limited run."""
        settings = self.evaluation.settings
        limit, shard, repeats = settings.limit or self.spec.limit, settings.shard, settings.repeats
        all_samples = {subset: repeated(part, repeats) for subset, part in by_subset.items()}
        limited = {subset: part[: limit and limit * repeats] for subset, part in all_samples.items()}
        if shard is None:
            return limited
        clusters = shard.of(sample.cluster for part in limited.values() for sample in part)
        return {
            subset: [sample for sample in part if sample.record is None or sample.cluster in clusters]
            for subset, part in limited.items()
        }

    def _module(self, functions: dict[str, list[Sample]]) -> types.ModuleType:
        module = types.ModuleType(node_name(self.spec.name), self.spec.description or self.spec.title)
        module.__file__ = str(self.path)
        refused: set[str] = set()
        for name, samples in functions.items():
            function = self._function(name)
            parameters = [
                pytest.param(sample, id=sample.node, marks=self._marks(sample, refused)) for sample in samples
            ]
            test = pytest.mark.parametrize("vqa_sample", parameters, indirect=True)(function)
            used = ["vqa_model", "vqa_archive"]
            if len(self.evaluation.labels) > 1:  # a user's own `vqa_model` need not ask for the name
                used.append("vqa_model_name")
            setattr(module, name, pytest.mark.usefixtures(*used)(test))
        return module

    def _function(self, name: str) -> types.FunctionType:
        """The test function of a subset: the same body for all, under its own name."""
        from pytest_vqaeval.items import body_of

        body = body_of(self.evaluation)
        code = body.__code__.replace(co_filename=str(self.path), co_name=name, co_firstlineno=1)
        return types.FunctionType(code, body.__globals__, name, None, body.__closure__)

    def _marks(self, sample: Sample, refused: set[str]) -> list[pytest.MarkDecorator]:
        marks = []
        for value in sample.marks:
            name = mark_name(value)
            if _may_mark(self.config, name):
                marks.append(_mark(self.config, name))
            elif value not in refused:
                refused.add(value)
                about = (
                    f"{sample.where}: the value {value!r} is not made a mark: its name is taken, or it has no letters"
                )
                warnings.warn(VqaWarning(about), stacklevel=2)
        return marks


def sample_of(item: pytest.Item) -> Sample | None:
    """The sample of an item; None for an ordinary test."""
    callspec = getattr(item, "callspec", None)
    sample = callspec.params.get("vqa_sample") if callspec else None
    return sample if isinstance(sample, Sample) else None


def point_at_record(item: pytest.Item, sample: Sample) -> None:
    """Let annotations and editors find the record instead of the plugin."""
    if sample.record and isinstance(item, pytest.Function):
        # getmodpath is what pytest would put there; to ask for its whole location costs a second for 50,000 samples
        item.location = (str(sample.record.file), max(0, sample.record.line - 1), item.getmodpath())


_MARKS = pytest.StashKey[tuple[set[str], dict[str, pytest.MarkDecorator]]]()


def _known_marks(config: pytest.Config) -> tuple[set[str], dict[str, pytest.MarkDecorator]]:
    """Names of marks that others registered, and the marks that the plugin made."""
    if _MARKS not in config.stash:
        lines: list[str] = config.getini("markers")
        config.stash[_MARKS] = ({line.split(":")[0].split("(")[0].strip() for line in lines}, {})
    return config.stash[_MARKS]


def _may_mark(config: pytest.Config, name: str) -> bool:
    return bool(name) and name not in _known_marks(config)[0] and name not in ("and", "or", "not")


def _mark(config: pytest.Config, name: str) -> pytest.MarkDecorator:
    made = _known_marks(config)[1]
    if name not in made:
        config.addinivalue_line("markers", f"{name}: samples of benchmarks")
        made[name] = getattr(pytest.mark, name)
    return made[name]


def check_tags(config: pytest.Config, spec: Spec) -> None:
    """Refuse tags that can't be marks.

    Raises:
        SpecError: pytest has a mark of that name, or it is no name.
    """
    for tag in spec.tags:
        if mark_name(tag) != tag or not _may_mark(config, tag):
            raise SpecError(
                f"{spec.path}: tags: {tag!r} can't be a mark (pytest has one of that name, or it is no lower-case word)"
            )


def _certainly_deselected(config: pytest.Config, spec: Spec) -> bool:
    keyword, mark = config.getoption("keyword"), config.getoption("markexpr")
    if not keyword and not mark:
        return False
    others = [other for other in _siblings(spec.path) if other.name != spec.name]
    own_names = [spec.path.name, spec.name, *spec.path.parts[-3:-1], *spec.tags]
    derived = bool(spec.marks) or not spec.subsets  # names that only the data knows

    def by_keyword(word: str) -> bool | None:
        word = word.lower()
        if any(word in name.lower() for name in own_names):
            return True
        if any(word in node_name(subset).lower() for subset in spec.subsets):
            return None
        if any(word in other.name.lower() for other in others):
            return False
        return None if derived or not _known(word, others) else False

    def by_mark(word: str) -> bool | None:
        if word in spec.tags:
            return True
        return None if spec.marks or not any(word in other.tags for other in others) else False

    return bool(keyword and certainly_false(keyword, by_keyword)) or bool(mark and certainly_false(mark, by_mark))


def _known(word: str, specs: list[Spec]) -> bool:
    return any(word in name.lower() for spec in specs for name in (*spec.tags, *spec.subsets))


def _siblings(path: Path) -> list[Spec]:
    """The readable specs beside a spec, itself included."""
    found = []
    for file in sorted(path.parent.glob(f"*{SUFFIX}")):
        try:
            found.append(read_spec(file))
        except SpecError:
            continue  # its own collection says so
    return found
