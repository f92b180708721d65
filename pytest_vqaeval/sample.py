"""Records -> samples: who a sample is (at collection) and what it asks (when its turn comes)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_vqaeval.errors import DataError
from pytest_vqaeval.formats.cells import alternatives, is_cell
from pytest_vqaeval.formats.choice import build_choice, choice_media
from pytest_vqaeval.formats.messages import build_messages
from pytest_vqaeval.formats.parts import media_name
from pytest_vqaeval.formats.placeholders import of_record
from pytest_vqaeval.formats.template import build_template, only_field
from pytest_vqaeval.formats.vlmevalkit import build_table_choice, build_table_vqa
from pytest_vqaeval.names import node_name
from pytest_vqaeval.question import Question
from pytest_vqaeval.records import Record
from pytest_vqaeval.samplerule import TEMPLATE
from pytest_vqaeval.spec import DEFAULT_SUBSET, Spec
from pytest_vqaeval.templates import lookup

UNREADABLE = "unreadable"  # the subset of records of which no subset can be read


@dataclass(frozen=True, slots=True)
class Sample:
    """One record of a benchmark, ready to be asked.

    Attributes:
        node: how the sample is named inside the brackets of its node id.
        cluster: samples with the same picture are dependent.
        marks: names of pytest marks that come from the data.
        problem: why it can't be asked; such a sample is an error.
        repeat: which asking of the same question it is, from 1.
        position: among the samples of its subset in the data, from 0.
        units: for each metric over several samples, the name of those that it belongs to and how many they are.
    """

    spec: Spec
    record: Record | None
    subset: str
    id: str
    node: str
    cluster: str
    marks: tuple[str, ...] = ()
    problem: str | None = None
    repeat: int = 1
    position: int = 0
    units: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def benchmark(self) -> str:
        """The benchmark's name."""
        return self.spec.name

    @property
    def category(self) -> str | None:
        """The category that holds the subset."""
        return self.spec.category_of(self.subset)

    @property
    def where(self) -> str:
        """The place of the record, for messages."""
        return self.record.where if self.record else self.spec.path.name

    def fields(self, names: Sequence[str]) -> dict[str, str]:
        """The values of the grouping fields; those that the record lacks are left out."""
        row = self.record.row if self.record else {}
        return {name: str(value) for name in names if (value := lookup(row, name)) is not None}

    def question(self) -> Question:
        """Fill in prompt, messages and references.

        Raises:
            DataError: the record can't be asked: names its place and the field.
        """
        if self.problem or self.record is None:
            raise DataError(self.problem or f"{self.where}: no record")
        try:
            with of_record(self.where):
                return _question(self.spec, self.record)
        except DataError as error:
            raise DataError(f"{self.where}: {error}") from None


def _fields(record: Record) -> dict[str, Any]:
    """What templates see: the record's fields, and `row`, its number, where no field has that name."""
    return {"row": record.row_number, **record.row}


def _question(spec: Spec, record: Record) -> Question:
    rule, row = spec.sample, record.row
    if rule.format == TEMPLATE:
        return replace(build_template(_fields(record), rule, spec.prompt), record=row)
    prompt = {"prompt": spec.prompt.template(row)} if spec.prompt else {}
    if rule.format == "vmcq":
        return build_choice(row, answer=rule.answer, **prompt)
    if rule.format == "vlmevalkit_choice":
        return build_table_choice(row, answer=rule.answer, **prompt)
    if rule.format == "vlmevalkit_vqa":
        return build_table_vqa(row, **prompt)
    return build_messages(row)


def _cluster(spec: Spec, record: Record, sample_id: str) -> str:
    """Samples with the same pictures are one cluster; where that can't be told, a sample is its own."""
    if spec.sample.cluster:
        return spec.sample.cluster.render(_fields(record))
    if spec.sample.format == TEMPLATE or any(map(is_cell, record.row.values())):  # no picture is read here
        return sample_id
    try:
        with of_record(record.where):
            if spec.sample.format == "vmcq":
                return media_name([{"role": "user", "content": choice_media(record.row)}]) or sample_id
            return media_name(_question(spec, record).messages) or sample_id
    except DataError:
        return sample_id  # it is said when the question is asked


def build_samples(spec: Spec, records: Sequence[tuple[str | None, Record]]) -> Iterator[Sample]:
    """The samples of a benchmark, in the order of its records.

    Args:
        spec: the benchmark.
        records: pairs of the file's subset (None: the record says it) and record.
    """
    lacking = _lacking_reference(spec, [record for _, record in records])
    first: dict[tuple[str, str], str] = {}
    nodes: set[tuple[str, str]] = set()
    in_subset: Counter[str] = Counter()
    for number, (file_subset, record) in enumerate(records):
        sample = _sample(spec, file_subset, record)
        sample = replace(sample, position=in_subset[sample.subset])
        in_subset[sample.subset] += 1
        if number in lacking and not sample.problem:
            sample = replace(sample, problem=f"{record.where}: {lacking[number]}")
        key = (sample.subset, sample.id)
        if key in first:
            sample = _broken(sample, f"{record.where}: id {sample.id!r} is also that of {first[key]}", record)
        elif (node_name(sample.subset), sample.node) in nodes:  # they differ only in what a node id can't hold
            sample = replace(sample, node=f"{sample.node}-row{record.row_number}")
        first.setdefault((sample.subset, sample.id), record.where)
        nodes.add((node_name(sample.subset), sample.node))
        yield sample


def _lacking_reference(spec: Spec, records: Sequence[Record]) -> dict[int, str]:
    """The positions of records without a reference where others have one, each with what to say.

    Where none has one, that is how the benchmark is: its replies are reported, and that is all.
    """
    field = only_field(spec.sample.reference) if spec.sample.format == TEMPLATE else "answer"
    if field is None:
        return {}
    usable = {position: record for position, record in enumerate(records) if not record.problem}
    lacking = {position: record for position, record in usable.items() if not _has_reference(record, field)}
    if len(lacking) == len(usable):
        return {}
    return {
        position: f"field {field!r} is {_how_absent(record.row, field)}, and other records have references"
        for position, record in lacking.items()
    }


def _how_absent(row: Mapping[str, Any], field: str) -> str:
    return "empty" if field in row or lookup(row, field) is not None else "missing"


def _has_reference(record: Record, field: str) -> bool:
    try:
        return bool(alternatives(lookup(record.row, field), field))
    except DataError:
        return True  # what is wrong with it is said when the question is asked


def _sample(spec: Spec, file_subset: str | None, record: Record) -> Sample:
    rule, row, fields = spec.sample, record.row, _fields(record)
    row_id = f"row{record.row_number}"
    if record.problem:
        subset = file_subset or (DEFAULT_SUBSET if rule.subset is None else UNREADABLE)
        return Sample(spec, record, subset, row_id, row_id, row_id, problem=f"{record.where}: {record.problem}")
    try:
        subset = rule.subset.render(fields) if rule.subset else file_subset or DEFAULT_SUBSET
    except DataError as error:
        return Sample(spec, record, UNREADABLE, row_id, row_id, row_id, problem=f"{record.where}: subset: {error}")
    problem = None
    if spec.categories and subset not in spec.subsets:
        problem = f"{record.where}: subset {subset!r} is not in the spec's categories ({', '.join(spec.subsets)})"
    try:
        sample_id = rule.id.render(fields)
        cluster = _cluster(spec, record, sample_id)
    except DataError as error:
        return Sample(spec, record, subset, row_id, row_id, row_id, problem=f"{record.where}: {error}")
    marks = tuple(str(row[name]) for name in spec.marks if row.get(name) is not None)
    return Sample(spec, record, subset, sample_id, node_name(sample_id), cluster, marks, problem)


def _broken(sample: Sample, problem: str, record: Record) -> Sample:
    name = f"{sample.id}-row{record.row_number}"
    return replace(sample, id=name, node=node_name(name), problem=problem)


def with_units(spec: Spec, samples: list[Sample]) -> list[Sample]:
    """The samples of a benchmark, each with its unit for every aggregate metric that has units."""
    rules = {metric.name: by for metric, by in spec.metrics if by}
    if not rules:
        return samples
    keys: list[dict[str, str]] = []
    sizes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    made = []
    for sample in samples:
        if sample.record and not sample.problem:
            try:
                of_sample = {name: by.render(_fields(sample.record)) for name, by in rules.items()}
            except DataError as error:
                of_sample, sample = {}, replace(sample, problem=f"{sample.where}: {error}")
        else:
            of_sample = {}
        for name, key in of_sample.items():
            sizes[name][key] += 1
        keys.append(of_sample)
        made.append(sample)
    return [
        replace(sample, units={name: (key, sizes[name][key]) for name, key in of_sample.items()})
        for sample, of_sample in zip(made, keys, strict=True)
    ]


def repeated(samples: Sequence[Sample], count: int) -> list[Sample]:
    """Each sample of a subset `count` times in a row.

    The first keeps its node name `N`, the others are `N-2`, `N-3` ...; where the data has such a name already, the
    hyphen is doubled until it is free.
    """
    if count == 1:
        return list(samples)
    taken = {sample.node for sample in samples}
    made = []
    for sample in samples:
        made.append(sample)
        for number in range(2, count + 1):
            hyphens = "-"
            while (name := f"{sample.node}{hyphens}{number}") in taken:
                hyphens += "-"
            taken.add(name)
            made.append(replace(sample, node=name, repeat=number))
    return made


def placeholders(spec: Spec, problem: str) -> Iterator[Sample]:
    """One sample per declared subset that stands for data that is not there."""
    for subset in spec.subsets or (DEFAULT_SUBSET,):
        yield Sample(spec, None, subset, "no-data", "no-data", "no-data", problem=problem)
