"""`--vqa-repeats`: K items per sample, each with a request of its own, and what their verdicts say together."""

import json
from pathlib import Path

import pytest

from pytest_vqaeval.repeats import repeats_of
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.tally import Tally
from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import Run, counts_of, rows, summary_of, write_rows

ALL = ["shapes.vqa.yaml", "--vqa-json=out.json", "--vqa-retries=0", "-q"]


def benchmark(folder: Path) -> dict:
    (only,) = summary_of(folder)["benchmarks"]
    return only


def result(sample: str, repeat: int, outcome: str, score: float | None = None, cluster: str | None = None) -> Result:
    value = {"correct": 1.0, "wrong": 0.0}.get(outcome, score)
    return Result(
        benchmark="b",
        subset="s",
        id=sample,
        repeat=repeat,
        model="m",
        nodeid=f"{sample}-{repeat}",
        cluster=cluster or sample,
        outcome=Outcome(outcome),
        score=value,
    )


def asked(sample: str, *outcomes: str) -> list[Result]:
    return [result(sample, number, outcome) for number, outcome in enumerate(outcomes, 1)]


def test_each_repeat_is_an_item_with_a_request_of_its_own(shapes: Path, run: Run) -> None:
    with ModelServer("yes") as server:
        run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-repeats=3")
    assert server.count == 36
    assert counts_of(shapes) == {"correct": 18, "wrong": 18}
    stored = [
        json.loads(line)
        for file in (shapes / ".vqaeval/latest").glob("replies-*.jsonl")
        for line in file.read_text().splitlines()
    ]
    assert len({row["key"] for row in stored}) == 36
    assert sorted((row["id"], row["repeat"]) for row in stored) == sorted(
        (f"q{n}", r) for n in range(12) for r in (1, 2, 3)
    )


def test_names_of_repeats(shapes: Path, pytester: pytest.Pytester) -> None:
    records = rows()
    records[1]["id"] = "q0-2"  # the name that the second repeat of q0 would have
    write_rows(shapes / "shapes", records)
    result = pytester.runpytest("shapes.vqa.yaml", "--collect-only", "-q", "--vqa-repeats=2", "--vqa-limit=2")
    names = [line.partition("::")[2] for line in result.outlines if "::" in line]
    assert names == ["en[q0]", "en[q0--2]", "en[q0-2]", "en[q0-2-2]", "zh[q8]", "zh[q8-2]", "zh[q9]", "zh[q9-2]"]


def test_one_repeat_by_its_node_id_by_k_and_by_lf(shapes: Path, pytester: pytest.Pytester) -> None:
    with ModelServer(lambda request: Answer("no" if request.number == 2 else "yes")) as server:
        options = (*ALL, f"--vqa-model=m@{server.url}", "--vqa-repeats=2", "--vqa-concurrency=1")
        pytester.runpytest("shapes.vqa.yaml::en[q0-2]", *options[1:])
        assert counts_of(shapes) == {"correct": 1}
        pytester.runpytest(*options, "-k", "q0 or q2")
        assert counts_of(shapes) == {"wrong": 1, "correct": 3}
        pytester.runpytest(*options, "--lf", "-vv").stdout.fnmatch_lines(["shapes.vqa.yaml::en[[]q0] PASSED*"])
    assert server.count == 6


def test_the_limit_counts_samples_and_collected_repeats(shapes: Path, pytester: pytest.Pytester) -> None:
    with ModelServer("yes") as server:
        out = pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-repeats=3", "--vqa-limit=2")
    found = benchmark(shapes)
    assert (found["collected"], found["overall"]["samples"], found["repeats"]["samples"]) == (36, 12, 4)
    out.stdout.fnmatch_lines(["12 repeats of 4 samples:", "  partial: 12 of the benchmark's 36 repeats were selected"])


def test_resume_and_repeats(shapes: Path, run: Run) -> None:
    with ModelServer("yes") as server:
        run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-repeats=2")
        run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-repeats=3", "--vqa-resume")
    assert server.count == 36
    assert counts_of(shapes) == {"correct": 18, "wrong": 18}


def test_the_summary_of_unstable_replies(shapes: Path, run: Run) -> None:
    """q0 is answered right, wrong, right in whatever order its repeats are asked."""
    seen: list[int] = []

    def answer(request: Request) -> str:
        if "number 0 " not in request.text:
            return "yes"
        seen.append(1)
        return "no" if len(seen) == 2 else "yes"

    with ModelServer(answer) as server:
        out = run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-repeats=3")
    found = benchmark(shapes)
    assert found["repeats"] == {
        "per_sample": 3,
        "samples": 12,
        "whole": 12,
        "unstable": 1,
        "pass_at_k": pytest.approx({"1": 17 / 36, "2": 6 / 12, "3": 6 / 12}),
    }
    assert found["overall"]["accuracy"] == pytest.approx(17 / 36)
    out.stdout.fnmatch_lines(
        [
            "36 repeats of 12 samples:",
            "  unstable: 1 of 12 samples",
            "  pass@1 47.22 %, pass@2 50.00 %, pass@3 50.00 % of 12",
        ]
    )


def test_pass_at_k_is_that_of_chen_et_al() -> None:
    """Two of four right: 1 - C(2,2)/C(4,2) = 5/6 for k = 2; none right: 0; three wrong: C(3,3)/C(4,3) = 1/4 missed."""
    repeats = repeats_of(
        [
            *asked("a", "correct", "wrong", "correct", "wrong"),
            *asked("b", "wrong", "wrong", "wrong", "wrong"),
            *asked("c", "wrong", "unparsed", "correct", "wrong"),
        ]
    )
    assert repeats is not None
    assert repeats.pass_at_k == pytest.approx(
        {1: (1 / 2 + 1 / 4) / 3, 2: (5 / 6 + 1 / 2) / 3, 3: (1 + 3 / 4) / 3, 4: 2 / 3}
    )
    assert (repeats.unstable, repeats.whole) == (2, 3)


def test_many_repeats_show_powers_of_two() -> None:
    repeats = repeats_of(asked("a", *["correct"] * 12))
    assert repeats is not None
    assert list(repeats.pass_at_k) == [1, 2, 4, 8, 12]


def test_a_sample_with_a_missing_repeat_is_left_out_of_pass_at_k() -> None:
    repeats = repeats_of([*asked("a", "correct", "error"), *asked("b", "wrong", "wrong")])
    assert repeats is not None
    assert (repeats.samples, repeats.whole, repeats.unstable) == (2, 1, 0)
    assert repeats.pass_at_k == {1: 0.0, 2: 0.0}
    nothing = repeats_of(asked("a", "error", "error"))
    assert nothing is not None
    assert nothing.pass_at_k == {}


def test_scores_without_right_and_wrong_have_no_pass_at_k() -> None:
    graded = [result("a", 1, "scored", 0.5), result("a", 2, "scored", 0.75)]
    repeats = repeats_of(graded)
    assert repeats is not None
    assert (repeats.unstable, repeats.pass_at_k) == (1, {})


def test_without_repeats_there_is_nothing_to_say() -> None:
    assert repeats_of([]) is None
    assert repeats_of(asked("a", "correct")) is None


@pytest.mark.parametrize("graded", [False, True])
def test_to_ask_again_adds_no_sample(graded: bool) -> None:
    """The interval of ten samples, asked ten times with the same reply each, is that of ten samples."""

    def tally(repeats: int) -> Tally:
        return Tally(
            result(f"{n}", r, "scored" if graded else "correct" if n < 7 else "wrong", float(n < 7))
            for n in range(10)
            for r in range(1, repeats + 1)
        )

    once, often = tally(1).interval, tally(10).interval
    assert once is not None
    assert often is not None
    assert (often.low, often.high, often.n) == pytest.approx((once.low, once.high, 10))


def test_all_right_ten_times_is_no_surer_than_once() -> None:
    interval = Tally(result(f"{n}", r, "correct") for n in range(5) for r in range(1, 11)).interval
    assert interval is not None
    assert interval.n == interval.effective_n == 5


def test_pictures_shared_by_samples_are_still_clusters() -> None:
    rows_ = [result(f"{n}", r, "correct" if n < 4 else "wrong", cluster=f"{n // 2}") for n in range(8) for r in (1, 2)]
    interval = Tally(rows_).interval
    assert interval is not None
    assert (interval.n, interval.clusters) == (8, 4)
    assert interval.effective_n < 8
