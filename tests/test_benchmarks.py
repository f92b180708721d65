"""The shipped benchmarks on the real data."""

import json
from pathlib import Path

import pytest

from pytest_vqaeval.media import Media
from pytest_vqaeval.records import read_records
from pytest_vqaeval.sample import Sample, build_samples
from pytest_vqaeval.spec import read_spec
from pytest_vqaeval.testing import ModelServer
from tests.conftest import Run, jpeg, summary_of
from tests.realdata import ROOT, real_data

BENCHMARKS = ROOT / "benchmarks"


def samples_of(benchmark: str, file: Path) -> list[Sample]:
    spec = read_spec(BENCHMARKS / f"{benchmark}.vqa.yaml")
    return list(build_samples(spec, [(None, record) for record in read_records(file)]))


def test_pmc_vqa_asks_as_published() -> None:
    samples = samples_of("pmc_vqa", real_data("pmc_vqa", "test_clean.csv"))
    question = samples[0].question()
    picture, text = question.messages[0]["content"]
    assert picture["image_url"]["url"] == Media("image", "images.zip!images/PMC8415802_FIG1.jpg")
    assert text["text"] == (
        "Answer the following multiple choice question. The entire content of your response should be of the following "
        "format: 'ANSWER: [LETTER]' (without quotes) where [LETTER] is one of A,B,C,D.\n\n"
        "What is the name of the medical imaging technique used in this case?\n\n"
        "A) X-ray\nB) Magnetic resonance imaging\nC) Computed tomography\nD) Ultrasound"
    )
    assert (question.references, samples[0].id, samples[0].cluster) == (("B",), "0", "PMC8415802_FIG1.jpg")
    assert len(samples) == 100
    assert len({sample.cluster for sample in samples}) == 64
    options = [option for sample in samples for option in sample.question().options]
    assert not [option for option in options if option != option.strip() or option[1:2] == ":"]


def test_pmc_vqa_scores_stored_replies_as_published(run: Run, pytester: pytest.Pytester) -> None:
    replies = real_data("replies", "pmc_vqa_first100_qwen25vl_7b.jsonl")
    data = real_data("pmc_vqa").parent
    run("--vqa-benchmark=pmc_vqa", f"--vqa-model=replay:{replies}", f"--vqa-data={data}", "--vqa-json=out.json", "-q")
    (benchmark,) = summary_of(pytester.path)["benchmarks"]  # type: ignore[misc]
    assert (benchmark["overall"]["correct"], benchmark["overall"]["answered"]) == (45, 100)


def test_ai2d_asks_as_published() -> None:
    pytest.importorskip("pyarrow")
    (file,) = real_data("ai2d").glob("*.parquet")
    samples = samples_of("ai2d", file)
    question = samples[0].question()
    text, picture = question.messages[0]["content"]
    assert text["text"] == (
        "Answer the following multiple choice question. The last line of your response should be of the following "
        "format: 'ANSWER: [LETTER]' (without quotes) where [LETTER] is one of A,B,C,D. Think step by step before "
        'answering.\n\nHow many different "pointed" kinds are there?\n\nA) 2\nB) 4\nC) 1\nD) 3'
    )
    assert picture["type"] == "image_url"
    assert (question.references, question.options) == (("A",), ("2", "4", "1", "3"))
    assert (len(samples), samples[1].question().references) == (60, ("C",))


def test_ai2d_is_collected_whole(pytester: pytest.Pytester) -> None:
    pytest.importorskip("pyarrow")
    data = real_data("ai2d").parent
    result = pytester.runpytest("--co", "-q", "--vqa-benchmark=ai2d", f"--vqa-data={data}")
    result.stdout.fnmatch_lines(["*::default[[]59[]]", "60 tests collected*"])


@pytest.mark.parametrize(
    ("benchmark", "row"),
    [
        ("general_vqa", {"messages": [{"role": "user", "content": "q"}]}),
        ("general_vmcq", {"question": "q", "options": ["a", "b"], "answer": "A"}),
    ],
)
def test_your_own_files_are_subsets(pytester: pytest.Pytester, benchmark: str, row: dict[str, object]) -> None:
    folder = pytester.mkdir(benchmark)
    folder.joinpath("one.jsonl").write_text(json.dumps(row))
    folder.joinpath("two.json").write_text(json.dumps([row, row]))
    folder.joinpath("two.jsonl").write_text(json.dumps(row))
    result = pytester.runpytest("--co", "-q", f"--vqa-benchmark={benchmark}", "--vqa-data=.")
    found = [line.split("::", 1)[1] for line in result.outlines if "::" in line]
    assert found == ["one[0]", "two-jsonl[0]", "two-json[0]", "two-json[1]"]


def test_a_folder_without_files(pytester: pytest.Pytester) -> None:
    pytester.mkdir("general_vmcq")
    result = pytester.runpytest("--vqa-benchmark=general_vmcq", "--vqa-data=.", "--vqa-model=demo")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*no file [*].jsonl or [*].json or [*].csv or [*].tsv or [*].parquet in *general_vmcq*"]
    )


@pytest.mark.parametrize("columns", ["image_1", "image image_path A B"])
def test_collection_reads_no_picture(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    row = {"question": "<image_1>?", "options": ["a", "b"], "answer": "A", "A": "a", "B": "b", "image_path": ""}
    picture = {"bytes": jpeg(), "path": "p.jpg"}
    cells = {name: [picture] if name in ("image", "image_1") else [row[name]] for name in columns.split()}
    more = {} if "A" in columns.split() else {"options": [row["options"]]}
    table = pa.table({"question": [row["question"]], "answer": [row["answer"]], **more, **cells})
    parquet.write_table(table, pytester.path / "q.parquet")
    with ModelServer("ANSWER: A", keep_bodies=True) as server:
        pytester.runpytest("q.parquet", f"--vqa-model=m@{server.url}").assert_outcomes(passed=1)
    assert "image_url" in [part["type"] for part in server.requests[0].messages[0]["content"]]

    def load(_cell: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr("pytest_vqaeval.parquet.Cell.load", load)
    result = pytester.runpytest_inprocess("--co", "-q", "q.parquet")
    result.stdout.fnmatch_lines(["1 test collected*"])
