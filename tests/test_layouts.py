"""The benchmarks that are nothing but a spec, each on a tiny file in its published layout."""

import pytest

from pytest_vqaeval.question import Message
from pytest_vqaeval.shipped import shipped_folder
from pytest_vqaeval.testing import Answer, ModelServer, Request
from tests.conftest import summary_of
from tests.layouts import LAYOUTS, Layout

OLDER = {"slake", "pmc_vqa", "ai2d", "easy_vqa", "general_vqa", "general_vmcq"}  # tested on their real data elsewhere


def shown(messages: list[Message]) -> str:
    """The texts of the only message, each picture as `[image]`."""
    (message,) = messages
    return "\n".join(part["text"] if part["type"] == "text" else "[image]" for part in message["content"])


def model_of(layout: Layout) -> ModelServer:
    """A model that says what the layout lists."""

    def answer(request: Request) -> Answer:
        (reply,) = [reply for piece, reply in layout.replies.items() if piece.lower() in request.text.lower()]
        return Answer(reply)

    return ModelServer(answer, keep_bodies=True)


@pytest.mark.parametrize("name", LAYOUTS)
def test_figures_worked_out_by_hand(pytester: pytest.Pytester, name: str) -> None:
    pytest.importorskip("pyarrow")
    layout = LAYOUTS[name]
    layout.write(pytester.path)
    with model_of(layout) as server:
        model = f"--vqa-model=m@{server.url}"
        result = pytester.runpytest(f"--vqa-benchmark={name}", model, "--vqa-data=.", "--vqa-json=out.json")
    (report,) = summary_of(pytester.path)["benchmarks"]  # type: ignore[misc]
    overall = report["overall"]
    assert overall["error"] == 0, result.stdout.str()
    assert overall["answered"] == overall["samples"] == report["collected"]
    assert overall[report["metric"]] == pytest.approx(layout.overall, abs=1e-12)
    subsets = {part["name"]: part[report["metric"]] for part in report["subsets"] if part["samples"]}
    assert subsets == pytest.approx(dict(layout.subsets) or subsets)
    found = {key: (of["value"], of["of"]) for key, of in overall.get("aggregates", {}).items()}
    assert found.keys() == layout.aggregates.keys()
    for metric, (value, of) in layout.aggregates.items():
        assert found[metric] == (pytest.approx(value), of)
    if layout.clusters is not None:
        assert (overall["clusters"] or overall["answered"]) == layout.clusters
    sent = "\n".join(shown(request.messages) for request in server.requests)
    assert sent.count("[image]") == (layout.pictures or overall["samples"])
    assert layout.prompt in [shown(request.messages) for request in server.requests]
    assert max(map(len, result.outlines)) <= 200


def test_every_shipped_benchmark_has_a_layout_here() -> None:
    shipped = {file.name.removesuffix(".vqa.yaml") for file in shipped_folder().glob("*.vqa.yaml")}
    assert shipped == LAYOUTS.keys() | OLDER
