"""Samples without a reference, and scorers of values made ones of right and wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval.dataset import read_samples
from pytest_vqaeval.errors import SpecError
from pytest_vqaeval.gates import Part, Verdict
from pytest_vqaeval.gates.fail_under import FailUnder
from pytest_vqaeval.question import Question
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.results import Result
from pytest_vqaeval.scorerule import ScoreRule
from pytest_vqaeval.scoring import BUILT_IN, score_reply
from pytest_vqaeval.scoring.base import Outcome, Score
from pytest_vqaeval.spec import read_spec
from pytest_vqaeval.tally import Tally
from pytest_vqaeval.testing import ModelServer
from tests.conftest import Run, counts_of, summary_of


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def ask(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], **more}


@pytest.mark.parametrize("name", BUILT_IN)
def test_without_a_reference_no_scorer_gives_a_value(name: str) -> None:
    question = Question("q", [], (), ("x", "y") if "choice" in name else ())
    score = score_reply(BUILT_IN[name], question, Reply("ANSWER: A"))
    assert (score.outcome, score.value, score.metrics) == (Outcome.SCORED, None, {})
    assert score_reply(BUILT_IN[name], question, Reply("")).outcome is Outcome.EMPTY


@pytest.mark.parametrize("kind", ["messages", "options"])
def test_a_benchmark_without_references_reports_replies_only(run: Run, pytester: pytest.Pytester, kind: str) -> None:
    rows = [ask("1") | {"answer": None}, ask("2") | {"answer": ""}, ask("none")]
    if kind == "options":
        rows = [{"question": row["messages"][0]["content"], "options": ["x", "y"]} for row in rows]
    write(pytester.path / "q.jsonl", rows)
    with ModelServer(lambda request: "" if "none" in request.text else "A dog.") as server:
        gate = "--vqa-fail-under=q=0.5"
        result = run("q.jsonl", f"--vqa-model=m@{server.url}", "--vqa-json=out.json", gate)
    result.stdout.fnmatch_lines(["  no references: replies only", "gate inconclusive: q m: *: no references: *"])
    result.stdout.no_fnmatch_line("*0.00 %*")
    (benchmark,) = summary_of(pytester.path)["benchmarks"]  # type: ignore[misc]
    assert counts_of(pytester.path) == {"scored": 2, "empty": 1}
    assert (benchmark["overall"]["accuracy"], benchmark["overall"]["score"]) == (None, None)
    samples = pytester.path.joinpath(".vqaeval/latest/samples.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["reply"] for line in samples) == ["", "A dog.", "A dog."]


def test_one_sample_without_a_reference_is_an_error_before_it_is_asked(run: Run, pytester: pytest.Pytester) -> None:
    """ES#233, VK#504: a null answer among others shows as such, at its row, not as a failure of scoring."""
    rows = [ask("a", answer="yes"), ask("b", answer=None), ask("c"), ask("d", answer="  yes  ")]
    write(pytester.path / "q.jsonl", rows)
    with ModelServer("yes") as server:
        result = run("q.jsonl", f"--vqa-model=m@{server.url}", "--vqa-json=out.json")
    assert counts_of(pytester.path) == {"scored": 2, "error": 2}
    assert server.count == 2
    said = "*1 x q.jsonl:{}: field 'answer' is {}, and other records have references"
    result.stdout.fnmatch_lines_random([said.format(2, "empty"), said.format(3, "missing")])


def test_a_reference_inside_a_field(tmp_path: Path) -> None:
    message = "{role: user, content: '{question}'}"
    spec = tmp_path / "s.vqa.yaml"
    spec.write_text(
        f"{{records: r.jsonl, sample: {{id: '{{row}}', messages: [{message}], reference: '{{meta.answer}}'}},"
        " score: {scorer: contains}}"
    )
    write(tmp_path / "r.jsonl", [{"question": "a", "meta": {"answer": "x"}}, {"question": "b", "meta": {"answer": ""}}])
    good, bad = read_samples(read_spec(spec), [(None, tmp_path / "r.jsonl")])
    assert (good.problem, good.question().references) == (None, ("x",))
    assert bad.problem == "r.jsonl:2: field 'meta.answer' is empty, and other records have references"


def test_a_spec_without_reference(run: Run, shapes: Path) -> None:
    spec = shapes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text().replace('  reference: "{answer}"\n', ""))
    with ModelServer("yes") as server:
        result = run("shapes.vqa.yaml", f"--vqa-model=m@{server.url}", "--vqa-json=out.json")
    assert counts_of(shapes) == {"scored": 12}
    result.stdout.fnmatch_lines(["  no references: replies only"])


def test_a_gate_on_replies_alone_is_inconclusive() -> None:
    result = Result(benchmark="b", subset="s", id="1", model="m", nodeid="n", cluster="1", outcome=Outcome.SCORED)
    finding = FailUnder(0.0).judge(Part("b", "m", "", Tally([result]), 1))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "no references" in finding.said


@pytest.mark.parametrize("name", ["anls", "vqa_accuracy", "text_overlap"])
def test_a_value_may_count_as_correct(name: str) -> None:
    scorer = ScoreRule(name, {}, "f:1", correct_from=0.6).bind(BUILT_IN)
    people = ("dog",) * 2 + ("cat",) * 8
    right = score_reply(scorer, Question("q", [], people), Reply("cat"))
    wrong = score_reply(scorer, Question("q", [], people), Reply("horse"))
    assert (right.outcome, right.value, right.metrics[name]) == (Outcome.CORRECT, 1.0, pytest.approx(1.0))
    assert (wrong.outcome, wrong.value, wrong.metrics[name]) == (Outcome.WRONG, 0.0, pytest.approx(0.0))
    limit = score_reply(scorer, Question("q", [], people), Reply("dog"))  # two of ten people: 0.6 itself
    assert limit.outcome is Outcome.CORRECT


def test_the_value_that_counts_is_in_the_spec(run: Run, shapes: Path) -> None:
    spec = shapes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text().replace("{scorer: short_answer}", "{scorer: anls, correct_from: 0.66}"))
    with ModelServer("yep") as server:  # "yes": 1 of 3 letters differs
        result = run("shapes.vqa.yaml", f"--vqa-model=m@{server.url}", "--vqa-json=out.json")
    assert counts_of(shapes) == {"correct": 6, "wrong": 6}
    result.stdout.fnmatch_lines(["*anls         0.0000, correct from 0.66*", "  anls: 33.33 % of 12"])


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (ScoreRule("choice", {}, "f:1: score.scorer", 0.5), "correct_from is for scorers that give a value"),
        (ScoreRule("anls", {"correct_form": 0.5}, "f:1: score.scorer"), "no option 'correct_form'"),
    ],
)
def test_mistakes_of_the_spec(rule: ScoreRule, said: str) -> None:
    with pytest.raises(SpecError, match=f"^f:1: score.scorer: .*{said}"):
        rule.bind(BUILT_IN)


def test_a_scorer_of_ones_own_is_not_tried_on_a_made_up_question() -> None:
    def own(question: Question, text: str, *, limit: float) -> Score:
        return Score(Outcome.SCORED, value=float(question.record["length"] < limit))

    scorer = ScoreRule("own", {"limit": 3}, "f:1", 0.5).bind({"own": own})
    question = Question("q", [], record={"length": 2})
    assert score_reply(scorer, question, Reply("x")).outcome is Outcome.CORRECT


def test_a_missing_extra_stops_the_run_before_anything_is_asked(
    xdist_options: tuple[str, ...], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C20: never a score of 0 for what could not be computed."""
    write(pytester.path / "q.jsonl", [ask(f"q{n}", answer="yes") for n in range(9)])
    pytester.path.joinpath("nltk.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    with ModelServer("yes") as server:
        command = ("q.jsonl", f"--vqa-model=m@{server.url}", "--vqa-json=out.json", "-p", "no:cacheprovider")
        result = pytester.runpytest_subprocess(*xdist_options, *command)
    assert (result.ret, server.count) == (4, 0)
    said = "an extra is missing for the scorer text_overlap: pip install 'pytest-vqaeval[[]text]'"
    result.stdout.fnmatch_lines([f"*{said}*"])
    counts = counts_of(pytester.path)
    assert counts.keys() == {"error", "not_run"}
    assert counts["error"] <= 2  # one for each worker
