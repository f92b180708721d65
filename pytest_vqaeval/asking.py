"""The one way from a sample to its reply: load the media, ask the model, store what came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_vqaeval.media import MediaCache, Reader
from pytest_vqaeval.models import Model
from pytest_vqaeval.models.chat import request_key
from pytest_vqaeval.question import Message, Question
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.sample import Sample
from pytest_vqaeval.store import RunFolder


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its reply.

    Attributes:
        messages: as they were sent, media loaded; empty where nothing was sent (stored replies).
        key: hash of the exact request; None where nothing was sent.
    """

    question: Question
    messages: Sequence[Message]
    reply: Reply
    key: str | None


class Asker:
    """Asks in place: an item waits for its own reply."""

    def __init__(self, folder: RunFolder | None, worker: str) -> None:
        self._folder, self._worker = folder, worker
        self._media = MediaCache()

    def ask(self, sample: Sample, model: Model, label: str, reader: Reader) -> Asked:
        """Ask a sample's question.

        Raises:
            DataError: the record or a medium can't be used.
            ModelError: no reply.
        """
        question = sample.question()
        stored = getattr(model, "reply_for", None)
        if stored is not None:
            return Asked(question, (), stored(sample), None)
        messages = self._media.load(question.messages, reader)
        key = self._key(model, messages, label, sample.repeat)
        reply = model.ask(messages)
        self._store(sample, label, key, reply)
        return Asked(question, messages, reply, key)

    def _key(self, model: Model, messages: Sequence[Message], label: str, repeat: int) -> str:
        """Models that add to a request know its key; for others the messages and the name are all there is."""
        own = getattr(model, "key", None)
        return own(messages, "answer", repeat) if own else request_key(messages, label, {}, "answer", repeat)

    def _store(self, sample: Sample, label: str, key: str, reply: Reply) -> None:
        if self._folder is None:
            return
        row = {
            "key": key,
            "kind": "answer",
            "benchmark": sample.benchmark,
            "subset": sample.subset,
            "id": sample.id,
            "repeat": sample.repeat,
            "model": label,
            "reply": reply.text,
            "finish_reason": reply.finish_reason,
            "usage": dict(reply.usage),
            "latency_s": reply.latency_s and round(reply.latency_s, 4),
            "attempts": reply.attempts,
        }
        self._folder.add_reply(self._worker, row)
