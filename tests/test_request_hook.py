"""`pytest_vqa_request`: users change requests before they are sent."""

import json
from pathlib import Path

import pytest

from pytest_vqaeval.testing import ModelServer
from tests.conftest import Run, counts_of, jpeg

ALL = ["shapes.vqa.yaml", "--vqa-json=out.json", "--vqa-retries=0", "-q"]

IN_PLACE = """
def pytest_vqa_request(sample, body):
    body["seed"] = int(sample.id[1:])
    body["messages"].insert(0, {"role": "system", "content": f"This is {sample.benchmark}."})
"""
ANOTHER = """
def pytest_vqa_request(sample, body):
    return {"model": "other", "messages": body["messages"], "max_tokens": 5}
"""
COUNTED = """
import threading
calls = []
def pytest_vqa_request(sample, body):
    calls.append(threading.current_thread().name)
    body["seed"] = len(calls)
def pytest_unconfigure():
    open("calls.txt", "a").write("".join(name + "\\n" for name in calls))
"""


def test_the_body_may_be_changed_in_place(shapes: Path, run: Run) -> None:
    shapes.joinpath("conftest.py").write_text(IN_PLACE)
    with ModelServer("yes", keep_bodies=True) as server:
        run(*ALL, f"--vqa-model=m@{server.url}")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}
    assert sorted(request.body["seed"] for request in server.requests) == list(range(12))
    for request in server.requests:
        system, user = request.messages
        assert system == {"role": "system", "content": "This is shapes."}
        assert user["content"][0]["image_url"]["url"].startswith("data:image/jpeg;base64,")
        assert len(user["content"][0]["image_url"]["url"]) > len(jpeg())
        assert f"number {request.body['seed']} " in request.text
        assert request.body["temperature"] == 0


def test_another_body_may_be_returned(shapes: Path, run: Run) -> None:
    shapes.joinpath("conftest.py").write_text(ANOTHER)
    with ModelServer("yes", keep_bodies=True) as server:
        run(*ALL, f"--vqa-model=m@{server.url}")
    assert {(*request.body,) for request in server.requests} == {("model", "messages", "max_tokens")}
    assert {request.body["model"] for request in server.requests} == {"other"}


def test_a_changed_body_is_another_request(shapes: Path, pytester: pytest.Pytester) -> None:
    with ModelServer("yes") as server:
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}")
        shapes.joinpath("conftest.py").write_text(IN_PLACE)
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-resume")
        assert server.count == 24
        pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "--vqa-resume")
    assert server.count == 24
    keys = [
        json.loads(line)["key"] for line in (shapes / ".vqaeval/latest/replies-main.jsonl").read_text().splitlines()
    ]
    assert len(set(keys)) == 24


def test_it_is_called_once_per_sample_in_the_threads_that_ask(shapes: Path, pytester: pytest.Pytester) -> None:
    """Also where requests are tried again: the request that is tried again is the same."""
    from pytest_vqaeval.testing import Answer

    shapes.joinpath("conftest.py").write_text(COUNTED)
    with ModelServer(lambda r: Answer("yes", status=503 if r.number == 1 else 200), keep_bodies=True) as server:
        pytester.runpytest(*ALL[:2], f"--vqa-model=m@{server.url}", "--vqa-retries=2")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}
    calls = shapes.joinpath("calls.txt").read_text().splitlines()
    assert len(calls) == 12
    assert all(name.startswith("vqa-ask-") for name in calls)
    seeds = [request.body["seed"] for request in server.requests]
    assert (len(seeds), sorted(set(seeds))) == (13, list(range(1, 13)))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return body['nothing']", "the hook pytest_vqa_request failed: KeyError: 'nothing' (*conftest.py:3)"),
        ("import json; json.loads('{')", "the hook pytest_vqa_request failed: JSONDecodeError: *conftest.py:3)"),
        ("return [body]", "the hook pytest_vqa_request returned list, not a dict or None"),
        ("body['x'] = object()", "the request can't be written as JSON (*; check --vqa-generation and hooks"),
    ],
)
def test_what_goes_wrong_is_the_error_of_its_sample(shapes: Path, run: Run, body: str, said: str) -> None:
    shapes.joinpath("conftest.py").write_text(
        f"def pytest_vqa_request(sample, body):\n  if sample.id == 'q3':\n    {body}\n"
    )
    with ModelServer("yes") as server:
        out = run(*ALL, f"--vqa-model=m@{server.url}")
    assert server.count == 11
    assert counts_of(shapes) == {"correct": 6, "wrong": 5, "error": 1}
    out.stdout.fnmatch_lines([f"1 x {said}"])
    out.stdout.no_fnmatch_line("*Traceback*")


def test_a_conftest_speaks_for_its_folder_alone(shapes: Path, pytester: pytest.Pytester) -> None:
    other = shapes / "other"
    other.mkdir()
    other.joinpath("conftest.py").write_text(IN_PLACE)
    other.joinpath("test_nothing.py").write_text("def test_nothing(): pass")
    with ModelServer("yes", keep_bodies=True) as server:
        pytester.runpytest(*ALL, "other", f"--vqa-model=m@{server.url}")
    assert not any("seed" in request.body for request in server.requests)


def test_a_model_without_a_body_is_asked_as_ever(always_yes: Path, pytester: pytest.Pytester) -> None:
    conftest = always_yes / "conftest.py"
    conftest.write_text(conftest.read_text() + "def pytest_vqa_request(sample, body): raise ValueError\n")
    pytester.runpytest(*ALL, "--vqa-model=m")
    assert counts_of(always_yes) == {"correct": 6, "wrong": 6}


def test_several_servers_get_the_changed_body(shapes: Path, pytester: pytest.Pytester) -> None:
    shapes.joinpath("conftest.py").write_text(IN_PLACE)
    with ModelServer("yes", keep_bodies=True) as one, ModelServer("yes", keep_bodies=True) as two:
        pytester.runpytest(*ALL, "--vqa-model=m", f"--vqa-url={one.url}", f"--vqa-url={two.url}")
    assert sorted(r.body["seed"] for r in [*one.requests, *two.requests]) == list(range(12))


def test_a_wrong_answer_shows_what_was_sent_in_truth(shapes: Path, run: Run) -> None:
    shapes.joinpath("conftest.py").write_text(IN_PLACE)
    with ModelServer("yes") as server:
        out = run(*ALL, f"--vqa-model=m@{server.url}", "-k", "q3")
    out.stdout.fnmatch_lines(["sent         system: This is shapes.", "             user: [[]image]"])


def test_messages_of_a_form_that_only_the_server_knows(shapes: Path, pytester: pytest.Pytester) -> None:
    shapes.joinpath("conftest.py").write_text("def pytest_vqa_request(body): body['messages'] = [{'parts': 3}, 'x']")
    with ModelServer("yes", keep_bodies=True) as server:
        out = pytester.runpytest(*ALL, f"--vqa-model=m@{server.url}", "-k", "q3")
    assert server.count == 0 or server.requests[0].body["messages"] == [{"parts": 3}, "x"]
    out.stdout.no_fnmatch_line("*Traceback*")
