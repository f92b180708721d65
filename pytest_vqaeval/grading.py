"""From a reply to the score that counts: the rule, then the judges. Called by items and by threads ahead of them."""

from __future__ import annotations

import threading
import traceback
from concurrent.futures import Future
from dataclasses import replace

from pytest_vqaeval.asking import Asked, ModelLine, identity_of
from pytest_vqaeval.errors import DataError, VqaError
from pytest_vqaeval.evaluation import Evaluation
from pytest_vqaeval.judging.panel import Judged, Panel
from pytest_vqaeval.media import Reader
from pytest_vqaeval.names import one_line
from pytest_vqaeval.sample import Sample
from pytest_vqaeval.scoring import score_reply
from pytest_vqaeval.scoring.base import Score
from pytest_vqaeval.turns import TURNS

# Scorers are pure, but need not be fit for several threads at once (a user's own, a tokenizer that loads itself).
_ONE_AT_A_TIME = threading.Lock()


def score_by_rule(evaluation: Evaluation, sample: Sample, asked: Asked) -> Score:
    """The rule's verdict on a reply.

    Raises:
        VqaError: the scorer failed.
    """
    try:
        with _ONE_AT_A_TIME:
            return score_reply(evaluation.scorer(sample.spec), asked.question, asked.reply)
    except DataError as error:
        raise DataError(f"{sample.where}: {error}") from None
    except VqaError:
        raise
    except (Exception, SystemExit) as error:  # a user's scorer
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"
        raise DataError(f"the scorer {sample.spec.score.scorer} failed: {one_line(said)}") from error


def judge(
    evaluation: Evaluation, panel: Panel, sample: Sample, asked: Asked, label: str, reader: Reader | None
) -> Judged:
    """The rule's verdict, and what the judges make of it.

    Args:
        evaluation: models and scorers.
        panel: the benchmark's judges.
        sample: what was asked.
        asked: its reply.
        label: the model that replied.
        reader: the benchmark's media; None for the archive.

    Raises:
        VqaError: the scorer failed, or a picture that the judge shall see can't be read.
        FatalError: no sample can be judged.
    """
    score = score_by_rule(evaluation, sample, asked)
    identity = identity_of(sample, label)
    return panel.judge(
        asked.question,
        asked.reply,
        score,
        lambda name: ModelLine(evaluation.asker, evaluation.judges[name], name, identity, "judge"),
        lambda: evaluation.asker.pictures(asked.question, reader or evaluation.archive(sample.spec)),
    )


def judge_ahead(evaluation: Evaluation, sample: Sample, asked: Asked, label: str, reader: Reader) -> Asked:
    """The reply with its verdict, where the benchmark is judged; an error is kept for the item."""
    panel = evaluation.panel(sample.spec)
    if panel is None:
        return asked
    judged: Future[Judged] = Future()
    try:
        with TURNS.away(computing=True):  # a user's scorer may need all cores
            judged.set_result(judge(evaluation, panel, sample, asked, label, reader))
    except Exception as error:
        judged.set_exception(error)
    return replace(asked, judged=judged)
