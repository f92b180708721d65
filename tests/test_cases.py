"""Specs that look at the record: which rows belong to the benchmark, cases, options in a text, several pictures."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval.errors import DataError, SpecError
from pytest_vqaeval.question import Question
from pytest_vqaeval.records import Record, read_records
from pytest_vqaeval.sample import build_samples
from pytest_vqaeval.scoring import BUILT_IN
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.spec import Spec, read_spec
from tests.conftest import Run, counts_of

BASE = {"records": "q.jsonl", "sample": {"id": "{row}", "reference": "{answer}"}, "score": {"scorer": "short_answer"}}


def spec_of(folder: Path, **changes: Any) -> Spec:
    path = folder / "b.vqa.yaml"
    path.write_text(json.dumps({**BASE, **changes}))  # JSON is YAML
    read_spec.cache_clear()
    return read_spec(path)


def question_of(folder: Path, row: dict[str, Any], **changes: Any) -> Question:
    spec = spec_of(folder, **changes)
    (sample,) = build_samples(spec, [(None, Record(row, folder / "q.jsonl", 0))])
    return sample.question()


def kinds(question: Question) -> list[str]:
    return [part["type"] for part in question.messages[0]["content"]]


def sample_with(content: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"sample": {"id": "1", "messages": [{"role": "user", "content": content}], **more}}


def test_options_are_lines_of_the_question(tmp_path: Path) -> None:
    rule = sample_with([{"text": "{question}"}], options={"lines": "{question}"}, reference="{answer}")
    row = {"question": "Which?\n A. one, A. two\nB) 2\n(C) three\nE. no", "answer": "B"}
    question = question_of(tmp_path, row, **rule)
    assert (question.options, question.references) == (("one, A. two", "2", "three"), ("B",))
    with pytest.raises(DataError, match=r"q.jsonl\[0\]: there are no options in it"):
        question_of(tmp_path, {"question": "A. only one", "answer": "A"}, **rule)


@pytest.mark.parametrize("value", [None, [], "[]", ""])
def test_options_may_be_absent_where_the_spec_says_so(tmp_path: Path, value: Any) -> None:
    row = {"question": "?", "options": value, "answer": "8"}
    rule = {"field": "options", "optional": True}
    question = question_of(tmp_path, row, **sample_with([], options=rule, reference="{answer}"))
    assert (question.options, question.references) == ((), ("8",))
    with pytest.raises(DataError, match="'options' is"):
        question_of(tmp_path, row, **sample_with([], options={"field": "options"}, reference="{answer}"))


def test_a_record_need_not_call_its_question_question(tmp_path: Path) -> None:
    rule = sample_with([{"text": "Say: {q}"}])
    assert question_of(tmp_path, {"q": "Which?"}, **rule).text == "Say: Which?"
    assert question_of(tmp_path, {"q": "Which?", "question": "What?"}, **rule).text == "What?"
    with pytest.raises(DataError, match="field 'q' is missing"):
        question_of(tmp_path, {"question": "What?"}, **rule)


def test_several_pictures(tmp_path: Path) -> None:
    row = {"question": "?", "one": "a.jpg", "two": None, "list": [b"1", None, {"bytes": b"2"}], "three": ""}
    content = [{"images": ["{one}", "{two}", "{three}", "{four}"]}, {"text": "then"}, {"images": "{list}"}]
    question = question_of(tmp_path, row, **sample_with(content))
    assert kinds(question) == ["image_url", "text", "image_url", "image_url"]


def test_pictures_among_the_text(tmp_path: Path) -> None:
    row = {"question": "Is <image 2> in <image 1>?", "image_1": "a.jpg", "image_2": "b.jpg", "image_3": {"bytes": 3}}
    question = question_of(tmp_path, row, **sample_with([{"interleaved": "{question}"}]))
    assert kinds(question) == ["text", "image_url", "text", "image_url", "text"]


def test_a_reference_by_case(tmp_path: Path) -> None:
    rule = sample_with([], reference={"by": "gt", "1": "yes", "0": "no"})
    assert question_of(tmp_path, {"question": "?", "gt": "1"}, **rule).references == ("yes",)
    with pytest.raises(DataError, match="field 'gt' is '2'; the spec has cases for 1, 0"):
        question_of(tmp_path, {"question": "?", "gt": "2"}, **rule)


def test_a_scorer_by_case(tmp_path: Path) -> None:
    cases = {"closed": {"scorer": "yes_no"}, "choice": {"scorer": "choice"}}
    spec = spec_of(tmp_path, score={"by": "kind", **cases, "else": {"scorer": "anls", "threshold": 0.4}})
    assert (spec.score.scorer, spec.score.scorers) == ("yes_no, choice, anls", ("yes_no", "choice", "anls"))
    scorer = spec.score.bind(BUILT_IN)
    said = scorer(Question("?", [], ("yes",), record={"kind": "closed"}), "Yes, it is.")
    assert said.outcome is Outcome.CORRECT
    assert scorer(Question("?", [], ("yes",), record={"kind": "open"}), "yess").outcome is Outcome.SCORED
    with pytest.raises(DataError, match="field 'kind' is missing"):
        scorer(Question("?", [], ("yes",)), "yes")
    strict = spec.score.bind(BUILT_IN, "strict")
    choice = Question("?", [], ("B",), ("Right", "Wrong"), {"kind": "choice"})
    assert (scorer(choice, "Bright").extracted, strict(choice, "Bright").extracted) == ("B", None)


def test_no_case_of_a_scorer(tmp_path: Path) -> None:
    scorer = spec_of(tmp_path, score={"by": "kind", "open": {"scorer": "anls"}}).score.bind(BUILT_IN)
    with pytest.raises(DataError, match="field 'kind' is 'x'; the spec has scorers for open"):
        scorer(Question("?", [], ("yes",), record={"kind": "x"}), "yes")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"score": {"by": "kind", "open": {"scorer": "anls", "thresh": 1}}}, "anls has no option 'thresh'"),
        ({"score": {"by": "kind"}}, "score.by: has no scorer for any value of kind"),
        ({"where": {"a": {"b": "c"}}}, "where.a: is not a text"),
        ({"score": {"by": "kind", "open": "anls"}}, "score.open: is not a mapping"),
        ({"score": {"by": "kind", "open": {}}}, "score.open.scorer is missing"),
        ({"prompt": {"by": "kind"}}, "prompt: has no text for any value of kind"),
        ({"prompt": {"by": "{kind", "a": "b"}}, "prompt.by: a lone {"),
        ({"metrics": ["precison"]}, "metrics: unknown metric 'precison'; did you mean 'precision'?; there are"),
        ({"metrics": ["all_right_by"]}, "metrics: unknown metric 'all_right_by'"),
        ({"metrics": [{"all_rite_by": "x"}]}, "metrics[0].all_right_by is missing; was it meant by 'all_rite_by'?"),
        ({"metrics": [{"all_right_by": "x", "nam": "y"}]}, "metrics[0].nam: unknown key; did you mean 'name'?"),
        ({"metrics": ["f1", "f1"]}, "metrics: f1 is given twice"),
        ({"metrics": "f1"}, "metrics: is not a list"),
        ({"where": ["a"]}, "where: is not a mapping"),
        (sample_with([], options={"field": "o", "optional": "maybe"}), "optional: 'maybe' is not true or false"),
        (sample_with([{"images": []}]), "content[0]: a content part is one of text, image, video, audio, images"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_of(tmp_path, **changes).score.bind(BUILT_IN)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path}/b.vqa.yaml:1: ")
    assert "\n" not in str(caught.value)


def test_only_some_rows_belong_to_the_benchmark(always_yes: Path, run: Run) -> None:
    spec = always_yes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text() + "where: {kind: Closed, lang: [en, fr]}\n")
    result = run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-json=out.json")
    assert counts_of(always_yes) == {"correct": 2, "wrong": 3}  # of 0 to 7, those not divisible by three
    assert "partial" not in result.stdout.str()


def test_a_row_that_does_not_say_whether_it_belongs_is_an_error(always_yes: Path, run: Run) -> None:
    spec = always_yes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text() + "where: {kind: Closed}\n")
    data = always_yes / "shapes" / "q.jsonl"
    data.write_text(data.read_text().replace('"kind": "Closed", "lang": "zh"}\n', '"lang": "zh"}\n'))
    result = run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-json=out.json")
    assert counts_of(always_yes) == {"correct": 2, "wrong": 3, "error": 3}
    result.stdout.fnmatch_lines(["*field 'kind' is missing (where)"])


def test_a_condition_that_no_row_fits_is_an_error_of_each_subset(always_yes: Path, run: Run) -> None:
    spec = always_yes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text() + "where: {kind: Closd, lang: [en, fr]}\n")
    result = run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-json=out.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["2 x where: no record has kind: Closd, lang: en or fr"])


def test_a_file_named_twice_does_not_count_twice(always_yes: Path, run: Run) -> None:
    spec = always_yes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text().replace("records: q.jsonl", 'records: [q.jsonl, "q*.jsonl"]'))
    result = run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-json=out.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["2 x records: q.jsonl is named twice, and its samples would count twice"])


def test_rows_are_counted_over_all_files_of_a_table(pytester: pytest.Pytester) -> None:
    for number in range(2):
        file = pytester.path / f"part-{number}.jsonl"
        file.write_text('{"question": "?", "answer": "1"}\n' * 2)
    text = 'records: "part-*.jsonl"\nsample: {id: "{row}", subset: all, reference: "{answer}"}\n'
    pytester.path.joinpath("b.vqa.yaml").write_text(text + "score: {scorer: short_answer}\n")
    result = pytester.runpytest("--co", "-q", "b.vqa.yaml")
    result.stdout.fnmatch_lines([f"b.vqa.yaml::all[[]{n}]" for n in range(4)])


def test_a_json_mapping_of_objects_is_a_table(tmp_path: Path) -> None:
    file = tmp_path / "q.json"
    file.write_text('{"q1": {"answer": "a"}, "q2": {"answer": "b", "key": "own"}}')
    assert [record.row["key"] for record in read_records(file)] == ["q1", "own"]
    file.write_text('{"info": "x", "q2": {}}')
    with pytest.raises(DataError, match="is not a JSON array of records"):
        read_records(file)
