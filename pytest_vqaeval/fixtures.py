"""The fixtures of a sample; each can be replaced in a user's conftest.py. Each forwards."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from pytest_vqaeval.errors import VqaError

if TYPE_CHECKING:
    from pytest_vqaeval.evaluation import Evaluation
    from pytest_vqaeval.reply import Reply
    from pytest_vqaeval.sample import Sample
    from pytest_vqaeval.scoring.base import Score


def fixtures_of(evaluation_of: Callable[[], Evaluation], hook: Any) -> types.ModuleType:
    """The fixtures of a session, as functions of a module: pytest 9.2 warns of those that are methods.

    They know the session without asking for a fixture that does, or for `request`: each fixture that an item asks for
    takes pytest 20 to 50 us, and one of a session or module keeps 0.6 kB of each item's fixture that asked for it. So
    it is the item itself that uses `vqa_model` and `vqa_archive` (`SpecModule`), and `vqa_reply` takes them from there.

    Args:
        evaluation_of: gives what this process has opened for the run.
        hook: pytest's hooks.
    """

    def running_sample() -> Sample:
        from pytest_vqaeval.collect import sample_of

        sample = sample_of(evaluation_of().running.item)
        if sample is None:
            raise pytest.UsageError("vqa_sample is a fixture of samples: this test has none")
        return sample

    @pytest.fixture
    def vqa_sample() -> Sample:
        """The sample that an item asks: its record, subset, category, cluster and question."""
        return running_sample()

    @pytest.fixture(scope="session")
    def vqa_model_name() -> str:
        """The name of the model under evaluation; parametrized where `--vqa-model` is given several times."""
        labels = evaluation_of().labels
        return labels[0] if labels else ""

    @pytest.fixture(scope="session")
    def vqa_model(vqa_model_name: str) -> Any:
        """The model under evaluation: an object with `ask(messages) -> Reply`, or a function `messages -> str`."""
        from pytest_vqaeval.items import open_model

        own = hook.pytest_vqa_model(name=vqa_model_name, settings=evaluation_of().settings)
        with _errors_in_one_line():
            return own if own is not None else open_model(evaluation_of(), vqa_model_name)

    @pytest.fixture(scope="module")
    def vqa_archive() -> Any:
        """The benchmark's media: an object with `read(name) -> bytes`."""
        with _errors_in_one_line():
            return evaluation_of().archive(running_sample().spec)

    @pytest.fixture
    def vqa_reply(vqa_sample: Sample) -> Reply:
        """The model's reply to the sample. No reply is an error of the item, never a wrong answer."""
        from pytest_vqaeval.items import ask

        with _errors_in_one_line():
            return ask(evaluation_of(), vqa_sample)

    @pytest.fixture
    def vqa_score(vqa_sample: Sample, vqa_reply: Reply) -> Score:
        """The verdict on the reply by the scorer that the spec names."""
        from pytest_vqaeval.items import score

        with _errors_in_one_line():
            return score(evaluation_of(), vqa_sample, vqa_reply)

    module = types.ModuleType("vqaeval_fixtures")
    made = (vqa_sample, vqa_model_name, vqa_model, vqa_archive, vqa_reply, vqa_score)
    vars(module).update({fixture.__name__: fixture for fixture in made})
    return module


class _errors_in_one_line:
    """An error that has a message for the user becomes pytest's failure without a traceback (0.3 ms, not 3)."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, VqaError):
            raise pytest.fail.Exception(str(error), pytrace=False) from None
