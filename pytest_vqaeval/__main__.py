"""`python -m pytest_vqaeval COMMAND`: what is done with benchmarks and runs outside a pytest session."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from pytest_vqaeval.errors import VqaError
from pytest_vqaeval.gates import Exit
from pytest_vqaeval.names import one_line

COMMANDS = ("compare", "data", "describe", "html", "merge", "show")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; a mistake of the user is one line on standard error."""
    parser = argparse.ArgumentParser("python -m pytest_vqaeval", description="Benchmarks and runs of pytest-vqaeval.")
    parsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in COMMANDS:
        command = import_module(f"pytest_vqaeval.commands.{name}")
        own = parsers.add_parser(name, help=command.ABOUT, description=command.ABOUT)
        command.arguments(own)
        own.set_defaults(run=command.run)
    asked = parser.parse_args(arguments)
    try:
        return int(asked.run(asked))
    except VqaError as error:
        print(f"error: {one_line(str(error))}", file=sys.stderr)
        return Exit.USAGE
    except BrokenPipeError:  # `... | head`
        sys.stderr.close()
        return Exit.OK


if __name__ == "__main__":
    sys.exit(main())
