"""Gates and the exit code: green in spite of wrong answers, but never in spite of anything else."""

from pathlib import Path

import pytest

from pytest_vqaeval.gates import Verdict, exit_code
from pytest_vqaeval.gates.fail_under import FailUnder, parse_fail_under
from pytest_vqaeval.gates.session import judge
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.summary import About, summarize
from tests.conftest import Run, summary_of

ALL = ["shapes.vqa.yaml", "--vqa-model=m", "--vqa-json=out.json"]


@pytest.mark.parametrize(
    ("gate", "code", "said"),
    [
        ("0.5", 0, "gate pass: shapes m: fail_under 0.5: 0.5000 of 12 answered"),
        ("shapes=0.5", 0, "gate pass: shapes m: fail_under 0.5: 0.5000 of 12 answered"),
        ("0.6", 1, "gate fail: shapes m: fail_under 0.6: 0.5000 of 12 answered"),
        ("other=0.1", 20, "gate inconclusive: other: fail_under 0.1: no sample was selected; there are shapes"),
    ],
)
def test_fail_under(always_yes: Path, run: Run, gate: str, code: int, said: str) -> None:
    result = run(*ALL, f"--vqa-fail-under={gate}")
    assert result.ret == code
    assert said in result.outlines
    assert summary_of(always_yes)["exit_code"] == code


def test_without_a_gate_wrong_answers_fail(always_yes: Path, run: Run) -> None:
    assert run(*ALL).ret == 1


def test_the_specs_own_gate(always_yes: Path, run: Run) -> None:
    spec = always_yes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text() + "gates: [{fail_under: 0.4}]\n")
    assert run(*ALL).ret == 0


def test_a_failed_gate_is_red_in_the_last_line(always_yes: Path, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*ALL, "--vqa-fail-under=0.6", "--color=yes")
    last = result.outlines[-1]
    assert "1 gate failed" in last
    assert last.startswith("\x1b[31m")


@pytest.mark.parametrize(
    "narrower", [["-k", "zh"], ["--vqa-limit=2"], ["-x"], ["shapes.vqa.yaml::en[q0]"]], ids=lambda value: value[0]
)
def test_a_part_of_a_benchmark_passes_no_gate_on_the_whole(always_yes: Path, run: Run, narrower: list[str]) -> None:
    arguments = ALL[1:] if narrower[0].startswith("shapes") else ALL
    code = run(*arguments, *narrower, "--vqa-fail-under=0.5").ret
    assert code == 20 or (code == 2 and narrower == ["-x"])  # xdist calls -x an interruption


def test_missing_samples_decide_only_if_they_could_not_change_it(always_yes: Path, run: Run) -> None:
    assert run(*ALL, "-k", "not zh", "--vqa-fail-under=0.9").ret == 1  # 4 of 8, at most 8 of 12
    assert run(*ALL, "-k", "not zh", "--vqa-fail-under=0.3").ret == 0  # at least 4 of 12


ORDINARY = {
    "failing test": ("test_other.py", "def test_fails(): assert 0\n", [], 1),
    "collection error": ("test_other.py", "import nothing_like_this\n", ["--continue-on-collection-errors"], 1),
    "interrupted collection": ("test_other.py", "import nothing_like_this\n", [], 2),
    "broken fixture": ("test_other.py", "def test_x(nothing): pass\n", [], 1),
    "passing test": ("test_other.py", "def test_passes(): pass\n", [], 0),
}


@pytest.mark.parametrize("case", ORDINARY)
def test_ordinary_failures_keep_their_exit_code(always_yes: Path, run: Run, case: str) -> None:
    name, body, options, code = ORDINARY[case]
    always_yes.joinpath(name).write_text(body)
    result = run(*ALL, name, "--vqa-fail-under=0.5", *options)
    # xdist's controller sees no collection as interrupted: it stops with its own code, which is not 0 either
    assert result.ret == code or (case == "interrupted collection" and result.ret != 0)


def test_an_error_keeps_the_exit_code(always_yes: Path, run: Run) -> None:
    always_yes.joinpath("shapes", "q.jsonl").open("a").write("{broken\n")
    assert run(*ALL, "--vqa-fail-under=0.1").ret == 1


def test_a_lost_worker_keeps_the_exit_code(shapes: Path, pytester: pytest.Pytester) -> None:
    shapes.joinpath("conftest.py").write_text(
        "import os, pytest\n@pytest.fixture\ndef vqa_model():\n"
        "    return lambda messages: os._exit(3) if 'number 4 ' in str(messages) else 'yes'\n"
    )
    result = pytester.runpytest_subprocess(*ALL, "--vqa-fail-under=0.1", "-n", "2")
    assert result.ret == 1


def test_coverage_that_is_too_low_keeps_the_exit_code(always_yes: Path, pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_cov")
    always_yes.joinpath("code.py").write_text("def f():\n    return 1\n\n\ndef g():\n    return 2\n")
    always_yes.joinpath("test_code.py").write_text("import code\ndef test_it(): pass\n")
    arguments = [*ALL, "test_code.py", "--vqa-fail-under=0.5", "--cov=.", "--cov-fail-under=99.9"]
    result = pytester.runpytest_subprocess(*arguments)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["gate pass*"])


def test_no_samples_at_all_pass_no_gate(always_yes: Path, run: Run) -> None:
    always_yes.joinpath("test_other.py").write_text("def test_passes(): pass\n")
    assert run("test_other.py", "--vqa-model=m", "--vqa-fail-under=0.1").ret == 20
    assert run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-fail-under=0.1", "-k", "nothing").ret == 5
    assert not list(always_yes.glob(".vqaeval/runs/*"))  # a run of nothing leaves nothing


@pytest.mark.parametrize("text", ["1.5", "-0.1", "nan", "x", "=0.5", "slake=", ""])
def test_scores_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"score|benchmark"):
        parse_fail_under(text)


def test_all_errors_are_inconclusive() -> None:
    rows = [
        Result(benchmark="b", subset="s", id="1", model="m", nodeid="n", cluster="c", outcome=Outcome.ERROR, error="e")
    ]
    summary = summarize([About("b", "B", "short_answer", 1)], rows)
    (gate,) = judge(summary, [FailUnder(0.0)])
    assert gate.verdict is Verdict.INCONCLUSIVE
    assert gate.said == "no sample was answered (of 1)"


@pytest.mark.parametrize(
    ("pytest_code", "only_wrong", "verdicts", "code"),
    [
        (0, False, [Verdict.PASS], 0),
        (0, False, [Verdict.FAIL, Verdict.INCONCLUSIVE], 1),
        (0, False, [Verdict.INCONCLUSIVE], 20),
        (1, True, [Verdict.PASS], 0),
        (1, True, [], 1),
        (1, False, [Verdict.PASS], 1),
        (1, False, [Verdict.INCONCLUSIVE], 1),
        (2, True, [Verdict.PASS], 2),
        (3, True, [Verdict.FAIL], 3),
        (5, False, [Verdict.INCONCLUSIVE], 5),
    ],
)
def test_exit_code(pytest_code: int, only_wrong: bool, verdicts: list[Verdict], code: int) -> None:
    assert (
        exit_code(pytest_code, only_wrong_answers=only_wrong, stopped=False, unreached=False, verdicts=verdicts) == code
    )
