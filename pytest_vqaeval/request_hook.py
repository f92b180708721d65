"""The hook `pytest_vqa_request`: users may change a request; what goes wrong in it is the error of that sample."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval.asking import Change
from pytest_vqaeval.errors import DataError
from pytest_vqaeval.names import one_line
from pytest_vqaeval.sample import Sample
from pytest_vqaeval.turns import TURNS

_NAME = "pytest_vqa_request"


def request_change(item: pytest.Item, sample: Sample) -> Change | None:
    """What the hooks that are valid for an item make of its request; None where there is none."""
    hook = item.ihook.pytest_vqa_request
    if not hook.get_hookimpls():
        return None

    def change(body: dict[str, Any]) -> dict[str, Any]:
        try:
            with TURNS.away(computing=True):  # whatever users do there, and start there, has all cores
                other = hook(sample=sample, body=body)
        except Exception as error:
            said = one_line(f"{type(error).__name__}: {error}")
            raise DataError(f"the hook {_NAME} failed: {said} ({_place(error)})") from error
        if other is None:
            return body
        if not isinstance(other, dict):
            raise DataError(f"the hook {_NAME} returned {type(other).__name__}, not a dict or None")
        return other

    return change


def _place(error: Exception) -> str:
    """The line of the hook itself: the first that is neither here nor pluggy's."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = (f for f in frames if f.filename != __file__ and Path(f.filename).parent.name != "pluggy")
    place = next(theirs, frames[-1])
    return f"{place.filename}:{place.lineno}"
