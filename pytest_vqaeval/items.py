"""One item's way: its reply, its verdict, and the result that goes to the controller."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pytest

from pytest_vqaeval.asking import Asked
from pytest_vqaeval.collect import sample_of
from pytest_vqaeval.errors import FatalError, MissingExtra, ModelError, NotJudged, UsageError
from pytest_vqaeval.evaluation import Evaluation, Running
from pytest_vqaeval.grading import judge, judge_ahead, score_by_rule
from pytest_vqaeval.judging.panel import Judged
from pytest_vqaeval.lookahead import LookAhead, has_own_fixture, order_of, shared_fixtures
from pytest_vqaeval.media import Reader
from pytest_vqaeval.models import Model, as_model
from pytest_vqaeval.names import cut_middle, one_line
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.reports.block import explain, place_of
from pytest_vqaeval.request_hook import request_change
from pytest_vqaeval.results import Result, in_utf8
from pytest_vqaeval.sample import Sample
from pytest_vqaeval.scoring import as_score
from pytest_vqaeval.scoring.base import Outcome, Score
from pytest_vqaeval.store import Selection

_LONGEST_DETAIL = 400  # characters; a normal form may be as long as the reply


def open_model(evaluation: Evaluation, label: str) -> Model:
    """The model that `--vqa-model` names.

    Raises:
        FatalError: an option or a variable that is about its server can't be used.
    """
    with _fatal_stops(evaluation):
        try:
            return evaluation.model(label)
        except UsageError as error:
            raise FatalError(str(error)) from None


def ask(evaluation: Evaluation, sample: Sample) -> Reply:
    """The reply to the sample of the item that runs.

    Raises:
        VqaError: the record, a medium or the model can't be used, or there is no reply.
    """
    running = evaluation.running
    label = model_label_of(running.item, evaluation)
    with _fatal_stops(evaluation):
        asking = as_model(_fixture_of(running.item, "vqa_model"), label)
        reader: Reader = _fixture_of(running.item, "vqa_archive")
        evaluation.check_scorer(sample.spec)
        evaluation.panel(sample.spec)  # before anything is sent: is there a judge, if there must be one?
        work = _work(evaluation, running.item, sample, asking, label, lambda: reader, judging=False)
        ahead = _look_ahead(running.item, evaluation, asking, label)
        running.reader = reader
        running.asked = ahead.ask(running.item, work) if ahead else work()
    return running.asked.reply


def _fixture_of(item: pytest.Item, name: str) -> Any:
    """The value of a fixture that the item asked for before."""
    assert isinstance(item, pytest.Function)
    return item.funcargs[name]


@contextmanager
def _fatal_stops(evaluation: Evaluation) -> Iterator[None]:
    """An error that no further sample can survive ends the run."""
    try:
        yield
    except (FatalError, MissingExtra) as error:
        evaluation.running.fatal = True
        evaluation.running.item.session.shouldstop = str(error)
        raise


def _work(
    evaluation: Evaluation,
    item: pytest.Item,
    sample: Sample,
    model: Model,
    label: str,
    reader_of: Callable[[], Reader],
    *,
    judging: bool,
) -> Callable[[], Asked]:
    """Ask a sample's question and, with `judging`, the judges."""

    def work() -> Asked:
        reader = reader_of()
        asked = evaluation.asker.ask(sample, model, label, reader, request_change(item, sample))
        return judge_ahead(evaluation, sample, asked, label, reader) if judging else asked

    return work


def _look_ahead(item: pytest.Item, evaluation: Evaluation, model: Model, label: str) -> LookAhead | None:
    """What asks ahead for this model's items; None where each item has to ask for itself."""
    threads = min(_concurrency(model, evaluation), evaluation.concurrency)
    fixtures = shared_fixtures(item)
    if threads < 2 or fixtures is None:
        return None

    def work_of(later: pytest.Item) -> Callable[[], Asked] | None:
        sample = sample_of(later)
        if sample is None or any(mark.name in ("skip", "skipif") for mark in later.iter_markers()):
            return None
        if shared_fixtures(later) != fixtures or model_label_of(later, evaluation) != label:
            return None
        judging = has_own_fixture(later, "vqa_score")
        return _work(evaluation, later, sample, model, label, lambda: evaluation.archive(sample.spec), judging=judging)

    def make() -> LookAhead | None:
        order = order_of(item.session)
        waiting_only = hasattr(model, "paces")
        return LookAhead(order, threads, work_of, waiting_only=waiting_only) if order else None

    return evaluation.look_ahead(model, fixtures, make)


def _concurrency(model: Model, evaluation: Evaluation) -> int:
    """How many threads may ask the model and its judges; replies that are stored take no time."""
    judges = [getattr(judge, "concurrency", 1) for judge in evaluation.judges.values()]
    if judges and hasattr(model, "reply_for"):
        return min(judges)
    return getattr(model, "concurrency", 1)


def score(evaluation: Evaluation, sample: Sample, reply: Any) -> Score:
    """The verdict on a reply; a user's own `vqa_reply` may give a plain text.

    Raises:
        VqaError: the scorer failed, or the judges gave no verdict.
    """
    reply = reply if isinstance(reply, Reply) else Reply(str(reply))
    running = evaluation.running
    asked = running.asked
    if asked is None or asked.reply is not reply:
        asked = running.asked = Asked(sample.question(), reply)
    with _fatal_stops(evaluation):
        panel = evaluation.panel(sample.spec)
        if panel is None:
            return score_by_rule(evaluation, sample, asked)
        if asked.judged:
            judged = asked.judged.result()
        else:
            label = model_label_of(running.item, evaluation)
            judged = judge(evaluation, panel, sample, asked, label, running.reader)
    running.judged = judged
    if judged.score is None:
        raise NotJudged(f"not judged: {judged.problem}")
    return judged.score


def body_of(evaluation: Evaluation) -> types.FunctionType:
    """The body of every sample's test: fails if the answer counts as wrong."""

    def check(vqa_sample: Sample, vqa_score: Any) -> None:
        running = evaluation.running
        verdict = running.score = as_score(vqa_score)
        if verdict.outcome.counts_wrong:
            pytest.fail(_explained(evaluation, vqa_sample, verdict), pytrace=False)

    return cast(types.FunctionType, check)


def _explained(evaluation: Evaluation, sample: Sample, verdict: Score) -> str:
    running = evaluation.running
    asked = running.asked
    result = _blank(running.item, sample, evaluation, **_of_reply(asked), **_of_score(verdict))
    question, media, sent = (asked.question, asked.media, asked.sent) if asked else (None, None, None)
    return explain(result, question, media=media, sent=sent, where=place_of(sample))


def model_label_of(item: pytest.Item, evaluation: Evaluation) -> str:
    """The label of the model that answers an item."""
    callspec = getattr(item, "callspec", None)
    params = callspec.params if callspec else {}
    if "vqa_model" in params:  # a user's own parametrized fixture is told by its part of the id, and by the model's
        sample = sample_of(item)
        return str(getattr(callspec, "id", "")).replace(sample.node if sample else "", "", 1).strip("-")
    if "vqa_model_name" in params:
        return str(params["vqa_model_name"])
    return evaluation.labels[0] if evaluation.labels else ""


def _blank(item: pytest.Item, sample: Sample, evaluation: Evaluation, **known: Any) -> Result:
    """The result of an item as far as it is known."""
    return Result(
        benchmark=sample.benchmark,
        subset=sample.subset,
        id=sample.id,
        repeat=sample.repeat,
        model=model_label_of(item, evaluation),
        nodeid=item.nodeid,
        category=sample.category,
        cluster=sample.cluster,
        fields=sample.fields(evaluation.abouts[sample.benchmark].groups),
        units={name: list(unit) for name, unit in sample.units.items()},
        **{"outcome": Outcome.NOT_RUN, **known},
    )


def selection_of(items: Iterable[pytest.Item], evaluation: Evaluation) -> Selection:
    """What the session selected."""
    rows, abouts = [], {}
    for item in items:
        if sample := sample_of(item):
            rows.append(_blank(item, sample, evaluation))
            abouts[sample.benchmark] = evaluation.abouts[sample.benchmark]
    return Selection(list(abouts.values()), rows)


def forget_hidden_traceback(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Where a sample's failure shows no traceback (`pytrace=False`) pytest looks through all of it still: 50 us."""
    failure = call.excinfo
    if failure and isinstance(failure.value, pytest.fail.Exception) and not failure.value.pytrace and sample_of(item):
        last = failure.traceback[-2:]  # of pytest's texts alone: the debugger has the whole
        if not all(entry.ishidden(failure) for entry in last):  # else pytest could not tell where it failed
            failure.traceback = last


def attach_result(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport, evaluation: Evaluation
) -> None:
    """Set `report.vqa` where the item's fate is known: after its body, or after a setup that failed."""
    sample, running = sample_of(item), evaluation.running
    if sample is None or running.item is not item:
        return
    _share_keywords(report, running)
    if report.when != "call" and not (report.when == "setup" and report.failed):
        return
    facts = {
        **_attempts(call),
        **_of_reply(running.asked),
        **_of_judges(running.judged),
        **_verdict(running.score, call),
        "fatal": running.fatal,
    }
    if facts["outcome"] is Outcome.ERROR:
        facts["where"] = sample.where
    result = _blank(item, sample, evaluation, **facts)
    if result.outcome is not Outcome.NOT_RUN:
        report.vqa = in_utf8(result.to_json())  # type: ignore[attr-defined]
        _note_properties(item, result)


def _share_keywords(report: pytest.TestReport, running: Running) -> None:
    """The three reports of an item, which pytest keeps to the end, need no keywords of their own: 0.5 kB a sample."""
    if running.keywords == report.keywords:
        report.keywords = running.keywords
    running.keywords = report.keywords


def _note_properties(item: pytest.Item, result: Result) -> None:
    """JUnit's `<property>`; those of an earlier try (a rerun) go. The report of the teardown carries them."""
    facts = _properties(result.subset, result.category, result.outcome.value)
    own = ("subset", "category", "outcome")
    item.user_properties[:] = [*(known for known in item.user_properties if known[0] not in own), *facts]


@functools.lru_cache
def _properties(subset: str, category: str | None, outcome: str) -> Sequence[tuple[str, str]]:
    """Equal ones are the same objects, as pytest keeps those of all samples."""
    facts = (("subset", subset), ("category", category), ("outcome", outcome))
    return [(name, value) for name, value in facts if value is not None]


def _verdict(score: Score | None, call: pytest.CallInfo[None]) -> dict[str, Any]:
    if score is not None:
        return _of_score(score)
    if call.excinfo is None or isinstance(call.excinfo.value, pytest.skip.Exception):
        return {"outcome": Outcome.NOT_RUN}
    if isinstance(call.excinfo.value, pytest.fail.Exception):
        return {"outcome": Outcome.ERROR, "error": str(call.excinfo.value)}
    return {"outcome": Outcome.ERROR, "error": one_line(call.excinfo.exconly())}


def _of_judges(judged: Judged | None) -> dict[str, Any]:
    """Without a verdict of the judges what the rule read and measured is still known."""
    if judged is None:
        return {}
    return {"judge": judged.to_json(), "metrics": dict(judged.rule.metrics), "extracted": judged.rule.extracted}


def _attempts(call: pytest.CallInfo[None]) -> dict[str, Any]:
    """How many requests failed, where there is no reply to tell."""
    error = call.excinfo.value.__context__ if call.excinfo else None
    return {"attempts": error.attempts} if isinstance(error, ModelError) else {}


def _of_score(score: Score) -> dict[str, Any]:
    return {
        "outcome": score.outcome,
        "guessed": score.guessed,
        "score": score.value,
        "metrics": dict(score.metrics),
        "extracted": score.extracted,
        "details": {label: cut_middle(text, _LONGEST_DETAIL) for label, text in score.details.items()},
    }


def _of_reply(asked: Asked | None) -> dict[str, Any]:
    if asked is None:
        return {}
    reply = asked.reply
    return {
        "reply": reply.text,
        "reference": asked.question.references,
        "finish_reason": reply.finish_reason,
        "usage": dict(reply.usage),
        "latency_s": None if reply.latency_s is None else round(reply.latency_s, 4),
        "attempts": reply.attempts,
        "reused": reply.reused,
        "request_key": asked.key,
        "resized": list(asked.resized),
    }
