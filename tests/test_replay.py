"""`replay:` reads run folders and EvalScope's predictions; it never gives a sample the reply to another."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import Run, counts_of, rows, summary_of, write_rows
from tests.realdata import real_data

ALL = ["shapes.vqa.yaml", "--vqa-json=out.json", "--vqa-retries=0", "-q"]


def prediction(index: int, question: str, text: Any = "yes", **more: Any) -> dict[str, Any]:
    """A row as EvalScope 1.14 writes it."""
    parts = [{"type": "image", "image": "data:image/jpeg;base64,QUJD"}, {"type": "text", "text": question}]
    choice = {"message": {"role": "assistant", "content": text}, "stop_reason": "stop", "logprobs": None}
    output = {
        "model": "qwen",
        "choices": [choice],
        "usage": {"input_tokens": 11, "output_tokens": 3, "total_tokens": 14},
        "time": 0.25,
        "error": None,
    }
    messages = [{"role": "user", "content": parts}, {"role": "assistant", "content": text}]
    choice.update({key: value for key, value in more.items() if key == "stop_reason"})
    output.update({key: value for key, value in more.items() if key != "stop_reason"})
    return {"index": index, "model": "qwen", "model_output": output, "messages": messages, "metadata": {}}


def predictions(root: Path, model: str = "qwen", repeats: int = 1) -> Path:
    """An output folder of EvalScope for the small benchmark: `yes` to everything."""
    folder = root / "outputs" / "20260101_000000" / "predictions" / model
    folder.mkdir(parents=True)
    for lang, first, last in (("en", 0, 8), ("zh", 8, 12)):
        lines = [
            prediction(
                (n - first) * repeats + r, f"Is number {n} even?\nAnswer in one word.", "yes" if r == 0 else "no"
            )
            for n in range(first, last)
            for r in range(repeats)
        ]
        write(folder / f"shapes_{lang}.jsonl", reversed(lines))
    return folder


def write(file: Path, lines: Any) -> None:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def an_earlier_run(root: Path, pytester: pytest.Pytester, answer: Any = "yes", *options: str) -> Path:
    with ModelServer(answer) as server:
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", *options)
    return (root / ".vqaeval" / "latest").resolve()


# Run folders


@pytest.mark.parametrize("how", ["latest", "name", "path"])
def test_a_run_is_replayed(shapes: Path, pytester: pytest.Pytester, run: Run, how: str) -> None:
    def answer(request: Request) -> Answer:
        if "number 1 " in request.text:
            return Answer("", finish_reason="stop")
        if "number 2 " in request.text:
            return Answer("<think>", finish_reason="length")
        return Answer("yes")

    folder = an_earlier_run(shapes, pytester, answer)
    place = {"latest": "latest", "name": folder.name, "path": str(folder.relative_to(shapes))}[how]
    shapes.joinpath("shapes", "pics.zip").unlink()
    run(*ALL, f"--vqa-model=replay:{place}")
    assert counts_of(shapes) == {"correct": 5, "wrong": 5, "empty": 1, "truncated": 1}
    (benchmark,) = summary_of(shapes)["benchmarks"]  # type: ignore[misc]
    assert benchmark["model"] == f"replay:{Path(place).name}"
    assert benchmark["usage"]["answer"]["reused"] == 12


def test_a_sample_that_the_run_could_not_answer_says_why(shapes: Path, pytester: pytest.Pytester) -> None:
    an_earlier_run(
        shapes,
        pytester,
        lambda request: Answer("yes", status=500 if "number 1 " in request.text else 200),
        "-k",
        "not zh",
    )
    out = pytester.runpytest(*ALL, "--vqa-model=replay:latest")
    assert counts_of(shapes) == {"correct": 4, "wrong": 3, "error": 5}
    out.stdout.fnmatch_lines(["4 x no reply for this sample in 2*-m", "1 x no reply in 2*-m, but an error: HTTP 500*"])


def test_replies_that_came_when_the_run_had_ended_count(shapes: Path, pytester: pytest.Pytester) -> None:
    folder = an_earlier_run(shapes, pytester)
    folder.joinpath("samples.jsonl").unlink()
    with folder.joinpath("replies-main.jsonl").open("a") as file:
        file.write('{"id": "torn')
    pytester.runpytest(*ALL, "--vqa-model=replay:latest")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}


def test_each_repeat_has_its_own_stored_reply(shapes: Path, pytester: pytest.Pytester, run: Run) -> None:
    replies = iter(["yes", "no"] * 12)
    an_earlier_run(shapes, pytester, lambda request: next(replies), "--vqa-repeats=2", "--vqa-concurrency=1")
    run(*ALL, "--vqa-model=replay:latest", "--vqa-repeats=3")
    (benchmark,) = summary_of(shapes)["benchmarks"]  # type: ignore[misc]
    assert counts_of(shapes) == {"correct": 12, "wrong": 12, "error": 12}
    assert (benchmark["repeats"]["samples"], benchmark["repeats"]["whole"]) == (12, 0)


def test_a_run_of_two_models_wants_to_know_which(shapes: Path, pytester: pytest.Pytester, run: Run) -> None:
    with ModelServer(lambda request: "yes" if request.body["model"] == "a" else "no", keep_bodies=True) as server:
        pytester.runpytest(*ALL, f"--vqa-model=a@{server.url}", f"--vqa-model=org/b@{server.url}")
    result = run(*ALL, "--vqa-model=replay:latest")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--vqa-model=replay: * has replies of a, org/b: say whose, as in replay:*::a"])
    assert run(*ALL, "--vqa-model=replay:latest::c").ret == 4
    run(*ALL, "--vqa-model=replay:latest::org/b")
    assert summary_of(shapes)["benchmarks"][0]["model"] == "replay:latest::org/b"  # type: ignore[index]
    stored = json.loads((shapes / ".vqaeval/latest/samples.jsonl").read_text().splitlines()[0])
    assert stored["reply"] == "no"
    again = run(*ALL, "--vqa-model=replay:latest::org/b")  # `latest` is the replay now
    assert again.ret == 1
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}


def test_two_replies_that_no_result_tells_apart(shapes: Path, pytester: pytest.Pytester) -> None:
    folder = an_earlier_run(shapes, pytester, "yes", "-k", "q3")
    with folder.joinpath("replies-main.jsonl").open("a") as file:
        again = {"kind": "answer", "benchmark": "shapes", "subset": "en", "id": "q3", "repeat": 1, "model": "m"}
        file.write(json.dumps({**again, "reply": "no"}) + "\n")
    pytester.runpytest(*ALL, "--vqa-model=replay:latest", "-k", "q3")
    assert counts_of(shapes) == {"wrong": 1}  # the one that was scored
    folder.joinpath("samples.jsonl").unlink()
    result = pytester.runpytest(*ALL, f"--vqa-model=replay:{folder}")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*has two replies for shapes/en 'q3' and scored neither; go on with that run *"])


def test_the_replies_of_a_judge_are_no_answers(shapes: Path, pytester: pytest.Pytester) -> None:
    folder = an_earlier_run(shapes, pytester)
    file = folder / "replies-main.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    write(file, [*lines, *({**line, "kind": "judge", "reply": '{"verdict": "A"}'} for line in lines)])
    folder.joinpath("samples.jsonl").unlink()
    pytester.runpytest(*ALL, f"--vqa-model=replay:{folder}")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}
    pytester.runpytest(*ALL, f"--vqa-model=replay:{file}")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}


def test_nothing_of_that_name(shapes: Path, run: Run) -> None:
    result = run(*ALL, "--vqa-model=replay:yesterday")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*--vqa-model=replay:yesterday: */yesterday is not there, and there is no run 'yeste*"]
    )


# Files


def test_a_file_may_hold_repeats_and_failures(shapes: Path, run: Run) -> None:
    lines = [{"id": f"q{n}", "reply": "yes"} for n in range(12)]
    lines += [{"id": f"q{n}", "reply": "no", "repeat": 2} for n in range(11)]
    lines += [{"id": "q11", "error": "HTTP 503", "repeat": 2}]
    write(shapes / "replies.jsonl", lines)
    out = run(*ALL, "--vqa-model=replay:replies.jsonl", "--vqa-repeats=2")
    assert counts_of(shapes) == {"correct": 11, "wrong": 12, "error": 1}
    (benchmark,) = summary_of(shapes)["benchmarks"]  # type: ignore[misc]
    assert (benchmark["repeats"]["whole"], benchmark["repeats"]["unstable"]) == (11, 11)
    out.stdout.fnmatch_lines(["1 x no reply in replies.jsonl, but an error: HTTP 503"])


def test_a_file_of_two_models(shapes: Path, pytester: pytest.Pytester) -> None:
    both = [
        {"id": f"q{n}", "reply": reply, "model": model}
        for n in range(12)
        for model, reply in (("a", "yes"), ("b", "?"))
    ]
    write(shapes / "replies.jsonl", both)
    result = pytester.runpytest(*ALL, "--vqa-model=replay:replies.jsonl")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*replies.jsonl has replies of a, b: say whose, as in replay:*replies.jsonl::a"])
    pytester.runpytest(*ALL, "--vqa-model=replay:replies.jsonl::a")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}


# EvalScope's predictions


@pytest.mark.parametrize("place", ["outputs/20260101_000000", "predictions", "model"])
def test_predictions_of_evalscope(shapes: Path, run: Run, place: str) -> None:
    folder = predictions(shapes)
    place = {"predictions": str(folder.parent), "model": str(folder)}.get(place, place)
    run(*ALL, f"--vqa-model=replay:{place}")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}
    row = json.loads((shapes / ".vqaeval/latest/samples.jsonl").read_text().splitlines()[0])
    assert row["usage"] == {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    assert (row["latency_s"], row["finish_reason"], row["reused"]) == (0.25, "stop", True)


def test_a_part_of_the_samples_finds_its_predictions(shapes: Path, pytester: pytest.Pytester) -> None:
    folder = predictions(shapes)
    pytester.runpytest(*ALL, f"--vqa-model=replay:{folder}", "-k", "q10 or q7")
    assert counts_of(shapes) == {"correct": 1, "wrong": 1}
    pytester.runpytest(*ALL, f"--vqa-model=replay:{folder}/shapes_zh.jsonl", "-k", "zh")
    assert counts_of(shapes) == {"correct": 2, "wrong": 2}


def test_a_reply_to_another_question_is_never_scored(shapes: Path, run: Run) -> None:
    """A row was inserted on top of the data file: EvalScope itself scores the shifted replies."""
    folder = predictions(shapes)
    write_rows(shapes / "shapes", [{**rows()[0], "id": "new", "question": "Is it new?"}, *rows()])
    out = run(*ALL, f"--vqa-model=replay:{folder}")
    assert counts_of(shapes) == {"correct": 2, "wrong": 2, "error": 9}
    out.stdout.fnmatch_lines(["8 x the reply in this sample's place in shapes_en.jsonl answers another question:*"])


def test_predictions_of_another_number_of_repeats_say_so(shapes: Path, pytester: pytest.Pytester) -> None:
    out = pytester.runpytest(*ALL, f"--vqa-model=replay:{predictions(shapes)}", "--vqa-repeats=2")
    assert counts_of(shapes) == {"correct": 2, "error": 22}
    out.stdout.fnmatch_lines(["* x the reply in this sample's place *did not ask each sample 2 times (--vqa-repeats)"])


@pytest.mark.parametrize(
    ("row", "outcome"),
    [
        (prediction(0, "Is number 0 even?", ""), "empty"),
        (prediction(0, "Is number 0 even?", "It is", stop_reason="max_tokens"), "truncated"),
        (prediction(0, "Is number 0 even?", "<think>hm", stop_reason="max_tokens"), "truncated"),
        (prediction(0, "Is number 0 even?", "", stop_reason="content_filter"), "empty"),
        (prediction(0, "Is number 0 even?", "maximum context length is 4096", stop_reason="model_length"), "error"),
        (prediction(0, "Is number 0 even?", "", error="refused"), "error"),
        (prediction(0, "Is number 0 even?", choices=[]), "error"),
        ({**prediction(0, "Is number 0 even?"), "model_output": None}, "error"),
        (
            prediction(
                0, "Is number 0 even?", [{"type": "reasoning", "reasoning": "no"}, {"type": "text", "text": "yes"}]
            ),
            "correct",
        ),
    ],
)
def test_failures_are_replayed_as_what_they_are(
    shapes: Path, pytester: pytest.Pytester, row: dict[str, Any], outcome: str
) -> None:
    write(shapes / "shapes_en.jsonl", [row])
    pytester.runpytest(*ALL, "--vqa-model=replay:shapes_en.jsonl", "-k", "q0")
    assert counts_of(shapes) == {outcome: 1}


def test_predictions_with_repeats(shapes: Path, pytester: pytest.Pytester) -> None:
    folder = predictions(shapes, repeats=2)
    pytester.runpytest(*ALL, f"--vqa-model=replay:{folder}", "--vqa-repeats=2")
    assert counts_of(shapes) == {"correct": 12, "wrong": 12}
    (benchmark,) = summary_of(shapes)["benchmarks"]  # type: ignore[misc]
    assert benchmark["repeats"]["unstable"] == 12


def test_predictions_of_two_models(shapes: Path, pytester: pytest.Pytester) -> None:
    predictions(shapes)
    predictions(shapes, "org/other")
    result = pytester.runpytest(*ALL, "--vqa-model=replay:outputs/20260101_000000")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*has replies of org/other, qwen: say whose, as in replay:*000::org/other"])
    pytester.runpytest(*ALL, "--vqa-model=replay:outputs/20260101_000000::org/other")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}


def test_two_predictions_for_one_sample(shapes: Path, pytester: pytest.Pytester) -> None:
    folder = predictions(shapes)
    with folder.joinpath("shapes_en.jsonl").open("a") as file:
        file.write(json.dumps(prediction(3, "Is number 3 even?")) + "\n")  # the same once more: a resumed run
        file.write('{"torn": \n')
    pytester.runpytest(*ALL, f"--vqa-model=replay:{folder}")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}
    with folder.joinpath("shapes_en.jsonl").open("a") as file:
        file.write(json.dumps(prediction(3, "Is number 3 even?", "no")) + "\n")
    result = pytester.runpytest(*ALL, f"--vqa-model=replay:{folder}")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*shapes_en.jsonl:11: index 3 is also that of line 5, with another reply; remove one"])


@pytest.mark.parametrize("content", [None, "", '{"index": "a", "model_output": {}}\n'])
def test_a_folder_that_holds_no_replies(shapes: Path, pytester: pytest.Pytester, content: str | None) -> None:
    folder = shapes / "nothing"
    folder.mkdir()
    if content is not None:
        folder.joinpath("shapes_en.jsonl").write_text(content)
    result = pytester.runpytest(*ALL, "--vqa-model=replay:nothing")
    if content == "":
        assert counts_of(shapes) == {"error": 12}
    else:
        assert result.ret == 4
        assert "Traceback" not in result.stderr.str()


def test_slake_in_evalscopes_order_gives_the_same_figure(pytester: pytest.Pytester) -> None:
    folder = real_data("slake").parent
    lines = real_data("replies", "slake_en_huatuogpt_vision_7b.jsonl").read_text().splitlines()
    replies = {row["id"]: row["reply"] for row in map(json.loads, lines)}
    records = [row for row in json.loads(real_data("slake", "test.json").read_text()) if row["q_lang"] == "en"]
    place = pytester.path / "predictions" / "huatuo"
    place.mkdir(parents=True)
    for kind in ("OPEN", "CLOSED"):
        part = [row for row in records if row["answer_type"] == kind]
        asked = (f"{row['question'].strip()}\nAnswer the question with a single word or phrase." for row in part)
        rows = [
            prediction(n, text, replies[str(row["qid"])]) for n, (row, text) in enumerate(zip(part, asked, strict=True))
        ]
        write(place / f"slake_en_{kind.lower()}.jsonl", rows)
    options = ["--vqa-benchmark=slake", f"--vqa-data={folder}", "--vqa-json=out.json", "-q", "-k", "en_"]
    pytester.runpytest_subprocess(f"--vqa-model=replay:{place.parent.parent}", *options)
    (benchmark,) = summary_of(pytester.path)["benchmarks"]  # type: ignore[misc]
    assert (benchmark["overall"]["correct"], benchmark["overall"]["samples"]) == (529, 1061)


# Files that somebody else made


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("samples.jsonl", '{"benchmark": "shapes"}'),
        ("samples.jsonl", '{"outcome": "superb"}'),
        ("replies-gw7.jsonl", "[" * 100_000),
        ("replies-gw7.jsonl", '{"kind": "answer", "reply": "x", "repeat": "many", "model": "m", "id": {}}'),
        ("replies-gw7.jsonl", '{"kind": "answer", "reply": "x", "repeat": 1, "model": "\\u001b[31m", "id": 1}'),
    ],
)
def test_a_spoilt_run_ends_in_no_traceback(shapes: Path, pytester: pytest.Pytester, name: str, line: str) -> None:
    folder = an_earlier_run(shapes, pytester, "yes", "-k", "q3")
    with folder.joinpath(name).open("a") as file:
        file.write(line + "\n")
    result = pytester.runpytest(*ALL, f"--vqa-model=replay:{folder}", "-k", "q3")
    said = result.stdout.str() + result.stderr.str()
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said
    assert "\x1b[31m" not in said
    assert result.ret in (1, 4)


@pytest.mark.parametrize(
    "line",
    ["[" * 100_000, '{"index": 1}', '{"index": 1, "model_output": {"choices": [{"message": 3}]}, "messages": [3, {}]}'],
)
def test_spoilt_predictions_end_in_no_traceback(shapes: Path, pytester: pytest.Pytester, line: str) -> None:
    write(shapes / "shapes_en.jsonl", [prediction(0, "Is number 0 even?")])
    with shapes.joinpath("shapes_en.jsonl").open("a") as file:
        file.write(line + "\n")
    result = pytester.runpytest(*ALL, "--vqa-model=replay:shapes_en.jsonl", "-k", "q0 or q1")
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    found = counts_of(shapes)
    assert found.pop("correct") == 1
    assert set(found) == {"error"}
