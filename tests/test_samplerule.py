"""The `sample:` block of a spec, and the files of its records."""

from pathlib import Path

import pytest

from pytest_vqaeval.errors import DataError, SpecError
from pytest_vqaeval.hub import Hub, record_files
from pytest_vqaeval.names import file_names
from pytest_vqaeval.spec import Spec, read_spec

REST = "\nscore: {scorer: choice}\n"


def spec_of(folder: Path, text: str) -> Spec:
    path = folder / "b.vqa.yaml"
    path.write_text(text + REST)
    return read_spec(path)


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ("{format: vmqc}", "sample.format: unknown format 'vmqc'; did you mean 'vmcq'?; there are template, messages"),
        ("{format: messages, reference: x}", "sample.reference: unknown key; there are format, id, subset, cluster"),
        ("{format: messages, answer: index}", "sample.answer: unknown key"),
        ("{format: vmcq, answer: letter}", "sample.answer: unknown answer 'letter'; there are label, index, text"),
        ("{id: x, answer: index}", "sample.answer: unknown key"),
        ("{id: x, options: {fields: o}}", "sample.options.field is missing; was it meant by 'fields'?"),
        ("{id: x, options: ['{a']}", "sample.options: a lone {"),
        ("{id: x, messages: [{role: user, content: [{movie: x}]}]}", "content[0].movie: unknown key"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, sample: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        spec_of(tmp_path, f"records: q.jsonl\nsample: {sample}")
    assert message in str(error.value)
    assert str(error.value).startswith(f"{tmp_path}/b.vqa.yaml:2: ")


def test_media_roots_are_relative_to_the_spec(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "records: q\nsample: {format: vmcq}\nmedia_roots: [pics, /data]")
    assert spec.media_roots == (tmp_path / "pics", Path("/data"))


def test_names_of_files_are_as_short_as_can_be() -> None:
    files = [Path(name) for name in ("a.jsonl", "b.tsv", "b.csv", "x/c.csv", "y/c.csv")]
    assert file_names(files) == ("a", "b.tsv", "b.csv", "x/c.csv", "y/c.csv")
    deep = [Path("/data/x/c.csv"), Path("/data/y/c.csv"), Path("/data/z/d.csv"), Path("/data/one/z/d.csv")]
    assert file_names(deep) == ("x/c.csv", "y/c.csv", "data/z/d.csv", "one/z/d.csv")


@pytest.mark.parametrize(
    ("rules", "found", "declared"),
    [
        ("records: a.jsonl\nsample: {format: vmcq}", {None: ["a.jsonl"]}, ("default",)),
        ("records: [a.jsonl, b.jsonl]\nsample: {format: vmcq}", {"a": ["a.jsonl"], "b": ["b.jsonl"]}, ("a", "b")),
        ("records: '*.jsonl'\nsample: {format: vmcq}", {"a": ["a.jsonl"], "b": ["b.jsonl"]}, ()),
        ("records: ['*.tsv', '*.jsonl']\nsample: {format: vmcq}", {"a": ["a.jsonl"], "b": ["b.jsonl"]}, ()),
        ("records: {x: a.jsonl, y: '*.jsonl'}\nsample: {format: vmcq}", None, ("x", "y")),
        ("records: '*.jsonl'\nsample: {format: vmcq, subset: '{s}'}", {None: ["a.jsonl", "b.jsonl"]}, ()),
    ],
)
def test_each_of_several_files_is_a_subset(
    tmp_path: Path, rules: str, found: dict[str | None, list[str]] | None, declared: tuple[str, ...]
) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        tmp_path.joinpath(name).touch()
    spec = spec_of(tmp_path, rules)
    by_subset: dict[str | None, list[str]] = {}
    for subset, file in record_files(spec, Hub().open(spec)):
        by_subset.setdefault(subset, []).append(file.name)
    assert by_subset == (found or {"x": ["a.jsonl"], "y": ["a.jsonl", "b.jsonl"]})
    assert spec.subsets == declared


@pytest.mark.parametrize("rules", ["records: '*.tsv'", "records: {x: '*.tsv', y: a.jsonl}"])
def test_no_file_matches(tmp_path: Path, rules: str) -> None:
    spec = spec_of(tmp_path, f"{rules}\nsample: {{format: vmcq}}")
    with pytest.raises(DataError, match=r"no file \*\.tsv in "):
        record_files(spec, Hub().open(spec))
