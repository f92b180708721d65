"""Models: objects with `ask(messages) -> Reply`, and how a name on the command line becomes one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable
from urllib.parse import urlsplit

from pytest_vqaeval.errors import Failure, FatalError, ModelError, UsageError
from pytest_vqaeval.reply import Reply

if TYPE_CHECKING:
    from pytest_vqaeval.question import Message
    from pytest_vqaeval.settings import Settings


@runtime_checkable
class Model(Protocol):
    """A vision-language model.

    An optional attribute `concurrency` says how many threads may ask at once, an optional `close()` ends connections.
    """

    def ask(self, messages: Sequence[Message], /) -> Reply:
        """Ask; messages are in OpenAI's form, pictures are data URLs.

        Raises:
            ModelError: there is no reply.
        """


def model_label(name: str) -> str:
    """What a model is called in reports: without its URL, and without the folder of a replayed file or run."""
    if name.startswith("replay:"):
        place, colons, model = name.removeprefix("replay:").partition("::")
        return f"replay:{Path(place).name}{colons}{model}"
    return name.partition("@http")[0]


def model_labels(names: Sequence[str], option: str = "--vqa-model") -> list[str]:
    """Labels for all models of a run (or all judges); where two would be the same, the host tells them apart.

    Raises:
        UsageError: the same model is named twice.
    """
    if len(set(names)) < len(names):
        raise UsageError(f"{option}: {next(n for n in names if names.count(n) > 1)} is given twice")
    labels = [model_label(name) for name in names]
    return [
        label if labels.count(label) == 1 else _with_place(label, name)
        for label, name in zip(labels, names, strict=True)
    ]


def check_urls(urls: Sequence[str]) -> None:
    """Each server counts once.

    Raises:
        UsageError: one is given twice.
    """
    same = [url.rstrip("/") for url in urls]
    if twice := next((url for url in same if same.count(url) > 1), None):
        parts = urlsplit(twice)
        raise UsageError(f"--vqa-url: {parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path} is given twice")


def _with_place(label: str, name: str) -> str:
    if name.startswith("replay:"):
        return name
    place = urlsplit(name.partition("@")[2])
    return f"{label}@{place.hostname}:{place.port}" if place.hostname else label


def is_built_in(name: str) -> bool:
    """The model needs no server: `demo`, `replay:FILE`."""
    return name == "demo" or name.startswith("replay:")


def served_at(name: str, urls: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """`NAME` or `NAME@URL`: the name that its servers know, and their URLs: `urls` where the name has none."""
    served, at, rest = name.partition("@http")
    return served, (f"http{rest}",) if at else urls


def make_model(name: str, settings: Settings, concurrency: int, options: str = "--vqa") -> Model:
    """The model that `--vqa-model` names.

    Args:
        name: `NAME`, `NAME@URL`, `demo`, or `replay:PATH` with a whole path.
        settings: the run's settings.
        concurrency: how many requests this process keeps in flight.
        options: what the options that set URL and key begin with, for messages.

    Raises:
        UsageError: a file or URL that can't be used.
    """
    if name == "demo":
        from pytest_vqaeval.models.demo import Demo

        return Demo()
    if name.startswith("replay:"):
        from pytest_vqaeval.models.replay import Replay, open_replies

        return Replay(model_label(name), open_replies(name, settings.repeats))
    from pytest_vqaeval.models.openai import OpenAI
    from pytest_vqaeval.models.servers import Servers

    served, urls = served_at(name, settings.url)
    servers = [
        OpenAI(
            name=served,
            url=url,
            api_key=os.environ.get(settings.api_key_env),
            timeout_s=settings.timeout,
            retries=settings.retries,
            generation=dict(settings.generation),
            headers=dict(settings.header),
            concurrency=concurrency,
            options=options,
        )
        for url in urls
    ]
    return servers[0] if len(servers) == 1 else Servers(servers, settings.retries, settings.timeout)


def make_judge(name: str, settings: Settings, concurrency: int) -> Model:
    """The model that `--vqa-judge` names: like others, but a model's key and headers go to no other server.

    Raises:
        UsageError: a URL that can't be used, or no model that could judge.
    """
    if name == "demo" or name.startswith("replay:"):
        raise UsageError(f"--vqa-judge: {name} can't judge; name a model of a server")
    served, urls = served_at(name, (settings.judge_url,) if settings.judge_url else settings.url)
    same = {url.rstrip("/") for url in urls} <= {url.rstrip("/") for url in settings.url}
    own = replace(
        settings,
        url=urls,
        api_key_env=settings.judge_api_key_env or (settings.api_key_env if same else "OPENAI_API_KEY"),
        generation=settings.judge_generation,
        header=settings.header if same else (),
    )
    return make_model(served, own, concurrency, "--vqa-judge")


def as_model(value: Any, name: str) -> Model:
    """What a user's `vqa_model` fixture gives: a model as it is, or a plain function of messages.

    Raises:
        FatalError: neither.
    """
    if callable(getattr(value, "ask", None)):  # isinstance of a protocol takes ten times as long
        return cast(Model, value)
    if callable(value):
        return PlainFunction(value, name)
    raise FatalError(
        f"the fixture vqa_model gave {type(value).__name__}; it must give an object with ask(messages) -> Reply, "
        "or a function of messages that returns a text"
    )


def as_reply(value: Any) -> Reply:
    """What a user's model gave: a Reply as it is, or its text.

    Raises:
        ModelError: neither.
    """
    if isinstance(value, Reply):
        return value
    if isinstance(value, str):
        return Reply(value)
    raise ModelError(f"the model returned {type(value).__name__}, not a text", Failure.SAMPLE)


class PlainFunction:
    """A user's function `messages -> str` (or `-> Reply`) in the place of a model."""

    def __init__(self, function: Callable[[Sequence[Message]], Any], name: str) -> None:
        self._function, self.name = function, name

    def ask(self, messages: Sequence[Message]) -> Reply:
        """Call the function; what it raises is left as it is, so that its traceback shows where."""
        return as_reply(self._function(messages))
