"""What the options of a run say: the one frozen value that the rest of the code sees."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_vqaeval.errors import UsageError
from pytest_vqaeval.gates.fail_under import FailUnder
from pytest_vqaeval.gates.limit import Limit
from pytest_vqaeval.gates.must_pass import MustPass
from pytest_vqaeval.options import GATES, OPTIONS, gates_of
from pytest_vqaeval.shards import Shard

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True)
class Settings:
    """Everything that the options say. Times are in seconds, `limit` is a number of samples per subset."""

    model: tuple[str, ...]
    url: tuple[str, ...]
    api_key_env: str
    benchmark: tuple[str, ...]
    data: Path | None
    media_root: tuple[Path, ...]
    max_image_pixels: int | None
    parser: str | None
    limit: int | None
    shard: Shard | None
    repeats: int
    concurrency: int
    timeout: float
    retries: int
    generation: tuple[tuple[str, Any], ...]
    header: tuple[tuple[str, str], ...]
    group: tuple[str, ...]
    show: int
    out: Path
    resume: str | None
    judge: tuple[str, ...]
    judge_url: str | None
    judge_api_key_env: str | None
    judge_generation: tuple[tuple[str, Any], ...]
    judge_strategy: str | None
    fail_under: tuple[FailUnder, ...]
    max_unparsed: tuple[Limit, ...]
    max_truncated: tuple[Limit, ...]
    max_errors: tuple[Limit, ...]
    max_guessed: tuple[Limit, ...]
    must_pass: tuple[MustPass, ...]
    baseline: tuple[str, ...]
    save_baseline: Path | None
    alpha: float | None
    margin: float | None
    json: Path | None
    download: bool
    offline: bool
    html: Path | None
    artifacts: Path | None

    @property
    def gates(self) -> tuple[FailUnder | Limit | MustPass, ...]:
        """The gates of the options, but for those on baselines."""
        return gates_of({name: getattr(self, name) for name in GATES})

    @classmethod
    def read(cls, config: pytest.Config) -> Settings:
        """Read all options of a pytest run.

        Raises:
            UsageError: a value that can't be used; the message names where it came from.
        """
        settings = cls(**{option.name: option.value(config) for option in OPTIONS})
        typed = {  # what stands in an ini file may stand unused
            option.name: option.flag for option in OPTIONS if config.getoption(option.ini, default=None)
        }
        for name in ("judge_url", "judge_api_key_env", "judge_generation"):
            if name in typed and not settings.judge:
                raise UsageError(f"{typed[name]} says how a judge is asked, but none is named: --vqa-judge")
        for name in (*GATES, "baseline", "save_baseline"):  # nothing would be judged, and the exit code would be 0
            if name in typed and not settings.model and not config.option.collectonly:
                raise UsageError(f"{typed[name]} is about a model's answers, but none is named: --vqa-model")
        return settings
