"""`data list|fetch|verify|path [BENCHMARK]`: the data of benchmarks on this machine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_vqaeval.data import sha256_of
from pytest_vqaeval.errors import DataError, UsageError
from pytest_vqaeval.gates import Exit
from pytest_vqaeval.hub import Hub
from pytest_vqaeval.optionvalues import yes_or_no
from pytest_vqaeval.remote.progress import Progress, megabytes
from pytest_vqaeval.shipped import known_benchmarks
from pytest_vqaeval.spec import Spec, read_spec
from pytest_vqaeval.templates import nearest

ABOUT = "list, fetch and verify the data of benchmarks"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The action, the benchmark and `--data`."""
    parser.add_argument("action", choices=list(_ACTIONS), help="; ".join(f"{k}: {v[1]}" for k, v in _ACTIONS.items()))
    parser.add_argument("benchmark", metavar="BENCHMARK", nargs="?", help="a benchmark (default: all; not for fetch)")
    parser.add_argument(
        "--data",
        metavar="DIR",
        type=Path,
        help="folder that holds the benchmarks' data folders [env: VQA_DATA]",
    )


def run(asked: argparse.Namespace) -> int:
    """Do it.

    Raises:
        VqaError: there is no such benchmark, or a file can't be fetched.
    """
    own = asked.data or os.environ.get("VQA_DATA")
    folder = Path(own).expanduser().absolute() if own else None
    hub = Hub(folder, offline=_offline(), whole=True, progress=Progress(sys.stderr))
    try:
        return _ACTIONS[asked.action][0](hub, _specs(asked.benchmark, asked.action))
    finally:
        hub.close()


def _offline() -> bool:
    try:
        return yes_or_no(os.environ.get("VQA_OFFLINE") or "no", Path())
    except ValueError as error:
        raise UsageError(f"VQA_OFFLINE: {error}") from None


def _specs(name: str | None, action: str) -> list[Spec]:
    known = known_benchmarks(Path.cwd())
    if name is None and action == "fetch":
        raise UsageError(f"data fetch: name a benchmark; there are {', '.join(known)}")
    if name is not None and name not in known:
        raise UsageError(f"there is no benchmark {name!r}{nearest(name, known)}; there are {', '.join(known)}")
    return [read_spec(path) for path in ([known[name]] if name else known.values())]


def _list(hub: Hub, specs: Sequence[Spec]) -> int:
    """A line per file: where it is, or where it would come from."""
    for spec in specs:
        print(spec.name)
        rows = list(_rows(hub, spec))
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        for name, size, where in rows:
            print(f"  {name:<{widths[0]}}  {size:>{widths[1]}}  {where}")
    print(f"\ncache: {hub.cache}")
    return Exit.OK


def _rows(hub: Hub, spec: Spec) -> Iterator[tuple[str, str, str]]:
    records = " ".join(name for _, name in spec.records.files)
    try:
        data = hub.open(spec)
    except DataError:
        place = spec.links.get("data")
        yield records, "", f"not here; published at {place}" if place else "not here; yours to provide"
        return
    if not spec.data.files:
        yield records, "", str(data.folder)
    for name, file in spec.data.files.items():
        if path := data.find(name):
            yield name, megabytes(path.stat().st_size), str(path)
            continue
        size = file.size or hub.lock.facts(data.title(name)).get("size")
        sources = ", ".join(dict.fromkeys(source.title for source in file.sources))
        pieces = data.bytes_in_place(name)
        yield name, megabytes(size), f"{megabytes(pieces)} here, the rest on {sources}" if pieces else f"on {sources}"


def _fetch(hub: Hub, specs: Sequence[Spec]) -> int:
    """Fetch all files of a benchmark, whole. What was here before is verified: a download is while it comes."""
    wrong: list[str] = []
    for spec in specs:
        if not spec.data.files:
            raise UsageError(f"{spec.name}: no files are published; `data path {spec.name}` says where yours belong")
        data = hub.open(spec)
        old = [name for name in spec.data.files if data.find(name)]
        data.fetch_all()
        for name in spec.data.files:
            print(data.find(name))
        wrong += [line for line in _verified(hub, spec, old) if line.startswith("WRONG")]
    print(*(f"{line}; remove it to have it fetched again" for line in wrong), sep="\n", end="\n" * bool(wrong))
    return Exit.FAILED if wrong else Exit.OK


def _verify(hub: Hub, specs: Sequence[Spec]) -> int:
    """Compare the files that are here with what the specs, or else the lock file, say of them."""
    lines = [line for spec in specs for line in _verified(hub, spec, list(spec.data.files))]
    print(*lines or ["nothing to verify: no file that is published is here (see `data list`)"], sep="\n")
    return Exit.FAILED if any(line.startswith("WRONG") for line in lines) else Exit.OK


def _verified(hub: Hub, spec: Spec, names: Sequence[str]) -> Iterator[str]:
    try:
        data = hub.open(spec)
    except DataError:
        return
    for name in names:
        file, path = spec.data.files[name], data.find(name)
        if path is None:
            continue
        found, expected, who = sha256_of(path), file.sha256, "the spec"
        if expected is None:
            expected, who = hub.lock.facts(data.title(name)).get("sha256"), "the first download"
        if expected is None:
            yield f"?      {path}: nothing to compare with; sha256 {found}"
        elif expected == found:
            yield f"ok     {path}: as {who} says"
        else:
            yield f"WRONG  {path}: sha256 {found}, not {expected} as {who} says"


def _path(hub: Hub, specs: Sequence[Spec]) -> int:
    """The folder of each benchmark's files."""
    for spec in specs:
        try:
            print(hub.open(spec).folder)
        except DataError:
            if len(specs) == 1:
                raise
    return Exit.OK


_ACTIONS = {
    "list": (_list, "what is here and where the rest would come from"),
    "fetch": (_fetch, "fetch all of a benchmark"),
    "verify": (_verify, "compare with what is known of the files"),
    "path": (_path, "print the data folder"),
}
