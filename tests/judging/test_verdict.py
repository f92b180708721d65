"""What counts as a judge's verdict: EvalScope's rules, and nothing lenient."""

import json

import pytest

from pytest_vqaeval.judging.verdict import Form, Malformed, read_verdict
from tests.realdata import real_data


@pytest.mark.parametrize(("pattern", "form"), [("pattern_A_B", "label"), ("numeric", "score")])
def test_the_same_replies_are_valid_as_in_evalscope(pattern: str, form: Form) -> None:
    cases = json.loads(real_data("golden", "judge_parse.json").read_text())[pattern]
    assert cases
    for case in cases:
        if not case["ok"]:
            with pytest.raises(Malformed):
                read_verdict(case["reply"], form)
            continue
        verdict, expected = read_verdict(case["reply"], form), case["value"]
        assert verdict.reason == expected["reasoning"]
        if form == "label":
            assert (verdict.said, verdict.value) == (expected["verdict"], float(expected["verdict"] == "A"))
        else:
            assert verdict.value == expected["score"]


@pytest.mark.parametrize(
    "text",
    [
        '<think>{"verdict":"B"} or not?</think>{"verdict":"A"}',
        'The "answer is right.\n{"verdict":"A"}',
        '{"reasoning":"a brace } and a \\" quote","verdict":"A"}',
    ],
)
def test_what_stands_around_the_object_is_no_matter(text: str) -> None:
    assert read_verdict(text, "label").value == 1


@pytest.mark.parametrize(
    ("text", "form", "said"),
    [
        ("", "label", "is empty"),
        ("<think>It is right", "label", "ends in a thought"),
        ('{"verdict":"A","verdict":"B"}', "label", "not valid JSON"),
        ("{" * 100_000 + "}" * 100_000, "label", "not valid JSON"),
        ('{"verdict":"C"}', "label", "none of A, B"),
        ('{"verdict":["A"]}', "label", "none of A, B"),
        ('{"score":0.5}', "label", "none of A, B"),
        ('{"score":90}', "score", "from 0 to 1"),
        ('{"score":NaN}', "score", "from 0 to 1"),
        ('{"score":1e999}', "score", "from 0 to 1"),
        ('{"score":true}', "score", "from 0 to 1"),
        ('{"score":"0.5"}', "score", "from 0 to 1"),
        ('{"reasoning":3,"score":1}', "score", "not a text"),
        ('{"reasoning":"<one short sentence>","verdict":"A"}', "label", "repeats the form"),
    ],
)
def test_all_else_is_no_verdict(text: str, form: Form, said: str) -> None:
    with pytest.raises(Malformed, match=said):
        read_verdict(text, form)
