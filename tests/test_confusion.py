"""References against answers."""

from pytest_vqaeval.reports.confusion import MOST_REFERENCES, NONE, OTHER, by_subset, confusion
from pytest_vqaeval.results import Result
from pytest_vqaeval.scoring.base import Outcome


def result(reference: str, extracted: str | None, outcome: Outcome = Outcome.WRONG, **more: object) -> Result:
    facts = {"subset": "s", **more}
    return Result(
        benchmark="b", id="1", model="m", nodeid="n", cluster="c", outcome=outcome, reference=[reference],
        extracted=extracted, **facts,
    )  # fmt: skip


RIGHT = Outcome.CORRECT


def test_counts_by_reference_and_answer() -> None:
    table = confusion(
        [
            *[result("A", "A", RIGHT)] * 3,
            result("A", "b"),
            result("B", "B", RIGHT),
            result("B", "Z"),
            result("B", None, Outcome.UNPARSED),
            result("A", None, Outcome.ERROR),
        ]
    )
    assert table is not None
    assert table.references == ["A", "B"]
    assert table.answers == ["A", "B", OTHER, NONE]
    assert dict(table.counts) == {("A", "A"): 3, ("A", "B"): 1, ("B", "B"): 1, ("B", OTHER): 1, ("B", NONE): 1}


def test_texts_are_compared_in_their_normal_form() -> None:
    """Of several ways to say yes one row is made; a wrong answer is never on the diagonal."""
    forms = {"normal form": "no", "of reference": "yes"}
    table = confusion(
        [
            result("是的", "没有", details=forms),
            result("有", "有", RIGHT, details={**forms, "normal form": "yes"}),
            result("没有", "x", details={"normal form": "no", "of reference": "no"}),
        ]
    )
    assert table is not None
    assert dict(table.counts) == {("yes", "no"): 1, ("yes", "yes"): 1, ("no", OTHER): 1}


def test_rare_references_are_left_out_and_counted() -> None:
    rows = [result(f"r{n}", f"r{n}", RIGHT) for n in range(MOST_REFERENCES) for _ in range(10)]
    table = confusion([*rows, result("rare", "r0")])
    assert table is not None
    assert (len(table.references), table.left_out) == (MOST_REFERENCES, 1)


def test_where_a_table_says_nothing_there_is_none() -> None:
    assert confusion([]) is None
    assert confusion([result("A", "A", RIGHT)]) is None
    assert confusion([result(str(n), "x") for n in range(100)]) is None
    assert confusion([result("A", "x", Outcome.SCORED), result("B", "x", Outcome.SCORED)]) is None
    assert list(by_subset([result("A", "B"), result("B", "B", RIGHT), result("A", "A", RIGHT, subset="t")])) == ["s"]
