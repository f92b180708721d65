"""Data files without a spec: recognised, asked and scored as they are."""

import base64
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pytest_vqaeval.store import read_run
from pytest_vqaeval.testing import ModelServer, Request
from tests.conftest import Run, counts_of, jpeg, summary_of
from tests.realdata import real_data

ANSWERS = {
    "animal": "ANSWER: A",
    "shows a dog": "ANSWER: A",
    "building": "ANSWER: D",
    "media": "ANSWER: C",
    "city": "ANSWER: B",
    "brand": "ANSWER: C",
    "person": "ANSWER: A",
}
WORDS = {
    "animal": "Dog",
    "building": "Museum",
    "city": "Tokyo",
    "brand": "Tesla",
    "person": "Running",
    "media": "Video",
}


def answering(answers: dict[str, str]) -> Callable[[Request], str]:
    """The answer by a word of the question."""
    return lambda request: next(answers[word] for word in answers if word in request.text)


@pytest.fixture
def run_there(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """Run pytest in another folder, where nothing may be written."""

    def run_pytest(folder: Path, *arguments: str) -> pytest.RunResult:
        monkeypatch.chdir(folder)
        out = pytester.path
        kept = ("-p", "no:cacheprovider", f"--rootdir={out}", f"--vqa-out={out}/runs", f"--vqa-json={out}/out.json")
        return pytester.runpytest(*kept, *arguments)

    return run_pytest


@pytest.mark.parametrize(
    ("name", "title", "rows"),
    [
        ("example.jsonl", "General-VMCQ", 3),
        ("example.tsv", "General-VMCQ", 3),
        ("example_video.jsonl", "General-VMCQ", 1),
    ],
)
def test_the_examples_of_general_vmcq(
    run_there: Callable[..., pytest.RunResult], pytester: pytest.Pytester, name: str, title: str, rows: int
) -> None:
    folder = real_data("custom_eval").parent
    with ModelServer(answering(ANSWERS)) as server:
        result = run_there(folder, f"custom_eval/multimodal/mcq/{name}", f"--vqa-model=m@{server.url}")
    result.assert_outcomes(passed=rows)
    result.stdout.fnmatch_lines([f"vqaeval: {name} is {title}: {rows} records, scored by choice"])
    assert counts_of(pytester.path) == {"correct": rows}


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("example_openai.jsonl", 5),
        ("example_openai.tsv", 5),
        ("example_placeholder.jsonl", 5),
        ("example_video.jsonl", 1),
    ],
)
def test_the_examples_of_general_vqa(
    run_there: Callable[..., pytest.RunResult], pytester: pytest.Pytester, name: str, rows: int
) -> None:
    folder = real_data("custom_eval").parent
    with ModelServer(answering(WORDS), keep_bodies=True) as server:
        result = run_there(folder, f"custom_eval/multimodal/vqa/{name}", f"--vqa-model=m@{server.url}")
    result.assert_outcomes(passed=rows)
    (benchmark,) = summary_of(pytester.path)["benchmarks"]  # type: ignore[misc]
    assert (benchmark["name"], benchmark["overall"]["scored"]) == (name.split(".")[0], rows)
    assert benchmark["overall"]["score"] == 1.0
    sent = [part["type"] for request in server.requests for part in request.messages[0]["content"]]
    assert sent == ["text", "video_url" if "video" in name else "image_url"] * rows


def test_files_of_one_name_are_benchmarks_of_their_own(
    run_there: Callable[..., pytest.RunResult], pytester: pytest.Pytester
) -> None:
    folder = real_data("custom_eval").parent
    files = [f"custom_eval/multimodal/mcq/example.{suffix}" for suffix in ("jsonl", "tsv")]
    with ModelServer(answering(ANSWERS)) as server:
        run_there(folder, *files, f"--vqa-model=m@{server.url}").assert_outcomes(passed=6)
    names = [benchmark["name"] for benchmark in summary_of(pytester.path)["benchmarks"]]  # type: ignore[attr-defined]
    assert names == ["example.jsonl", "example.tsv"]


def test_files_of_one_name_in_two_folders_are_told_apart_everywhere(run: Run, pytester: pytest.Pytester) -> None:
    for folder in "ab":
        pytester.mkdir(folder).joinpath("q.jsonl").write_text('{"question": "?", "options": ["x", "y"], "answer": "A"}')
    with ModelServer("ANSWER: A") as server:
        result = run("a/q.jsonl", "b/q.jsonl", f"--vqa-model=m@{server.url}", "--vqa-fail-under=b/q.jsonl=0.5")
        other = run("a/q.jsonl", "b/q.jsonl", f"--vqa-model=m@{server.url}", "--vqa-fail-under=q=0.5")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*= a/q.jsonl (General-VMCQ): m =*", "*= b/q.jsonl (General-VMCQ): m =*"])
    result.stdout.fnmatch_lines(["gate pass: b/q.jsonl m: fail_under 0.5: *"])
    assert other.ret == 20
    other.stdout.fnmatch_lines(["gate inconclusive: q: *no sample was selected; there are a/q.jsonl, b/q.jsonl"])


@pytest.mark.parametrize("by", ["option", "environment"])
def test_tables_of_vlmevalkit(
    run_there: Callable[..., pytest.RunResult],
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    by: str,
) -> None:
    folder, root = real_data("vlmevalkit"), real_data("custom_eval", "multimodal", "images")
    if by == "environment":
        monkeypatch.setenv("LMUData", str(root))
    roots = [f"--vqa-media-root={root}"] if by == "option" else []
    with ModelServer(answering({word: answer[-1] for word, answer in ANSWERS.items()})) as server:
        result = run_there(folder, "custom_mcq.tsv", f"--vqa-model=m@{server.url}", *roots)
    result.assert_outcomes(passed=5)
    (benchmark,) = summary_of(pytester.path)["benchmarks"]  # type: ignore[misc]
    assert [row["name"] for row in benchmark["groups"]["category"]] == [
        *("Activities", "Animals", "Buildings", "Cities", "Vehicles"),
    ]
    assert benchmark["overall"]["guessed"] == 0
    with ModelServer(answering(WORDS)) as server:
        result = run_there(folder, "custom_vqa.tsv", f"--vqa-model=m@{server.url}", *roots)
    result.assert_outcomes(passed=5)


def test_a_table_without_pictures(run_there: Callable[..., pytest.RunResult], pytester: pytest.Pytester) -> None:
    folder = real_data("vlmevalkit")
    with ModelServer("A") as server:
        result = run_there(folder, "MMStar_text_no_images.tsv", f"--vqa-model=m@{server.url}", "--vqa-limit=30", "-q")
    (benchmark,) = summary_of(pytester.path)["benchmarks"]  # type: ignore[misc]
    assert benchmark["overall"]["answered"] == 30
    assert set(benchmark["groups"]) == {"category", "l2_category"}
    result.stdout.fnmatch_lines(["category *", "coarse perception *", "l2_category *", "image scene and topic *"])


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def ask(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], **more}


def test_ids_clusters_and_broken_rows(run: Run, pytester: pytest.Pytester) -> None:
    root = pytester.path
    root.joinpath("a.jpg").write_bytes(jpeg())
    rows: list[dict[str, Any]] = [
        {"qid": "x", "question": "<image 1> 1?", "options": ["a", "b"], "answer": "A", "image_1": "a.jpg"},
        {"qid": "y", "question": "<image 1> 2?", "options": ["a", "b"], "answer": "B", "image_1": "a.jpg"},
        {"qid": "z", "question": "3?", "options": ["a", "b"], "answer": "C"},
        {"qid": "z", "question": "4?", "options": ["a", "b"], "answer": "A"},
        {"question": "5?", "options": ["a", "b"], "answer": "A"},
    ]
    write(root / "own.jsonl", rows).open("a").write("{broken\n")
    with ModelServer("ANSWER: A") as server:
        result = run("own.jsonl", f"--vqa-model=m@{server.url}", "--vqa-json=out.json")
    assert counts_of(root) == {"correct": 1, "wrong": 1, "error": 4}
    assert server.count == 2
    result.stdout.fnmatch_lines_random(
        [
            "*own.jsonl:3: field 'answer' is 'C', none of the labels A,B and no option's text*",
            "*own.jsonl:4: id 'z' is also that of own.jsonl:3*",
            "*own.jsonl:5: field 'qid' is missing*",
            "*own.jsonl:6: is not valid JSON*",
        ]
    )
    samples = [json.loads(line) for line in root.joinpath(".vqaeval/latest/samples.jsonl").read_text().splitlines()]
    assert {row["cluster"] for row in samples if row["id"] in ("x", "y")} == {"a.jpg"}


@pytest.mark.parametrize(
    "row",
    [{"messages": [{"role": "user", "content": "<image 7> ?"}]}, {"question": "<image 7> ?", "options": ["a", "b"]}],
    ids=["messages", "vmcq"],
)
def test_a_placeholder_without_a_medium_is_told_with_its_row(
    run: Run, pytester: pytest.Pytester, row: dict[str, Any]
) -> None:
    text = json.dumps({**row, "answer": "a"})
    pytester.path.joinpath("q.jsonl").write_text(f"{text.replace('<image 7> ', '')}\n{text}\n")
    with ModelServer("a") as server:
        result = run("q.jsonl", f"--vqa-model=m@{server.url}")
    result.stdout.fnmatch_lines(["*PlaceholderWarning: q.jsonl:2: <image 7> is left out: nothing stands for it"])


def test_nothing_fits_is_a_usage_error(run: Run, pytester: pytest.Pytester) -> None:
    write(pytester.path / "q.jsonl", [{"prompt": "q", "answer": "a"}])
    result = run("q.jsonl", "--vqa-model=demo")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: *q.jsonl: no known format has its columns (prompt, answer); there are General-*"]
    )


def test_a_data_file_needs_a_model(run: Run, pytester: pytest.Pytester) -> None:
    write(pytester.path / "q.jsonl", [ask("q")])
    result = run("q.jsonl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: q.jsonl needs a model: --vqa-model=NAME*"])


def test_data_files_found_in_a_folder_are_left_alone(run: Run, pytester: pytest.Pytester) -> None:
    write(pytester.path / "q.jsonl", [ask("q")])
    assert run(".", "--vqa-model=demo").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_the_parser_is_an_option(run: Run, pytester: pytest.Pytester) -> None:
    write(pytester.path / "q.jsonl", [{"question": "q", "options": ["cat", "dog"], "answer": "A"}])
    with ModelServer("Is it? A bird, it seems.") as server:
        run("q.jsonl", f"--vqa-model=m@{server.url}", "--vqa-json=out.json")
        assert counts_of(pytester.path) == {"correct": 1}  # the last capital letter
        run("q.jsonl", f"--vqa-model=m@{server.url}", "--vqa-json=out.json", "--vqa-parser=strict")
        assert counts_of(pytester.path) == {"unparsed": 1}
    result = run("q.jsonl", "--vqa-model=demo", "--vqa-parser=best")
    result.stderr.fnmatch_lines(["ERROR: --vqa-parser: 'best' is none of evalscope, strict"])


def test_a_media_root_must_be_there(run: Run, pytester: pytest.Pytester) -> None:
    write(pytester.path / "q.jsonl", [ask("q")])
    result = run("q.jsonl", "--vqa-model=demo", "--vqa-media-root=nowhere")
    result.stderr.fnmatch_lines(["ERROR: --vqa-media-root: there is no folder */nowhere"])


def test_large_pictures_are_sent_smaller_if_told_so(run: Run, pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("a.jpg").write_bytes(jpeg(400, 300))
    row = {"question": "<image 1>", "options": ["a", "b"], "answer": "A", "image_1": "a.jpg"}
    write(pytester.path / "q.jsonl", [row])
    sizes = []
    with ModelServer("ANSWER: A", keep_bodies=True) as server:
        for more in ([], ["--vqa-max-image-pixels=10000"]):
            run("q.jsonl", f"--vqa-model=m@{server.url}", *more)
        for request in server.requests:
            url = request.messages[0]["content"][1]["image_url"]["url"]
            with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as picture:
                sizes.append(picture.size)
    assert sizes[0] == (400, 300)
    assert sizes[1][0] * sizes[1][1] <= 10000
    first, second = (run.results for run in map(read_run, sorted(pytester.path.glob(".vqaeval/runs/*"))))
    assert not first[0].resized
    assert re.fullmatch(r"a.jpg \(115x86 px, resized from 400x300 px, [\d,]+ bytes, image/jpeg\)", second[0].resized[0])
