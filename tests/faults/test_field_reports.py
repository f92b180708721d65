"""What users of other tools reported about errors, retries, aborts and resume (issue numbers of those tools)."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_vqaeval.options import OPTIONS
from pytest_vqaeval.spec import read_spec
from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import counts_of, rows, summary_of, write_rows
from tests.faults.conftest import ALL, account, many, number_of, right, stored_replies

Ask = Callable[..., pytest.RunResult]


@pytest.fixture
def ask(shapes: Path, pytester: pytest.Pytester) -> Ask:
    """Run the small benchmark against a server."""
    return lambda server, *options: pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", *options)


def correct(request: Request) -> Answer:
    return Answer(right(number_of(request.text)))


def but(numbers: set[int], answer: Answer) -> Callable[[Request], Answer]:
    """Right answers, and another for some questions."""
    return lambda request: answer if number_of(request.text) in numbers else correct(request)


SSE = b'data: {"choices": [{"delta": {"content": "yes"}}]}\n\ndata: {"error": {"message": "engine died"}}\n\n'


@pytest.mark.parametrize(
    ("report", "answer", "said"),
    [
        ("ES#1674", Answer(body=b'{"choices": null, "error": {"message": "overloaded"}}'), "HTTP 200 *: overloaded"),
        ("ES#492", Answer("blocked by the content filter", status=400), "HTTP 400: blocked by the content filter"),
        ("ES#366", Answer("CUDA out of memory", status=500), "HTTP 500: CUDA out of memory"),
        ("ES#1906", Answer(body=SSE, headers={"Content-Type": "text/event-stream"}), "HTTP 200 without a reply in it*"),
        ("C6", Answer("maximum context length is 4096 tokens", status=400), "HTTP 400: maximum context length *"),
    ],
)
def test_a_bad_reply_is_one_error_with_its_cause(
    shapes: Path, ask: Ask, report: str, answer: Answer, said: str
) -> None:
    with ModelServer(but({3}, answer)) as server:
        result = ask(server, "--vqa-retries=0")
    assert account(shapes, 12) == {"correct": 11, "error": 1}
    result.stdout.fnmatch_lines([f"1 x {said}", "    first: *shapes.vqa.yaml::en[[]q3]*"])
    assert 3 not in stored_replies(shapes)  # the server's words are no answer, now or in a resumed run


def test_the_score_is_that_of_the_others(shapes: Path, ask: Ask) -> None:
    """ES#540: two bad replies, and no score could be computed."""
    with ModelServer(but({3, 8}, Answer(status=500))) as server:
        result = ask(server, "--vqa-retries=0")
    (benchmark,) = summary_of(shapes)["benchmarks"]
    assert benchmark["overall"]["accuracy"] == 1.0
    assert benchmark["overall"]["bounds"] == [10 / 12, 1.0]
    result.stdout.fnmatch_lines(["all samples *10 of 10 (+ 2 missing)*"])


def test_the_first_error_stops_what_was_not_sent(shapes: Path, ask: Ask) -> None:
    """ES#1224: one failure still let queued tasks start."""
    many(shapes, 400)
    with ModelServer(lambda request: Answer(status=400, latency_s=0.01)) as server:
        ask(server, "-x", "--vqa-concurrency=4")
    assert server.count < 60


def test_no_sample_is_tried_for_ever(shapes: Path, ask: Ask) -> None:
    """ES#992: a few requests were retried without end."""
    started = time.monotonic()
    with ModelServer(but({3}, Answer(status=503, headers={"Retry-After": "0.4"}))) as server:
        ask(server, "--vqa-timeout=0.5", "--vqa-retries=2")
    assert account(shapes, 12) == {"correct": 11, "error": 1}
    assert server.count <= 11 + 3
    assert time.monotonic() - started < 20


def test_times_are_finite_unless_told_otherwise() -> None:
    """C24: no timeout was configured, and a server that hung held up the run in silence."""
    defaults = {option.name: option.default for option in OPTIONS}
    assert (defaults["timeout"], defaults["retries"]) == (60.0, 4)


def test_a_wrong_key_is_one_line_and_not_success(shapes: Path, ask: Ask) -> None:
    """C5: all requests got 401, exit code 0, an empty report, 1,800 lines of log."""
    many(shapes, 100)
    with ModelServer(lambda request: Answer("no", status=401)) as server:
        result = ask(server)
    assert result.ret == 4
    assert server.count <= 9
    assert len(result.outlines) < 40
    assert "correct" not in counts_of(shapes)


def test_replies_are_scored_again_without_a_server(shapes: Path, ask: Ask, pytester: pytest.Pytester) -> None:
    """ES#322: no way to score what is there."""
    with ModelServer(correct) as server:
        ask(server)
    pytester.runpytest(*ALL, "--vqa-model=replay:latest")
    assert account(shapes, 12) == {"correct": 12}


def test_another_scorer_asks_nothing(shapes: Path, ask: Ask) -> None:
    """ES#767: a metric that was added to a cached run did nothing."""
    with ModelServer("Yes.") as server:
        ask(server)
        before = counts_of(shapes)
        spec = shapes / "shapes.vqa.yaml"
        spec.write_text(spec.read_text().replace("{scorer: short_answer}", "{scorer: anls}"))
        read_spec.cache_clear()
        result = ask(server, "--vqa-resume")
        assert "--vqa-resume" not in result.stdout.str()  # not in the command that runs one sample again
    assert server.count == 12
    assert "scored" in counts_of(shapes) != before


def test_rows_that_are_there_twice_count_once(shapes: Path, ask: Ask) -> None:
    """ES PR#1657: torn, duplicate and stale rows of a cache spoilt scores."""
    with ModelServer(correct) as server:
        ask(server)
        for file in (shapes / ".vqaeval/latest").glob("*s*.jsonl"):
            if file.name != "selected.jsonl":
                file.write_text(file.read_text() * 2 + '{"torn')
        ask(server, "--vqa-resume")
    assert server.count == 12
    assert account(shapes, 12) == {"correct": 12}


def test_where_replies_are_kept_is_said(shapes: Path, ask: Ask) -> None:
    """LE#542: a cache was asked for, and nothing was saved."""
    with ModelServer(correct) as server:
        result = ask(server)
    (line,) = [line for line in result.outlines if line.startswith("run: ")]
    assert sorted(stored_replies(shapes)) == list(range(12))
    assert (shapes / line.removeprefix("run: ")).resolve() == (shapes / ".vqaeval/latest").resolve()


@pytest.mark.parametrize("finish", ["stop", "length", "content_filter"])
def test_no_empty_or_cut_reply_comes_out_of_the_store(shapes: Path, ask: Ask, finish: str) -> None:
    """LE PR#1513: empty answers came back from the cache as hits."""
    bad = Answer("" if finish == "stop" else "I think that", finish_reason=finish)
    with ModelServer(but({3, 8}, bad)) as server:
        ask(server)
    with ModelServer(correct) as second:
        ask(second, "--vqa-resume")
    assert {number_of(request.text) for request in second.requests} == {3, 8}
    assert account(shapes, 12) == {"correct": 12}


def test_a_changed_request_is_asked_anew(shapes: Path, ask: Ask) -> None:
    """LE PR#1217, LE#1116: stale replies were reused after an edit of the prompt."""
    with ModelServer(correct) as server:
        ask(server)
        spec = shapes / "shapes.vqa.yaml"
        spec.write_text(spec.read_text().replace("Answer in one word.", "One word, please."))
        read_spec.cache_clear()
        ask(server, "--vqa-resume")
    assert server.count == 24


def test_the_limit_comes_before_the_workers(shapes: Path, ask: Ask) -> None:
    """LE PR#1514: a limit in a distributed run took the wrong part."""
    many(shapes, 60)
    with ModelServer(correct) as server:
        ask(server, "--vqa-limit=3", "-n", "2")
    assert account(shapes, 6) == {"correct": 6}
    assert sorted(number_of(request.text) for request in server.requests) == [0, 1, 2, 8, 9, 10]


def test_a_row_on_top_shifts_no_reply(shapes: Path, ask: Ask) -> None:
    """C2: old answers were scored against shifted rows, and the new row was never asked."""
    with ModelServer(correct) as server:
        ask(server)
        new = {**rows()[0], "id": "new", "question": "Is number 13 even?", "answer": "no"}
        write_rows(shapes / "shapes", [new, *rows()])
        ask(server, "--vqa-resume")
    assert server.count == 13
    assert counts_of(shapes) == {"correct": 13}


def test_limit_and_host_may_change_between_sessions(shapes: Path, ask: Ask, pytester: pytest.Pytester) -> None:
    """C23: refused, and the only way round was to reuse whatever was there."""
    with ModelServer(correct) as server:
        ask(server, "--vqa-limit=2")
        url = server.url.replace("127.0.0.1", "localhost")
        pytester.runpytest(*ALL, f"--vqa-model=m@{url}", "--vqa-resume", "--vqa-timeout=30", "--vqa-retries=1")
    assert server.count == 12
    assert account(shapes, 12) == {"correct": 12}


def test_run_folders_hold_no_pictures(shapes: Path, ask: Ask) -> None:
    """C25: 343 MB of result files for 2,094 samples."""
    with ModelServer(correct) as server:
        ask(server)
    files = [file for file in (shapes / ".vqaeval/latest").iterdir() if file.is_file()]
    assert sum(file.stat().st_size for file in files if file.name != "run.json") < 12 * 2500
    assert not any("base64" in file.read_text() for file in files)


def test_unknown_parameters_are_sent(shapes: Path, ask: Ask) -> None:
    """C27: `min_p` was dropped in silence."""
    with ModelServer("yes", keep_bodies=True) as server:
        ask(server, "--vqa-generation=min_p=0.1", "--vqa-generation=unheard_of=[1]", "--vqa-limit=1")
    assert (server.requests[0].body["min_p"], server.requests[0].body["unheard_of"]) == (0.1, [1])


def test_errors_say_how_often_they_were_tried(shapes: Path, ask: Ask) -> None:
    """ES#366: requests failed without a reason."""
    with ModelServer(but({3}, Answer("busy", status=503, headers={"Retry-After": "0"}))) as server:
        result = ask(server, "--vqa-retries=2")
    rows_of_run = [json.loads(line) for line in (shapes / ".vqaeval/latest/samples.jsonl").open()]
    (error,) = [row for row in rows_of_run if row["outcome"] == "error"]
    assert error["error"] == "HTTP 503: busy"
    assert error["attempts"] == 3
    result.stdout.fnmatch_lines(["*, 2 retries*"])
