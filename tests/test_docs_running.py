"""The examples of docs/running.md and docs/testing.md, run as they stand."""

import textwrap
from pathlib import Path

import pytest

from pytest_vqaeval.testing import ModelServer
from tests.conftest import Run, counts_of
from tests.test_readme import example

ALL = ["shapes.vqa.yaml", "--vqa-json=out.json", "-q"]


def test_a_model_that_is_asked_from_threads(shapes: Path, run: Run) -> None:
    shapes.joinpath("conftest.py").write_text(example("own-model"))
    shapes.joinpath("shapes", "q.jsonl").write_text(
        '{"id": 1, "question": "Is 2 odd?", "answer": "no", "picture": "0.jpg", "kind": "x", "lang": "en"}\n'
    )
    out = run(*ALL, "--vqa-model=local")
    assert counts_of(shapes) == {"correct": 1}
    out.stdout.fnmatch_lines(["  answers: 1 asked, 0 retries, 1 completion tokens"])


def test_the_hook_for_models(shapes: Path, run: Run) -> None:
    shapes.joinpath("conftest.py").write_text(example("hook-model"))
    with ModelServer("no") as server:
        run(*ALL, "--vqa-model=always-yes", f"--vqa-model=other@{server.url}", "-k", "always-yes")
    assert server.count == 0
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}


def test_the_hook_for_requests(shapes: Path, run: Run) -> None:
    shapes.joinpath("conftest.py").write_text(example("hook-request"))
    with ModelServer("yes", keep_bodies=True) as server:
        run(*ALL, f"--vqa-model=m@{server.url}")
    assert {request.messages[0]["role"] for request in server.requests} == {"system"}
    assert sum("max_tokens" in request.body for request in server.requests) == 4


def test_the_hook_for_scorers(shapes: Path, run: Run) -> None:
    shapes.joinpath("conftest.py").write_text(example("hook-scorers"))
    spec = shapes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text().replace("scorer: short_answer", "scorer: starts_with, ignore_case: false"))
    with ModelServer("yes, it is") as server:
        run(*ALL, f"--vqa-model=m@{server.url}")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}


def test_the_hooks_for_results(always_yes: Path, run: Run) -> None:
    conftest = always_yes / "conftest.py"
    conftest.write_text(conftest.read_text() + example("hook-results"))
    run(*ALL, "--vqa-model=m")
    assert always_yes.joinpath("scores.txt").read_text() == "shapes m 0.5 6\n"


def test_every_hook_has_an_example() -> None:
    from pytest_vqaeval import hookspecs

    hooks = [name for name in vars(hookspecs) if name.startswith("pytest_vqa_")]
    code = "".join(example(name) for name in ("hook-model", "hook-request", "hook-scorers", "hook-results"))
    assert [name for name in hooks if f"def {name}(" not in code] == []


def test_the_server_of_the_tests(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("test_example.py").write_text(textwrap.dedent(example("model-server")))
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=1)
