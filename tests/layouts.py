"""Tiny files in published layouts, what a model replies, and the figures that come of it, worked out by hand.

Column names and forms of the values are those of the published files; questions and answers are made up.
"""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import jpeg

Row = Mapping[str, Any]


def picture(number: int) -> dict[str, Any]:
    """A picture as Hugging Face's parquet files hold it."""
    return {"bytes": jpeg(colour=40 * number), "path": None}


@dataclass(frozen=True)
class Layout:
    """A benchmark's files and what comes of them.

    Attributes:
        files: by path in the folder of `--vqa-data`: the rows of a parquet file or a table, or JSON.
        replies: a piece of the question -> the model's reply.
        prompt: the texts of the first request, each picture as `[image]`.
        overall: accuracy or score.
        subsets: the same by subset.
        aggregates: metric -> value and what it is a share of.
        clusters: how many groups of samples with the same picture.
        pictures: how many are sent in all, where that is not one for each sample.
    """

    files: Mapping[str, Any]
    replies: Mapping[str, str]
    prompt: str
    overall: float
    subsets: Mapping[str, float] = field(default_factory=dict)
    aggregates: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    clusters: int | None = None
    pictures: int | None = None

    def write(self, folder: Path) -> None:
        """Write the files."""
        for name, content in self.files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            _WRITERS[file.suffix](file, content)


def _write_parquet(file: Path, rows: Sequence[Row]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(list(rows)), file)


def _write_tsv(file: Path, rows: Sequence[Row]) -> None:
    lines = ["\t".join(rows[0]), *("\t".join(str(cell) for cell in row.values()) for row in rows)]
    file.write_text("\n".join(lines) + "\n")


def _write_zip(file: Path, names: Sequence[str]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for number, name in enumerate(names):
            archive.writestr(name, jpeg(colour=number))


_WRITERS = {
    ".parquet": _write_parquet,
    ".tsv": _write_tsv,
    ".json": lambda file, content: file.write_text(json.dumps(content)),
    ".zip": _write_zip,
}

ONE_WORD = "\nAnswer the question using a single word or phrase."
LETTER = "\nAnswer with the option's letter from the given choices directly."
BASE64 = base64.b64encode(jpeg()).decode()


def _mmbench(index: int, options: str, answer: str, image: str, **more: str) -> Row:
    names = dict(zip("ABCD", [*options.split("/"), "", ""], strict=False))
    row = {"index": index, "question": "Which pet?", "hint": "", **names, "answer": answer, "category": "ocr"}
    return {**row, "image": image, "source": "made", "l2-category": "perception", "split": "dev", **more}


def _mmstar(index: int, question: str, answer: str, category: str) -> Row:
    row = {
        "index": index,
        "question": question,
        "image": BASE64,
        "A": "a cat",
        "B": "a dog",
        "C": "an owl",
        "D": "none",
    }
    return {**row, "answer": answer, "category": category, "l2_category": f"{category} one", "bench": "made"}


def _mmmu(id: str, kind: str, question: str, options: str, answer: str, *pictures: int) -> Row:
    images = {f"image_{n}": picture(pictures[n - 1]) if n <= len(pictures) else None for n in range(1, 8)}
    row = {"id": id, "question": question, "options": options, "explanation": "", **images, "img_type": "['Photo']"}
    return {**row, "answer": answer, "topic_difficulty": "Easy", "question_type": kind, "subfield": "made"}


def _sqa(question: str, hint: str, answer: int, subject: str) -> Row:
    row = {"image": picture(answer), "question": question, "choices": ["iron", "wool"], "answer": answer, "hint": hint}
    return {**row, "task": "closed choice", "grade": "grade2", "subject": subject, "topic": "made", "solution": ""}


def _vista(pid: str, kind: str, choices: list[str] | None, answer: str, task: str) -> Row:
    query = f"Hint: Please answer.\nQuestion: Size of {pid}?\nChoices:\n(A) 3\n(B) 4 cm"
    row = {"pid": pid, "question": f"Size of {pid}?", "image": f"images/{pid}.jpg", "decoded_image": picture(1)}
    meta = {"category": "math-targeted-vqa", "task": task, "grade": "high school"}
    more = {"unit": None, "precision": None, "question_type": kind, "answer_type": "text", "metadata": meta}
    return {**row, "choices": choices, "answer": answer, **more, "query": query}


def _pope(id: int, answer: str, source: str, category: str) -> Row:
    row = {"id": str(id), "question_id": str(id), "question": f"Is there a thing{id} in the image? ", "answer": answer}
    return {**row, "image_source": source, "image": picture(3), "category": category}


def _hallusion(category: str, figure: int, question: int, answer: str) -> Row:
    row = {"category": category, "subcategory": "chart", "visual_input": "1", "set_id": "0", "figure_id": str(figure)}
    text = f"Does bar {question} of figure {figure} rise?"
    more = {"sample_note": "made", "question_id": str(question), "question": text, "gt_answer_details": "It rises."}
    return {**row, **more, "gt_answer": answer, "filename": f"./{category}/0_{figure}.png", "image": picture(figure)}


def _seed(id: str, kind: str, type_id: int, answer: str) -> Row:
    choices = {"choice_a": "one", "choice_b": "two", "choice_c": "three", "choice_d": "four"}
    row = {"answer": answer, **choices, "data_id": f"{id}.jpg", "data_type": kind, "question": f"How many {id}?"}
    return {**row, "question_id": id, "question_type_id": type_id, "image": [picture(1)], "segment": []}


def _ocr(dataset: str, kind: str, question: str, *answers: str) -> Row:
    return {
        "dataset": dataset, "question": question, "question_type": kind, "answer": list(answers), "image": picture(1),
    }  # fmt: skip


def _blink(id: str, task: str, answer: str, *pictures: int) -> Row:
    images = {f"image_{n}": picture(pictures[n - 1]) if n <= len(pictures) else None for n in range(1, 5)}
    prompt = f"Which is it in {id}?\nSelect from the following choices.\n(A) left\n(B) right"
    row = {"idx": id, "sub_task": task, "question": f"Which is it in {id}?", "choices": ["left", "right"]}
    return {**row, "answer": answer, "prompt": prompt, "detailed_prompt": "", "explanation": "", **images}


def _mme(picture_id: str, question: str, answer: str, category: str) -> Row:
    text = f"{question} Please answer yes or no."
    return {
        "question_id": picture_id, "image": picture(1), "question": text, "answer": answer, "category": category,
    }  # fmt: skip


def _gqa(image: str, question: str, answer: str, structural: str) -> Row:
    types = {"detailed": "made", "semantic": "attr", "structural": structural}
    return {"imageId": image, "question": question, "answer": answer, "isBalanced": True, "types": types}


LAYOUTS = {
    "vqa_rad": Layout(
        {
            "vqa_rad/data/test-00000-of-00001-e5bc3d208bb4deeb.parquet": [
                {"image": picture(1), "question": "is there a fracture?", "answer": "yes"},
                {"image": picture(1), "question": "is it normal?", "answer": "No"},
                {"image": picture(2), "question": "what organ is this?", "answer": "the liver"},
                {"image": picture(2), "question": "which side?", "answer": "left lung"},
                {"image": picture(2), "question": "which plane?", "answer": "axial"},
            ]
        },
        {"fracture": "Yes", "normal": "Yes, it is.", "organ": "Liver.", "side": "right", "plane": "Axial"},
        "[image]\nis there a fracture?" + ONE_WORD,
        overall=3 / 5,  # fracture, organ, plane
        subsets={"closed": 1 / 2, "open": 2 / 3},
        clusters=2,
    ),
    "path_vqa": Layout(
        {
            f"path_vqa/data/test-0000{n}-of-00002.parquet": [
                {"image": picture(n), "question": f"is part {n} shown?", "answer": "yes"},
                {"image": picture(n), "question": f"what is stained {n}?", "answer": "epithelium"},
            ]
            for n in range(2)
        },
        {"part 0": "yes", "part 1": "No.", "stained 0": "Epithelium", "stained 1": "the epithelium"},
        "[image]\nis part 0 shown?" + ONE_WORD,
        overall=3 / 4,
        subsets={"closed": 1 / 2, "open": 1.0},
        clusters=2,
    ),
    "mmmu": Layout(
        {
            "mmmu/Art_Theory/validation-00000-of-00001.parquet": [
                _mmmu("validation_Art_Theory_1", "multiple-choice", "Which of <image 1> and <image 2>?",
                      "['<image 3>', 'The \"Dome\"', 'None']", "B", 1, 2, 3),
                _mmmu("validation_Art_Theory_2", "multiple-choice", "What is <image 1>?", "['arch', 'wall']", "A", 1),
            ],
            "mmmu/Math/validation-00000-of-00001.parquet": [
                _mmmu("validation_Math_1", "open", "Find the length in <image 1>.", "[]", "8.4", 1),
                _mmmu("validation_Math_2", "open", "Find the shape in <image 1>.", "[]", "trapezoid", 1),
                _mmmu("validation_Math_3", "open", "Find the angle in <image 1>.", "[]", "30", 1),
            ],
        },
        {"Which of": "B", "What is": "I can't tell.", "length": "So the length is 8.40", "shape": "It is a trapezoid.",
         "angle": "The sum is 180. The answer is 60"},
        'Which of \n[image]\n and \n[image]\n?\n(A) \n[image]\n\n(B) The "Dome"\n(C) None\n' + LETTER,
        overall=3 / 5,  # the unparsed choice is wrong, never a random label
        subsets={"Art_Theory": 1 / 2, "Math": 2 / 3},
        pictures=3 + 1 + 1 + 1 + 1,
    ),
    "mmbench": Layout(
        {
            "mmbench/MMBench_DEV_EN.tsv": [
                _mmbench(7, "cat/dog", "A", BASE64, hint="It barks not."),
                _mmbench(8, "dog/owl/cat", "B", BASE64, question="Which bird?"),
                _mmbench(9, "red/blue", "A", BASE64, question="Which colour?"),
                _mmbench(1000007, "dog/cat", "B", "7", hint="It barks not."),
                _mmbench(1000008, "owl/cat/dog", "A", "8", question="Which bird?"),
                _mmbench(2000008, "cat/dog/owl", "C", "8", question="Which bird?"),
                _mmbench(1000009, "blue/red", "B", "9", question="Which colour?"),
            ]
        },
        # the pet and the colour are told by their texts, the bird by a label that is right in one rotation of three
        {"Which pet": "The answer is cat.", "Which bird": "A", "Which colour": "red"},
        "[image]\nHint: It barks not.\nQuestion: Which pet?\nOptions:\nA. cat\nB. dog\n"
        "Please select the correct answer from the options above.",
        overall=5 / 7,
        aggregates={"circular": (2 / 3, 3)},
        clusters=3,
    ),
    "mmstar": Layout(
        {
            "mmstar/MMStar.tsv": [
                _mmstar(0, "Who is it?", "B", "coarse perception"),
                _mmstar(1, "Who sits?", "A", "math"),
                _mmstar(2, "Who flies?", "C", "math"),
            ]
        },
        {"Who is it": "B", "sits": "The answer is A because I see a cat.", "flies": "D"},
        "[image]\nQuestion: Who is it?\nOptions:\nA. a cat\nB. a dog\nC. an owl\nD. none\n"
        "Please select the correct answer from the options above.",
        overall=2 / 3,
        subsets={"coarse perception": 1.0, "math": 1 / 2},
    ),
    "science_qa": Layout(
        {
            "science_qa/ScienceQA-IMG/test-00000-of-00001.parquet": [
                _sqa("Which is hard?", "", 0, "natural science"),
                _sqa("Which is soft?", "Touch it.", 1, "natural science"),
                _sqa("Which is old?", "", 1, "social science"),
            ],
            "science_qa/ScienceQA-FULL/test-00000-of-00001.parquet": [_sqa("Which is not asked?", "", 0, "none")],
        },
        {"hard": "A", "soft": "B. wool", "old": "A"},
        "[image]\nWhich is hard?\nA. iron\nB. wool" + LETTER,
        overall=2 / 3,
        subsets={"natural science": 1.0, "social science": 0.0},
    ),
    "math_vista": Layout(
        {
            "math_vista/data/testmini-00000-of-00001-725687bf7a18d64b.parquet": [
                _vista("1", "multi_choice", ["3", "4 cm"], "4 cm", "geometry problem solving"),
                _vista("2", "multi_choice", ["3", "4 cm"], "3", "geometry problem solving"),
                _vista("3", "free_form", None, "7", "math word problem"),
                _vista("4", "multi_choice", ["3", "4 cm"], "4 cm", "textbook question answering"),
            ]
        },
        {"of 1": "The answer is (B) 4 cm", "of 2": "3", "of 4": "A"},  # a label with text, a text, a wrong label
        "[image]\nHint: Please answer.\nQuestion: Size of 1?\nChoices:\n(A) 3\n(B) 4 cm",
        overall=2 / 3,
        subsets={"geometry problem solving": 1.0, "textbook question answering": 0.0},
        clusters=3,
    ),
    "chart_qa": Layout(
        {
            "chart_qa/data/test-00000-of-00001-e2cd0b7a0f9eb20d.parquet": [
                {"type": "human_test", "question": "How many bars?", "answer": "100", "image": picture(1)},
                {"type": "human_test", "question": "Which colour?", "answer": "Blue", "image": picture(1)},
                {"type": "human_test", "question": "What year?", "answer": "2010", "image": picture(2)},
                {"type": "augmented_test", "question": "What share?", "answer": "0.12", "image": picture(3)},
                {"type": "augmented_test", "question": "What total?", "answer": "50", "image": picture(3)},
            ]
        },
        {"bars": "105", "colour": "light blue", "year": "2010", "share": "12%", "total": "53"},
        "[image]\nHow many bars?\nAnswer the question with a single word.",
        overall=3 / 5,  # 105 of 100 is 5 %, 53 of 50 is 6 %; a text must be equal
        subsets={"human_test": 2 / 3, "augmented_test": 1 / 2},
        clusters=3,
    ),
    "doc_vqa": Layout(
        {
            "docvqa/DocVQA/validation-00000-of-00006.parquet": [
                {"questionId": str(n), "question": q, "question_types": ["form"], "image": picture(1), "docId": 5,
                 "ucsf_document_id": "pybv0228", "ucsf_document_page_no": "81", "answers": a, "data_split": "val"}
                for n, q, a in [
                    (1, "Who signs?", ["T. Cook", "Tim Cook"]), (2, "What date?", ["1/8/93"]),
                    (3, "What sum?", ["abcd"]), (4, "What title?", ["abcde"]),
                ]
            ],
            "docvqa/InfographicVQA/validation-00000-of-00001.parquet": [{"questionId": "9", "question": "not asked"}],
        },
        {"signs": "tim cook", "date": "1/8/98", "sum": "abxy", "title": "abxde"},
        "[image]\nWho signs?" + ONE_WORD,
        # 1; one of 6 characters differs: 5/6; two of 4: the distance 0.5 is the threshold: 0; one of 5: 4/5
        overall=(1 + 5 / 6 + 0 + 4 / 5) / 4,
        clusters=1,
    ),
    "info_vqa": Layout(
        {
            "docvqa/InfographicVQA/validation-00000-of-00006.parquet": [
                {"questionId": str(n), "question": f"What is {n}?", "answers": ["Canada", "CA"], "answer_type": ["x"],
                 "image": picture(n), "image_url": f"https://made.example/{n}.jpg", "ocr": "", "data_split": "val"}
                for n in (1, 2)
            ]
        },
        {"is 1": "canada", "is 2": "Mexico"},
        "[image]\nWhat is 1?" + ONE_WORD,
        overall=1 / 2,
        clusters=2,
    ),
    "text_vqa": Layout(
        {
            "text_vqa/data/validation-00000-of-00003.parquet": [
                {"image_id": "3a", "question_id": 34602 + n, "question": q, "image": picture(1), "answers": a,
                 "ocr_tokens": ["nous"], "set_name": "val"}
                for n, (q, a) in enumerate([
                    ("what is the brand?", ["nous les gosses"] * 2 + ["dakota"] * 8),
                    ("how many Cats?", ["2"] * 3 + ["3"] * 7),
                ])
            ]
        },
        {"brand": "Nous les gosses.", "cats": "two"},
        "[image]\nWhat is the brand?" + ONE_WORD,
        # two of ten agree: (2 x 1/3 + 8 x 2/3) / 10 = 0.6; three, as `two` is 2: (3 x 2/3 + 7 x 1) / 10 = 0.9
        overall=(0.6 + 0.9) / 2,
        clusters=1,
    ),
    "vqa_v2": Layout(
        {
            "vqa_v2/data/validation-00000-of-00068.parquet": [
                {"question_type": "is", "multiple_choice_answer": a[0], "image_id": 262148, "answer_type": kind,
                 "answers": [{"answer": x, "answer_confidence": "yes", "answer_id": i} for i, x in enumerate(a, 1)],
                 "question_id": n, "question": f"Is it {n}?", "image": picture(1)}
                for n, kind, a in [
                    (1, "yes/no", ["yes"] * 9 + ["no"]), (2, "yes/no", ["yes"] * 9 + ["no"]),
                    (3, "other", ["a dog"] * 4 + ["cat"] * 6),
                ]
            ]
        },
        {"it 1": "Yes", "it 2": "no", "it 3": "dog"},
        "[image]\nIs it 1?" + ONE_WORD,
        # nine of ten: 1; one of ten: (1 x 0 + 9 x 1/3) / 10 = 0.3; four, without the article: 1
        overall=(1 + 0.3 + 1) / 3,
        subsets={"yes/no": (1 + 0.3) / 2, "other": 1.0},
        clusters=1,
    ),
    "pope": Layout(
        {
            "pope/data/test-00000-of-00003.parquet": [
                _pope(1, "yes", "COCO_1", "adversarial"), _pope(2, "no", "COCO_1", "adversarial"),
                _pope(3, "yes", "COCO_2", "adversarial"), _pope(4, "no", "COCO_2", "adversarial"),
                _pope(1, "yes", "COCO_1", "popular"), _pope(5, "yes", "COCO_3", "popular"),
            ]
        },
        {"thing1 ": "Yes", "thing2": "Yes, there is.", "thing3": "No", "thing4": "no", "thing5": "maybe"},
        "[image]\nIs there a thing1 in the image?" + ONE_WORD,
        # said yes: 1, 2, 1 again; of these right: two. Yes is right: 1, 3, 1 again, 5
        overall=3 / 6,
        subsets={"adversarial": 2 / 4, "popular": 1 / 2},
        aggregates={"precision": (2 / 3, 3), "recall": (2 / 4, 4), "f1": (4 / 7, 6), "yes_rate": (3 / 6, 6)},
        clusters=3,
    ),
    "real_world_qa": Layout(
        {
            "real_world_qa/data/test-00000-of-00002.parquet": [
                {"image": picture(n), "image_path": f"{n}.webp", "question": q, "answer": a}
                for n, (q, a) in enumerate([
                    ("Which way?\n\nA. Left\nB. Right\nPlease answer directly with only the letter.", "B"),
                    ("How near?\n\nA. Near\nB. Far\nPlease answer directly with only the letter.", "A"),
                    ("Is it wet? Please answer directly with a single word or number.", "Yes"),
                    ("How many lanes? Please answer directly with a single word or number.", "3"),
                ])
            ]
        },
        {"Which way": "The answer is B. Right", "near": "B", "wet": "yes.", "lanes": "Three"},
        "[image]\nWhich way?\n\nA. Left\nB. Right\nPlease answer directly with only the letter.",
        overall=3 / 4,
        subsets={"choice": 1 / 2, "short": 1.0},
    ),
    "hallusion_bench": Layout(
        {
            "hallusion_bench/data/image-00000-of-00001.parquet": [
                _hallusion("VD", 0, 0, "1"), _hallusion("VD", 0, 1, "0"),
                _hallusion("VD", 1, 0, "0"), _hallusion("VD", 1, 1, "0"),
                _hallusion("VS", 1, 0, "1"),
            ]
        },
        {"bar 0": "Yes", "bar 1": "No, it does not."},
        "[image]\nDoes bar 0 of figure 0 rise?\nPlease answer yes or no.",
        overall=4 / 5,  # bar 0 of figure 1 in VD is wrong
        subsets={"VD_chart": 3 / 4, "VS_chart": 1.0},
        # figures: VD 0 and VS 1 are all right, VD 1 is not; questions: VD 1 and VS 0 are all right, VD 0 is not
        aggregates={"fAcc": (2 / 3, 3), "qAcc": (2 / 3, 3)},
        clusters=3,
    ),
    "seed_bench": Layout(
        {
            "seed_bench/data/test-00000-of-00001.parquet": [
                _seed("101", "image", 1, "A"), _seed("102", "image", 5, "C"), _seed("103", "video", 10, "A"),
                _seed("104", "image", 5, "D"),
            ]
        },
        {"101": "A", "102": "C. three", "104": "A"},
        "[image]\nHow many 101?\nA. one\nB. two\nC. three\nD. four" + LETTER,
        overall=2 / 3,
        subsets={"scene understanding": 1.0, "instance counting": 1 / 2},
    ),
    "ocr_bench": Layout(
        {
            "ocr_bench/data/test-00000-of-00001.parquet": [
                _ocr("IIIT5K", "Regular Text Recognition", "what is written?", "CENTRE"),
                _ocr("docVQA", "Doc-oriented VQA", "what date?", "1 May", "May 1"),
                _ocr("docVQA", "Doc-oriented VQA", "what sum?", "12"),
                _ocr("HME100k", "Handwritten Mathematical Expression Recognition", "what formula?", "x ^ { 2 }"),
            ]
        },
        {"written": "It reads Centre.", "date": "on may 1, 1990", "sum": "13", "formula": "x^{2} = y"},
        "[image]\nwhat is written?",
        overall=3 / 4,
        subsets={
            "Regular Text Recognition": 1.0, "Doc-oriented VQA": 1 / 2,
            "Handwritten Mathematical Expression Recognition": 1.0,
        },
    ),
    "blink": Layout(
        {
            "blink/Jigsaw/val-00000-of-00001.parquet": [
                _blink("val_Jigsaw_1", "Jigsaw", "(A)", 1, 2, 3), _blink("val_Jigsaw_2", "Jigsaw", "(B)", 1, 2, 3),
            ],
            "blink/Counting/val-00000-of-00001.parquet": [_blink("val_Counting_1", "Counting", "(B)", 1)],
            "blink/Counting/test-00000-of-00001.parquet": [_blink("test_Counting_1", "Counting", "hidden", 1)],
        },
        {"Jigsaw_1": "(A)", "Jigsaw_2": "A", "Counting_1": "B"},
        "[image]\nWhich is it in val_Counting_1?\nSelect from the following choices.\n(A) left\n(B) right" + LETTER,
        overall=2 / 3,
        subsets={"Jigsaw": 1 / 2, "Counting": 1.0},
        pictures=3 + 3 + 1,
    ),
    "mme": Layout(
        {
            f"mme/data/test-0000{n}-of-00002.parquet": [
                _mme(f"{category}/{n}.png", f"Is {n} {category} red?", "Yes", category),
                _mme(f"{category}/{n}.png", f"Is {n} {category} blue?", "No", category),
            ]
            for n, category in enumerate(["color", "color", "code_reasoning"])
        },
        {"0 color red": "Yes", "0 color blue": "No.", "1 color": "Yes", "2 code": "no"},
        "[image]\nIs 0 color red? Please answer yes or no.",
        overall=4 / 6,
        subsets={"color": 3 / 4, "code_reasoning": 1 / 2},
        aggregates={"accuracy+": (1 / 3, 3)},  # both questions are right for the first picture alone
        clusters=3,
    ),
    "gqa": Layout(
        {
            "gqa/testdev_balanced_questions.json": {
                "201307251": _gqa("n161313", "Is it overcast?", "no", "verify"),
                "201307252": _gqa("n161313", "What stands there?", "fire hydrant", "query"),
                "201307253": _gqa("n235859", "Who is tall?", "man", "query"),
            },
            "gqa/images.zip": ["images/n161313.jpg", "images/n235859.jpg"],
        },
        {"overcast": "No.", "stands": "Fire hydrant", "tall": "a man"},
        "[image]\nIs it overcast?" + ONE_WORD,
        overall=2 / 3,  # exact match but for case and punctuation: an article counts
        clusters=2,
    ),
}  # fmt: skip
