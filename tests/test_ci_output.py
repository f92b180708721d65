"""What a CI service shows: JUnit properties, the job's summary in Markdown, annotations."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pytest_vqaeval.gates import GateResult, Verdict
from pytest_vqaeval.names import printable
from pytest_vqaeval.reports import github, markdown
from pytest_vqaeval.scoring.base import Outcome
from tests.conftest import Run
from tests.rundata import rows, summary_of_rows

ALL = ["shapes.vqa.yaml", "--vqa-model=m"]


@pytest.fixture(autouse=True)
def _no_github(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


def test_junit_properties_are_few_and_short(always_yes: Path, run: Run) -> None:
    always_yes.joinpath("shapes", "q.jsonl").open("a").write("{broken\n")
    run(*ALL, "--junit-xml=junit.xml")
    cases = ET.parse(always_yes / "junit.xml").getroot().iter("testcase")
    found = {case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")} for case in cases}
    assert found["en[q0]"] == {"subset": "en", "category": "English", "outcome": "correct"}
    assert found["zh[q9]"] == {"subset": "zh", "category": "Chinese", "outcome": "wrong"}
    assert {facts["outcome"] for facts in found.values()} == {"correct", "wrong", "error"}
    assert len(found) == 13


def test_the_summary_is_appended_to_the_jobs_page(always_yes: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    page = always_yes / "page.md"
    page.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    run(*ALL, "--vqa-fail-under=shapes/en=0.5", "--vqa-fail-under=0.6")
    text = page.read_text()
    assert text.startswith("before\n### Shapes: m\n")
    assert "| en (few) | 4 of 8 | 50.00 % | 12.6 - 87.4 |" in text
    assert "- ✅ pass: shapes/en m: fail&#95;under 0.5: 0.5000 of 8 answered" in text
    assert "- ❌ fail: shapes m: fail&#95;under 0.6: 0.5000 of 12 answered" in text


def test_a_page_that_can_not_be_written_is_said(
    always_yes: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(always_yes / "no" / "page.md"))
    result = pytester.runpytest(*ALL, "--vqa-fail-under=0.5")
    assert result.ret == 4
    assert "GITHUB_STEP_SUMMARY" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_only_failed_gates_are_annotated(always_yes: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    gates = ["--vqa-fail-under=0.5", "--vqa-fail-under=0.6", "--vqa-fail-under=other=0.1"]
    assert "::error" not in run(*ALL, *gates).stdout.str()
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    lines = [line for line in run(*ALL, *gates).outlines if line.startswith("::")]
    assert lines == ["::error title=vqaeval gate failed::shapes m: fail_under 0.6: 0.5000 of 12 answered"]


def gate(**facts: object) -> GateResult:
    known = {"benchmark": "b", "model": "m", "rule": "r", "verdict": Verdict.FAIL, "said": "s"}
    return GateResult(**{**known, **facts})  # type: ignore[arg-type]


def test_an_annotation_stays_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (line,) = github.error_lines([gate(model="100 %\r\n::set-output name=x::y\x1b[31m")])
    assert line == "::error title=vqaeval gate failed::b 100 %25\\r\\n::set-output name=x::y\\x1b[31m: r: s"


HOSTILE = "</table><script>alert(1)</script>|`*_[x](javascript:y)\n# head\x1b[31m @all"


def test_nothing_of_data_or_model_is_read_as_markup() -> None:
    summary = summary_of_rows(rows("cw", model=HOSTILE, subset=HOSTILE))
    text = markdown.build(summary, [gate(model=HOSTILE, said=HOSTILE, notes=[HOSTILE], worse=[HOSTILE])])
    for bad in ("<", "](", "`", "\x1b", "\n# ", "@all", "*", "_"):
        assert bad not in text
    assert all(line.count("|") == 5 for line in text.splitlines() if line.startswith("|"))


def test_the_worst_regressions_are_named() -> None:
    text = markdown.build(summary_of_rows(rows("cw")), [gate(worse=["b.vqa.yaml::s[1]"])])
    assert "#### Worst regressions: b m" in text
    assert "- b.vqa.yaml&#58;&#58;s&#91;1&#93;" in text


def test_a_table_of_thousands_of_subsets_is_cut() -> None:
    results = [result for n in range(500) for result in rows("c", subset=f"s{n}")]
    text = markdown.build(summary_of_rows(results), [])
    assert "and 440 more" in text
    assert len(text) < 10_000


def test_missing_samples_are_said() -> None:
    text = markdown.build(summary_of_rows(rows("cwx")), [])
    assert "| all samples (few) | 1 of 2 (+ 1 missing) | 50.00 % |" in text
    assert Outcome.ERROR.value not in text


def test_a_reply_gives_no_command_to_the_ci_service(shapes: Path, run: Run) -> None:
    """GitHub's runner obeys `::command` after white space, others `##[command]` anywhere in a line."""
    commands = "yes\n::stop-commands::x\n  ::add-mask::pass\n##[group]a\n##vso[task.complete]"
    shapes.joinpath("conftest.py").write_text(
        f"import pytest\n@pytest.fixture(scope='session')\ndef vqa_model():\n    return lambda messages: {commands!r}\n"
    )
    lines = run(*ALL, "--vqa-show=2").outlines
    assert any("\\x3a:stop-commands::x" in line for line in lines)
    assert not [line for line in lines if line.lstrip().startswith("::") or "##[" in line or "##vso[" in line]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", "\\x3a:error::x"),
        ("\u3000 ::error::x", "\u3000 \\x3a:error::x"),
        ("a\n\n ::x", "a\n\n \\x3a:x"),
        ("a ##[group]", "a \\x23#[group]"),
        ("###teamcity[x", "#\\x23#teamcity[x"),
        ("b.vqa.yaml::s[1], a ::b, # [1], ## Head [2]", "b.vqa.yaml::s[1], a ::b, # [1], ## Head [2]"),
    ],
)
def test_commands_of_ci_services_are_shown_as_text(text: str, shown: str) -> None:
    assert printable(text) == shown
