"""The one exception tree. Every message is a single line that says what to mend, and where."""

from __future__ import annotations

from enum import Enum


class VqaError(Exception):
    """Base of all errors that the plugin raises on purpose; `str(error)` is fit to be shown to the user."""


class UsageError(VqaError):
    """An option, an environment variable or an ini line that can't be used."""


class SpecError(VqaError):
    """A spec that is itself wrong: names file, line and key."""


class DataError(VqaError):
    """A record, data file or picture that can't be used: names file, line and field."""


class NoReference(DataError):
    """A scorer compares with a reference, and the sample has none."""


class NotJudged(VqaError):
    """The judges gave no verdict on a reply that there is."""


class FatalError(VqaError):
    """No further sample of this run can be answered: the run stops, with this one line."""


class StoreError(FatalError):
    """The run folder can't be written: nothing that follows would be kept."""


class Failure(str, Enum):
    """What a failed request means for the rest of the run."""

    RATE_LIMIT = "rate limit"  # 429: wait, and let everybody wait
    TRANSIENT = "transient"  # 5xx, broken connection, timeout, broken body: try again
    UNREACHABLE = "unreachable"  # refused, no route, no such host: try again, but a first request means a wrong URL
    PERMANENT = "permanent"  # 401, 403, 404, unknown model: no request of this run can succeed
    SAMPLE = "sample"  # 400, 413, content filter: this sample alone


class ModelError(VqaError):
    """No reply.

    Args:
        message: one line for the user, without secrets; `2,000 x message` is how bulk errors are grouped, so nothing
            that changes from sample to sample (an id, a time) belongs in it.
        failure: what it means for the rest of the run.
        status: the HTTP status, if there was one.
        retry_after_s: how long the server asked to wait, in seconds, if it did.
        attempts: how many times the request was sent.
    """

    def __init__(
        self,
        message: str,
        failure: Failure = Failure.TRANSIENT,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        attempts: int = 1,
    ) -> None:
        super().__init__(message)
        self.failure = failure
        self.status = status
        self.retry_after_s = retry_after_s
        self.attempts = attempts


class MissingExtra(VqaError):
    """A part of the plugin whose optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"an extra is missing for {what}: pip install 'pytest-vqaeval[{extra}]'")
        self.extra = extra
