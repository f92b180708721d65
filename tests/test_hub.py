"""Where data comes from: the user's folder, the cache, a hub; and what is said where it does not."""

import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval import data as datas
from pytest_vqaeval.archive import Archive, fingerprint
from pytest_vqaeval.data import Data, sha256_of
from pytest_vqaeval.errors import DataError
from pytest_vqaeval.hub import Hub, record_files
from pytest_vqaeval.spec import read_spec
from tests.conftest import SPEC, Run, counts_of, jpeg
from tests.hubserver import HubServer

FILES = """\
data:
  folder: shapes
  files:
    q.jsonl: {sources: ["hf://datasets/o/d/q.jsonl", "modelscope://datasets/o/d/q.jsonl"]}
    pics.zip: {sources: ["hf://datasets/o/d/pics.zip"]}
"""


@pytest.fixture
def hub(always_yes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """The small benchmark's data is on a hub and nowhere else."""
    published = always_yes / "served" / "o"
    published.mkdir(parents=True)
    shutil.move(always_yes / "shapes", published / "d")
    spec = always_yes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text().replace("data: {folder: shapes}\n", FILES))
    with HubServer(always_yes / "served") as server:
        server.point_here(monkeypatch, always_yes / "cache")
        yield server


RUN = ("shapes.vqa.yaml", "--vqa-model=m", "--vqa-json=out.json", "-p", "no:cacheprovider")


def data_of(root: Path, hub: Hub) -> Data:
    return hub.open(read_spec(root / "shapes.vqa.yaml"))


def test_one_command_on_a_fresh_machine(hub: HubServer, run: Run, always_yes: Path) -> None:
    run(*RUN)
    assert counts_of(always_yes) == {"correct": 6, "wrong": 6}
    assert [len(hub.bodies("/q.jsonl")), len([seen for seen in hub.bodies("/pics.zip") if seen.status == 200])] == [
        1,
        1,
    ]
    hub.seen.clear()
    run(*RUN)
    assert counts_of(always_yes) == {"correct": 6, "wrong": 6}
    assert not hub.seen


def test_offline_says_what_is_missing_and_how_to_get_it(hub: HubServer, run: Run, always_yes: Path) -> None:
    result = run(*RUN, "--vqa-offline")
    assert counts_of(always_yes) == {"error": 2}
    result.stdout.fnmatch_lines(
        [
            "2 x no data for shapes: shapes/q.jsonl is not here, and nothing is fetched (offline); "
            f"`python -m pytest_vqaeval data fetch shapes` with a network puts it into {always_yes}/cache, "
            "--vqa-data names a folder that holds shapes/q.jsonl"
        ]
    )
    assert not hub.seen
    (always_yes / "cache/shapes").mkdir(parents=True)
    shutil.copy(always_yes / "served/o/d/q.jsonl", always_yes / "cache/shapes")
    result = run(*RUN, "--vqa-offline")
    assert counts_of(always_yes) == {"error": 12}
    result.stdout.fnmatch_lines(
        ["12 x *no data for shapes: shapes/pics.zip is not here, and nothing is fetched (offline)*"]
    )
    assert not hub.seen


@pytest.mark.parametrize(("variable", "ini"), [("yes", ""), ("", "true"), ("1", "no")])
def test_offline_by_environment_and_ini(
    hub: HubServer,
    pytester: pytest.Pytester,
    always_yes: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    ini: str,
) -> None:
    monkeypatch.setenv("VQA_OFFLINE", variable)
    pytester.makeini(f"[pytest]\nvqa_offline = {ini}\n")
    pytester.runpytest(*RUN)
    assert counts_of(always_yes) == {"error": 2}
    assert not hub.seen


def test_offline_is_yes_or_no(hub: HubServer, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VQA_OFFLINE", "maybe")
    result = pytester.runpytest(*RUN)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: VQA_OFFLINE: 'maybe' is neither yes nor no"])


def test_a_broken_lock_file_is_one_line(hub: HubServer, pytester: pytest.Pytester, always_yes: Path) -> None:
    pytester.runpytest(*RUN)
    (always_yes / "cache/lock.json").write_text("{broken")
    result = pytester.runpytest(*RUN)
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert "lock.json can't be read (" in text
    assert "Traceback" not in text


def test_a_hub_that_is_not_there_is_one_error_per_subset(
    hub: HubServer, pytester: pytest.Pytester, always_yes: Path
) -> None:
    hub.status = {"q.jsonl": 404}
    result = pytester.runpytest(*RUN)
    assert counts_of(always_yes) == {"error": 2}
    result.stdout.fnmatch_lines(
        [
            "2 x no data for shapes: shapes/q.jsonl can't be fetched: Hugging Face: there is no such file, revision or "
            "dataset (HTTP 404); ModelScope: *; --vqa-data names a folder that holds shapes/q.jsonl"
        ]
    )


def test_a_picture_file_that_is_not_there_fails_once_for_all(hub: HubServer, always_yes: Path) -> None:
    hub.status = {"pics.zip": 404}
    data = data_of(always_yes, Hub())
    archive = Archive(data.folder, data=data)
    for number in range(3):
        with pytest.raises(DataError, match=r"no data for shapes: shapes/pics.zip can't be read: .*HTTP 404.*; --vqa"):
            archive.read(f"pics.zip!p/{number}.jpg")
    assert len(hub.seen) == 1


def test_what_is_deselected_is_not_fetched(hub: HubServer, pytester: pytest.Pytester, always_yes: Path) -> None:
    (always_yes / "other.vqa.yaml").write_text(SPEC.replace("name: shapes", "name: other"))
    pytester.runpytest("-k", "other", "--vqa-model=m", "-p", "no:cacheprovider")
    assert not hub.seen


def test_the_users_folder_goes_before_the_cache(hub: HubServer, always_yes: Path) -> None:
    for folder, text in (("own", "1"), ("cache", "2")):
        (always_yes / folder / "shapes").mkdir(parents=True)
        (always_yes / folder / "shapes" / "q.jsonl").write_text(text)
    assert data_of(always_yes, Hub(always_yes / "own")).fetch("q.jsonl").read_text() == "1"
    assert data_of(always_yes, Hub()).fetch("q.jsonl").read_text() == "2"
    assert not hub.seen


def test_a_wrong_data_folder_is_not_made_good_by_a_download(hub: HubServer, always_yes: Path) -> None:
    (always_yes / "own" / "shapes").mkdir(parents=True)
    with pytest.raises(DataError, match=r"the folder .*/absent \(--vqa-data\) is not there"):
        data_of(always_yes, Hub(always_yes / "absent"))
    with pytest.raises(DataError, match=r"--vqa-data is the folder that holds shapes/: .*/own$"):
        data_of(always_yes, Hub(always_yes / "own" / "shapes"))
    assert not hub.seen


def test_download_fetches_all_before_the_first_question(
    hub: HubServer, pytester: pytest.Pytester, always_yes: Path
) -> None:
    pytester.runpytest(*RUN, "--vqa-download", "-k", "q1-and-nothing")
    assert sorted(file.name for file in (always_yes / "cache/shapes").glob("[!.]*")) == ["pics.zip", "q.jsonl"]
    assert len(hub.bodies("/pics.zip")) == 1


def test_files_by_pattern(hub: HubServer, always_yes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of what is published lies in the cache: the other half is not forgotten."""
    spec = always_yes / "shapes.vqa.yaml"
    text = spec.read_text().replace("pics.zip: {sources: [", "r.jsonl: {sources: [").replace("/pics.zip", "/r.jsonl")
    spec.write_text(text.replace("records: q.jsonl", 'records: "*.jsonl"'))
    shutil.copy(always_yes / "served/o/d/q.jsonl", always_yes / "served/o/d/r.jsonl")
    (always_yes / "cache/shapes").mkdir(parents=True)
    shutil.copy(always_yes / "served/o/d/q.jsonl", always_yes / "cache/shapes")
    data = data_of(always_yes, Hub())
    assert [Path(str(file)).name for _, file in record_files(read_spec(spec), data)] == ["q.jsonl", "r.jsonl"]
    assert [seen.path for seen in hub.seen] == ["/datasets/o/d/resolve/main/r.jsonl"]
    (always_yes / "own/shapes").mkdir(parents=True)
    shutil.copy(always_yes / "served/o/d/q.jsonl", always_yes / "own/shapes/mine.jsonl")
    data = data_of(always_yes, Hub(always_yes / "own"))
    assert data.names("*.jsonl") == ["mine.jsonl"]


def test_a_file_that_may_not_be_read_is_not_made_good_by_a_download(
    hub: HubServer, pytester: pytest.Pytester, always_yes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = always_yes / "own/shapes/q.jsonl"
    own.parent.mkdir(parents=True)
    own.write_text("{}")
    really = Path.open

    def refuse(self: Path, *arguments: Any, **options: Any) -> Any:
        if self == own:
            raise PermissionError(13, "Permission denied")
        return really(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    result = pytester.runpytest(*RUN, f"--vqa-data={always_yes}/own")
    result.stdout.fnmatch_lines([f"2 x {own} can't be read: Permission denied"])
    assert result.ret == 1
    assert not [seen for seen in hub.seen if "q.jsonl" in seen.path]


def test_a_pattern_of_any_depth(hub: HubServer, always_yes: Path) -> None:
    data = data_of(always_yes, Hub())
    assert [data.names(pattern) for pattern in ("**/*.jsonl", "*.jsonl", "x/*.jsonl")] == [["q.jsonl"], ["q.jsonl"], []]


def test_a_zip_is_read_in_place(hub: HubServer, always_yes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datas, "SMALL_BYTES", 100)
    with zipfile.ZipFile(always_yes / "served/o/d/pics.zip", "w") as whole:  # only the first is not near the end
        for name, content in (("p/0.jpg", b"first"), ("filler", bytes(100_000)), ("p/3.jpg", jpeg())):
            whole.writestr(name, content)
    data = data_of(always_yes, Hub())
    archive = Archive(data.folder, data=data)
    assert archive.read("pics.zip!p/3.jpg") == jpeg()
    archive.close()
    data.close()
    assert not (always_yes / "cache/shapes/pics.zip").exists()
    offline = data_of(always_yes, Hub(offline=True))
    again = Archive(offline.folder, data=offline)
    asked = len(hub.seen)
    assert again.read("pics.zip!p/3.jpg")
    with pytest.raises(DataError, match=r"^shapes/pics.zip is read in place, and this part of it is not here"):
        again.read("pics.zip!p/0.jpg")
    assert len(hub.seen) == asked


def test_stored_replies_need_no_archive(hub: HubServer, always_yes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes runs comparable is known since the archive was read first: nothing is asked for it again."""
    monkeypatch.setattr(datas, "SMALL_BYTES", 100)
    data = data_of(always_yes, Hub())
    first = Archive(data.folder, data=data).fingerprint("pics.zip")
    data.close()
    asked = len(hub.seen)
    shutil.rmtree(always_yes / "cache/shapes")
    data = data_of(always_yes, Hub())
    assert Archive(data.folder, data=data).fingerprint("pics.zip") == first
    assert first == fingerprint(always_yes / "served/o/d/pics.zip")
    assert len(hub.seen) == asked


def test_of_the_whole_file_no_pieces_are_left(
    hub: HubServer, always_yes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datas, "SMALL_BYTES", 100)
    data = data_of(always_yes, Hub())
    Archive(data.folder, data=data).read("pics.zip!p/3.jpg")
    pieces = always_yes / "cache/shapes/pics.zip.pieces"
    assert pieces.exists()
    data_of(always_yes, Hub(whole=True)).fetch_all()
    assert sorted(file.name for file in pieces.parent.glob("[!.]*")) == ["pics.zip", "q.jsonl"]


def test_the_users_own_large_files_are_not_taken_for_the_fetched(
    hub: HubServer, always_yes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_of(always_yes, Hub()).fetch("q.jsonl")
    own = always_yes / "own/shapes/q.jsonl"
    own.parent.mkdir(parents=True)
    own.write_text("other")
    monkeypatch.setattr(datas, "SMALL_BYTES", 0)
    assert data_of(always_yes, Hub(always_yes / "own")).facts("q.jsonl", str) == {"size": 5}
    assert set(data_of(always_yes, Hub()).facts("q.jsonl", str)) == {"size", "sha256"}


def test_a_server_without_ranges_gives_the_whole_zip(
    hub: HubServer, always_yes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datas, "SMALL_BYTES", 100)
    hub.ranges = False
    data = data_of(always_yes, Hub())
    assert Archive(data.folder, data=data).read("pics.zip!p/3.jpg")
    assert (always_yes / "cache/shapes/pics.zip").is_file()


def test_another_zip_than_the_first_is_refused(
    hub: HubServer, always_yes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datas, "SMALL_BYTES", 100)
    data = data_of(always_yes, Hub())
    Archive(data.folder, data=data).read("pics.zip!p/3.jpg")
    shutil.rmtree(always_yes / "cache/shapes")
    with zipfile.ZipFile(always_yes / "served/o/d/pics.zip", "a") as changed:
        changed.writestr("p/33.jpg", b"another")
    data = data_of(always_yes, Hub())
    with pytest.raises(DataError, match=r"shapes/pics.zip from Hugging Face is not the file that was fetched first"):
        Archive(data.folder, data=data).read("pics.zip!p/3.jpg")


def test_several_workers_fetch_once(hub: HubServer, pytester: pytest.Pytester, always_yes: Path) -> None:
    pytester.runpytest_subprocess(*RUN, "-n", "3")
    assert counts_of(always_yes) == {"correct": 6, "wrong": 6}
    whole = [seen.path.rpartition("/")[2] for seen in hub.seen if seen.status == 200]
    assert sorted(whole) == ["pics.zip", "q.jsonl"]


def test_the_header_says_which_files_were_used(hub: HubServer, run: Run, always_yes: Path) -> None:
    run(*RUN)
    published = always_yes / "served/o/d"
    expected = {
        "q.jsonl": {"size": (published / "q.jsonl").stat().st_size, "sha256": sha256_of(published / "q.jsonl")},
        "pics.zip": {
            "size": (published / "pics.zip").stat().st_size,
            "members_sha256": fingerprint(published / "pics.zip"),
        },
    }
    header = json.loads((always_yes / ".vqaeval/latest/run.json").read_text())
    assert header["benchmarks"][0]["files"] == expected
