"""The gate options of a pytest run, for commands that judge."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_vqaeval.gates.keeper import Gatekeeper
from pytest_vqaeval.gates.session import GateSettings
from pytest_vqaeval.options import GATES, OPTIONS, gates_of

_MORE = ("baseline", "alpha", "margin", "save_baseline")


def add_gate_options(parser: argparse.ArgumentParser) -> None:
    """`--vqa-fail-under` and all the others, as pytest has them."""
    for option in OPTIONS:
        if option.name in (*GATES, *_MORE):
            parser.add_argument(
                option.flag,
                dest=option.name,
                metavar=option.metavar,
                help=option.help.replace("%", "%%"),
                action="append",
            )


def read_gate_options(asked: argparse.Namespace) -> Gatekeeper:
    """The gates, and the baseline file that is to be saved.

    Raises:
        UsageError: a value that can't be used.
    """
    values = {
        option.name: option.read(option.flag, getattr(asked, option.name) or (), Path())
        for option in OPTIONS
        if option.name in (*GATES, *_MORE)
    }
    settings = GateSettings.read(gates_of(values), values["baseline"], values["alpha"], values["margin"], asked.out)
    return Gatekeeper(settings, values["save_baseline"])
