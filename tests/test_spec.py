"""Every mistake in a spec is one line: file, line, key, the nearest valid key."""

from pathlib import Path

import pytest

from pytest_vqaeval.errors import SpecError
from pytest_vqaeval.scorerule import ScoreRule
from pytest_vqaeval.scoring import BUILT_IN
from pytest_vqaeval.spec import read_spec
from pytest_vqaeval.templates import Switch
from tests.conftest import SPEC, Run


def spec_with(folder: Path, *changes: tuple[str, str]) -> Path:
    """The small benchmark's spec with some of its text replaced."""
    text = SPEC
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "b.vqa.yaml"
    path.write_text(text)
    return path


MISTAKES = {
    "unknown key": (("tags:", "tag:"), "b.vqa.yaml:3: tag: unknown key; did you mean 'tags'?"),
    "unknown key inside": (
        ("subset:", "subsets:"),
        "b.vqa.yaml:12: sample.subsets: unknown key; did you mean 'subset'?",
    ),
    "key twice": (("title: Shapes", "name: Shapes"), "b.vqa.yaml:2: name is given twice (first in line 1)"),
    "no records": (("records: q.jsonl\n", ""), "b.vqa.yaml:1: records is missing"),
    "misspelled records": (("records:", "record:"), "b.vqa.yaml:1: records is missing; was it meant by 'record'?"),
    "no scorer": (("scorer: short_answer", ""), "score.scorer is missing"),
    "no id": (('  id: "{id}"\n', ""), "b.vqa.yaml:7: sample.id is missing"),
    "lone brace": (('"{answer}"', '"{answer"'), "b.vqa.yaml:11: sample.reference: a lone {"),
    "unknown filter": (('"{lang}"', '"{lang|low}"'), "sample.subset: unknown filter 'low'; did you mean 'lower'?"),
    "list for text": (("title: Shapes", "title: [a]"), "b.vqa.yaml:2: title: is not a text"),
    "text for mapping": (("{folder: shapes}", "shapes"), "b.vqa.yaml:4: data: is not a mapping"),
    "role": (("role: user", "role: usr"), "sample.messages[0].role: unknown role 'usr'"),
    "part": (("{text:", "{txt:"), "sample.messages[0].content[1].txt: unknown key; did you mean 'text'?"),
    "folder out": (("folder: shapes", "folder: ../x"), "data.folder: '../x' leads out of the data folder"),
    "absolute records": (("records: q.jsonl", "records: /etc/passwd"), "records: '/etc/passwd' leads out of"),
    "no prompt": (('prompt: "{question}\\nAnswer in one word."\n', ""), "uses {prompt}, but the spec has no prompt"),
    "gate range": (
        ("score:", "gates: [{fail_under: 3}]\nscore:"),
        "gates[0].fail_under: '3' is not a score from 0 to 1",
    ),
    "gate key": (
        ("score:", "gates: [{fail_undr: 0.3}]\nscore:"),
        "gates[0].fail_undr: unknown key; did you mean 'fail_under'?",
    ),
    "gates no list": (("score:", "gates: {fail_under: 0.3}\nscore:"), "gates: is not a list of mappings"),
    "source": (
        ("{folder: shapes}", "{folder: shapes, files: {q.jsonl: {sources: ['file:///etc/passwd']}}}"),
        "b.vqa.yaml:4: data.files.q.jsonl.sources: 'file:///etc/passwd' is no source: give hf://",
    ),
    "no sources": (
        ("{folder: shapes}", "{folder: shapes, files: {q.jsonl: {source: 'https://a/b'}}}"),
        "data.files.q.jsonl.sources is missing; was it meant by 'source'?",
    ),
    "file out": (
        ("{folder: shapes}", "{folder: shapes, files: {../q: {sources: ['https://a/b']}}}"),
        "b.vqa.yaml:4: data.files.../q: leads out of the data folder",
    ),
    "sha256": (
        ("{folder: shapes}", "{folder: shapes, files: {q: {sha256: abc, sources: ['https://a/b']}}}"),
        "data.files.q.sha256: is not 64 hex digits",
    ),
    "size": (
        ("{folder: shapes}", "{folder: shapes, files: {q: {size: 2 MB, sources: ['https://a/b']}}}"),
        "data.files.q.size: '2 MB' is no number of bytes",
    ),
    "files without folder": (
        ("{folder: shapes}", "{files: {q: {sources: ['https://a/b']}}}"),
        "data.files: need a `folder`",
    ),
    "not yaml": (("tags: [toy]", "tags: [toy"), "is not valid YAML"),
    "a list": ((SPEC, "- a\n- b\n"), "b.vqa.yaml:1: is not a mapping of keys"),
    "empty": ((SPEC, ""), "b.vqa.yaml:1: is not a mapping of keys"),
    "extends nothing": (("name: shapes", "extends: nothing"), "b.vqa.yaml:1: extends: there is no nothing.vqa.yaml"),
    "extends itself": (("name: shapes", "extends: b"), "b.vqa.yaml:1: extends: b extends this file again"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(tmp_path: Path, mistake: str) -> None:
    change, message = MISTAKES[mistake]
    with pytest.raises(SpecError) as caught:
        read_spec(spec_with(tmp_path, change))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "b.vqa.yaml"))


def test_another_encoding_is_told_with_its_line(tmp_path: Path) -> None:
    spec = spec_with(tmp_path)
    spec.write_bytes(SPEC.replace("Shapes", "Caf\xe9").encode("latin-1"))
    with pytest.raises(SpecError, match=r"b.vqa.yaml:2: is not UTF-8 \(byte \d+\)$"):
        read_spec(spec)


SCORER_MISTAKES = {
    "unknown scorer": ("{scorer: short_anser}", "unknown scorer 'short_anser'; did you mean 'short_answer'?"),
    "unknown option": (
        "{scorer: short_answer, normalise: [lowercase]}",
        "no option 'normalise'; did you mean 'normalize'?",
    ),
    "unknown step": ("{scorer: short_answer, normalize: [lowercas]}", "did you mean 'lowercase'?"),
    "wrong value": ("{scorer: short_answer, answer: last}", "answer must be 'marker' or 'whole', not 'last'"),
    "wrong type": ("{scorer: short_answer, normalize: 3}", "short_answer: a value is of the wrong type (normalize: 3)"),
    "a text for a number": (
        "{scorer: numeric, tolerance: abc}",
        "numeric: a value is of the wrong type (tolerance: 'abc')",
    ),
}


@pytest.mark.parametrize("mistake", SCORER_MISTAKES)
def test_a_mistake_in_the_score_block(tmp_path: Path, mistake: str) -> None:
    block, message = SCORER_MISTAKES[mistake]
    spec = read_spec(spec_with(tmp_path, ("{scorer: short_answer}", block)))
    with pytest.raises(SpecError) as caught:
        spec.score.bind(BUILT_IN)
    assert "b.vqa.yaml:18: score.scorer: " in str(caught.value)
    assert message in str(caught.value)


def test_a_wrong_spec_is_a_collection_error_in_one_line(shapes: Path, run: Run) -> None:
    spec = shapes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text().replace("tags:", "tag:"))
    result = run("shapes.vqa.yaml", "--vqa-model=m")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*shapes.vqa.yaml:3: tag: unknown key; did you mean 'tags'?*"])
    assert "Traceback" not in result.stdout.str()
    assert "collect.py" not in result.stdout.str()


@pytest.mark.parametrize("tag", ["skip", "xfail", "Big", "a b"])
def test_tags_that_can_be_no_marks(shapes: Path, run: Run, tag: str) -> None:
    spec = shapes / "shapes.vqa.yaml"
    spec.write_text(spec.read_text().replace("[toy]", f"[{tag}]"))
    result = run("shapes.vqa.yaml", "--vqa-model=m")
    assert result.ret != 0
    assert f"tags: '{tag}' can't be a mark" in result.stdout.str()


def test_texts_are_taken_as_they_are_written(tmp_path: Path) -> None:
    """YAML's `no` is false, `01` is one and `1e3` a thousand; a benchmark's subsets may have these names."""
    path = spec_with(tmp_path, ("{English: [en], Chinese: [zh]}", "{no: [no, 01], yes: [1e3]}"))
    assert read_spec(path).categories == {"no": ("no", "01"), "yes": ("1e3",)}


def test_another_rule_is_a_line_of_yaml(tmp_path: Path) -> None:
    spec_with(tmp_path)
    mine = tmp_path / "mine.vqa.yaml"
    mine.write_text("extends: b\nscore: {answer: whole}\ntags: [other]\n")
    spec = read_spec(mine)
    assert (spec.name, spec.tags, spec.score.scorer) == ("shapes", ("other",), "short_answer")
    assert spec.score.options == {"answer": "whole"}
    assert spec.records == read_spec(tmp_path / "b.vqa.yaml").records


@pytest.mark.parametrize(
    ("base", "mine", "scorer", "options"),
    [
        ("{scorer: short_answer, answer: whole}", "{scorer: choice}", "choice", {}),
        ("{scorer: short_answer, answer: whole}", "{scorer: short_answer}", "short_answer", {"answer": "whole"}),
        ("{by: kind, x: {scorer: choice}, else: {scorer: anls}}", "{scorer: contains}", "contains", {}),
    ],
)
def test_another_scorer_takes_over_no_options(
    tmp_path: Path, base: str, mine: str, scorer: str, options: dict[str, str]
) -> None:
    spec_with(tmp_path, ("{scorer: short_answer}", base))
    (tmp_path / "mine.vqa.yaml").write_text(f"extends: b\nscore: {mine}\n")
    score = read_spec(tmp_path / "mine.vqa.yaml").score
    assert isinstance(score, ScoreRule)
    assert (score.scorer, score.options) == (scorer, options)


def test_cases_of_another_field_take_over_no_cases(tmp_path: Path) -> None:
    old = 'prompt: "{question}\\nAnswer in one word."'
    spec_with(tmp_path, (old, "prompt: {by: lang, en: Say, else: Sag}"))
    for mine, cases, other in (
        ("{by: kind, x: Look}", {"x"}, False),
        ("{by: lang, de: Sprich}", {"en", "de"}, True),
        ("{de: Sprich}", {"en", "de"}, True),
    ):
        (tmp_path / "mine.vqa.yaml").write_text(f"extends: b\nprompt: {mine}\n")
        read_spec.cache_clear()
        prompt = read_spec(tmp_path / "mine.vqa.yaml").prompt
        assert isinstance(prompt, Switch)
        assert (set(prompt.templates), prompt.other is not None) == (cases, other)


def test_each_key_of_a_merged_mapping_knows_its_file(tmp_path: Path) -> None:
    spec_with(tmp_path, ("{text:", "{txt:"))
    mine = tmp_path / "mine.vqa.yaml"
    mine.write_text('extends: b\nsample: {id: "{row}"}\n')
    with pytest.raises(SpecError, match=r"b.vqa.yaml:\d+: sample.messages"):
        read_spec(mine)
    spec_with(tmp_path)
    mine.write_text("extends: b\n\nscore: {normalize: [lower]}\n")
    with pytest.raises(SpecError, match=r"mine.vqa.yaml:3: score.normalize: short_answer: no normalize step 'lower'"):
        read_spec(mine).score.bind(BUILT_IN)


def test_a_scorer_that_is_no_function_is_one_line(tmp_path: Path) -> None:
    spec = read_spec(spec_with(tmp_path, ("{scorer: short_answer}", "{scorer: mine}")))
    with pytest.raises(SpecError, match=r"b.vqa.yaml:18: score.scorer: the scorer 'mine' is no function, but 5$"):
        spec.score.bind({"mine": 5})


def test_a_mistake_in_the_extended_spec_names_that_file(tmp_path: Path) -> None:
    spec_with(tmp_path, ("title: Shapes", "titel: Shapes"))
    mine = tmp_path / "mine.vqa.yaml"
    mine.write_text("extends: b\n")
    with pytest.raises(SpecError, match=r"b.vqa.yaml:2: titel: unknown key"):
        read_spec(mine)
