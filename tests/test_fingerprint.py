"""What makes two runs comparable: what the fingerprint sees, and what it does not."""

import json
import zipfile
from pathlib import Path

import pytest

from pytest_vqaeval.archive import Archive
from pytest_vqaeval.fingerprint import differences, fingerprint
from pytest_vqaeval.records import read_records
from pytest_vqaeval.sample import Sample, build_samples
from pytest_vqaeval.scoring import BUILT_IN
from pytest_vqaeval.spec import Spec, read_spec
from pytest_vqaeval.summary import About
from tests.conftest import SPEC, Run, jpeg, rows, write_rows


def read_samples(spec: Spec, folder: Path) -> list[Sample]:
    records = read_records(folder / "shapes" / "q.jsonl")
    return list(build_samples(spec, [(None, record) for record in records]))


def facts(folder: Path, spec: str = SPEC, parser: str | None = None) -> dict[str, str]:
    file = folder / "shapes.vqa.yaml"
    file.write_text(spec)
    read_spec.cache_clear()
    known = read_spec(file)
    archive = Archive(folder / "shapes")
    samples = read_samples(known, folder)
    return fingerprint(known, samples, known.score.bind(BUILT_IN, parser), archive.fingerprint)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_rows(tmp_path / "shapes", rows())
    pictures(tmp_path, colour=40)
    return tmp_path


def pictures(folder: Path, colour: int) -> None:
    with zipfile.ZipFile(folder / "shapes" / "pics.zip", "w") as archive:
        for n in range(6):
            archive.writestr(f"p/{n}.jpg", jpeg(colour=colour + n))


def test_order_and_writing_of_the_records_do_not_matter(folder: Path) -> None:
    before = facts(folder)
    file = folder / "shapes" / "q.jsonl"
    file.write_text("".join(json.dumps(dict(reversed(row.items()))) + "\n\n" for row in reversed(rows())))
    assert facts(folder) == before


@pytest.mark.parametrize("field", ["question", "answer", "id", "lang"])
def test_a_changed_record_is_seen(folder: Path, field: str) -> None:
    before = facts(folder)
    changed = rows()
    changed[3][field] = "zh" if field == "lang" else "something else"
    write_rows(folder / "shapes", changed)
    assert "records" in differences(before, facts(folder))


def test_a_record_more_is_seen(folder: Path) -> None:
    before = facts(folder)
    write_rows(folder / "shapes", [*rows(), {**rows()[0], "id": "q12"}])
    assert differences(before, facts(folder)) == ["records", "clusters"]


def test_an_embedded_picture_counts_by_length_and_checksum(folder: Path) -> None:
    changed = rows()
    changed[0]["extra"] = "A" * 10_000
    write_rows(folder / "shapes", changed)
    before = facts(folder)
    changed[0]["extra"] = "A" * 9_999 + "B"
    write_rows(folder / "shapes", changed)
    assert differences(before, facts(folder)) == ["records"]


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        ('reference: "{answer}"', 'reference: "{answer|upper}"', ["references"]),
        ('cluster: "{picture}"', 'cluster: "{id}"', ["clusters"]),
        ("{scorer: short_answer}", "{scorer: contains}", ["scorer"]),
        ("{scorer: short_answer}", "{scorer: short_answer, answer: whole}", ["scorer"]),
        ("Answer in one word.", "Answer in two words.", []),
        ("title: Shapes", "title: Forms", []),
    ],
)
def test_what_the_spec_says(folder: Path, old: str, new: str, seen: list[str]) -> None:
    before, after = facts(folder), facts(folder, SPEC.replace(old, new))
    assert differences(before, after) == seen
    assert (before["prompt"] != after["prompt"]) == ("two words" in new)


def test_the_parser_is_the_one_in_force(folder: Path) -> None:
    choice = SPEC.replace("{scorer: short_answer}", "{scorer: choice}")
    assert facts(folder)["parser"] == ""
    assert facts(folder, choice)["parser"] == "evalscope"
    assert facts(folder, choice.replace("choice}", "choice, parser: strict}")) == facts(folder, choice, "strict")
    assert differences(facts(folder, choice), facts(folder, choice, "strict")) == ["parser"]


def test_other_pictures_are_seen(folder: Path) -> None:
    before = facts(folder)
    pictures(folder, colour=90)
    assert differences(before, facts(folder)) == ["media"]


def test_a_run_knows_all_samples_whatever_is_selected(always_yes: Path, run: Run) -> None:
    abouts = []
    for selection in ([], ["-k", "zh and q9"], ["--vqa-limit=1"], ["--vqa-shard=1/2"]):
        run("shapes.vqa.yaml", "--vqa-model=m", *selection)
        first = always_yes.joinpath(".vqaeval", "latest", "selected.jsonl").read_text().partition("\n")[0]
        abouts.append(About(**json.loads(first)["about"]))
    assert all(about == abouts[0] for about in abouts)
    assert abouts[0].sizes == {"en": 8, "zh": 4, "English": 8, "Chinese": 4, "kind:Closed": 8, "kind:OPEN": 4}
    assert abouts[0].collected == 12
    run("shapes.vqa.yaml", "--vqa-model=m", "--vqa-repeats=2")
    first = always_yes.joinpath(".vqaeval", "latest", "selected.jsonl").read_text().partition("\n")[0]
    about = About(**json.loads(first)["about"])
    assert about.fingerprint == abouts[0].fingerprint
    assert about.sizes["en"] == 16
