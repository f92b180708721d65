"""Each gate alone: its verdict by the bounds, and what it says."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_vqaeval.errors import SpecError
from pytest_vqaeval.gates import GateResult, Verdict
from pytest_vqaeval.gates.fail_under import parse_fail_under
from pytest_vqaeval.gates.limit import MaxErrors, MaxGuessed, MaxTruncated, MaxUnparsed, parse_limit
from pytest_vqaeval.gates.must_pass import MustPass, parse_must_pass, together
from pytest_vqaeval.gates.session import judge
from pytest_vqaeval.gates.written import read_gates, rule_from_json, rule_to_json
from pytest_vqaeval.options import OPTIONS
from pytest_vqaeval.yamlblock import load
from tests.conftest import Run, summary_of
from tests.rundata import graded, row, rows, summary_of_rows
from tests.test_readme import example

PASS, FAIL, INCONCLUSIVE = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def verdict(rule: Any, letters: str, collected: int | None = None, **facts: Any) -> Verdict:
    (gate,) = judge(summary_of_rows(rows(letters, **facts), collected), [rule])
    return gate.verdict


@pytest.mark.parametrize(
    ("gate", "letters", "collected", "expected"),
    [
        ("0.5", "ccww", 4, PASS),
        ("0.6", "ccww", 4, FAIL),
        ("0.6", "cccww", 5, PASS),
        ("0.5", "cwxx", 4, INCONCLUSIVE),  # 0.25 to 0.75
        ("0.5", "ccxw", 4, PASS),  # 0.5 at the worst
        ("0.8", "ccwx", 4, FAIL),  # 0.75 at the best
        ("0.5", "cc", 4, PASS),  # two were not selected
        ("0.9", "cc", 4, INCONCLUSIVE),
        ("0", "xxxx", 4, INCONCLUSIVE),
        ("0", "----", 4, INCONCLUSIVE),
        ("lower:0.4", "c" * 80 + "w" * 20, 100, PASS),
        ("lower:0.75", "c" * 80 + "w" * 20, 100, FAIL),  # Wilson: 0.7112
        ("lower:0.71", "c" * 80 + "w" * 20, 100, PASS),
        ("lower:0.71", "c" * 80 + "w" * 20, 110, INCONCLUSIVE),
        ("lower:0.5", "c" * 80 + "x" * 20, 100, PASS),
        ("lower:0.75", "c" * 80 + "x" * 20, 100, INCONCLUSIVE),
        ("lower:0.97", "c" * 80 + "x" * 20, 100, FAIL),  # 0.963 if all were right
    ],
)
def test_fail_under(gate: str, letters: str, collected: int, expected: Verdict) -> None:
    assert verdict(parse_fail_under(gate), letters, collected) is expected


def test_fail_under_of_graded_scores_is_not_off_by_rounding() -> None:
    (gate,) = judge(summary_of_rows(graded([0.1, 0.2, 0.3])), [parse_fail_under("0.2")])
    assert gate.verdict is PASS


def test_lower_bounds_rest_on_clusters() -> None:
    letters = ("c" * 10 + "w" * 10) * 5
    assert verdict(parse_fail_under("lower:0.4"), letters) is PASS
    assert verdict(parse_fail_under("lower:0.4"), letters, per_cluster=10) is FAIL


@pytest.mark.parametrize(
    ("rule", "text", "letters", "collected", "expected"),
    [
        (MaxUnparsed, "0", "cccw", 4, PASS),
        (MaxUnparsed, "0", "cccu", 4, FAIL),
        (MaxUnparsed, "1", "cccu", 4, PASS),
        (MaxUnparsed, "1", "ccux", 4, INCONCLUSIVE),  # the error could be one too
        (MaxUnparsed, "2", "ccux", 4, PASS),
        (MaxUnparsed, "0.25", "cccu", 4, PASS),
        (MaxUnparsed, "24%", "cccu", 4, FAIL),
        (MaxUnparsed, "25%", "cccu", 4, PASS),
        (MaxUnparsed, "25%", "ccu", 4, INCONCLUSIVE),  # one was not selected
        (MaxUnparsed, "0", "xxxx", 4, INCONCLUSIVE),
        (MaxTruncated, "0", "ccut", 4, FAIL),
        (MaxTruncated, "1", "ccut", 4, PASS),
        (MaxErrors, "0", "cccc", 4, PASS),
        (MaxErrors, "0", "cccx", 4, FAIL),
        (MaxErrors, "1", "cccx", 4, PASS),
        (MaxErrors, "1", "ccx-", 4, INCONCLUSIVE),
        (MaxErrors, "100%", "xxxc", 4, PASS),  # a share: all of them
        (MaxErrors, "100%", "xxxx", 4, INCONCLUSIVE),  # whatever is allowed, no answer is no pass
        (MaxErrors, "4", "xxxx", 4, INCONCLUSIVE),
        (MaxUnparsed, "4", "xxxx", 4, INCONCLUSIVE),
        (MaxErrors, "1", "xxxx", 4, FAIL),  # a number: one
        (MaxErrors, "1", "", 4, INCONCLUSIVE),
    ],
)
def test_limits(rule: Any, text: str, letters: str, collected: int, expected: Verdict) -> None:
    assert verdict(parse_limit(rule, text), letters, collected) is expected


def test_guesses_are_counted_whatever_they_were() -> None:
    assert verdict(parse_limit(MaxGuessed, "1"), "cw", guessed=True) is FAIL
    assert verdict(parse_limit(MaxGuessed, "2"), "cw", guessed=True) is PASS


def test_a_limit_says_of_how_many() -> None:
    (gate,) = judge(summary_of_rows(rows("c" * 998 + "ux")), [parse_limit(MaxUnparsed, "b=1%")])
    assert gate.rule == "max_unparsed 1 %"
    assert gate.said == "1 of 1,000 unparsed (0.10 %), 1 more could be"


@pytest.mark.parametrize("text", ["", "x", "-1", "101%", "1.5", "nan", "1e3", "b=", "=3", "1.0", "b=1e0", "b/=3"])
def test_limits_that_are_none(text: str) -> None:
    said = r"neither a number of samples nor a share|names no benchmark|could mean one sample, or all|names no part"
    with pytest.raises(ValueError, match=said):
        parse_limit(MaxErrors, text)


@pytest.mark.parametrize(
    ("ids", "expected", "said"),
    [
        (("0", "s[1]"), PASS, "2 of 2 right"),
        (("0", "2"), FAIL, "1 of 2 right; wrong: 2"),
        (("0", "3"), INCONCLUSIVE, "1 of 2 right; without right or wrong: 3"),
        (("0", "9"), INCONCLUSIVE, "1 of 2 right; not selected, or not there: 9"),
        (("2", "3", "9"), FAIL, "0 of 3 right; wrong: 2; without right or wrong: 3; not selected, or not there: 9"),
    ],
)
def test_must_pass(ids: tuple[str, ...], expected: Verdict, said: str) -> None:
    (gate,) = judge(summary_of_rows(rows("ccwx")), [MustPass(ids, "b")])
    assert (gate.verdict, gate.said) == (expected, said)
    assert gate.worse == (["b.vqa.yaml::s[2]"] if "2" in ids else [])


def test_must_pass_wants_every_repeat_right() -> None:
    both = [row(0, outcome, repeat=n) for n, outcome in enumerate((rows("c")[0].outcome, rows("w")[0].outcome), 1)]
    (gate,) = judge(summary_of_rows(both), [MustPass(("0",), "b")])
    assert gate.verdict is FAIL


def test_a_graded_score_is_not_right() -> None:
    (gate,) = judge(summary_of_rows(graded([1.0])), [MustPass(("0",), "b")])
    assert gate.verdict is INCONCLUSIVE


def test_named_samples_of_one_benchmark_are_one_gate() -> None:
    named = [parse_must_pass(text) for text in ("b=1", "b=s[2]", "b/s=3", "b=1")]
    assert together(named) == [MustPass(("1", "s[2]"), "b"), MustPass(("3",), "b/s")]
    with pytest.raises(ValueError, match="is not BENCHMARK=ID"):
        parse_must_pass("11934")


def test_no_gate_passes_without_samples() -> None:
    gates = [parse_fail_under("0"), parse_limit(MaxErrors, "100%"), MustPass((), "b"), parse_fail_under("other/x=0")]
    results = judge(summary_of_rows([], 0), gates)
    assert [gate.verdict for gate in results] == [INCONCLUSIVE] * 4
    assert {gate.said for gate in results} == {"no sample was selected"}


# --- in a run


ALL = ["shapes.vqa.yaml", "--vqa-model=m", "--vqa-json=out.json"]


@pytest.mark.parametrize(
    ("gate", "selection", "code", "said"),
    [
        ("shapes/en=0.5", [], 0, "gate pass: shapes/en m: fail_under 0.5: 0.5000 of 8 answered"),
        ("shapes/en=0.5", ["-k", "not zh"], 0, "gate pass: shapes/en m: fail_under 0.5: 0.5000 of 8 answered"),
        ("shapes/English=0.6", [], 1, "gate fail: shapes/English m: fail_under 0.6: 0.5000 of 8 answered"),
        ("shapes/kind:OPEN=0.5", [], 0, "gate pass: shapes/kind:OPEN m: fail_under 0.5: 0.5000 of 4 answered"),
        (
            "shapes/zh=0.5",
            ["-k", "not zh"],
            20,
            "gate inconclusive: shapes/zh m: fail_under 0.5: no sample was answered (of 4)",
        ),
        (
            "shapes/en=0.5",
            ["-k", "not zh and not q0"],
            20,
            "gate inconclusive: shapes/en m: fail_under 0.5: 0.4286 of 7 answered, 0.3750 to 0.5000 with the 1 missing",
        ),
        (
            "shapes/Englsh=0.5",
            [],
            20,
            "gate inconclusive: shapes/Englsh m: fail_under 0.5: there is no part 'Englsh'; did you mean 'English'?; "
            "there are kind:OPEN, kind:Closed, English, Chinese, en, zh",
        ),
    ],
)
def test_a_part(
    always_yes: Path, pytester: pytest.Pytester, gate: str, selection: list[str], code: int, said: str
) -> None:
    result = pytester.runpytest(*ALL, *selection, f"--vqa-fail-under={gate}")
    assert said in result.outlines
    assert result.ret == code


def test_a_field_need_not_be_a_group_of_the_spec(always_yes: Path, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        *ALL, "--vqa-fail-under=shapes/picture:0.jpg=0.5", "--vqa-fail-under=shapes/colour:red=0.5"
    )
    assert result.ret == 20
    assert "gate pass: shapes/picture:0.jpg m: fail_under 0.5: 0.5000 of 2 answered" in result.outlines
    result.stdout.fnmatch_lines(["gate inconclusive: shapes/colour:red m: *: there is no part 'colour:red'*"])


@pytest.mark.parametrize("option", ["--vqa-fail-under=0.5", "--vqa-must-pass=b=1", "--vqa-baseline=latest"])
def test_a_gate_without_a_model_is_a_mistake(always_yes: Path, pytester: pytest.Pytester, option: str) -> None:
    always_yes.joinpath("test_other.py").write_text("def test_passes(): pass\n")
    result = pytester.runpytest("test_other.py", option)
    assert result.ret == 4
    name = option.partition("=")[0]
    assert f"{name} is about a model's answers, but none is named: --vqa-model" in result.stderr.str()
    always_yes.joinpath("tox.ini").write_text("[pytest]\nvqa_fail_under = 0.5\n")
    assert pytester.runpytest("test_other.py").ret == 0


def test_all_kinds_as_options_and_in_the_ini_file(always_yes: Path, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nvqa_max_unparsed = 1%\nvqa_must_pass =\n    shapes=q0\n    shapes=q2\n")
    options = ["--vqa-max-truncated=0", "--vqa-max-errors=shapes=0", "--vqa-max-guessed=50%", "--vqa-fail-under=0.5"]
    result = pytester.runpytest(*ALL, *options)
    assert result.ret == 0
    assert [gate["rule"] for gate in summary_of(always_yes)["gates"]] == [
        "fail_under 0.5",
        "max_unparsed 1 %",
        "max_truncated 0",
        "max_errors 0",
        "max_guessed 50 %",
        "must_pass q0, q2",
    ]


SPEC_GATES = """\
gates:
  - fail_under: lower:0.2
  - {fail_under: 0.5, of: en}
  - {max_errors: 0, of: kind:OPEN}
  - must_pass: [q0, "zh[q8]"]
"""


def test_all_kinds_in_a_spec(always_yes: Path, run: Run) -> None:
    spec = always_yes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text() + SPEC_GATES)
    result = run(*ALL)
    assert result.ret == 0
    gates = [GateResult.from_json(gate) for gate in summary_of(always_yes)["gates"]]
    assert [f"{gate.part} {gate.rule}" for gate in gates] == [
        " fail_under lower:0.2",
        "en fail_under 0.5",
        "kind:OPEN max_errors 0",
        " must_pass q0, zh[q8]",
    ]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("- {fail_under: 0.5, max_errors: 0}", "1: gates[0]: a gate is one of fail_under, max_unparsed, "),
        ("- {of: en}", "1: gates[0]: a gate is one of fail_under, max_unparsed, "),
        ("- {fail_under: lower}", "1: gates[0].fail_under: 'lower' is not a score from 0 to 1"),
        ("- {max_errors: many}", "1: gates[0].max_errors: 'many' is neither a number of samples nor a share"),
        ("- {baseline: b.json, alpha: 0}", "1: gates[0].alpha: '0' is not a share of false alarms"),
        ("- {baseline: b.json, margin: 0.0001}", "1: gates[0].margin: '0.0001' is not a margin"),
        ("- {baseline: b.json, margin: nan}", "1: gates[0].margin: 'nan' is not a margin"),
        ("- {fail_under: 0.5, margin: 0.1}", "1: gates[0].margin: belongs to baseline, not to fail_under"),
        ("- {must_pass: []}", "1: gates[0].must_pass: names no sample"),
        ("- {fail_under: 0.5, of: ''}", "1: gates[0].of: is empty"),
        ("- {max_errors: 1.0}", "1: gates[0].max_errors: '1.0' could mean one sample, or all"),
        ("- fail_under: 0.5\n- fail_under: 0.6", "1: gates: fail_under is given twice for b"),
    ],
)
def test_gates_that_a_spec_can_not_have(tmp_path: Path, block: str, message: str) -> None:
    file = tmp_path / "b.vqa.yaml"
    lines = block.replace("\n", "\n  ")
    file.write_text("gates:\n  " + lines + "\n")
    with pytest.raises(SpecError) as error:
        read_gates(load(file), "b", tmp_path)
    assert message.partition(": ")[2] in str(error.value)
    assert str(file) in str(error.value)


def test_rules_survive_the_way_from_worker_to_controller(tmp_path: Path) -> None:
    import json

    file = tmp_path / "b.vqa.yaml"
    file.write_text(
        SPEC_GATES + "  - {baseline: old.json, of: en, alpha: 0.01, margin: 0.02}\n  - {max_unparsed: 2%}\n"
    )
    rules = read_gates(load(file), "b", tmp_path)
    assert [rule_from_json(json.loads(json.dumps(rule_to_json(rule)))) for rule in rules] == list(rules)
    assert rules[-2].source == str(tmp_path / "old.json")  # type: ignore[union-attr]


# --- the examples of the docs


def test_the_gates_of_the_docs(always_yes: Path, pytester: pytest.Pytester) -> None:
    spec = always_yes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text() + example("gates"))
    result = pytester.runpytest(*ALL)
    assert result.ret == 0
    assert sum(line.startswith("gate pass") for line in result.outlines) == 4


def test_the_workflow_of_the_readme_is_yaml_and_its_options_exist(pytester: pytest.Pytester) -> None:
    workflow = yaml.safe_load(example("actions"))
    steps = workflow["jobs"]["evaluate"]["steps"]
    commands = [shlex.split(step["run"]) for step in steps if step.get("run", "").startswith("pytest ")]
    assert len(commands) == 2
    for command in commands:
        config = pytester.parseconfig(*command[1:])
        for name in ("fail_under", "max_errors", "alpha"):
            next(option for option in OPTIONS if option.name == name).value(config)
    saved, gated = ({option.partition("=")[0] for option in command} for command in commands)
    assert "--vqa-save-baseline" in saved
    assert "--vqa-baseline" in gated
