"""The one way from a sample to its reply: load the media, look into the store, ask the model, store what came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_vqaeval.errors import Failure, FatalError, ModelError
from pytest_vqaeval.media import Encoded, MediaCache, Reader
from pytest_vqaeval.models import Model
from pytest_vqaeval.models.chat import request_key
from pytest_vqaeval.question import Message, Question, values_in
from pytest_vqaeval.replies import ReplyStore
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.results import Identity
from pytest_vqaeval.sample import Sample


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its reply.

    Attributes:
        media: what was sent, described for people, in order; the media themselves are not held any longer. None where
            nothing was sent (stored replies).
        key: hash of the exact request; None where nothing was sent.
    """

    question: Question
    reply: Reply
    media: tuple[str, ...] | None = None
    key: str | None = None


class Asker:
    """Asks. Safe to use from several threads, if the model is."""

    def __init__(self, replies: ReplyStore, media: MediaCache) -> None:
        self._replies, self._media = replies, media
        self._answered = False

    def ask(self, sample: Sample, model: Model, label: str, reader: Reader) -> Asked:
        """Ask a sample's question, unless the store has the reply.

        Raises:
            DataError: the record or a medium can't be used.
            ModelError: no reply.
            FatalError: no sample can be answered, or the reply can't be stored.
        """
        question = sample.question()
        stored = getattr(model, "reply_for", None)
        if stored is not None:
            return Asked(question, stored(sample))
        messages = self._media.load(question.messages, reader)
        key = _key(model, messages, label, sample.repeat)
        identity = Identity(sample.benchmark, sample.subset, sample.id, sample.repeat, label)
        reply = self._replies.find(key, identity)
        if reply is None:
            reply = self._ask(model, messages)
            self._replies.add(key, identity, reply)
        return Asked(question, reply, tuple(str(medium) for medium in values_in(messages, Encoded)), key)

    def _ask(self, model: Model, messages: Sequence[Message]) -> Reply:
        try:
            reply = model.ask(messages)
        except ModelError as error:
            hopeless = error.failure is Failure.PERMANENT
            if hopeless or (error.failure is Failure.UNREACHABLE and not self._answered):
                raise FatalError(str(error)) from None
            raise
        self._answered = True
        return reply


def _key(model: Model, messages: Sequence[Message], label: str, repeat: int) -> str:
    """Models that add to a request know its key; for others the messages and the name are all there is."""
    own = getattr(model, "key", None)
    return own(messages, "answer", repeat) if own else request_key(messages, label, {}, "answer", repeat)
