"""AI2D read in place: questions at collection, pictures row group by row group."""

import shutil

import pytest

from pytest_vqaeval import data as datas
from pytest_vqaeval.testing import ModelServer
from tests.conftest import summary_of
from tests.hubserver import HubServer
from tests.realdata import real_data


def test_parquet_is_read_in_place(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(datas, "SMALL_BYTES", 1000)
    folder = pytester.path / "served/lmms-lab/ai2d/data"
    folder.mkdir(parents=True)
    (file,) = real_data("ai2d").glob("*.parquet")
    for number in (0, 1):
        shutil.copy(file, folder / f"test-0000{number}-of-00002.parquet")
    with HubServer(pytester.path / "served", cdn=True) as hub, ModelServer("ANSWER: A") as model:
        hub.point_here(monkeypatch, pytester.path / "cache")
        asked = ("--vqa-benchmark=ai2d", f"--vqa-model=m@{model.url}", "--vqa-json=out.json", "-p", "no:cacheprovider")
        pytester.runpytest(*asked, "--collect-only", "-q")
        of_questions = sum(seen.sent for seen in hub.seen)
        pytester.runpytest(*asked)
    (benchmark,) = summary_of(pytester.path)["benchmarks"]  # type: ignore[misc]
    assert (benchmark["overall"]["samples"], benchmark["overall"]["answered"]) == (120, 120)
    assert not [seen for seen in hub.seen if seen.status == 200]
    size = file.stat().st_size
    assert of_questions < 150_000  # 64 KiB a footer
    assert sum(seen.sent for seen in hub.seen) < 2 * size + 150_000
    assert {name: set(facts) for name, facts in benchmark["files"].items()} == {
        name.name: {"size", "footer_sha256"} for name in folder.iterdir()
    }
