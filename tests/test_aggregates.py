"""Metrics over several samples: of how many, and never silent about what is missing."""

from pathlib import Path

import pytest

from pytest_vqaeval.aggregates import ALL_RIGHT, Aggregate, Metric, aggregate
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome
from tests.conftest import Run, summary_of


def result(n: int, outcome: Outcome, extracted: str | None = None, reference: str = "yes", **more: object) -> Result:
    known = {"benchmark": "b", "subset": "s", "id": str(n), "model": "m", "nodeid": "x", "cluster": str(n)}
    return Result(**known, outcome=outcome, extracted=extracted, reference=(reference,), **more)  # type: ignore[arg-type]


YES_NO = [
    result(1, Outcome.CORRECT, "yes"),
    result(2, Outcome.WRONG, "no"),
    result(3, Outcome.UNPARSED),  # is not yes
    result(4, Outcome.WRONG, "Yes", "No"),
    result(5, Outcome.CORRECT, "no", "no"),
    result(6, Outcome.ERROR),
    result(7, Outcome.NOT_RUN),
]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("precision", Aggregate(1 / 2, 2, "answers yes", 2)),
        ("recall", Aggregate(1 / 3, 3, "references yes", 2)),
        ("f1", Aggregate(2 / 5, 5, "samples", 2)),
        ("yes_rate", Aggregate(2 / 5, 5, "samples", 2)),
    ],
)
def test_yes_and_no(kind: str, expected: Aggregate) -> None:
    found = aggregate(Metric(kind, kind), YES_NO)
    assert found == expected
    precision, recall = (aggregate(Metric(name, name), YES_NO).value for name in ("precision", "recall"))
    assert precision
    assert recall
    assert aggregate(Metric("f1", "f1"), YES_NO).value == pytest.approx(2 * precision * recall / (precision + recall))


@pytest.mark.parametrize("kind", ["precision", "recall", "f1", "yes_rate", ALL_RIGHT])
def test_nothing_to_divide_by(kind: str) -> None:
    assert aggregate(Metric(kind, kind), []).value is None
    assert aggregate(Metric(kind, kind), [result(1, Outcome.ERROR)]).value is None


def unit(n: int, outcome: Outcome, name: str, size: int, repeat: int = 1) -> Result:
    return result(n, outcome, units={"both": [name, size]}, repeat=repeat)


def test_units_of_which_all_are_right() -> None:
    right, wrong = Outcome.CORRECT, Outcome.WRONG
    results = [
        unit(1, right, "a", 2),
        unit(2, right, "a", 2),
        unit(3, right, "b", 2),
        unit(4, wrong, "b", 2),
        unit(5, right, "c", 2),  # the other was not selected
        unit(6, wrong, "d", 2),
        unit(7, Outcome.ERROR, "d", 2),  # of an incomplete unit neither right nor wrong counts
    ]
    assert aggregate(Metric("both", ALL_RIGHT), results) == Aggregate(1 / 2, 2, "groups", 2)


def test_values_are_neither_right_nor_wrong() -> None:
    assert aggregate(Metric("both", ALL_RIGHT), [unit(1, Outcome.SCORED, "a", 1)]) == Aggregate(None, 0, "groups", 1)


def test_yes_with_a_full_stop_is_yes() -> None:
    assert aggregate(Metric("recall", "recall"), [result(1, Outcome.CORRECT, "Yes.", "YES")]).value == 1.0


def test_each_repeat_has_units_of_its_own() -> None:
    results = [unit(n, Outcome.CORRECT, "a", 2, repeat) for n in (1, 2) for repeat in (1, 2)]
    assert aggregate(Metric("both", ALL_RIGHT), results) == Aggregate(1.0, 2, "groups", 0)


METRICS = "\nmetrics: [precision, yes_rate, {all_right_by: picture, name: both}]\n"


def test_as_a_user_sees_it(always_yes: Path, run: Run) -> None:
    spec = always_yes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text() + METRICS)
    out = run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-json=out.json")
    out.stdout.fnmatch_lines(
        [
            "  precision: 50.00 % of 12 answers yes",
            "  yes_rate: 100.00 % of 12 samples",
            "  both: 0.00 % of 6 groups",
            "",
            "subset      precision     yes_rate       both",
            "--------  -----------  -----------  ---------",
            "en         50.0 % (8)  100.0 % (8)  0.0 % (4)",
        ]
    )
    (report,) = summary_of(always_yes)["benchmarks"]  # type: ignore[misc]
    assert report["overall"]["aggregates"]["both"] == {"value": 0.0, "of": 6, "counted": "groups", "missing": 0}
    assert [part["aggregates"]["precision"]["of"] for part in report["subsets"]] == [8, 4]


def test_a_part_of_the_samples_makes_no_whole_units(always_yes: Path, pytester: pytest.Pytester) -> None:
    spec = always_yes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text() + METRICS)
    out = pytester.runpytest("shapes.vqa.yaml", "--vqa-model=m", "-k", "q0 or q2 or q3")
    out.stdout.fnmatch_lines(["  both: 0.00 % of 1 groups (+ 1 missing)"])
