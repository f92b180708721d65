"""A benchmark in several parts, one for each machine."""

import random
from collections import Counter
from pathlib import Path

import pytest

from pytest_vqaeval.shards import Shard, parse_shard
from pytest_vqaeval.store import read_run
from tests.conftest import Run, counts_of, rows, summary_of, write_rows

ALL = ["shapes.vqa.yaml", "--vqa-model=mine", "--vqa-json=out.json"]


def parts(clusters: list[str], count: int) -> list[set[str]]:
    return [Shard(number, count).of(clusters) for number in range(1, count + 1)]


def test_each_cluster_is_in_one_shard() -> None:
    clusters = [f"{n % 180}.jpg" for n in range(2094)]
    shards = parts(clusters, 4)
    assert sum(map(len, shards)) == 180
    assert set().union(*shards) == set(clusters)


def test_shards_do_not_depend_on_the_order_of_rows() -> None:
    clusters = [f"{n % 180}.jpg" for n in range(2094)]
    before = parts(clusters, 4)
    random.Random(1).shuffle(clusters)
    assert parts(clusters, 4) == before


@pytest.mark.parametrize(
    ("samples", "pictures", "count"),
    [(2094, 180, 4), (2094, 180, 7), (12, 6, 3), (12, 6, 4), (7, 5, 5), (1000, 1000, 8)],
)
def test_shards_are_balanced(samples: int, pictures: int, count: int) -> None:
    sizes = Counter(f"{n % pictures}.jpg" for n in range(samples))
    loads = [sum(sizes[name] for name in shard) for shard in parts(list(sizes.elements()), count)]
    assert max(loads) - min(loads) <= 2 * max(sizes.values())
    assert min(loads) > 0


def test_a_further_picture_moves_few_clusters() -> None:
    clusters = [f"{n}.jpg" for n in range(1000)]
    moved = sum(len(new - old) for new, old in zip(parts([*clusters, "more.jpg"], 4), parts(clusters, 4), strict=True))
    assert moved <= 50  # all but a quarter would move if clusters were dealt out in order


def test_shards_are_the_same_on_every_machine() -> None:
    assert sorted(Shard(2, 3).of(["a", "b", "c", "d", "e", "f", "中"])) == ["b", "中"]


@pytest.mark.parametrize("text", ["", "1", "0/4", "5/4", "a/4", "1/", "-1/4", "1/0", "1/4/2"])
def test_what_is_no_shard(shapes: Path, pytester: pytest.Pytester, text: str) -> None:
    with pytest.raises(ValueError, match="is not I/N with I from 1 to N, such as 2/4"):
        parse_shard(text)
    result = pytester.runpytest(*ALL, f"--vqa-shard={text}")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: --vqa-shard: '{text}' is not I/N with I from 1 to N, such as 2/4"])


def test_shards_together_are_the_run(always_yes: Path, run: Run) -> None:
    seen: list[str] = []
    for number in (1, 2, 3):
        run(*ALL, f"--vqa-shard={number}/3", f"--vqa-out=shard{number}")
        stored = read_run(always_yes / f"shard{number}" / "latest")
        seen += [result.id for result in stored.results]
        assert len({result.cluster for result in stored.results}) == 2
        assert stored.header["settings"]["shard"] == f"{number}/3"
        assert summary_of(always_yes)["benchmarks"][0]["collected"] == 12  # type: ignore[index]
    assert sorted(seen) == sorted(row["id"] for row in rows())


def test_a_shard_is_partial_and_says_so(always_yes: Path, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*ALL, "--vqa-shard=1/3", "--vqa-fail-under=0.3")
    result.stdout.fnmatch_lines(
        [
            "vqaeval: *, model mine, shard 1/3",
            "  partial: 4 of the benchmark's 12 samples were selected",
            "gate inconclusive: shapes mine: fail_under 0.3: *with the 8 missing",
        ]
    )
    assert result.ret == 20


def test_the_limit_is_applied_before_the_shards(always_yes: Path, pytester: pytest.Pytester) -> None:
    total: Counter[str] = Counter()
    for number in (1, 2):
        pytester.runpytest(*ALL, "--vqa-limit=2", f"--vqa-shard={number}/2")
        total.update(counts_of(always_yes))
    assert total == {"correct": 2, "wrong": 2}  # two of each subset, as without shards


def test_another_order_of_rows_or_another_benchmark_changes_nothing(shapes: Path, pytester: pytest.Pytester) -> None:
    def listed(*more: str) -> set[str]:
        lines = pytester.runpytest("--co", "-q", "--vqa-shard=2/3", *more).outlines
        return {line for line in lines if line.startswith("shapes.vqa.yaml::")}

    before = listed("shapes.vqa.yaml")
    write_rows(shapes / "shapes", rows()[::-1])
    other = (shapes / "shapes.vqa.yaml").read_text().replace("name: shapes", "name: more")
    shapes.joinpath("more.vqa.yaml").write_text(other)
    assert listed("more.vqa.yaml", "shapes.vqa.yaml") == before
    assert len(before) == 4


def test_absent_data_is_an_error_in_every_shard(shapes: Path, pytester: pytest.Pytester) -> None:
    shapes.joinpath("shapes", "q.jsonl").unlink()
    for number in (1, 2):
        pytester.runpytest(*ALL, f"--vqa-shard={number}/2").assert_outcomes(errors=2)


def test_the_command_that_repeats_one_sample_has_no_shard(always_yes: Path, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*ALL, "--vqa-shard=1/3")
    again = [line for line in result.outlines if line.startswith("again ")]
    assert again
    assert not [line for line in again if "shard" in line]
