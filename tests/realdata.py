"""Where the real benchmark data lies."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def real_data(*parts: str) -> Path:
    """A file or folder of the real data; the test is skipped where it is absent, unless its absence is a failure."""
    path = (ROOT / os.environ.get("VQA_REAL_DATA", "../shared/data")).joinpath(*parts).resolve()
    if not path.exists():
        say = pytest.fail if os.environ.get("VQA_REQUIRE_REAL_DATA") else pytest.skip
        say(f"needs the real data at {'/'.join(parts)} (VQA_REAL_DATA names its folder)")
    return path
