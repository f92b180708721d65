"""Judges one by one and together: what is asked, what counts, and what is no verdict."""

from collections.abc import Sequence

import pytest

from pytest_vqaeval.errors import ModelError
from pytest_vqaeval.judging import Strategy
from pytest_vqaeval.judging.judge import Opinion, ask_judge
from pytest_vqaeval.judging.panel import Judged, Panel, combined
from pytest_vqaeval.judging.prompt import JudgePrompt
from pytest_vqaeval.judging.rule import Combine, JudgeRule
from pytest_vqaeval.judging.verdict import Verdict
from pytest_vqaeval.question import Message, Question
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.scoring.base import UNPARSED, Outcome, Score, verdict
from pytest_vqaeval.stats import cohen_kappa

A, B = '{"reasoning":"same","verdict":"A"}', '{"reasoning":"other","verdict":"B"}'
QUESTION = Question("q", [{"role": "user", "content": "q"}], ("chest",))


class Script:
    """A line to a judge that says these texts in turn; None is a failed request."""

    def __init__(self, *says: str | None, store: dict[str, str] | None = None) -> None:
        self._says, self.store, self.sent = list(says), store or {}, 0

    def key(self, messages: Sequence[Message]) -> str:
        return f"{len(messages)}"

    def find(self, key: str) -> Reply | None:
        return Reply(self.store[key], reused=True) if key in self.store else None

    def ask(self, messages: Sequence[Message], key: str) -> Reply:
        self.sent += 1
        said = self._says.pop(0)
        if said is None:
            raise ModelError("HTTP 500")
        self.store[key] = said
        return Reply(said, usage={"total_tokens": 7})


def ask(line: Script) -> Opinion:
    return ask_judge("j", line, JudgePrompt(), [{"role": "user", "content": "data"}])


@pytest.mark.parametrize(
    ("says", "value", "problem", "sent"),
    [
        ([A], 1.0, None, 1),
        ([B], 0.0, None, 1),
        (["Right!", A], 1.0, None, 2),
        (["Right!", "Right!!"], None, "the judge's reply holds no JSON object", 2),
        ([A + B, '{"verdict":"C"}'], None, "the judge's verdict is none of A, B", 2),
        (["", None], None, "HTTP 500", 2),
        ([None], None, "HTTP 500", 1),
    ],
)
def test_one_judge(says: list[str | None], value: float | None, problem: str | None, sent: int) -> None:
    line = Script(*says)
    opinion = ask(line)
    assert (opinion.verdict and opinion.verdict.value, opinion.problem, line.sent) == (value, problem, sent)
    received = [said for said in says if said is not None]
    assert [reply.text for reply in opinion.replies] == received
    assert opinion.to_json().get("usage", {}).get("total_tokens", 0) == 7 * len(received)


@pytest.mark.parametrize(
    ("stored", "says", "sent"),
    [
        ({"1": A}, [], 0),
        ({"1": "Right!", "3": A}, [], 0),  # the repaired one
        ({"1": "Right!"}, [A], 1),  # an unreadable one is asked for again, from the start
        ({"1": "Right!", "3": "Right!"}, ["Right!", A], 2),
    ],
)
def test_stored_verdicts_are_not_asked_for_again(stored: dict[str, str], says: list[str | None], sent: int) -> None:
    line = Script(*says, store=dict(stored))
    opinion = ask(line)
    assert (opinion.verdict and opinion.verdict.said, line.sent) == ("A", sent)
    assert sum(reply.reused for reply in opinion.replies) == (len(stored) if sent == 0 else 0)


def opinions(said: str) -> list[Opinion]:
    """One letter per judge: A, B, or - for none."""
    values = {"A": 1.0, "B": 0.0}
    return [
        Opinion(f"j{n}", Verdict(values[x], x, "") if x in values else None, "HTTP 500" if x == "-" else None)
        for n, x in enumerate(said)
    ]


@pytest.mark.parametrize(
    ("said", "combine", "value", "problem"),
    [
        ("A", "majority", 1, None),
        ("AAB", "majority", 1, None),
        ("ABB", "majority", 0, None),
        ("AA-", "majority", 1, None),  # whatever the third would have said
        ("AB", "majority", None, "the judges are divided"),
        ("A-", "majority", None, "j1: HTTP 500"),
        ("AB-", "majority", None, "j2: HTTP 500"),
        ("-", "majority", None, "j0: HTTP 500"),
        ("AB", "mean", 0.5, None),
        ("AAB", "mean", 2 / 3, None),
        ("AA-", "mean", None, "j2: HTTP 500"),
    ],
)
def test_several_judges(said: str, combine: Combine, value: float | None, problem: str | None) -> None:
    assert combined(opinions(said), combine) == (value, problem)


def judged(strategy: Strategy, rule: Score, *says: str | None, combine: Combine = "majority") -> tuple[Judged, int]:
    lines = {f"j{n}": Script(*said.split("|")) if said else Script(None) for n, said in enumerate(says)}
    panel = Panel(tuple(lines), strategy, JudgeRule(combine=combine))
    result = panel.judge(QUESTION, Reply("Thorax"), rule, lines.__getitem__, lambda: pytest.fail("no picture is shown"))
    return result, sum(line.sent for line in lines.values())


RIGHT, WRONG = verdict(True, "chest"), verdict(False, "thorax")
TRUNCATED, EMPTY = Score(Outcome.TRUNCATED, value=0.0), Score(Outcome.EMPTY, value=0.0)
ROUGE = Score(Outcome.SCORED, "thorax", 0.4, {"rouge-l-r": 0.4})


@pytest.mark.parametrize(
    ("strategy", "rule", "says", "outcome", "value", "sent"),
    [
        ("llm", RIGHT, A, Outcome.CORRECT, 1, 1),
        ("llm", RIGHT, B, Outcome.WRONG, 0, 1),  # a judge may also find wrong what the rule found right
        ("llm", WRONG, A, Outcome.CORRECT, 1, 1),
        ("llm", ROUGE, A, Outcome.CORRECT, 1, 1),
        ("llm", ROUGE, B, Outcome.WRONG, 0, 1),
        ("llm_recall", RIGHT, B, Outcome.CORRECT, 1, 0),  # not asked
        ("llm_recall", WRONG, A, Outcome.CORRECT, 1, 1),
        ("llm_recall", WRONG, B, Outcome.WRONG, 0, 1),
        ("llm_recall", UNPARSED, B, Outcome.UNPARSED, 0, 1),
        ("llm_recall", TRUNCATED, B, Outcome.TRUNCATED, 0, 1),
        ("llm_recall", EMPTY, A, Outcome.CORRECT, 1, 1),
        ("llm_recall", ROUGE, A, Outcome.CORRECT, 1, 1),  # a metric of its own: ROUGE stays (C4)
    ],
)
def test_what_becomes_of_the_rules_score(
    strategy: Strategy, rule: Score, says: str, outcome: Outcome, value: float, sent: int
) -> None:
    result, asked = judged(strategy, rule, says)
    assert result.score
    assert (result.score.outcome, result.score.value, asked) == (outcome, value, sent)
    assert result.score.metrics == rule.metrics
    assert result.rule is rule


@pytest.mark.parametrize("strategy", ["llm", "llm_recall"])
@pytest.mark.parametrize("says", [None, "no|no"])
def test_no_verdict_is_no_score(strategy: Strategy, says: str | None) -> None:
    result, _ = judged(strategy, ROUGE, says)
    assert result.score is None
    assert (result.problem or "").startswith("j0: ")
    assert result.rule is ROUGE  # the rule's own is kept


def test_a_guess_that_a_judge_confirmed_is_none() -> None:
    result, _ = judged("llm", verdict(True, "A", guessed=True), A)
    assert result.score
    assert not result.score.guessed


def test_the_mean_of_judges_is_a_score() -> None:
    result, _ = judged("llm", WRONG, A, B, combine="mean")
    assert result.score
    assert (result.score.outcome, result.score.value) == (Outcome.SCORED, 0.5)


def test_without_a_reference_nothing_can_be_judged() -> None:
    panel = Panel(("j",), "llm", JudgeRule())
    line = Script(A)
    result = panel.judge(Question("q", []), Reply("x"), ROUGE, lambda name: line, list)
    assert (result.score, result.problem, line.sent) == (None, "the sample has no reference to judge by", 0)


def test_cohens_kappa() -> None:
    """50 applications read by two readers: 20 both yes, 15 both no, 5 and 10 differ; p_o 0.7, p_e 0.5."""
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert cohen_kappa(pairs) == pytest.approx(0.4)
    assert cohen_kappa([("y", "y"), ("n", "n")]) == 1
    assert cohen_kappa([("y", "n"), ("n", "y")]) == -1
    assert cohen_kappa([("y", "y")] * 3) is None  # nothing is left beyond chance
    assert cohen_kappa([]) is None
