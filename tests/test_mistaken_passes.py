"""Ways in which a gate could pass by mistake, and does not.

Others are in test_exit_codes, test_gates and test_baseline.
"""

from pathlib import Path

import pytest

from pytest_vqaeval.__main__ import main
from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import Run, counts_of

ALL = ["shapes.vqa.yaml", "--vqa-json=out.json"]
FUNCTION = ["--vqa-model=m"]

MARK_ALL = """\
import pytest
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker({mark})
"""


def conftest(root: Path, code: str) -> None:
    file = root / "conftest.py"
    file.write_text(file.read_text() + code)


@pytest.mark.parametrize(
    ("mark", "gate", "code"),
    [
        ("pytest.mark.xfail", "0.5", 0),
        ("pytest.mark.xfail", "0.6", 1),  # an expected failure is a wrong answer all the same
        ("pytest.mark.xfail(strict=True)", "0.5", 1),  # six answers are right against expectation: pytest's failures
        ("pytest.mark.skip", "0.1", 20),  # nothing was asked
    ],
)
def test_marks_of_pytest_change_no_number(always_yes: Path, run: Run, mark: str, gate: str, code: int) -> None:
    conftest(always_yes, MARK_ALL.format(mark=mark))
    assert run(*ALL, *FUNCTION, f"--vqa-fail-under={gate}").ret == code
    assert counts_of(always_yes) == ({"not_run": 12} if "skip" in mark else {"correct": 6, "wrong": 6})


def test_a_skipped_sample_is_missing(always_yes: Path, run: Run) -> None:
    code = "import pytest\ndef pytest_collection_modifyitems(items):\n    items[1].add_marker(pytest.mark.skip)\n"
    conftest(always_yes, code)
    assert (
        run(*ALL, *FUNCTION, "--vqa-fail-under=0.55").ret == 20
    )  # q1 is skipped, which was wrong: 6 of 11, 0.5 to 0.58


NAN_SCORER = """
from pytest_vqaeval.scoring.base import Outcome, Score
def odd(question, text): return {returned}
def pytest_vqa_scorers(): return {{"odd": odd}}
"""


@pytest.mark.parametrize(
    "returned",
    [
        "float('nan')",
        "Score(Outcome.SCORED, value=float('nan'))",
        "Score(Outcome.CORRECT, value=2.0)",
        "Score(Outcome.NOT_RUN)",
        "1.01",
    ],
)
def test_a_score_that_is_no_number_is_an_error(always_yes: Path, pytester: pytest.Pytester, returned: str) -> None:
    conftest(always_yes, NAN_SCORER.format(returned=returned))
    spec = always_yes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text().replace("short_answer", "odd"))
    options = ["--vqa-fail-under=0", "--vqa-save-baseline=b.json"]
    assert pytester.runpytest(*ALL, *FUNCTION, *options).ret == 1
    assert counts_of(always_yes) == {"error": 12}
    assert not (always_yes / "b.json").exists()


def test_a_value_left_out_is_that_of_the_outcome(always_yes: Path, pytester: pytest.Pytester) -> None:
    conftest(always_yes, NAN_SCORER.format(returned="Score(Outcome.CORRECT)"))
    spec = always_yes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text().replace("short_answer", "odd"))
    result = pytester.runpytest(*ALL, *FUNCTION, "--vqa-fail-under=1")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["gate pass: shapes m: fail_under 1: 1.0000 of 12 answered"])


@pytest.mark.parametrize("score", ["NaN", "7", '"high"', "-1"])
def test_a_run_folder_that_was_tampered_with_is_no_baseline(
    always_yes: Path, pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str], score: str
) -> None:
    pytester.runpytest(*ALL, *FUNCTION)
    samples = always_yes.joinpath(".vqaeval", "latest", "samples.jsonl").resolve()
    samples.write_text(samples.read_text().replace('"score":1.0', f'"score":{score}', 1))
    capsys.readouterr()
    assert main(["show", str(samples.parent)]) == 4
    said = {"NaN": "nan", '"high"': "high"}.get(score, score)
    assert capsys.readouterr().err == f"error: {samples}: a row is no result of a sample: score {said}\n"
    assert pytester.runpytest(*ALL, *FUNCTION, f"--vqa-baseline={samples.parent}").ret == 4


def filtered(request: Request) -> Answer:
    """A provider that never answers about number 4."""
    if "number 4 " in request.text:
        return Answer('{"error": {"code": "content_filter", "message": "filtered"}}', status=400)
    return Answer("yes")


def test_errors_that_are_allowed_and_no_others(shapes: Path, run: Run) -> None:
    with ModelServer(filtered) as server:
        model = f"--vqa-model=m@{server.url}"
        assert run(*ALL, model, "--vqa-fail-under=0.4").ret == 1  # an error is an error
        assert run(*ALL, model, "--vqa-fail-under=0.4", "--vqa-max-errors=1").ret == 0
        assert run(*ALL, model, "--vqa-fail-under=0.4", "--vqa-max-errors=0").ret == 1
        assert run(*ALL, model, "--vqa-fail-under=0.4", "--vqa-max-errors=shapes/zh=1").ret == 1  # it is of en
        assert run(*ALL, model, "--vqa-max-errors=1", "-k", "not zh").ret == 1  # that gate did not pass
        shapes.joinpath("test_other.py").write_text("def test_fails(): assert 0\n")
        assert run(*ALL, "test_other.py", model, "--vqa-max-errors=1").ret == 1


def test_one_filtered_sample_leaves_baselines_of_use(shapes: Path, pytester: pytest.Pytester) -> None:
    with ModelServer(filtered) as server:
        options = [f"--vqa-model=m@{server.url}", "--vqa-max-errors=1"]
        assert pytester.runpytest(*ALL, *options, "--vqa-save-baseline=b.json").ret == 0
        result = pytester.runpytest(*ALL, *options, "--vqa-baseline=b.json")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["gate pass: shapes m: baseline, *"])


def test_a_lost_worker_is_never_allowed(shapes: Path, pytester: pytest.Pytester) -> None:
    shapes.joinpath("conftest.py").write_text(
        "import os, pytest\n@pytest.fixture\ndef vqa_model():\n"
        "    return lambda messages: os._exit(3) if 'number 4 ' in str(messages) else 'yes'\n"
    )
    result = pytester.runpytest_subprocess(*ALL, *FUNCTION, "--vqa-max-errors=1", "--vqa-fail-under=0.1", "-n", "2")
    assert result.ret == 1


def test_a_fixture_that_fails_in_teardown_is_not_allowed(always_yes: Path, run: Run) -> None:
    conftest(always_yes, "@pytest.fixture(autouse=True)\ndef own():\n    yield\n    assert 0\n")
    assert run(*ALL, *FUNCTION, "--vqa-max-errors=100%", "--vqa-fail-under=0.1").ret == 1


def test_another_parser_is_not_comparable(always_yes: Path, run: Run, pytester: pytest.Pytester) -> None:
    spec = always_yes / "shapes.vqa.yaml"
    spec.write_text(
        spec.read_text()
        .replace("{scorer: short_answer}", "{scorer: choice}")
        .replace('  reference: "{answer}"', '  options: ["yes", "no"]\n  answer: text\n  reference: "{answer}"')
    )
    pytester.runpytest(*ALL, *FUNCTION, "--vqa-save-baseline=b.json", "--vqa-max-unparsed=100%")
    result = run(*ALL, *FUNCTION, "--vqa-baseline=b.json", "--vqa-parser=strict")
    assert result.ret == 20
    result.stdout.fnmatch_lines(["gate inconclusive: *: not comparable: other parser (strict, evalscope); *"])


def test_a_duplicate_id_makes_the_run_incomplete(always_yes: Path, run: Run) -> None:
    file = always_yes / "shapes" / "q.jsonl"
    file.write_text(file.read_text() + file.read_text().splitlines()[0] + "\n")
    assert run(*ALL, *FUNCTION, "--vqa-fail-under=0.1", "--vqa-save-baseline=b.json").ret == 1
    assert counts_of(always_yes) == {"correct": 6, "wrong": 6, "error": 1}
    assert not (always_yes / "b.json").exists()


def test_failed_first_is_whole_and_last_failed_is_not(always_yes: Path, pytester: pytest.Pytester) -> None:
    pytester.runpytest(*ALL, *FUNCTION)
    assert pytester.runpytest(*ALL, *FUNCTION, "--ff", "--vqa-fail-under=0.5").ret == 0
    assert pytester.runpytest(*ALL, *FUNCTION, "--lf", "--vqa-fail-under=0.5").ret == 20  # six at most can be right
