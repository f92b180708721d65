"""Baselines: the file, what is saved and what is not, and the gate that compares with one."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_vqaeval.baselinefile import read_baseline_file, write_baseline
from pytest_vqaeval.errors import UsageError
from pytest_vqaeval.gates import GateResult, Verdict
from pytest_vqaeval.gates.baseline import Baseline
from pytest_vqaeval.gates.session import GateSettings, judge, judge_session
from pytest_vqaeval.scores import Scores
from pytest_vqaeval.scoring.base import Outcome
from pytest_vqaeval.spec import read_spec
from tests.conftest import Run, summary_of
from tests.realdata import real_data
from tests.rundata import graded, row, rows, scores, summary_of_rows

PASS, FAIL, INCONCLUSIVE = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


# --- the file


def test_the_file_says_what_was_saved(tmp_path: Path) -> None:
    saved = scores(rows("cwutec", per_cluster=4), collected=6)
    write_baseline(tmp_path / "b.json", [saved])
    assert (tmp_path / "b.json").read_text() == (
        '{\n"schema": 1,\n'
        '"outcomes": {"c": "correct", "w": "wrong", "u": "unparsed", "t": "truncated", "e": "empty"},\n'
        '"benchmarks": [\n{\n"benchmark": "b",\n"title": "B",\n"model": "m",\n"graded": false,\n"repeats": 1,\n'
        '"generation": {},\n"fingerprint": {"records":"1"},\n"samples": 6,\n"nodes": "b.vqa.yaml",\n"clusters": {\n'
        '"c0":{"s":{"0":"c","1":"w","2":"u","3":"t"}},\n"c1":{"s":{"4":"e","5":"c"}}\n}\n}\n]\n}\n'
    )
    (read,) = read_baseline_file(tmp_path / "b.json")
    assert read == replace(saved, source=str(tmp_path / "b.json"))


@pytest.mark.parametrize("results", [graded([0.25, 1.0, None, 0.3333]), rows("cx-w")], ids=["graded", "missing"])
def test_scores_and_what_is_missing_survive(tmp_path: Path, results: list) -> None:
    saved = scores(results)
    write_baseline(tmp_path / "b.json", [saved])
    (read,) = read_baseline_file(tmp_path / "b.json")
    assert read.samples == saved.samples
    assert read.graded == saved.graded
    assert not read.complete


def test_repeats_are_saved_as_their_mean(tmp_path: Path) -> None:
    right, wrong = Outcome.CORRECT, Outcome.WRONG
    results = [row(n, right if n <= repeat - 1 else wrong, repeat=repeat) for n in range(3) for repeat in (1, 2, 3)]
    saved = scores(results)
    write_baseline(tmp_path / "b.json", [saved])
    (read,) = read_baseline_file(tmp_path / "b.json")
    assert [sample.low for sample in read.samples.values()] == [1, 0.6667, 0.3333]
    assert (read.repeats, read.collected, read.complete) == (3, 3, True)


def test_the_order_of_arrival_changes_no_byte(tmp_path: Path) -> None:
    results = rows("cwcwccww", per_cluster=3)
    others = [replace(result, benchmark="a", model=model) for result in results for model in ("y", "x")]
    sets = [
        scores(results),
        scores([r for r in others if r.model == "y"]),
        scores([r for r in others if r.model == "x"]),
    ]
    sets[1:] = [replace(one, benchmark="a") for one in sets[1:]]
    write_baseline(tmp_path / "one.json", sets)
    backwards = [replace(one, samples=dict(reversed(one.samples.items()))) for one in reversed(sets)]
    write_baseline(tmp_path / "other.json", backwards)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "other.json").read_bytes()


def test_a_flip_is_a_line_of_the_diff(tmp_path: Path) -> None:
    for name, letters in (("a", "cwcwccww"), ("b", "cwcwcwww")):
        write_baseline(tmp_path / name, [scores(rows(letters, per_cluster=2))])
    one, other = ((tmp_path / name).read_text().splitlines() for name in "ab")
    assert sum(a != b for a, b in zip(one, other, strict=True)) == 1


def test_names_from_data_stay_what_they_are(tmp_path: Path) -> None:
    results = [replace(row(n, Outcome.CORRECT), subset='s"\n', id="一/::]\\", cluster="</x>") for n in range(1)]
    saved = scores(results, collected=1)
    write_baseline(tmp_path / "b.json", [saved])
    assert read_baseline_file(tmp_path / "b.json")[0].samples.keys() == saved.samples.keys()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"0":"c"', '"0":NaN', "NaN is no number"),
        ('"0":"c"', '"0":"correct"', "'correct' is no outcome"),
        ('"0":"c"', '"0":1.5', "1.5 is no score from 0 to 1"),
        ('"0":"c"', '"0":true', "True is no score from 0 to 1"),
        ('"0":"c"', '"0":[0.5,0.2]', "[0.5, 0.2] is no score from 0 to 1"),
        ('"0":"c"', '"0":"c","0":"w"', "'0' is there twice"),
        ('"c1"', '"c9":{"s":{"0":"w"}},"c1"', "the sample s[0] is there twice"),
        ('"0":"c",', "", "it has 3 samples of b, and says 4"),
        ('"samples": 4', '"samples": 0', "it has 4 samples of b, and says 0"),
        ('"schema": 1', '"schema": 2', "its schema is 2, not 1"),
        ('"schema": 1,', "", "it has no schema"),
        ('"model": "m",', "", "model is None"),
        ('"model": "m"', '"model": 5', "model is 5"),
        ('"fingerprint": {"records":"1"}', '"fingerprint": []', "fingerprint is []"),
        ('"s":{"0":"c","1":"w"}', '"s":["c","w"]', "the cluster 'c0' is {'s': ['c', 'w']}"),
        ('{"s":{"0":"c","1":"w"}}', "7", "the cluster 'c0' is 7"),
        ("}\n]\n}", "}\n]\n", "Expecting"),
    ],
)
def test_a_file_that_is_no_baseline_is_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = tmp_path / "b.json"
    write_baseline(file, [scores(rows("cwcw", per_cluster=2))])
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(UsageError) as error:
        read_baseline_file(file)
    assert said in str(error.value)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": 1}', '{"schema": 1, "benchmarks": []}', "\x00", "[" * 9999]
)
def test_an_empty_file_is_no_baseline(tmp_path: Path, text: str) -> None:
    file = tmp_path / "b.json"
    file.write_text(text)
    with pytest.raises(UsageError, match="is no baseline file"):
        read_baseline_file(file)


# --- the gate


def gate(
    letters: str, before: str, *, per_cluster: int = 1, collected: int | None = None, **facts: float
) -> GateResult:
    """The verdict on one run against another."""
    summary = summary_of_rows(rows(letters, per_cluster), collected)
    old = scores(rows(before, per_cluster))
    (result,) = judge(summary, [Baseline("old", "b", **facts)], lambda name: [old])  # type: ignore[arg-type]
    return result


@pytest.mark.parametrize(
    ("letters", "before", "expected"),
    [
        ("c" * 20, "c" * 20, PASS),
        ("c" * 20, "w" * 20, PASS),  # better
        ("w" * 5 + "c" * 15, "c" * 20, FAIL),  # p = 1/32
        ("w" * 4 + "c" * 16, "c" * 20, INCONCLUSIVE),  # 20 points lower, and no p-value of 4 samples is below 1/16
        ("w" * 4 + "c" * 496, "c" * 500, PASS),  # less than a point
        ("w" * 7 + "c" * 13, "c" * 14 + "w" * 6, PASS),  # 7 lost, 6 won
        ("w" * 4, "c" * 4, INCONCLUSIVE),  # too few for any verdict
        ("c" * 4, "c" * 4, INCONCLUSIVE),
        ("c" * 5, "c" * 5, INCONCLUSIVE),  # if all five are lost, it fails; with 80 % power it sees nothing
        ("w" * 5, "c" * 5, FAIL),
        ("c" * 6, "c" * 6, PASS),
    ],
)
def test_the_verdict_is_that_of_the_exact_test(letters: str, before: str, expected: Verdict) -> None:
    assert gate(letters, before).verdict is expected


def test_the_line_says_all_its_numbers() -> None:
    result = gate("w" * 8 + "c" * 992, "c" * 1000)
    assert result.rule == "baseline, alpha 0.05"
    assert result.said == (
        "0.9920 of 1,000, before 1.0000: -0.0080 (95 % -0.0135 to -0.0025), p 0.0039, "
        "sees a drop of 0.0070 (80 % power)"
    )
    assert result.worse == [f"b.vqa.yaml::s[{n}]" for n in range(8)]


@pytest.mark.parametrize("letters", ["c" * 20, "c" * 2000, "w" * 4 + "c" * 16])
def test_the_smallest_visible_drop_is_never_0(letters: str) -> None:
    visible = gate(letters, "c" * len(letters)).numbers["visible_drop"]
    assert visible is not None
    assert visible >= 5 / len(letters)  # fewer than five can't be told from luck


def test_clusters_and_not_samples_decide() -> None:
    letters, before = "w" * 8 + "c" * 40, "c" * 48
    assert gate(letters, before).verdict is FAIL
    assert gate(letters, before, per_cluster=8).verdict is INCONCLUSIVE  # all in one picture of six


def test_a_margin_is_what_may_be_lost() -> None:
    letters, before = "w" * 20 + "c" * 480, "c" * 500
    assert gate(letters, before).verdict is FAIL
    assert gate(letters, before, margin=0.02).verdict is FAIL
    assert gate(letters, before, margin=0.03).verdict is PASS
    assert gate(letters, before, margin=0.02).rule == "baseline, margin 0.02, alpha 0.05"
    seen = gate(letters, before, margin=0.02).numbers["visible_drop"]
    assert seen == pytest.approx(0.02 + gate(letters, before).numbers["visible_drop"])


def test_graded_scores_are_compared_to_the_hundredth() -> None:
    before = scores(graded([0.5] * 50))
    for value, expected in ((0.496, PASS), (0.44, FAIL)):
        (result,) = judge(summary_of_rows(graded([value] * 50)), [Baseline("old", "b")], lambda name: [before])
        assert result.verdict is expected


@pytest.mark.parametrize(
    ("letters", "before", "expected"),
    [
        ("c" * 1999 + "x", "c" * 2000, PASS),  # content-filtered in this run
        ("c" * 2000, "c" * 1999 + "x", PASS),  # in the baseline
        ("c" * 1999 + "x", "c" * 1999 + "x", PASS),  # in both
        ("w" * 100 + "c" * 1899 + "x", "c" * 2000, FAIL),
        ("w" * 4 + "c" * 1995 + "x", "c" * 2000, INCONCLUSIVE),  # the one decides: p is 1/16 or 1/32
        ("w" * 100 + "c" * 1600 + "x" * 300, "c" * 2000, FAIL),  # even if the 300 are right
        ("c" * 1700 + "x" * 300, "c" * 2000, INCONCLUSIVE),
        ("x" * 2000, "c" * 2000, INCONCLUSIVE),
        ("-" * 2000, "c" * 2000, INCONCLUSIVE),
    ],
)
def test_missing_samples_are_taken_as_worst_and_best(letters: str, before: str, expected: Verdict) -> None:
    assert gate(letters, before).verdict is expected


def test_samples_that_were_not_selected_are_missing() -> None:
    assert gate("c" * 100, "c" * 100, collected=2000).verdict is INCONCLUSIVE
    assert gate("c" * 1999, "c" * 2000, collected=2000).verdict is PASS


@pytest.mark.parametrize("fact", ["records", "references", "clusters", "media", "scorer", "parser", "judge"])
def test_what_must_be_equal(fact: str) -> None:
    old = scores(rows("c" * 20), fingerprint={"records": "1", fact: "other"})
    (result,) = judge(summary_of_rows(rows("c" * 20)), [Baseline("old", "b")], lambda name: [old])
    assert result.verdict is INCONCLUSIVE
    assert result.said.startswith(f"not comparable: other {fact}")


def test_what_may_differ_is_printed() -> None:
    old = scores(rows("c" * 20), fingerprint={"records": "1", "prompt": "other"})
    old = replace(old, model="before", generation={"temperature": 0})
    (result,) = judge(
        summary_of_rows(rows("c" * 20)), [Baseline("old", "b")], lambda name: [old], {"temperature": 0.7, "top_p": 1}
    )
    assert result.verdict is PASS
    assert result.notes == ["compared: model before -> m; another prompt; temperature 0 -> 0.7; top_p None -> 1"]


def session(old: list[Scores], *, alpha: float | None = None, gates: tuple = (), models: str = "m") -> list[GateResult]:
    """The gates of a session with a baseline by option; `models` lost 8, 8 ... of 100 samples."""
    results = [r for model in models for r in rows("w" * 6 + "c" * 94, model=model)]
    summary = summary_of_rows(results, 100, gates=gates)
    return judge_session(summary, GateSettings([], {"o.json": old}, alpha, None, Path()), {})


def test_holm_over_all_baseline_gates_of_the_session() -> None:
    old = [scores(rows("c" * 100))]
    assert [gate.verdict for gate in session(old)] == [FAIL]  # p = 1/64
    three = session(old, models="mno")
    assert [gate.verdict for gate in three] == [FAIL] * 3  # 3/64 = 0.047
    assert "p 0.047 (Holm, 3 gates)" in three[0].said
    assert [gate.verdict for gate in session(old, models="mnop")] == [INCONCLUSIVE] * 4  # 6 clusters: 1/64 > 0.05/4


def test_alpha_of_the_options_goes_before_that_of_the_spec() -> None:
    old = [scores(rows("c" * 100))]
    own = ({"kind": "baseline", "source": "other.json", "scope": "b", "alpha": 0.4, "margin": 0.05},)
    (result,) = session(old, gates=own)
    assert result.rule == "baseline, margin 0.05, alpha 0.4"
    (result,) = session(old, gates=own, alpha=0.01)
    assert result.rule == "baseline, margin 0.05, alpha 0.01"


def test_the_model_chooses_among_several_of_a_benchmark() -> None:
    old = [replace(scores(rows("c" * 100)), model=model) for model in "mn"]
    assert [gate.verdict for gate in session(old)] == [FAIL]
    (result,) = session(old, models="z")
    assert (result.verdict, result.said) == (INCONCLUSIVE, "the baseline has m, n of b")


def test_a_benchmark_of_the_baseline_that_did_not_run_passes_nothing() -> None:
    old = [scores(rows("c" * 100)), replace(scores(rows("c" * 100)), benchmark="other")]
    assert [(gate.benchmark, gate.verdict) for gate in session(old)] == [("b", FAIL), ("other", INCONCLUSIVE)]


def test_a_baseline_of_the_spec_that_is_not_there_is_inconclusive() -> None:
    own = ({"kind": "baseline", "source": "nowhere.json", "scope": "b", "alpha": 0.05, "margin": 0.0},)
    summary = summary_of_rows(rows("c" * 100), gates=own)
    (result,) = judge_session(summary, GateSettings([], {}, None, None, Path()), {})
    assert result.verdict is INCONCLUSIVE
    assert result.said == "the baseline nowhere.json can't be read: No such file or directory"


# --- in a run


@pytest.fixture
def models(shapes: Path) -> Path:
    """Replies of several models to the small benchmark: six pictures with two questions each."""
    answers = {n: "no" if n % 2 else "yes" for n in range(12)}
    wrong = {"right": (), "all_wrong": range(12), "odd": range(1, 12, 2), "one": (3,)}
    for name, misses in wrong.items():
        lines = [{"id": f"q{n}", "reply": "neither" if n in misses else answers[n]} for n in range(12)]
        shapes.joinpath(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return shapes


ALL = ["shapes.vqa.yaml", "--vqa-json=out.json"]


def save(pytester: pytest.Pytester, model: str = "right", *more: str) -> pytest.RunResult:
    return pytester.runpytest(*ALL, f"--vqa-model=replay:{model}.jsonl", "--vqa-save-baseline=base.json", *more)


def test_a_run_against_a_file(models: Path, run: Run, pytester: pytest.Pytester) -> None:
    result = save(pytester)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["baseline saved: *base.json (12 samples)"])
    result = run(*ALL, "--vqa-model=replay:right.jsonl", "--vqa-baseline=base.json")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["gate pass: shapes replay:right.jsonl: baseline, alpha 0.05: 1.0000 of 12, *"])
    result = run(*ALL, "--vqa-model=replay:odd.jsonl", "--vqa-baseline=base.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "gate fail: shapes *: 0.5000 of 12, before 1.0000: -0.5000 *, p 0.016, *",
            "    compared: model *right* -> *odd*",
        ]
    )
    (gate,) = summary_of(models)["gates"]  # type: ignore[misc]
    assert len(gate["worse"]) == 6  # type: ignore[index]


def test_a_run_against_a_run_by_name(models: Path, pytester: pytest.Pytester) -> None:
    pytester.runpytest(*ALL, "--vqa-model=replay:right.jsonl")
    folder = models.joinpath(".vqaeval", "latest").resolve()
    for name in ("latest", folder.name, str(folder)):
        assert pytester.runpytest(*ALL, "--vqa-model=replay:odd.jsonl", f"--vqa-baseline={name}").ret == 1
        pytester.runpytest(*ALL, "--vqa-model=replay:right.jsonl")  # `latest` again


def test_the_same_run_gives_the_same_file_and_the_same_verdict(
    models: Path, run: Run, pytester: pytest.Pytester
) -> None:
    run(*ALL, "--vqa-model=replay:odd.jsonl", "--vqa-save-baseline=one.json", "--vqa-fail-under=0.5")
    pytester.runpytest(*ALL, "--vqa-model=replay:odd.jsonl", "--vqa-save-baseline=other.json", "--vqa-fail-under=0.5")
    assert models.joinpath("one.json").read_bytes() == models.joinpath("other.json").read_bytes()
    lines = {
        pytester.runpytest(*ALL, "--vqa-model=replay:one.jsonl", "--vqa-baseline=one.json").outlines[-2] for _ in "12"
    }
    assert len(lines) == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["-k", "zh"], "is partial: 4 of 12 samples were selected"),
        (["--vqa-limit=1"], "is partial: 2 of 12 samples were selected"),
        (["--vqa-shard=1/2"], "is partial: 6 of 12 samples were selected"),
        (
            ["--vqa-fail-under=1.0", "--vqa-model=replay:odd.jsonl"],
            "a gate failed (shapes replay:odd.jsonl: fail_under 1)",
        ),
    ],
    ids=["-k", "limit", "shard", "gate"],
)
def test_what_is_no_whole_run_is_not_saved(models: Path, pytester: pytest.Pytester, more: list[str], said: str) -> None:
    models.joinpath("base.json").write_text("before")
    own = ["--vqa-model=replay:right.jsonl"] if not any("model" in option for option in more) else []
    result = pytester.runpytest(*ALL, *own, "--vqa-save-baseline=base.json", *more)
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*base.json was not saved: *{said}*"])
    assert models.joinpath("base.json").read_text() == "before"


def test_a_run_with_errors_is_saved_only_where_they_are_allowed(models: Path, pytester: pytest.Pytester) -> None:
    text = models.joinpath("right.jsonl").read_text().splitlines()[:-1]  # of q11 there is no reply
    models.joinpath("right.jsonl").write_text("\n".join(text))
    result = save(pytester)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*is incomplete: 1 of 12 samples have no verdict (--vqa-max-errors says how many errors are allowed)"]
    )
    assert not models.joinpath("base.json").exists()
    assert save(pytester, "right", "--vqa-max-errors=1").ret == 0
    (saved,) = read_baseline_file(models / "base.json")
    assert not saved.complete
    result = pytester.runpytest(
        *ALL, "--vqa-model=replay:right.jsonl", "--vqa-baseline=base.json", "--vqa-max-errors=1"
    )
    assert result.ret == 0


def test_no_samples_are_no_baseline(models: Path, pytester: pytest.Pytester) -> None:
    models.joinpath("test_other.py").write_text("def test_passes(): pass\n")
    result = pytester.runpytest("test_other.py", "--vqa-model=m", "--vqa-save-baseline=base.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*base.json was not saved: no sample was selected"])


@pytest.mark.parametrize(
    "narrower", [["-k", "zh"], ["--vqa-limit=2"], ["--lf"], ["--vqa-shard=1/2"]], ids=lambda v: v[0]
)
def test_a_part_of_a_run_passes_no_baseline_gate(models: Path, pytester: pytest.Pytester, narrower: list[str]) -> None:
    save(pytester)
    pytester.runpytest(*ALL, "--vqa-model=replay:one.jsonl")  # for --lf
    options = ["--vqa-model=replay:right.jsonl", "--vqa-baseline=base.json", *narrower]
    assert pytester.runpytest(*ALL, *options).ret == 20


def test_a_gate_on_a_part_is_complete_with_that_part(models: Path, run: Run, pytester: pytest.Pytester) -> None:
    save(pytester)
    read_spec.cache_clear()
    spec = models / "shapes.vqa.yaml"
    spec.write_text(spec.read_text() + "gates: [{baseline: base.json, of: en, alpha: 0.1}]\n")
    result = run(*ALL, "--vqa-model=replay:right.jsonl", "-k", "not zh")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["gate pass: shapes/en *: baseline, alpha 0.1: 1.0000 of 8, *"])
    assert run(*ALL, "--vqa-model=replay:right.jsonl", "-k", "zh").ret == 20
    assert run(*ALL, "--vqa-model=replay:odd.jsonl", "-k", "not zh").ret == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Is number 3 even?", "Is number 3 odd?", "records"),
        ('"answer": "yes"', '"answer": "no"', "records"),
        ("{scorer: short_answer}", "{scorer: contains}", "scorer (contains, short_answer)"),
        ('reference: "{answer}"', 'reference: "{answer|lower}"', "references"),
    ],
)
def test_other_data_or_another_scorer_pass_no_baseline_gate(
    models: Path, pytester: pytest.Pytester, old: str, new: str, said: str
) -> None:
    save(pytester)
    read_spec.cache_clear()
    for file in (models / "shapes.vqa.yaml", models / "shapes" / "q.jsonl"):
        file.write_text(file.read_text().replace(old, new, 1))
    result = pytester.runpytest(*ALL, "--vqa-model=replay:right.jsonl", "--vqa-baseline=base.json", "--vqa-show=0")
    result.stdout.fnmatch_lines([f"gate inconclusive: shapes *: not comparable: other {said.replace('[', '[[]')}*"])
    assert result.ret in (1, 20) if "answer" in old else result.ret == 20


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere.json", "can't be read"),
        ("yesterday", "there is no run 'yesterday'"),
        ("q.jsonl", "is no baseline file"),
    ],
)
def test_a_baseline_that_is_none_stops_before_anything_is_asked(models: Path, run: Run, name: str, said: str) -> None:
    models.joinpath("q.jsonl").write_text("{}")
    result = run(*ALL, "--vqa-model=replay:right.jsonl", f"--vqa-baseline={name}")
    assert result.ret == 4
    assert said in result.stderr.str()
    assert "Traceback" not in result.stderr.str()
    assert not models.joinpath(".vqaeval", "runs").exists()


# --- the real data


def test_slakes_baseline_is_small_and_finds_a_real_loss(tmp_path: Path, pytester: pytest.Pytester) -> None:
    records = json.loads(real_data("slake", "test.json").read_text())
    for name, lost in (("before", 0), ("after", 40)):  # one of fifty: 1.8 points
        lines = [
            {"id": str(row["qid"]), "reply": "neither" if n % 8 == 0 or n % 50 < lost // 40 else row["answer"]}
            for n, row in enumerate(records)
        ]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    slake = ["--vqa-benchmark=slake", f"--vqa-data={real_data()}", "--vqa-show=0", "-q"]
    save = ["--vqa-save-baseline=b.json", "--vqa-fail-under=0.8"]
    assert pytester.runpytest_subprocess(*slake, "--vqa-model=replay:before.jsonl", *save).ret == 0
    assert Path("b.json").stat().st_size < 45_000
    result = pytester.runpytest_subprocess(*slake, "--vqa-model=replay:after.jsonl", "--vqa-baseline=b.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["gate fail: slake replay:after.jsonl: baseline, alpha 0.05: 0.8* of 2,094, *"])


def test_folders_on_the_way_to_a_baseline_are_made(models: Path, pytester: pytest.Pytester) -> None:
    options = ["--vqa-model=replay:right.jsonl", "--vqa-save-baseline=a/b/base.json"]
    assert pytester.runpytest(*ALL, *options).ret == 0
    assert read_baseline_file(models / "a" / "b" / "base.json")
    result = pytester.runpytest(*ALL, "--vqa-model=replay:right.jsonl", "--vqa-save-baseline=right.jsonl/base.json")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --vqa-save-baseline: *right.jsonl is a file, not a folder"])
