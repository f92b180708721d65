"""What a failed request means and when it is worth another try: policy alone, without a network."""

from __future__ import annotations

import math
import random as _random
import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime

from pytest_vqaeval.errors import Failure, ModelError
from pytest_vqaeval.reply import Reply

BACKOFF_S = 0.5
"""Upper end of the wait before the first retry, in seconds; it doubles with each further one."""
MAX_BACKOFF_S = 30.0

# Error codes and types of OpenAI-compatible servers (OpenAI, Azure, vLLM, Anthropic's types at OpenRouter), as the HTTP
# status that they stand for.
_STATUS_OF_NAME = {
    "context_length_exceeded": 400,
    "string_above_max_length": 400,
    "content_filter": 400,
    "content_policy_violation": 400,
    "invalid_request_error": 400,
    "badrequesterror": 400,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "insufficient_quota": 402,  # sent with a 429, but no wait ends it
    "permission_error": 403,
    "model_not_found": 404,
    "deploymentnotfound": 404,
    "not_found_error": 404,
    "notfounderror": 404,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "server_error": 500,
    "api_error": 500,
    "overloaded_error": 529,
}
# "The model `x` does not exist.", 'model "x" not found', "Model Not Exist"; not "the model ... image not found"
_UNKNOWN_MODEL = re.compile(
    r"\bmodel:?\s+(?:\S{1,200}\s+)?(?:(?:is|was)\s+)?(?:not found|(?:does not|doesn't|not) exist)\b", re.IGNORECASE
)
_WORTH_ANOTHER_TRY = (Failure.RATE_LIMIT, Failure.TRANSIENT, Failure.UNREACHABLE)
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")


def meant_status(status: int, code: object = None, kind: object = None, message: str = "") -> int:
    """The HTTP status that a failed reply means, which is not always the one that it came with.

    Args:
        status: the HTTP status of the response.
        code: `error.code` of its body; a name (`context_length_exceeded`) says more than the status, a number counts
            only where the response pretends success.
        kind: `error.type` of its body, heard last: OpenAI sends `invalid_request_error` with a 401 and a 404 too.
        message: `error.message` of its body; some servers report an unknown model as a plain 400.
    """
    if (named := _STATUS_OF_NAME.get(str(code).lower())) is not None:
        return named
    if status < 300:
        number = int(str(code)) if re.fullmatch(r"[45]\d\d", str(code)) else 0
        status = number or _STATUS_OF_NAME.get(str(kind).lower(), status)
    return 404 if status in (400, 422) and _UNKNOWN_MODEL.search(message) else status


def failure_of_status(status: int) -> Failure:
    """What a status (as `meant_status` gives it) means for the rest of the run.

    A success status means that the reply could not be read, and a redirect that the URL is wrong: none is followed, for
    the key would go with it.
    """
    if status == 429:
        return Failure.RATE_LIMIT
    if status < 300 or status in (408, 409, 425) or status >= 500:
        return Failure.TRANSIENT
    if status < 400 or status in (401, 402, 403, 404, 405):
        return Failure.PERMANENT
    return Failure.SAMPLE


def failure_of_exception(error: BaseException, *, connecting: bool) -> Failure:
    """What a connection's exception means: another try may help, except where the server's certificate is refused.

    Args:
        error: what was raised; its causes count too.
        connecting: whether it was raised before there was a connection.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Failure.PERMANENT
        cause = cause.__cause__ or cause.__context__
    return Failure.UNREACHABLE if connecting else Failure.TRANSIENT


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """How many seconds the server asks to wait, or None if it does not say.

    The first of these that can be read: `retry-after-ms`; `retry-after` in seconds or as an HTTP-date (RFC 9110,
    section 10.2.3); the `x-ratelimit-reset*` headers.

    Args:
        headers: of the response, with names in lower case.
        now: seconds since the epoch, which dates are compared with.
    """
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if (seconds := _number(value)) is not None:
        return seconds
    if value is not None and (moment := _http_date(value)) is not None:
        return max(0.0, moment - now)
    return _reset_s(headers, now)


def _reset_s(headers: Mapping[str, str], now: float) -> float | None:
    """The wait by `x-ratelimit-reset*`: until all that is used up is filled again, else until the first is."""
    waits: dict[bool, list[float]] = {True: [], False: []}
    for name, value in headers.items():
        if name.startswith("x-ratelimit-reset") and (wait := _duration(value, now)) is not None:
            remaining = headers.get(name.replace("reset", "remaining"), "0").strip()
            waits[remaining == "0"].append(wait)
    return max(waits[True]) if waits[True] else min(waits[False], default=None)


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "nan")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _http_date(value: str) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None


def _duration(value: str, now: float) -> float | None:
    """`6m0s`, `120ms` (OpenAI), seconds, or a moment in seconds or milliseconds since the epoch (OpenRouter)."""
    number = _number(value)
    if number is not None:
        moment = number / 1000 if number > 1e11 else number
        return max(0.0, moment - now) if moment > 1e9 else moment
    match = _DURATION.fullmatch(value.strip())
    if match is None or not match[0]:
        return None
    units = (86400, 3600, 60, 1, 0.001)
    return float(sum(unit * float(count or 0) for unit, count in zip(units, match.groups(), strict=True)))


def wait_s(attempt: int, asked_s: float | None, chance: float) -> float:
    """Seconds to wait after the failed attempt number `attempt` (from 1).

    Exponential backoff with full jitter (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
    What the server asked for is the least, spread by up to a tenth lest all come back in the same moment.

    Args:
        attempt: how many attempts have failed.
        asked_s: the server's own wish, see `retry_after_s`.
        chance: uniform in [0, 1).
    """
    backoff = chance * min(MAX_BACKOFF_S, BACKOFF_S * 2.0 ** min(attempt - 1, 16))
    return backoff if asked_s is None else max(backoff, asked_s * (1 + chance / 10))


def ask_with_retries(
    send: Callable[[], Reply],
    *,
    retries: int,
    total_s: float,
    sleep: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    random: Callable[[], float] = _random.random,
) -> Reply:
    """Call `send` until it gives a reply; the reply says how many attempts it took.

    Args:
        send: one attempt, or several in a row if its reply or error says so.
        retries: how many more attempts may follow the first. A rate limit uses none of them up, as it says nothing
            about the request; only with 0 it is not tried again either.
        total_s: seconds from now after which no further attempt begins.
        sleep: waits that many seconds.
        clock: seconds from an arbitrary moment.
        random: uniform in [0, 1).

    Raises:
        ModelError: of the last attempt, with `attempts` set: it was permanent or concerns this sample alone, the
            attempts are used up, or the next wait would end after `total_s`.
    """
    deadline = clock() + total_s
    attempt, failed = 1, 0
    before = 0  # requests of earlier attempts
    while True:
        try:
            reply = send()
            return replace(reply, attempts=before + reply.attempts)
        except ModelError as error:
            before += error.attempts
            error.attempts = before
            failed += error.failure is not Failure.RATE_LIMIT
            if failed > retries or retries == 0 or error.failure not in _WORTH_ANOTHER_TRY:
                raise
            wait = wait_s(attempt, error.retry_after_s, random())
            if clock() + wait > deadline:
                raise
        sleep(wait)
        attempt += 1


class Patience:
    """Retries as long as the server seems to live; safe to share between threads.

    After `limit` samples in a row that got no HTTP response in all their attempts the server counts as down, and
    each further sample is tried once only, until one gets a reply: thousands of samples against a dead server end in
    seconds.
    """

    def __init__(self, limit: int = 3) -> None:
        self._limit = limit
        self._row = 0
        self._lock = threading.Lock()

    def retries(self, wanted: int) -> int:
        """How many retries the next sample gets, out of the `wanted` ones."""
        return 0 if self._row >= self._limit else wanted

    def note(self, error: ModelError | None) -> None:
        """Take in what became of a sample after its last attempt; None is a reply."""
        with self._lock:
            if error is None:
                self._row = 0
            elif error.status is None:
                self._row += 1
            elif self._row < self._limit:  # a response, if no reply, of a server not known to be down
                self._row = 0


def ask_patiently(
    send: Callable[[], Reply],
    patience: Patience,
    *,
    retries: int,
    total_s: float,
    sleep: Callable[[float], object],
    clock: Callable[[], float],
) -> Reply:
    """`ask_with_retries`, with as many retries as the state of the server is worth.

    Raises:
        ModelError: there was no reply.
    """
    try:
        reply = ask_with_retries(send, retries=patience.retries(retries), total_s=total_s, sleep=sleep, clock=clock)
    except ModelError as error:
        patience.note(error)
        raise error.with_traceback(None)  # noqa: B904  (kept with its frames it would keep the pictures alive)
    patience.note(None)
    return reply
