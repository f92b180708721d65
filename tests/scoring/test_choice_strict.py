"""The strict rule: it reads what the reply says, and is silent where the reply is."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_vqaeval.question import labels
from pytest_vqaeval.reply import without_reasoning
from pytest_vqaeval.scoring.choice_strict import read_strict, read_strict_set
from tests.realdata import real_data

PLAIN = [f"choice {n}" for n in range(4)]
SCANS = ["X-ray", "MRI", "CT", "Ultrasound"]
PETS = ["Dog", "Cat", "Horse", "Bird"]
NUMBERS = ["10", "12.0", "14", "16"]
YES_NO = ["Yes", "No"]
TEN = [f"thing {n}" for n in range(10)]


def label(text: str, options: list[str] = PLAIN) -> str | None:
    return read_strict(text, options).label


@pytest.mark.parametrize(
    "text",
    [
        *(
            "ANSWER: B",
            "answer: b",
            "ANSWER：B",
            "ANSWER: Ｂ",
            "答案：B",
            "答案：【B】",
            "答案：（b）",
            "ANSWER:\nB",
            "ANSWER : B",
        ),
        *(
            "**ANSWER: B**",
            "**Answer**: B",
            "**Answer:** **b**",
            "### ANSWER: B",
            "<b>ANSWER: B</b>",
            "✅ ANSWER: B ✅",
        ),
        *("ANSWER: `B`", 'ANSWER: "B"', "ANSWER: [B]", "ANSWER: (B)", "ANSWER: B)", "ANSWER: B.", "ANSWER: Option B"),
        *(
            r"ANSWER: \boxed{B}",
            r"ANSWER: $B$",
            r"ANSWER: \(B\)",
            r"ANSWER: $\text{B}$",
            r"ANSWER: $\mathbf{B}$",
            r"\boxed{B}",
        ),
        *(
            r"The answer is $\boxed{\text{(B)}}$.",
            "<answer>B</answer>",
            '{"answer": "B"}',
            "| Answer | B |",
            "ANSWER = B",
        ),
        *(
            "ANSWER - B",
            "ANSWER B",
            "Answer → B",
            "Ans: b",
            "Final Answer: B",
            "ANSWER: B - choice 1",
            "ANSWER: B: an MRI",
        ),
        *(
            "ANSWER: B (not C)",
            "ANSWER: The answer is B",
            "ANSWER: B because A is too dark",
            "ANSWER: [LETTER]\nANSWER: B",
        ),
    ],
)
def test_answer_lines(text):
    assert label(text) == "B"
    assert label(f"A and C do not fit.\n\n{text}\n") == "B"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "The correct answer is B because the MRI shows it, while A and C are darker.",
            "The answer is (B).",
            "answer is b",
        ),
        *(
            "The correct answer is **B**. Here is why: A has no contrast.",
            "The correct option is (B).",
            "The best choice is B.",
        ),
        *(
            "So the correct option letter would be B) choice 1.",
            "I would choose option B.",
            "I'd go with B",
            "My answer is B.",
        ),
        *(
            "B is the correct answer.",
            "Option B is correct.",
            "B) choice 1 is correct.",
            "Thus, (B) is the right answer.",
        ),
        *(
            "I believe B is right.",
            "It's B.",
            "It is option B.",
            "Hence B.",
            "The answer must therefore be B.",
            "Choice: B",
        ),
        *("I'm not sure, but the answer is probably B.", "A is correct? No, B is correct.", "The answer is B, not C."),
        *(
            "答案是B",
            "我选择B",
            "因此选B。",
            "故选：B",
            "选项B正确",
            "选项A不正确，选项B是正确的",
            "B选项正确",
            "正确选项是 B。",
        ),
        *(
            "The answer is C. No, sorry: the answer is B.",
            "The correct choice is:\n\n**B. choice 1**",
            "The answer (B) fits.",
        ),
    ],
)
def test_declarations(text):
    assert label(text) == "B"


@pytest.mark.parametrize(
    "text",
    [
        *("B", "b", "B.", "(B)", "(b)", "**B**", "Ｂ", "`B`", "$B$", "Option B", "option (b).", "[B]", " B \n"),
        *(
            "B) MRI",
            "(b) mri",
            "B. MRI",
            "b. mri",
            "B: MRI",
            "B - MRI",
            "B MRI",
            "**B. MRI**",
            "B, because it is bright",
        ),
        *(
            "B\n\nThe picture shows soft tissue.",
            "The picture shows soft tissue.\n\nB",
            "It is soft tissue.\n\n**B. MRI**",
        ),
    ],
)
def test_label_alone_or_at_the_head(text):
    assert label(text, SCANS) == "B"


@pytest.mark.parametrize(
    ("text", "options", "wanted"),
    [
        ("MRI", SCANS, "B"),
        ("mri.", SCANS, "B"),
        ("ANSWER: Dog", PETS, "A"),
        ("ANSWER: a cat", PETS, "B"),
        ("ANSWER: A cat", PETS, "B"),  # the article, not the label
        ("The correct answer is the horse.", PETS, "C"),
        ("The picture is an MRI, taken at night.", SCANS, "B"),
        ("It looks dark. Therefore, this is an MRI.", SCANS, "B"),
        ("Yes, the lesion is visible.", YES_NO, "A"),
        ("No. There is none.", YES_NO, "B"),
        ("The value is 12.", NUMBERS, "B"),  # 12 is 12.0
        (r"Then $x = \boxed{12}$ cm.", NUMBERS, "B"),
        ("None of the above", [*PETS, "None of the above"], "E"),
        ("ANSWER: A and B", ["I", "II", "A and B", "Neither"], "C"),
        ("ANSWER: AD", ["PD", "FTD", "AD", "DLB"], "C"),
        ("ANSWER: B cells", ["T cells", "plasma", "mast", "B cells"], "D"),
        ("The length is 3√5 / 2.", ["2", r"\frac{3\sqrt{5}}{2}", "5"], "B"),
        ("答案：磁共振", ["CT", "磁共振"], "B"),
    ],
)
def test_text_of_one_option(text, options, wanted):
    assert label(text, options) == wanted


@pytest.mark.parametrize(
    ("text", "options"),
    [
        # several
        *(
            (text, PLAIN)
            for text in ("ANSWER: A or B", "ANSWER: A/B", "Both A and B", "A, B", "A or B?", "答案：A和C", "ANSWER: AC")
        ),
        *((text, PLAIN) for text in ("The answer is either A or B.", "It is C for the left and D for the right lung.")),
        ("The answer is C for the left lung and D for the right lung.", PLAIN),
        ("Answer: B\n\nAnswer: A\n\nAnswer: B", PLAIN),
        ("Statement A is correct. Statement B is correct.", PLAIN),
        ("The picture could be MRI or CT.", SCANS),
        ("The picture shows an MRI and an X-ray.", SCANS),
        # words that look like labels
        *(
            (text, TEN)
            for text in ("I think it is hard to say", "ANSWER: I think so", "I cannot see it", "I am unable to help")
        ),
        *(
            (text, PLAIN)
            for text in ("a dog", "A dog is shown", "ANSWER: a dog", "It is rich in vitamin C", "hepatitis B is shown")
        ),
        *(
            (text, PLAIN)
            for text in ("The answer is vitamin C", "Influenza A is the answer", "See figure (b)", "This is a CT")
        ),
        *((text, PLAIN) for text in ("Image A shows a lung. Image B shows a heart.", "A: The picture shows a heart.")),
        ("ANSWER: A-B-D", PLAIN),
        # no answer
        *(
            (text, PLAIN)
            for text in (
                "Cannot determine from the image",
                "ANSWER: N/A",
                "As an AI, I cannot see the image",
                "...",
                "",
            )
        ),
        *(
            (text, PLAIN)
            for text in ("ANSWER: Bone", "ANSWER: E", "ANSWER: F because A is wrong", "None of the above", "E", "A不对")
        ),
        ("No, I cannot see the image.", YES_NO),
        ("The value is 12.5", NUMBERS),
        ("ANSWER: A\nANSWER: none of the above", PLAIN),
        # negations, conditions, questions
        *(
            (text, PLAIN)
            for text in (
                "not B",
                "It is not B",
                "B is not correct.",
                "The answer is not A.",
                "The answer isn't A",
                "不选B",
            )
        ),
        *(
            (text, PLAIN)
            for text in (
                "答案不是B",
                "If the answer is B, we see it.",
                "Is the answer B?",
                "Neither A nor B is correct.",
            )
        ),
        ("The picture is not an MRI.", SCANS),
        ("The picture may be an MRI.", SCANS),
        # echoes
        ("A) X-ray\nB) MRI\nC) CT\nD) Ultrasound", SCANS),
        ("A. X-ray B. MRI C. CT D. Ultrasound", SCANS),
        ("Choose the correct answer:\nA) X-ray\nB) MRI", SCANS),
        *(
            (text, PLAIN)
            for text in ("ANSWER: [LETTER]", "ANSWER: <letter>", "End with 'ANSWER: [LETTER]', one of A,B,C,D.")
        ),
        # cut off
        ("Step 1: it shows a chest. Option A is an X-ray; option B is an M", SCANS),
        ("Step 1: it shows a pet. Option A is a Dog and option B", PETS),
        *((text, PLAIN) for text in ("After all this reasoning, ANSWER:", "So the answer is", "So the answer is a")),
    ],
)
def test_silent(text, options):
    assert label(text, options) is None


def test_another_question_that_the_model_goes_on_to_write_is_not_ours():
    assert (
        label("The answer is (C) 32.\n\nHint: choose.\nQuestion: Find x.\nChoices:\n(A) 4\n(B) 2\nAnswer: (B) 2") == "C"
    )


def test_rules_are_named():
    assert read_strict("ANSWER: B", PLAIN).rule == "answer line"
    assert read_strict("The answer is B.", PLAIN).rule == "statement"
    assert read_strict("Option B is correct.", PLAIN).rule == "called correct"
    assert read_strict("b", PLAIN).rule == "label alone"
    assert read_strict("B) MRI", SCANS).rule == "label at the head of a line"
    assert read_strict("MRI", SCANS).rule == "option text alone"
    assert read_strict("ANSWER: A or B", PLAIN).rule == "answer line: several labels"


@pytest.mark.parametrize(
    "text",
    [
        *(
            '{"final_answer": "C"}',
            "{'answer': 'C'}",
            '{"choice": "C"}',
            '{"answer": ["C"]}',
            '{"correct_option": "C"}',
        ),
        *(
            "答案不是A，而是C。",
            "应为C项。",
            "C项正确。",
            "【答案】C",
            "A不正确，C正确。",
            "最符合的选项是C。",
            "对应选项C。",
        ),
        *("I'm not sure, but I would guess C.", "My best guess is C.", "It's A or C, but I'm leaning towards C."),
        *("A is wrong, B is wrong. That leaves C.", "Probably C.", "The image most closely matches option C."),
        *(
            "Option C fits best.",
            "Option C is the most likely.",
            "C seems to be the correct answer.",
            "C appears correct.",
        ),
        *(
            "A) Dog - incorrect\nB) Cat - incorrect\nC) Horse - correct",
            "A. Dog: This is wrong.\nC. Horse: This is correct.",
        ),
        *(
            "It looks like a horse.",
            "It's a horse.",
            "Animal: Horse",
            "Horse is the correct answer.",
            "It's the horse (C).",
        ),
        *(
            "It will be a horse.",
            "The animal is a horse, not a dog.",
            "Correct option - C",
            "- C",
            "> C",
            "C.Horse",
            "C、Horse",
        ),
        *("The picture is consistent with option C.", "It looks like a horse rather than a dog.", "C rather than A."),
        *("It is a horse, which is option C.", "This matches option C.", "The option that fits best is C."),
        *("We can rule out A and B. The remaining option is C.", "A and B are out, leaving C as the correct answer."),
        *(
            "C is the most consistent with the picture.",
            "Of course! C) Horse",
            "Based on the image, C.",
            "I think horse.",
        ),
        *(
            "✅ C",
            "👉 C",
            "| C |",
            "1) C",
            "(1) C",
            "['C']",
            "<C>",
            "_C_",
            "C项",
            "C选项",
            "Answer:\n- C",
            "The answer is... C",
        ),
        *("Clearly C.", "Most likely C.", "It must be C.", "That's C.", "In conclusion, C.", "I'm going with C."),
        *(
            "This is option C.",
            "It's letter C.",
            "C, I think.",
            "C, as it has hooves.",
            "C，因为它有蹄。",
            "Only C is correct.",
        ),
        *(
            "C is the only one that fits.",
            "A - Incorrect\nC - Correct",
            "Option A: incorrect. Option C: correct.",
            "A. ✗\nC. ✓",
        ),
        *("{'answer': 'C', 'reason': 'A is dark'}", '{"response": "C"}', "<final_answer>C</final_answer>", "boxed{C}"),
        *(
            "- A) Dog: ❌\n- C) Horse: ✅",
            "A) Dog: incorrect\nC) Horse: correct, it has hooves",
            "Option C is the best fit.",
        ),
        *(
            "It can't be told. But if I had to choose, I would select C.",
            "The answer is likely C, although A can't be excluded.",
        ),
        *(
            "C) Horse. A) is wrong since it has hooves. B) is wrong.",
            "Therefore, horse.",
            "Horse because of the hooves.",
        ),
        *("It has hooves. The mane suggests a horse.", "The kind is not said, but it appears to be a horse."),
        *(
            "My guess is C.",
            "OK, C.",
            "It seems to be C.",
            "It looks like C.",
            "C is what I would choose.",
            "'C' is correct",
        ),
        *(
            "I'll answer with C",
            "Horse (Equus caballus)",
            "Among the options, horse is the most likely.",
            "It is horse.",
        ),
        *("选项为C", "答案就是C", "显然是C", "Horse - C", "Horse, C", "Answer ⇒ C"),
        *("On the horse.", "This animal can be classified as a horse.", "The arrow points to the horse."),
    ],
)
def test_further_ways_to_say_it(text):
    assert label(text, PETS) == "C"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "A dog is not in the picture.",
            "The answer would be C if it had hooves.",
            "The image does not best match option C.",
        ),
        *("Option C is most likely wrong.", "C is most likely not the answer.", "Option C seems to be incorrect."),
        *("图中不应为C。", "答案不应该是C。", "答案是A还是C无法判断。", "应该是什么？A还是C？"),
        *(
            "Would it be the horse?",
            "It looks like a wolf.",
            "It looks like a horse or a dog.",
            "It isn't the horse (C).",
        ),
        *(
            "The horse (C) or the dog (A)",
            "That leaves us with A and C.",
            "Probably A or C.",
            "Not consistent with option C.",
        ),
        *(
            "The dog is not the answer.",
            "Animal: Zebra",
            "Animal: dog or cat",
            '{"choices": ["A", "C"]}',
            '{"answer": "E"}',
        ),
        *("A) Dog - true\nB) Cat - true", "I don't think the answer is C."),
        *("This does not match option C.", "Nothing here supports option C.", "The answer C is incorrect."),
        *("The evidence indicates option C is wrong.", "Based on the image, A and C.", "Here it is dark. C"),
        *("I think the horse is too dark to say.", "On the left.", "Horses can be mixed with dogs."),
        *(
            "1. A\n2. B\n3. C",
            "- A\n- C",
            "['A', 'C']",
            "Look at the letter C.",
            "Clearly not C.",
            "It should be A or C.",
        ),
        *(
            "Option C: correct?",
            "Not only C is correct.",
            "C. correct spelling matters\nA. so it does",
            "Type C, I think",
        ),
        *(
            "不一定是C",
            "不应当是C",
            "选项为A或C",
            '{"output": "E"}',
            "<response>I don't know</response>",
            "dog, horse, C",
        ),
        *("Nobody knows what will be a horse.", "I was leaning towards A or C.", "best guess: unknown"),
    ],
)
def test_further_ways_to_say_nothing(text):
    assert label(text, PETS) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [("ANSWER: A, C", "AC"), ("The answers are A and C.", "AC"), ("答案：AC", "AC"), ("B", "B"), ("I see", "")],
)
def test_sets(text, found):
    assert read_strict_set(text, PLAIN).labels == set(found)


def test_agreement_with_a_careful_reader():
    """311 replies, constructed and real; texts of options that are only implied and doubtful cases are left out."""
    counts: Counter[str] = Counter()
    for line in real_data("golden", "mcq_says.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["confidence"] == "unsure" or row["how"] == "option_text_loose":
            continue
        read = label(without_reasoning(row["reply"]) or "", list(row["options"].values()))
        says = row["says"] if isinstance(row["says"], str) else None  # several labels are no single answer
        if read == says:
            counts["agree"] += 1
        elif read is None:
            counts["missed"] += 1
        else:
            counts["invented" if row["says"] is None else "wrong"] += 1
    total = counts.total()
    assert total > 280
    assert counts["agree"] >= 0.98 * total, counts
    assert counts["wrong"] + counts["invented"] == 0, counts


SNIPPETS = [
    "ANSWER:",
    "answer is",
    "A",
    "b",
    "(C)",
    "is correct",
    "\\boxed{",
    "}",
    "**",
    "choice 1",
    "选",
    "\n",
    "and",
    "I",
    "not",
    "?",
]


@given(
    st.lists(st.sampled_from(SNIPPETS) | st.text(max_size=5)).map(" ".join), st.lists(st.text(max_size=8), max_size=30)
)
def test_never_raises_and_reads_labels_only(text, options):
    assert label(text, options) in (None, *labels(len(options)))
    assert read_strict_set(text, options).labels <= set(labels(len(options)))


def test_the_end_of_a_very_long_reply_is_read():
    assert label("It is dark here. " * 10_000 + "\nANSWER: C") == "C"
    assert label("B) choice 1\n" + "It is dark here. " * 10_000) == "B"
