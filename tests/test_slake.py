"""SLAKE on the real data: the published figures."""

import base64
import hashlib
import json
import statistics
import zipfile

import pytest

from pytest_vqaeval.archive import Archive
from pytest_vqaeval.media import encode
from pytest_vqaeval.records import read_records
from pytest_vqaeval.sample import Sample, build_samples
from pytest_vqaeval.spec import read_spec
from pytest_vqaeval.testing import ModelServer, Request
from tests.conftest import Run, summary_of
from tests.realdata import ROOT, real_data

SPEC = ROOT / "benchmarks" / "slake.vqa.yaml"
SUBSETS = {"en_open": 645, "en_closed": 416, "zh_open": 613, "zh_closed": 420}


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    """All 2,094 samples."""
    records = read_records(real_data("slake", "test.json"))
    return list(build_samples(read_spec(SPEC), [(None, record) for record in records]))


def prompt_of(sample: Sample) -> str:
    (message,) = sample.question().messages
    picture, text = message["content"]  # the picture first
    assert (picture["type"], text["type"]) == ("image_url", "text")
    return str(text["text"])


@pytest.mark.parametrize(
    ("subset", "expected"),
    [
        ("en_open", (645, 195.09, 168, 257)),
        ("en_closed", (416, 187.99, 162, 253)),
        ("zh_open", (613, 67.07, 61, 79)),
        ("zh_closed", (420, 65.44, 60, 82)),
        ("", (2094, 130.2, 60, 257)),
    ],
)
def test_prompt_lengths_are_those_of_the_published_card(
    samples: list[Sample], subset: str, expected: tuple[int, float, int, int]
) -> None:
    lengths = [len(prompt_of(sample)) for sample in samples if sample.subset.startswith(subset)]
    found = (len(lengths), round(statistics.fmean(lengths), 2), min(lengths), max(lengths))
    assert found == expected


def test_prompts_are_worded_as_published(samples: list[Sample]) -> None:
    english = next(sample for sample in samples if sample.id == "11934")
    assert prompt_of(english) == (
        "What modality is used to take this image?\nAnswer the question with a single word or phrase in English.\n"
        'The last line of your response must be of the form "ANSWER: <answer>" (without quotes).'
    )
    chinese = next(sample for sample in samples if sample.subset == "zh_open")
    assert prompt_of(chinese).split("\n")[1:] == [
        "请用一个中文词语或短语回答问题。",
        '回答的最后一行必须是 "ANSWER: <答案>" 的形式（不含引号）。',
    ]


def test_pictures_are_jpeg_of_the_published_sizes(samples: list[Sample]) -> None:
    archive = Archive(real_data("slake"))
    pictures = [encode(archive.read(f"imgs.zip!imgs/{name}"), name) for name in {sample.cluster for sample in samples}]
    assert len(pictures) == 180
    assert {picture.mime for picture in pictures} == {"image/jpeg"}
    assert min(picture.size or (0, 0) for picture in pictures) == (240, 240)
    assert max(picture.size or (0, 0) for picture in pictures) == (1024, 1024)


def test_a_perfect_server(pytester: pytest.Pytester) -> None:
    """It recognises picture and question, and gives the reference on an answer line."""
    folder = real_data("slake")
    with zipfile.ZipFile(folder / "imgs.zip") as archive:
        digest = {
            name.removeprefix("imgs/"): hashlib.sha256(base64.b64encode(archive.read(name))).digest()
            for name in archive.namelist()
        }
    rows = json.loads(folder.joinpath("test.json").read_text())
    answers = {(digest[row["img_name"]], row["question"].strip()): row["answer"] for row in rows}

    def answer(request: Request) -> str:
        picture, text = request.messages[0]["content"]
        encoded = picture["image_url"]["url"].removeprefix("data:image/jpeg;base64,").encode()
        return "It shows...\nANSWER: " + answers[hashlib.sha256(encoded).digest(), text["text"].split("\n")[0]]

    with ModelServer(answer) as server:
        arguments = ["--vqa-benchmark=slake", f"--vqa-data={folder.parent}", "--vqa-json=out.json"]
        result = pytester.runpytest_subprocess(*arguments, f"--vqa-model=m@{server.url}", "-q")
    assert result.ret == 0
    assert server.count == 2094
    (benchmark,) = summary_of(pytester.path)["benchmarks"]
    assert {s["name"]: (s["correct"], s["samples"]) for s in benchmark["subsets"]} == {
        name: (count, count) for name, count in SUBSETS.items()
    }
    assert [c["samples"] for c in benchmark["categories"]] == [1061, 1033]
    assert benchmark["overall"]["clusters"] == 180
    run = pytester.path / ".vqaeval" / "latest"
    size = sum(file.stat().st_size for file in run.iterdir())
    assert size < 4_000_000
    assert not any("base64" in file.read_text() for file in run.iterdir())


def replay(run: Run, *arguments: str) -> pytest.RunResult:
    folder = real_data("slake").parent
    replies = real_data("replies", "slake_en_huatuogpt_vision_7b.jsonl")
    options = [f"--vqa-model=replay:{replies}", f"--vqa-data={folder}", "--vqa-json=out.json", "-q"]
    return run(*options, *arguments)


def test_published_replies_give_evalscopes_figure(pytester: pytest.Pytester, run_apart: Run) -> None:
    result = replay(run_apart, "--vqa-benchmark=slake", "-k", "en_")
    (benchmark,) = summary_of(pytester.path)["benchmarks"]
    overall = benchmark["overall"]
    assert (overall["correct"], overall["samples"], overall["clusters"]) == (529, 1061, 96)
    assert {s["name"]: s["correct"] for s in benchmark["subsets"]} == {"en_open": 219, "en_closed": 310}
    assert {g["name"]: g["samples"] for g in benchmark["groups"]["modality"]} == {"CT": 472, "MRI": 228, "X-Ray": 361}
    assert len(benchmark["groups"]["content_type"]) == 10
    result.stdout.fnmatch_lines(["all samples  529 of 1,061     49.86 %*"])


def test_a_plain_normaliser_gives_the_authors_figure(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("plain.vqa.yaml").write_text(
        f"extends: {SPEC.name}\nname: plain\n"
        "score: {answer: whole, normalize: [lowercase, drop_ascii_punctuation, collapse_space]}\n"
    )
    pytester.path.joinpath(SPEC.name).write_text(SPEC.read_text())
    replay(pytester.runpytest_subprocess, "plain.vqa.yaml", "-k", "en_")
    overall = summary_of(pytester.path)["benchmarks"][0]["overall"]
    assert (overall["correct"], round(overall["accuracy"], 6)) == (499, 0.470311)


def test_a_sample_that_has_no_reply_is_an_error(pytester: pytest.Pytester) -> None:
    replay(pytester.runpytest_subprocess, "--vqa-benchmark=slake")
    overall = summary_of(pytester.path)["benchmarks"][0]["overall"]
    assert (overall["correct"], overall["error"], overall["answered"]) == (529, 1033, 1061)


def test_marks_and_ids_of_the_shipped_spec(pytester: pytest.Pytester) -> None:
    data = f"--vqa-data={real_data('slake').parent}"
    result = pytester.runpytest("--vqa-benchmark=slake", data, "--co", "-q", "-m", "medical and closed")
    result.stdout.fnmatch_lines(["benchmarks/slake.vqa.yaml::en_closed[[]11938]", "836/2094 tests collected*"])
    result = pytester.runpytest("--vqa-benchmark=slake::en_open[11934]", data, "--co", "-q")
    result.stdout.fnmatch_lines(["1 test collected*"])


def test_groups_are_picked(pytester: pytest.Pytester) -> None:
    replay(
        pytester.runpytest_subprocess,
        "--vqa-benchmark=slake::en_closed",
        "--vqa-group=location",
        "--vqa-group=base_type",
    )
    assert list(summary_of(pytester.path)["benchmarks"][0]["groups"]) == ["location", "base_type"]


def test_without_data_the_spec_says_how_to_get_it(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VQA_CACHE", str(pytester.path / "cache"))
    result = pytester.runpytest("--vqa-benchmark=slake", "--vqa-model=m", "--vqa-json=out.json")
    assert result.ret == 1
    (benchmark,) = summary_of(pytester.path)["benchmarks"]
    assert {s["name"]: s["error"] for s in benchmark["subsets"]} == dict.fromkeys(SUBSETS, 1)
    result.stdout.fnmatch_lines(
        [
            "4 x no data for slake: slake/test.json is not here, and nothing is fetched (offline); "
            "`python -m pytest_vqaeval data fetch slake` with a network puts it into */cache, "
            "--vqa-data names a folder that holds slake/test.json"
        ]
    )
