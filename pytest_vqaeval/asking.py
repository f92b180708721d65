"""The one way from a sample to its reply: load the media, look into the store, ask the model, store what came."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from pytest_vqaeval.errors import DataError, Failure, FatalError, ModelError
from pytest_vqaeval.judging.panel import Judged
from pytest_vqaeval.media import Encoded, MediaCache, Reader
from pytest_vqaeval.models import Model, as_reply
from pytest_vqaeval.models.chat import Prepared, map_pictures, request_key
from pytest_vqaeval.question import Message, Question, plain_text, values_in
from pytest_vqaeval.replies import ReplyStore
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.results import Identity
from pytest_vqaeval.sample import Sample
from pytest_vqaeval.turns import TURNS

Change = Callable[[dict[str, Any]], dict[str, Any]]
"""Gives the body that is sent in the place of the one it is given, which it may change."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its reply.

    Attributes:
        media: what was sent, described for people, in order; the media themselves are not held any longer. None where
            nothing was sent (stored replies).
        resized: those of them that were made smaller.
        key: hash of the exact request; None where nothing was sent.
        sent: the text that was sent, if not that of the question's messages: a hook changed it.
        judged: what the judges made of it, or why that failed, where they were asked ahead too.
    """

    question: Question
    reply: Reply
    media: tuple[str, ...] | None = None
    key: str | None = None
    sent: str | None = None
    judged: Future[Judged] | None = None
    resized: tuple[str, ...] = ()


class Asker:
    """Asks. Safe to use from several threads, if the model is."""

    def __init__(self, replies: ReplyStore, media: MediaCache) -> None:
        self.replies, self._media = replies, media
        self.answered: set[int] = set()  # the models that gave a reply, by their id()

    def ask(self, sample: Sample, model: Model, label: str, reader: Reader, change: Change | None = None) -> Asked:
        """Ask a sample's question, unless the store has the reply.

        Args:
            sample: whose question it is.
            model: who is asked.
            label: the model's name in the run.
            reader: the benchmark's media.
            change: sees the whole request, where the model tells it, before it is sent.

        Raises:
            DataError: the record or a medium can't be used.
            ModelError: no reply.
            FatalError: no sample can be answered, or the reply can't be stored.
        """
        question = sample.question()
        stored = getattr(model, "reply_for", None)
        if stored is not None:
            return Asked(question, stored(sample))
        try:
            loaded = self._media.load(question.messages, reader)
        except DataError as error:
            raise DataError(f"{sample.where}: {error}") from None
        messages = _changed(loaded, model, change) if change else loaded
        line = ModelLine(self, model, label, identity_of(sample, label))
        key = line.key(messages)
        reply = line.find(key) or line.ask(messages, key)
        media = values_in(messages, Encoded)
        resized = tuple(str(medium) for medium in media if medium.resized_from)
        shown = _shown(messages) if change else None
        return Asked(question, reply, tuple(map(str, media)), key, shown, resized=resized)

    def pictures(self, question: Question, reader: Reader) -> list[Message]:
        """The parts of a question's messages that are pictures, loaded.

        Raises:
            DataError: a picture can't be used.
        """
        messages = self._media.load(question.messages, reader)
        parts = (part for message in messages if isinstance(message["content"], list) for part in message["content"])
        return [part for part in parts if part["type"] == "image_url"]


def _changed(messages: list[Message], model: Model, change: Change) -> list[Message]:
    """What is sent in the place of the messages. The change gets a copy: messages are not its to keep or spoil."""
    body_of: Callable[[Sequence[Message]], dict[str, Any]] | None = getattr(model, "body", None)
    if body_of is None:
        return messages
    return Prepared(change(map_pictures(body_of(messages), lambda picture: picture)))


def _shown(messages: Sequence[Message]) -> str | None:
    try:
        return "\n".join(f"{message['role']}: {plain_text(message)}" for message in messages)
    except (LookupError, TypeError, AttributeError):
        return None  # a form that only the hook's author and the server know


def identity_of(sample: Sample, label: str) -> Identity:
    """Whose reply it is."""
    return Identity(sample.benchmark, sample.subset, sample.id, sample.repeat, label)


@dataclass(frozen=True, slots=True)
class ModelLine:
    """The way to a model for one sample: what is asked is stored, what is stored is found again.

    Attributes:
        label: the name of the model that is asked.
        identity: whose reply it is; of a verdict, whose reply is judged.
        kind: what is asked for: `answer`, or the verdict of a `judge`.
    """

    asker: Asker
    model: Model
    label: str
    identity: Identity
    kind: str = "answer"

    def key(self, messages: Sequence[Message]) -> str:
        """Models that add to a request know its key; for others the messages and the name are all there is."""
        own = getattr(self.model, "key", None)
        repeat = self.identity.repeat
        return own(messages, self.kind, repeat) if own else request_key(messages, self.label, {}, self.kind, repeat)

    def find(self, key: str) -> Reply | None:
        """The reply that the store has."""
        return self.asker.replies.find(key, self.identity)

    def ask(self, messages: Sequence[Message], key: str) -> Reply:
        """Ask, and store the reply.

        Raises:
            ModelError: no reply.
            FatalError: no further sample will get one, or the reply can't be stored.
        """
        answered = self.asker.answered
        try:
            with TURNS.away():
                reply = as_reply(self.model.ask(messages))
        except ModelError as error:
            hopeless = error.failure is Failure.PERMANENT
            if hopeless or (error.failure is Failure.UNREACHABLE and id(self.model) not in answered):
                raise FatalError(str(error)) from None
            raise
        answered.add(id(self.model))
        self.asker.replies.add(key, self.identity, reply, kind=self.kind, asked=self.label)
        return reply
