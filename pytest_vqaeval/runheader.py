"""The header of a run: what ran and how, without secrets."""

from __future__ import annotations

import platform
import time
from importlib.metadata import version
from typing import Any

from pytest_vqaeval.evaluation import Evaluation
from pytest_vqaeval.judging.prompt import JudgePrompt
from pytest_vqaeval.models import is_built_in, served_at
from pytest_vqaeval.models.endpoint import without_credentials
from pytest_vqaeval.settings import Settings

_TIME = "%Y-%m-%dT%H:%M:%S%z"


def run_header(evaluation: Evaluation, started: float) -> dict[str, Any]:
    """The first keys of `run.json`; `started` is in seconds since the epoch."""
    settings = evaluation.settings
    return {
        "started": local_time(started),
        "versions": {name: version(name) for name in ("pytest-vqaeval", "pytest")}
        | {"python": platform.python_version()},
        "models": evaluation.labels,
        "judge": _judge(evaluation),
        "served": _served(evaluation),
        "settings": {
            "repeats": settings.repeats,
            "generation": generation_of(settings),
            "limit": settings.limit,
            "shard": str(settings.shard) if settings.shard else None,
            "timeout": settings.timeout,
            "retries": settings.retries,
            "headers": [name for name, _ in settings.header],
            "api_key_env": settings.api_key_env,
            "max_image_pixels": settings.max_image_pixels,
        },
    }


def local_time(seconds: float) -> str:
    """A time since the epoch as ISO 8601 with the zone's offset."""
    return time.strftime(_TIME, time.localtime(seconds))


def generation_of(settings: Settings) -> dict[str, Any]:
    """The generation parameters that the model got."""
    return dict(settings.generation) or {"temperature": 0}


def _judge(evaluation: Evaluation) -> dict[str, Any] | None:
    """Who judges; the strategy that holds, and a spec's own prompt, are told with each benchmark."""
    settings, prompt = evaluation.settings, JudgePrompt()
    if not settings.judge:
        return None
    return {
        "models": evaluation.judge_labels,
        "strategy": settings.judge_strategy,
        "generation": dict(settings.judge_generation) or {"temperature": 0},
        "prompt": {"version": prompt.version, "sha256": prompt.sha256},
    }


def _served(evaluation: Evaluation) -> dict[str, dict[str, Any]]:
    """What each model is called by its servers, and their addresses, without credentials; not for built-in ones."""
    settings = evaluation.settings
    named = zip(evaluation.labels, settings.model, strict=True)
    served = {label: served_at(name, settings.url) for label, name in named if not is_built_in(name)}
    return {
        label: {"model": name, "urls": [without_credentials(url) for url in urls]}
        for label, (name, urls) in served.items()
    }
