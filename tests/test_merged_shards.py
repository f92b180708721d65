"""Shards that are merged are the run that was not split, to the last byte but for times and names."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval.__main__ import main
from tests.conftest import rows, summary_of
from tests.realdata import real_data

TIMES_AND_NAMES = ("started", "ended", "seconds", "throttled_s", "merged")


def without_times(report: dict[str, Any]) -> str:
    """The summary as bytes, without what the run was called and when it was; latencies are times too."""
    kept = {**report, "run": {key: value for key, value in report["run"].items() if key not in TIMES_AND_NAMES}}
    for benchmark in kept["benchmarks"]:
        for usage in (benchmark.get("usage") or {}).values():
            for key in [key for key in usage or {} if key.endswith("_s")]:
                del usage[key]
    return json.dumps(kept, ensure_ascii=False)


def merged(shards: list[str], gates: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    main(["merge", *(f"{shard}/latest" for shard in shards), "-o", "merged", "--json", *gates])
    out, err = capsys.readouterr()
    assert not err, err
    report: dict[str, Any] = json.loads(out)
    return report


def compare(
    pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str], *options: str, gates: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Run whole and in four shards, and compare."""
    pytester.runpytest(*options, *gates, "--vqa-json=out.json", "-q")
    whole: dict[str, Any] = summary_of(pytester.path)
    shards = [f"shard{number}" for number in (1, 2, 3, 4)]
    for number, shard in enumerate(shards, 1):
        pytester.runpytest(*options, f"--vqa-shard={number}/4", f"--vqa-out={shard}", "-q")
    assert without_times(merged(shards, gates, capsys)) == without_times(whole)
    return whole


def test_slake(pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    replies = real_data("replies", "slake_en_huatuogpt_vision_7b.jsonl")
    data = f"--vqa-data={real_data('slake').parent}"
    whole = compare(
        pytester,
        capsys,
        "--vqa-benchmark=slake",
        f"--vqa-model=replay:{replies}",
        data,
        "-k",
        "en_",
        gates=("--vqa-fail-under=0.4",),
    )
    assert whole["benchmarks"][0]["overall"]["correct"] == 529


@pytest.mark.parametrize("more", [(), ("--vqa-repeats=2",), ("--vqa-limit=3",)], ids=["plain", "repeats", "limit"])
def test_graded_scores_repeats_limits_and_metrics(
    shapes: Path, pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    spec = shapes / "shapes.vqa.yaml"
    text = spec.read_text().replace("short_answer", "anls, threshold: 1")
    spec.write_text(text + "metrics: [yes_rate, {all_right_by: kind}]\ngroups: [kind, picture]\n")
    said = {row["question"]: "yesterdays"[: 1 + n % 7] for n, row in enumerate(rows())}
    shapes.joinpath("conftest.py").write_text(
        f"import pytest\nSAID = {said!r}\n@pytest.fixture(scope='session')\ndef vqa_model():\n"
        "    return lambda m: next(v for k, v in SAID.items() if k in str(m))\n"
    )
    spec.write_text(spec.read_text().replace("groups: [kind]\n", ""))
    whole = compare(pytester, capsys, "shapes.vqa.yaml", "--vqa-model=mine", *more)
    assert whole["benchmarks"][0]["overall"]["scored"]
