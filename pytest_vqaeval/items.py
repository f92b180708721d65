"""One item's way: its reply, its verdict, and the result that goes to the controller."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pytest_vqaeval.asking import Asked
from pytest_vqaeval.collect import sample_of
from pytest_vqaeval.errors import DataError, VqaError
from pytest_vqaeval.evaluation import Evaluation
from pytest_vqaeval.media import Reader
from pytest_vqaeval.models import as_model
from pytest_vqaeval.names import one_line
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.reports.block import explain
from pytest_vqaeval.results import Result
from pytest_vqaeval.sample import Sample
from pytest_vqaeval.scoring import as_score, score_reply
from pytest_vqaeval.scoring.base import Outcome, Score
from pytest_vqaeval.store import Selection


@dataclass
class Progress:
    """How far an item got; dropped after its teardown, so that no picture is held longer than it is needed."""

    asked: Asked | None = None
    score: Score | None = None


PROGRESS = pytest.StashKey[Progress]()


def _progress(item: pytest.Item) -> Progress:
    return item.stash.setdefault(PROGRESS, Progress())


def ask(item: pytest.Item, evaluation: Evaluation, sample: Sample, model: Any, reader: Reader) -> Reply:
    """The reply to an item's sample.

    Raises:
        VqaError: the record, a medium or the model can't be used, or there is no reply.
    """
    label = model_label_of(item, evaluation)
    asked = evaluation.ask(sample, as_model(model, label), label, reader)
    _progress(item).asked = asked
    return asked.reply


def score(item: pytest.Item, evaluation: Evaluation, sample: Sample, reply: Any) -> Score:
    """The verdict on a reply; a user's own `vqa_reply` may give a plain text.

    Raises:
        VqaError: the scorer failed.
    """
    reply = reply if isinstance(reply, Reply) else Reply(str(reply))
    asked = _progress(item).asked
    if asked is None or asked.reply is not reply:
        asked = Asked(sample.question(), (), reply, None)
        _progress(item).asked = asked
    try:
        return score_reply(evaluation.scorer(sample.spec), asked.question, reply)
    except VqaError:
        raise
    except Exception as error:  # a user's scorer
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"
        raise DataError(f"the scorer {sample.spec.score.scorer} failed: {one_line(said)}") from error


def check(request: pytest.FixtureRequest, vqa_sample: Sample, vqa_score: Any) -> None:
    """The body of every sample's test: fails if the answer counts as wrong."""
    verdict = as_score(vqa_score)
    progress = _progress(request.node)
    progress.score = verdict
    if verdict.outcome.counts_wrong:
        pytest.fail(explain(vqa_sample, verdict, progress.asked), pytrace=False)


def model_label_of(item: pytest.Item, evaluation: Evaluation) -> str:
    """The label of the model that answers an item."""
    callspec = getattr(item, "callspec", None)
    params = callspec.params if callspec else {}
    if "vqa_model_name" in params:
        return str(params["vqa_model_name"])
    if "vqa_model" in params:  # a user's own parametrized fixture is told by its part of the id
        sample = sample_of(item)
        return str(getattr(callspec, "id", "")).replace(sample.node if sample else "", "", 1).strip("-")
    return evaluation.labels[0] if evaluation.labels else ""


def _blank(item: pytest.Item, sample: Sample, evaluation: Evaluation) -> Result:
    """The result of an item that has none yet."""
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
        outcome=Outcome.NOT_RUN,
    )


def selection_of(items: Iterable[pytest.Item], evaluation: Evaluation) -> Selection:
    """What the session selected."""
    rows, abouts = [], {}
    for item in items:
        if sample := sample_of(item):
            rows.append(_blank(item, sample, evaluation))
            abouts[sample.benchmark] = evaluation.abouts[sample.benchmark]
    return Selection(list(abouts.values()), rows)


def attach_result(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport, evaluation: Evaluation
) -> None:
    """Set `report.vqa` where the item's fate is known: after its body, or after a setup that failed."""
    sample = sample_of(item)
    if sample is None:
        return
    if report.when == "call" or (report.when == "setup" and report.failed):
        result = _result(item, sample, evaluation, _error(item, call))
        if result is not None:
            report.vqa = result.to_json()  # type: ignore[attr-defined]
    if report.when == "teardown":
        item.stash[PROGRESS] = Progress()


def _error(item: pytest.Item, call: pytest.CallInfo[None]) -> str | None:
    """Why there is no verdict; None if there is one, or if the item was skipped."""
    if call.excinfo is None or _progress(item).score is not None:
        return None
    if isinstance(call.excinfo.value, pytest.skip.Exception):
        return None
    if isinstance(call.excinfo.value, pytest.fail.Exception):
        return str(call.excinfo.value)
    return one_line(call.excinfo.exconly())


def _result(item: pytest.Item, sample: Sample, evaluation: Evaluation, error: str | None) -> Result | None:
    blank, progress = _blank(item, sample, evaluation), _progress(item)
    if progress.asked:
        blank = replace(blank, **_of_reply(progress.asked))
    if error is not None:
        return replace(blank, outcome=Outcome.ERROR, error=error)
    if progress.score is None:
        return None
    verdict = progress.score
    return replace(
        blank,
        outcome=verdict.outcome,
        guessed=verdict.guessed,
        score=verdict.value,
        metrics=dict(verdict.metrics),
        extracted=verdict.extracted,
    )


def _of_reply(asked: Asked) -> dict[str, Any]:
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
    }
