"""The published replies of HuatuoGPT-Vision-7B on SLAKE, re-checked by scripted judges."""

import json

import pytest

from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import counts_of, summary_of
from tests.realdata import real_data

RIGHT, WRONG_BY_RULE = 529, 1061 - 529


def recall(pytester: pytest.Pytester, judge: ModelServer, *options: str) -> pytest.RunResult:
    replies = real_data("replies", "slake_en_huatuogpt_vision_7b.jsonl")
    return pytester.runpytest_subprocess(
        "--vqa-benchmark=slake",
        "-k=en_",
        f"--vqa-data={real_data('slake').parent}",
        f"--vqa-model=replay:{replies}",
        f"--vqa-judge=j@{judge.url}",
        "--vqa-judge-strategy=llm_recall",
        "--vqa-json=out.json",
        "-q",
        *options,
    )


def test_the_judge_is_asked_for_what_the_rule_found_wrong_and_once(pytester: pytest.Pytester) -> None:
    with ModelServer(lambda request: json.dumps({"verdict": "AB"[request.number % 2]})) as judge:
        recall(pytester, judge)
        assert judge.count == WRONG_BY_RULE
        recall(pytester, judge, "--vqa-resume")
        assert judge.count == WRONG_BY_RULE
    (benchmark,) = summary_of(pytester.path)["benchmarks"]  # type: ignore[misc]
    assert benchmark["overall"]["correct"] == RIGHT + WRONG_BY_RULE // 2
    assert (benchmark["judge"]["rule"]["correct"], benchmark["judge"]["rule"]["answered"]) == (RIGHT, 1061)
    assert benchmark["judge"]["turned_right"] == WRONG_BY_RULE // 2


def test_a_judge_with_many_faults_loses_no_sample(pytester: pytest.Pytester) -> None:
    """Of the samples 20 % never get a readable verdict, 10 % get HTTP 500 for ever and 5 % no reply in time."""
    sent: dict[str, int] = {}

    def answer(request: Request) -> Answer | str:
        data = next(message["content"] for message in request.messages if message["role"] == "user")
        number = sent.setdefault(data, len(sent)) % 20
        if number < 4:
            return "I would say that it is right."
        if number < 6:
            return Answer("boom", status=500)
        return Answer(json.dumps({"verdict": "AB"[number % 2]}), latency_s=3 if number == 6 else 0)

    with ModelServer(answer) as judge:
        result = recall(pytester, judge, "-n2", "--vqa-timeout=1", "--vqa-retries=1", "--vqa-concurrency=16")
    assert result.ret == 1
    assert result.duration < 90
    counts = counts_of(pytester.path)
    (benchmark,) = summary_of(pytester.path)["benchmarks"]  # type: ignore[misc]
    told = benchmark["judge"]
    assert len(sent) <= WRONG_BY_RULE  # equal questions with equal replies are one text
    assert counts["correct"] - RIGHT + counts["wrong"] + counts["error"] == WRONG_BY_RULE
    assert told["not_judged"] == counts["error"] > 0.3 * WRONG_BY_RULE
    assert told["judged"] + told["not_judged"] == WRONG_BY_RULE
