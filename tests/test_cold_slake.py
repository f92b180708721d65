"""SLAKE on a machine that has nothing of it yet: one command, killed in the middle and repeated."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_vqaeval import data as datas
from pytest_vqaeval.archive import Archive
from pytest_vqaeval.data import sha256_of
from pytest_vqaeval.hub import Hub
from pytest_vqaeval.spec import read_spec
from pytest_vqaeval.testing import ModelServer
from tests.conftest import summary_of
from tests.hubserver import HubServer
from tests.realdata import ROOT, real_data


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """Hugging Face has the real files, with its redirect to another host."""
    published = tmp_path / "served" / "BoKelvin"
    published.mkdir(parents=True)
    (published / "SLAKE").symlink_to(real_data("slake"))
    with HubServer(tmp_path / "served", cdn=True) as server:
        server.point_here(monkeypatch, tmp_path / "cache")
        yield server


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer("ANSWER: Yes") as server:
        yield server


def command(model: ModelServer, *more: str) -> list[str]:
    asked = ("--vqa-benchmark=slake", f"--vqa-model=m@{model.url}", "--vqa-json=out.json", "-p", "no:cacheprovider")
    return [sys.executable, "-m", "pytest", *asked, *more]


def errors_of(root: Path) -> tuple[int, int]:
    (benchmark,) = summary_of(root)["benchmarks"]  # type: ignore[misc]
    return benchmark["overall"]["answered"], benchmark["overall"]["error"]


def test_killed_in_the_middle_and_repeated(hub: HubServer, model: ModelServer, tmp_path: Path) -> None:
    size = real_data("slake", "imgs.zip").stat().st_size
    hub.bytes_per_s = 8e6
    part = tmp_path / "cache/slake/imgs.zip.part"
    asked = command(model, "--vqa-limit=3")
    killed = subprocess.Popen(asked, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not (part.exists() and part.stat().st_size > 2e6):
        assert time.monotonic() < until
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    said = killed.communicate()[1].decode()
    assert "vqaeval: fetching slake/test.json (635.8 kB) from Hugging Face\n" in said
    assert "vqaeval: fetching slake/imgs.zip (16.2 MB) from Hugging Face\n" in said
    begun = part.stat().st_size
    assert begun < size
    hub.seen.clear()
    hub.bytes_per_s = None
    again = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True)
    assert errors_of(tmp_path) == (12, 0)
    assert f"fetching slake/imgs.zip (16.2 MB, {begun / 1e6:.1f} MB are there already)" in again.stderr
    assert sum(seen.sent for seen in hub.bodies("/imgs.zip?signature=secret")) - 1 <= size - begun
    assert (tmp_path / "cache/slake/imgs.zip").read_bytes() == real_data("slake", "imgs.zip").read_bytes()


def test_pictures_read_in_place_are_those_of_the_zip(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datas, "SMALL_BYTES", 1000)
    data = Hub().open(read_spec(ROOT / "benchmarks/slake.vqa.yaml"))
    remote, local = Archive(data.folder, data=data), Archive(real_data("slake"))
    assert remote.fingerprint("imgs.zip") == local.fingerprint("imgs.zip")
    for name in ("imgs/xmlab102/source.jpg", "imgs/xmlab1/source.jpg"):
        assert remote.read(f"imgs.zip!{name}") == local.read(f"imgs.zip!{name}")
    assert len(hub.seen) < 8
    data.close()


def test_what_the_spec_says_of_slake_was_verified_on_the_real_file() -> None:
    files = read_spec(ROOT / "benchmarks/slake.vqa.yaml").data.files
    real = real_data("slake", "test.json")
    assert (files["test.json"].size, files["test.json"].sha256) == (real.stat().st_size, sha256_of(real))
    assert all(source.pinned for file in files.values() for source in file.sources if source.text.startswith("hf:"))
