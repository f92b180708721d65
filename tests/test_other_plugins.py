"""Other plugins keep working on samples; each test is skipped where its plugin is not installed."""

from pathlib import Path

import pytest

from pytest_vqaeval.testing import ModelServer, Request
from tests.conftest import Run, counts_of

ALL = ["shapes.vqa.yaml", "--vqa-json=out.json"]


def test_reruns_count_the_last_report(shapes: Path, run: Run) -> None:
    pytest.importorskip("pytest_rerunfailures")
    seen: set[str] = set()

    def second_time(request: Request) -> str:
        first = request.text not in seen
        seen.add(request.text)
        return "neither" if first else "yes"

    with ModelServer(second_time) as server:
        result = run(*ALL, f"--vqa-model=m@{server.url}", "--reruns=1", "--vqa-fail-under=0.5")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}
    assert result.ret == 0


def test_html_reports_wrong_answers(always_yes: Path, run: Run) -> None:
    pytest.importorskip("pytest_html")
    run(*ALL, "--vqa-model=m", "--html=report.html", "--self-contained-html")
    assert counts_of(always_yes) == {"correct": 6, "wrong": 6}
    assert "Is number 1 even?" in always_yes.joinpath("report.html").read_text()


def test_timeout_makes_an_error(shapes: Path, pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_timeout")
    shapes.joinpath("conftest.py").write_text(
        "import pytest, time\n@pytest.fixture\ndef vqa_model():\n"
        "    return lambda m: time.sleep(30) if 'number 4 ' in str(m) else 'yes'\n"
    )
    pytester.runpytest_subprocess(*ALL, "--vqa-model=m", "--timeout=1")
    assert counts_of(shapes) == {"correct": 5, "wrong": 6, "error": 1}


def test_random_order_changes_no_number(always_yes: Path, pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_randomly")
    pytester.runpytest_subprocess(*ALL, "--vqa-model=m", "-p", "randomly")
    assert counts_of(always_yes) == {"correct": 6, "wrong": 6}


def test_sugar_prints_the_tables_too(always_yes: Path, pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_sugar")
    result = pytester.runpytest_subprocess(*ALL, "--vqa-model=m", "--force-sugar")
    assert counts_of(always_yes) == {"correct": 6, "wrong": 6}
    result.stdout.fnmatch_lines(["*all samples*6 of 12*"])


def test_coverage_is_measured_beside_samples(always_yes: Path, run: Run) -> None:
    pytest.importorskip("pytest_cov")
    result = run(*ALL, "--vqa-model=m", "--cov=.")
    assert counts_of(always_yes) == {"correct": 6, "wrong": 6}
    result.stdout.fnmatch_lines(["*coverage: platform*"])
