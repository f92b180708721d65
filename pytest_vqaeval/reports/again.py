"""The command that runs one sample again."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_vqaeval.options import OPTIONS
from pytest_vqaeval.shipped import VARIANTS

if TYPE_CHECKING:
    import pytest


def rerun_command(config: pytest.Config, nodeid: str) -> str:
    """The command that runs one sample again: the run's own `--vqa-` options, and the node id.

    The value of a header may be a secret and is left out.
    """
    path, _, rest = nodeid.partition("::")
    absolute = config.rootpath / path
    changed = (v.by for file, v in config.stash[VARIANTS].items() if file.name == absolute.name and v.entry.changes)
    suite = next((f"{by}/" for by in changed), "")
    if absolute.exists() and not suite:
        target = f"{short_path(absolute, config.invocation_params.dir)}::{rest}"
    else:  # a shipped spec outside rootdir, or one that a suite changes
        target = f"--vqa-benchmark={suite}{Path(path).name.removesuffix('.vqa.yaml')}::{rest}"
    return " ".join(["pytest", *(shlex.quote(option) for option in _own_options(config)), shlex.quote(target)])


_NOT_AGAIN = (
    "--vqa-benchmark",
    "--vqa-limit",
    "--vqa-shard",
    "--vqa-json",
    "--vqa-html",
    "--vqa-artifacts",
    "--vqa-fail-under",
    "--vqa-max-unparsed",
    "--vqa-max-truncated",
    "--vqa-max-errors",
    "--vqa-max-guessed",
    "--vqa-must-pass",
    "--vqa-baseline",
    "--vqa-alpha",
    "--vqa-margin",
    "--vqa-save-baseline",
    "--vqa-show",
    "--vqa-out",
    "--vqa-resume",  # of one sample alone it would be the end of the run that is resumed
)


def _own_options(config: pytest.Config) -> list[str]:
    options = []
    switches = {option.flag for option in OPTIONS if option.switch}
    arguments = [str(argument) for argument in config.invocation_params.args]
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if not argument.startswith("--vqa-"):
            continue
        name, equals, value = argument.partition("=")
        value = value if equals else following
        if name == "--vqa-header":
            value = value.partition("=")[0] + "=..."
        if name not in _NOT_AGAIN:
            options.append(name if name in switches else f"{name}={value}")
    return options


def short_path(path: Path, base: Path) -> str:
    """The path from a folder, where that is not far."""
    relative = os.path.relpath(path, base)
    return str(path) if relative.startswith(os.path.join("..", "..")) else relative
