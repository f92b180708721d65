"""What users of other tools stumbled over, as inputs of a few lines: ES is EvalScope's tracker, VK VLMEvalKit's, LE
lmms-eval's, C what was found by running EvalScope 1.14.1. What the tables of bad inputs and of parsers hold is not
repeated here.
"""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_vqaeval.archive import Archive
from pytest_vqaeval.datafile import read_data_files
from pytest_vqaeval.dataset import read_samples
from pytest_vqaeval.errors import DataError, UsageError
from pytest_vqaeval.formats.choice import build_choice
from pytest_vqaeval.formats.messages import build_messages
from pytest_vqaeval.hub import Hub
from pytest_vqaeval.media import Encoded, MediaCache
from pytest_vqaeval.question import Question, values_in
from pytest_vqaeval.records import read_records
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.sample import Sample
from pytest_vqaeval.scoring import BUILT_IN, score_reply
from pytest_vqaeval.scoring.base import Outcome, Score
from pytest_vqaeval.scoring.choice_strict import read_strict
from pytest_vqaeval.spec import read_spec
from tests.conftest import jpeg
from tests.mediafiles import sound

PETS = ("Dog", "Cat", "Horse", "Bird")


def strict(text: str, options: tuple[str, ...] = PETS) -> str | None:
    return read_strict(text, options).label


def scored(name: str, text: str, *references: str, finish: str = "stop", **options: Any) -> Score:
    question = Question("q", [], references, PETS if "choice" in name else ())
    return score_reply(lambda q, t: BUILT_IN[name](q, t, **options), question, Reply(text, finish_reason=finish))


def samples_of(file: Path) -> list[Sample]:
    spec = read_data_files([file])[file].spec
    return read_samples(spec, [(None, file)])


# answers in replies


def test_the_rule_that_read_the_answer_is_shown() -> None:
    """ES#1325, ES#462: why a right answer counted as wrong can be seen in the sample."""
    score = scored("choice", "The correct answer is C, not A.", "A", parser="strict")
    assert (score.extracted, score.details) == ("C", {"rule": "statement", "option": "Horse"})


def test_the_last_statement_wins() -> None:
    """ES#371: the letter stated at the end, not one on the way."""
    assert strict("At first the answer is A. It has hooves, however. So the answer is C.") == "C"


@pytest.mark.parametrize("text", ["<think>A? B!</think>ANSWER: C", "A? B!</think>\nANSWER: C"])
@pytest.mark.parametrize("parser", ["strict", "evalscope"])
def test_thoughts_are_not_mined(text: str, parser: str) -> None:
    """ES#649, ES#768: closed and unopened blocks are cut without any setting."""
    assert scored("choice", text, "C", parser=parser).outcome is Outcome.CORRECT


@pytest.mark.parametrize("name", ["choice", "short_answer", "text_overlap", "anls"])
def test_a_thought_that_was_cut_off_is_truncated(name: str) -> None:
    """ES#649, C30: nothing is read in it, whatever the scorer."""
    assert scored(name, "<think>it is A, the answer is A", "A", finish="length").outcome is Outcome.TRUNCATED


def test_prose_that_was_cut_off_is_truncated() -> None:
    """C7: the last capital letter of an unfinished sentence is no answer."""
    score = scored("choice", "Let us compare. Option A is a dog, and option B", "B", finish="length")
    assert score.outcome is Outcome.TRUNCATED


def test_an_empty_reply_has_an_outcome_of_its_own() -> None:
    """C8, VK#1704: it is not a wrong answer among others, and nothing becomes NaN."""
    score = scored("short_answer", "", "dog")
    assert (score.outcome, score.value) == (Outcome.EMPTY, 0.0)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("The correct answer is **B**. Here's why A, C and D are wrong.", "B"),  # VK#1552
        ("It might be the dog or the cat; both have fur.", None),  # VK#1175
        ("There is a bird in a tree, a dog and a cat.", None),  # VK#99: articles
        ("The correct answer is (B)", "B"),  # LE#1434: no T
        ("Based on the picture nothing can be said.", None),  # LE#1434: no B
        ("Cannot determine from the image", None),  # C9: no C
        ("ANSWER: b", "B"),  # C10
        ("B) Cat", "B"),  # C10
        ("The answer is B because the picture shows whiskers.", "B"),  # C10
        ("ANSWER: Dog", "A"),  # C11: not D
        ("ANSWER: Bone", None),  # C11: not B
        ("I think I see nothing.", None),  # the pronoun is no label, however many options there are
        ("ANSWER: AB", None),
    ],
)
def test_known_misreadings(text: str, read: str | None) -> None:
    assert strict(text) == read


def test_both_sides_are_normalised_alike() -> None:
    """LE#1220: a capital in the reference is no wrong answer."""
    assert scored("short_answer", "dog", "DOG").outcome is Outcome.CORRECT
    assert scored("choice", "ANSWER: A", "a").outcome is Outcome.CORRECT


def test_free_texts_are_compared_as_texts() -> None:
    """VK#110, VK#1617: an open question gets no made-up options, and no letter is lucky."""
    assert scored("short_answer", "A", "the aorta").outcome is Outcome.WRONG


# data files


@pytest.mark.parametrize("suffix", ["tsv", "csv"])
def test_options_that_look_like_nothing_are_options(tmp_path: Path, suffix: str) -> None:
    """VK#1559, VK#677: `None` and `NA` are texts."""
    comma = "\t" if suffix == "tsv" else ","
    file = tmp_path / f"q.{suffix}"
    file.write_text("index,question,A,B,C,answer\n01,q,None,NA,null,B\n".replace(",", comma))
    (sample,) = samples_of(file)
    assert (sample.id, sample.question().options) == ("01", ("None", "NA", "null"))


def test_a_cell_of_any_length(tmp_path: Path) -> None:
    """C14, VK#1689: no limit of 131,072 or 2,079 characters."""
    file = tmp_path / "q.tsv"
    file.write_text("question\tA\tB\timage\nq\tx\ty\t" + base64.b64encode(bytes(200_000)).decode() + "\n")
    assert len(read_records(file)[0].row["image"]) > 200_000


def test_lists_in_a_table(tmp_path: Path) -> None:
    """C15: `images` of a TSV is a list."""
    file = tmp_path / "q.tsv"
    file.write_text('question\toptions\tanswer\timages\n<image 2>\t["x", "y"]\tA\t["a.jpg", "b.jpg"]\n')
    (sample,) = samples_of(file)
    assert sample.cluster == "b.jpg"


def test_data_that_is_not_there_lists_what_was_looked_for(tmp_path: Path) -> None:
    """ES#685, ES#868: where it was looked, and the option that names another folder."""
    spec = tmp_path / "own.vqa.yaml"
    spec.write_text(
        "{name: own, data: {folder: own}, records: q.jsonl, sample: {format: vmcq}, score: {scorer: choice}}"
    )
    with pytest.raises(DataError, match=f"no data for own: looked for .*{tmp_path}/own; --vqa-data names the folder"):
        Hub().open(read_spec(spec))


def test_the_name_is_the_users(tmp_path: Path) -> None:
    """ES#754: results are not called general_something."""
    file = tmp_path / "bolts.jsonl"
    file.write_text(json.dumps({"messages": [{"role": "user", "content": "q"}]}))
    assert read_data_files([file])[file].spec.name == "bolts"


def test_the_columns_that_were_found_are_listed(tmp_path: Path) -> None:
    """ES#685: what there is, and what would fit."""
    file = tmp_path / "q.jsonl"
    file.write_text('{"prompt": "q", "image": "a.jpg"}')
    with pytest.raises(UsageError, match=r"has its columns \(prompt, image\); there are General-VQA \(messages\)"):
        read_data_files([file])


def test_several_pictures_and_a_history() -> None:
    """ES#991, C29: one request with all of it."""
    parts = [{"type": "image_url", "image_url": {"url": name}} for name in ("a.jpg", "b.jpg")]
    messages = [
        {"role": "user", "content": parts},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Are they alike?"},
    ]
    question = build_messages({"messages": messages})
    assert (len(question.messages), question.text) == (3, "Are they alike?")


def loaded(row: dict[str, Any], folder: Path) -> list[Encoded]:
    return values_in(MediaCache().load(build_messages(row).messages, Archive(folder)), Encoded)


@pytest.mark.parametrize("form", ["path", "base64", "data URL", "data URL with parameters"])
def test_audio_is_sent_as_bare_base64(tmp_path: Path, form: str) -> None:
    """ES#1152, C17: whatever the record holds."""
    data = base64.b64encode(sound()).decode()
    tmp_path.joinpath("s.wav").write_bytes(sound())
    source = {
        "path": "s.wav",
        "base64": data,
        "data URL": f"data:audio/wav;base64,{data}",
        "data URL with parameters": f"data:audio/wav;charset=utf-8;base64,{data}",
    }[form]
    part = {"type": "input_audio", "input_audio": {"data": source, "format": "wav"}}
    (sent,) = loaded({"messages": [{"role": "user", "content": [part]}]}, tmp_path)
    assert str.__add__(sent, "") == data


def test_the_media_type_is_that_of_the_bytes(tmp_path: Path) -> None:
    """C18: a JPEG that is called .png."""
    tmp_path.joinpath("a.png").write_bytes(jpeg())
    (sent,) = loaded({"messages": [{"role": "user", "content": "<image 1>"}], "image_1": "a.png"}, tmp_path)
    assert sent.mime == "image/jpeg"


def test_the_limit_of_pixels_is_for_pictures_from_everywhere(tmp_path: Path) -> None:
    """C16, ES#1347: files and data URLs alike, and it is told what was made smaller."""
    tmp_path.joinpath("a.jpg").write_bytes(jpeg(400, 300))
    url = f"data:image/jpeg;base64,{base64.b64encode(jpeg(400, 300)).decode()}"
    row = {"messages": [{"role": "user", "content": "<image 1><image 2>"}], "image_1": "a.jpg", "image_2": url}
    messages = MediaCache(max_pixels=10_000).load(build_messages(row).messages, Archive(tmp_path))
    assert [picture.resized_from for picture in values_in(messages, Encoded)] == [(400, 300)] * 2


def test_the_answer_may_be_the_options_text() -> None:
    """C19: `Cat` is B; what is no option is an error before anything is asked."""
    assert build_choice({"question": "q", "options": list(PETS), "answer": "Cat"}).references == ("B",)
    with pytest.raises(DataError, match="field 'answer' is 'Wolf', none of the labels"):
        build_choice({"question": "q", "options": list(PETS), "answer": "Wolf"})


# scores


def test_a_right_answer_in_a_long_sentence() -> None:
    """ES#828: BLEU is low by its definition; other scorers say what is meant."""
    text = "The animal that can be seen in this picture is a dog."
    assert scored("contains", text, "dog").outcome is Outcome.CORRECT


def test_several_references_are_alternatives() -> None:
    """The best match counts; they are not joined into one."""
    pytest.importorskip("rouge_chinese")
    assert scored("text_overlap", "Dog", "Puppy", "Dog").value == 1.0
