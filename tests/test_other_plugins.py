"""Other plugins keep working on samples; each test is skipped where its plugin is not installed."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import Run, counts_of

ALL = ["shapes.vqa.yaml", "--vqa-json=out.json"]


def test_reruns_count_the_last_report(shapes: Path, run: Run) -> None:
    """A sample that had no reply is asked again; a reply that is stored is scored again, not asked for again."""
    pytest.importorskip("pytest_rerunfailures")
    seen: set[str] = set()

    def second_time(request: Request) -> Answer:
        first = request.text not in seen
        seen.add(request.text)
        return Answer("overloaded", status=503) if first else Answer("yes")

    with ModelServer(second_time) as server:
        arguments = ["--reruns=2", "--vqa-retries=0", "--vqa-fail-under=0.5"]
        result = run(*ALL, f"--vqa-model=m@{server.url}", *arguments)
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}
    assert server.count == 24
    assert result.ret == 0


def test_reruns_leave_one_junit_property_of_each(always_yes: Path, pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_rerunfailures")
    pytester.runpytest(*ALL, "--vqa-model=m", "--reruns=2", "--junit-xml=junit.xml")
    cases = ET.parse(always_yes / "junit.xml").getroot().iter("testcase")
    assert all(len(list(case.iter("property"))) == 3 for case in cases)


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
