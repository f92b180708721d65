"""The hooks that a conftest.py or another plugin may implement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_vqaeval.results import Result
    from pytest_vqaeval.sample import Sample
    from pytest_vqaeval.settings import Settings
    from pytest_vqaeval.summary import Summary


@pytest.hookspec
def pytest_vqa_scorers() -> Mapping[str, Callable[..., Any]]:  # type: ignore[empty-body]
    """Further scorers by name: functions `(question, text, **options)`.

    They return a `Score`, right or wrong as a bool, or a value from 0 to 1. Keyword-only arguments are the keys that
    a spec may set in its `score:` block.
    """


@pytest.hookspec(firstresult=True)
def pytest_vqa_model(name: str, settings: Settings) -> Any:
    """The model for a name given with `--vqa-model`, or None to leave it to others. The first result counts."""


@pytest.hookspec(firstresult=True)
def pytest_vqa_request(sample: Sample, body: dict[str, Any]) -> dict[str, Any] | None:
    """A request is about to be sent: change its `body` in place, or return another. The first result counts.

    Called once per sample, however often the request is tried, in the threads that ask ahead: several calls run at
    once, and none may wait long. The body is part of the key under which a reply is stored: a changed body is another
    request. Pictures are texts (data URLs), whose `str()` describes them; where they are left alone their bytes need
    not be copied. An exception is the error of this sample. Only models behind a server have a body; the requests to
    judges are left as they are.
    """


@pytest.hookspec
def pytest_vqa_result(result: Result) -> None:
    """A sample's result has arrived (in the controller under xdist)."""


@pytest.hookspec
def pytest_vqa_summary(summary: Summary) -> None:
    """The run is over: the numbers of all benchmarks, before they are printed."""
