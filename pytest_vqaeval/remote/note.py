"""Small JSON files beside data files: what must be known of them in the next run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_vqaeval.errors import DataError, StoreError
from pytest_vqaeval.store import write_whole


def read_note(path: Path) -> dict[str, Any]:
    """The note; empty if there is none, or a broken one."""
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def write_note(path: Path, note: Mapping[str, Any]) -> None:
    """Write it, whole or not at all.

    Raises:
        DataError: it can't be written.
    """
    try:
        write_whole(path, json.dumps(note, indent=1, sort_keys=True) + "\n")
    except StoreError as error:
        raise DataError(str(error)) from None
