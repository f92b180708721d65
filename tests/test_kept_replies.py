"""What users of other tools lost or got wrongly from stored replies and from requests that failed: not here."""

import json
import zipfile
from pathlib import Path

import pytest

from pytest_vqaeval.replies import ReplyStore
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.results import Identity
from pytest_vqaeval.spec import read_spec
from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import Run, counts_of, jpeg, rows, summary_of, write_rows

ALL = ["shapes.vqa.yaml", "--vqa-json=out.json", "--vqa-retries=0", "-q"]


def right(request: Request) -> str:
    """The right answer to `Is number N even?`; any other question is answered with yes."""
    words = request.text.split()
    return "no" if words[2].isdecimal() and int(words[2]) % 2 else "yes"


def test_another_scorer_scores_the_stored_replies(shapes: Path, run: Run) -> None:
    with ModelServer("Yes, that is even.") as server:
        run(*ALL, f"--vqa-model=m@{server.url}")
        assert counts_of(shapes) == {"wrong": 12}
        spec = shapes / "shapes.vqa.yaml"
        spec.write_text(spec.read_text().replace("scorer: short_answer", "scorer: contains"))
        read_spec.cache_clear()  # a session of its own would read it anew
        run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-resume")
    assert server.count == 12
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}


def test_a_changed_picture_is_asked_again(shapes: Path, pytester: pytest.Pytester) -> None:
    with ModelServer("yes") as server:
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}")
        with zipfile.ZipFile(shapes / "shapes" / "pics.zip", "w") as archive:
            for n in range(6):
                archive.writestr(f"p/{n}.jpg", jpeg(33 if n == 3 else 32, colour=40 * n))
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-resume")
        assert server.count == 14  # two questions are about picture 3
        pytester.runpytest(*ALL, f"--vqa-model=another@{server.url}", "--vqa-resume")
        assert server.count == 26


def test_a_row_inserted_on_top_shifts_no_reply(shapes: Path, run: Run) -> None:
    with ModelServer(right) as server:
        run(*ALL, f"--vqa-model=m@{server.url}")
        first = {**rows()[0], "id": "new", "question": "Is it new?", "answer": "yes"}
        write_rows(shapes / "shapes", [first, *rows()])
        run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-resume")
    assert server.count == 13
    assert counts_of(shapes) == {"correct": 13}


def test_torn_doubled_and_orphaned_rows_of_a_reply_file_do_no_harm(shapes: Path, run: Run) -> None:
    with ModelServer(right) as server:
        run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-limit=3")
        file = next((shapes / ".vqaeval/latest").glob("replies-*.jsonl"))
        text = file.read_text()
        file.write_text(text + text + "not JSON\n[1]\n" + "[" * 100_000 + "\n" + text.splitlines()[0][:40])
        write_rows(shapes / "shapes", rows()[1:])  # q0 is gone
        run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-resume")
    assert server.count == 6 + 6
    assert counts_of(shapes) == {"correct": 11}


def test_a_limit_comes_before_the_workers_and_a_larger_one_goes_on(shapes: Path, run: Run) -> None:
    with ModelServer(right) as server:
        run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-limit=2")
        assert (server.count, counts_of(shapes)) == (4, {"correct": 4})
        run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-limit=3", "--vqa-resume")
    assert (server.count, counts_of(shapes)) == (6, {"correct": 6})


@pytest.mark.parametrize(
    "text",
    ["None", "NA", " \n", "https://example.org/" + "x" * 40_000, "a\u2028b\x85c\x00d", "\ud800 alone", "A\r\nB", '"{'],
)
def test_a_reply_is_stored_as_it_came(tmp_path: Path, text: str) -> None:
    identity = Identity("b", "s", "1", 1, "m")
    store = ReplyStore(tmp_path, "main", resume=False)
    store.add("key", identity, Reply(text, "stop", {"total_tokens": 3}), kind="answer", asked="m")
    store.close()
    found = ReplyStore(tmp_path, "gw0", resume=False).find("key", identity)
    assert found is not None
    assert (found.text, found.finish_reason, found.usage) == (text, "stop", {"total_tokens": 3})


def test_a_failure_is_stored_with_status_words_and_attempts(shapes: Path, run: Run) -> None:
    with ModelServer(lambda request: Answer("out of memory", status=500)) as server:
        run(*ALL, f"--vqa-model=m@{server.url}", "--vqa-retries=1", "-k", "q3")
    assert server.count == 2
    (row,) = map(json.loads, (shapes / ".vqaeval/latest/samples.jsonl").read_text().splitlines())
    assert (row["outcome"], row["error"], row["attempts"]) == ("error", "HTTP 500: out of memory", 2)
    assert "reply" not in row


def test_an_error_behind_a_stream_with_status_200_is_no_answer(shapes: Path, run: Run) -> None:
    body = b'data: {"choices":[{"delta":{"content":"yes"}}]}\n\ndata: {"error":{"message":"overloaded"}}\n\n'
    with ModelServer(lambda request: Answer(body=body, headers={"Content-Type": "text/event-stream"})) as server:
        run(*ALL, f"--vqa-model=m@{server.url}", "-k", "q3")
    assert counts_of(shapes) == {"error": 1}


def test_a_conversation_is_one_request(pytester: pytest.Pytester) -> None:
    history = [
        {"role": "user", "content": "Name a colour."},
        {"role": "assistant", "content": "Red."},
        {"role": "user", "content": "Another?"},
    ]
    pytester.path.joinpath("chat.jsonl").write_text(json.dumps({"messages": history, "answer": "Blue"}) + "\n")
    pytester.path.joinpath("chat.vqa.yaml").write_text(
        "name: chat\nrecords: chat.jsonl\nsample: {format: messages}\nscore: {scorer: contains}\n"
    )
    with ModelServer("Blue.", keep_bodies=True) as server:
        pytester.runpytest("chat.vqa.yaml", f"--vqa-model=m@{server.url}", "--vqa-json=out.json")
    assert [len(request.messages) for request in server.requests] == [3]
    (benchmark,) = summary_of(pytester.path)["benchmarks"]  # type: ignore[misc]
    assert (benchmark["overall"]["correct"], benchmark["usage"]["answer"]["replies"]) == (1, 1)
