"""The OpenAI-compatible client against the scripted server."""

import base64
import contextlib
import hashlib
import json
import socket
import threading
import time

import pytest

from pytest_vqaeval.errors import Failure, ModelError, UsageError
from pytest_vqaeval.media import Encoded
from pytest_vqaeval.models import openai
from pytest_vqaeval.models.chat import Prepared, encode_body
from pytest_vqaeval.models.openai import OpenAI, request_key
from pytest_vqaeval.models.pace import Pace
from pytest_vqaeval.reply import Reply
from pytest_vqaeval.testing import Answer, ModelServer

KEY = "sk-test-0123456789"
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def picture(content=b"picture"):
    return Encoded(f"data:image/png;base64,{base64.b64encode(content).decode()}", hashlib.sha256(content).hexdigest())


def question(text="Is it?", image=None):
    image = picture() if image is None else image
    return [
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": image}}, {"type": "text", "text": text}],
        }
    ]


def completion(**message):
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"completion_tokens": 2}}


def raw(document, **more):
    return lambda request: Answer(body=json.dumps(document).encode(), **more)


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """Waits between attempts take no time; what they would have taken."""
    slept = []
    monkeypatch.setattr(Pace, "sleep", lambda pace, seconds: slept.append(seconds))
    return slept


@pytest.fixture
def model():
    """Makes models, and closes them at the end."""
    with contextlib.ExitStack() as stack:

        def make(server, **settings):
            url = server if isinstance(server, str) else server.url
            made = OpenAI(**{"name": "m", "url": url, "api_key": KEY, "timeout_s": 5, "retries": 0, **settings})
            stack.callback(made.close)
            return made

        yield make


@pytest.fixture
def failure(model):
    """The error of a model whose server answers like this."""

    def ask(answer, **settings):
        with ModelServer(answer) as server, pytest.raises(ModelError) as caught:
            model(server, **settings).ask(question())
        error = caught.value
        error.message = str(error).replace(server.url, "URL")
        return error

    return ask


@contextlib.contextmanager
def in_threads(count, ask):
    """What that many threads get or raise, all of them at the end of the block."""
    results = []

    def run():
        try:
            results.append(ask())
        except ModelError as error:
            results.append(error)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    yield results
    for thread in threads:
        thread.join(5)
    assert not any(thread.is_alive() for thread in threads)


# What is sent


def test_the_body_is_what_json_alone_would_have_made_of_it(model):
    text = 'Ist "das" \\ ein Bild?\n肝脏 \x00 \U0001f600'
    messages = [{"role": "system", "content": "Be brief."}, *question(text), *question("?", picture(bytes(range(256))))]
    with ModelServer("yes", keep_bodies=True) as server:
        model(server, generation={"max_tokens": 5, "chat_template_kwargs": {"thinking": False}}).ask(messages)
    assert server.requests[0].body == {
        "model": "m",
        "messages": json.loads(json.dumps(messages)),
        "temperature": 0,
        "max_tokens": 5,
        "chat_template_kwargs": {"thinking": False},
    }


def test_spliced_bytes_are_those_of_compact_json():
    body = {"messages": [*question("a"), *question("b", picture(b"other"))], "n": 1}
    assert encode_body(body) == json.dumps(body, separators=(",", ":")).encode()


def test_a_lone_surrogate_is_replaced_and_a_pair_of_them_is_joined():
    body = {"messages": question("\ud83d \ud83d\ude00 é")}
    assert json.loads(encode_body(body))["messages"][0]["content"][1]["text"] == "\ufffd \U0001f600 é"


def test_generation_overrides_the_temperature(model):
    with ModelServer("yes", keep_bodies=True) as server:
        model(server, generation={"temperature": 0.7}).ask(question())
    assert server.requests[0].body["temperature"] == 0.7


def test_headers_and_key_are_sent(model):
    with ModelServer("yes") as server:
        model(server, headers={"X-Team": "vqa"}).ask(question())
        model(server, headers={"authorization": "Token 1"}).ask(question())
        model(server, api_key=None).ask(question())
        model(server.url.replace("://", "://me:p%40ss@"), api_key=None).ask(question())
    sent = [request.headers.get("authorization") for request in server.requests]
    assert sent == [f"Bearer {KEY}", "Token 1", None, "Basic " + base64.b64encode(b"me:p@ss").decode()]
    assert server.requests[0].headers["x-team"] == "vqa"
    assert server.requests[0].headers["host"] == server.url.removeprefix("http://").removesuffix("/v1")


@pytest.mark.parametrize("more", ["", "/", "/chat/completions"])
def test_the_base_url_may_be_written_in_several_ways(model, more):
    with ModelServer("yes") as server:
        assert model(server.url + more).ask(question()).text == "yes"


def test_a_prepared_request_is_sent_as_it_is(model):
    answers = iter([Answer(status=500), Answer("yes")])
    with ModelServer(lambda request: next(answers), keep_bodies=True) as server:
        asked = model(server, retries=1)
        asked.ask(Prepared({**asked.body(question()), "model": "other", "seed": 7}))
    body = server.requests[1].body
    assert (body["model"], body["seed"], body["temperature"]) == ("other", 7, 0)
    assert body["messages"][0]["content"][0]["image_url"]["url"] == picture()


def test_one_connection_for_each_thread(model):
    ports = []

    def accept(listener):
        while True:
            try:
                connection, address = listener.accept()
            except OSError:
                return
            ports.append(address[1])
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    def serve(connection):
        body = json.dumps(completion(content="yes")).encode()
        with connection, connection.makefile("rb") as stream:
            while head := list(iter(lambda: stream.readline().strip(), b"")):  # none at the end of the stream
                length = next(int(line.split(b":")[1]) for line in head if b"ontent-" in line and b"th:" in line)
                stream.read(length)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    def ask_thrice():
        for _ in range(3):
            made.ask(question())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        made = model(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
        threads = [threading.Thread(target=ask_thrice) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        made.close()
        listener.shutdown(socket.SHUT_RDWR)
    assert len(ports) == 4


def test_a_proxy_of_the_environment_is_used_unless_no_proxy_names_the_host(model, monkeypatch):
    with ModelServer("direct") as server, ModelServer("proxy") as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        error = None
        try:
            model(server).ask(question())
        except ModelError as caught:  # the scripted server is no proxy, and does not know the absolute address
            error = caught
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert model(server).ask(question()).text == "direct"
    assert error is not None
    assert "no such address: POST http://127.0.0.1" in str(error)
    assert server.count == 1


def test_a_proxy_that_cannot_be_used(model, monkeypatch):
    monkeypatch.setenv("http_proxy", "gopher://user:secret@proxy")
    with pytest.raises(UsageError) as caught:
        model("http://localhost:1/v1")
    assert str(caught.value) == "the proxy that the environment names can't be used; check HTTPS_PROXY, HTTP_PROXY"


def test_certificates_are_loaded_once_and_only_for_https():
    assert not openai._ssl_context(False).get_ca_certs()
    assert openai._ssl_context(True) is openai._ssl_context(True)
    assert openai._ssl_context(True).get_ca_certs()


# The key


def test_equal_requests_have_equal_keys_and_others_do_not():
    def key(text="Is it?", image=b"1", model="m", generation=None, kind="answer", repeat=1):
        return request_key(question(text, picture(image)), model, generation or {"temperature": 0}, kind, repeat)

    assert key() == key()
    others = [
        key(text="Is it!"),
        key(image=b"2"),
        key(model="n"),
        key(generation={"temperature": 1}),
        key(kind="judge"),
        key(repeat=2),
        key(text="\ud800"),
    ]
    assert len({key(), *others}) == 8
    assert all(len(other) == 64 for other in others)


def test_the_order_of_keys_does_not_count_and_a_text_is_no_picture():
    assert request_key([], "m", {"a": 1, "b": 2}, "", 1) == request_key([], "m", {"b": 2, "a": 1}, "", 1)
    text = [{"role": "user", "content": picture().sha256}]
    assert request_key(text, "m", {}, "", 1) != request_key([{"role": "user", "content": picture()}], "m", {}, "", 1)


def test_the_key_of_a_model_is_that_of_the_body_that_it_sends(model):
    plain = model("http://localhost:1/v1", generation={"top_p": 1})
    assert plain.key(question(), "answer", 1) == request_key(
        question(), "m", {"temperature": 0, "top_p": 1}, "answer", 1
    )
    assert plain.key(question(), "answer", 1) == model(
        "https://other/v1", generation={"top_p": 1}, timeout_s=1, api_key=None
    ).key(question(), "answer", 1)
    assert plain.key(Prepared(plain.body(question())), "answer", 1) == plain.key(question(), "answer", 1)
    seeded = Prepared({**plain.body(question()), "seed": 1})
    assert plain.key(seeded, "answer", 1) != plain.key(question(), "answer", 1)


# What comes back


def test_a_reply(model):
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "details": {"cached": 3}, "cost": 0.5, "free": True}
    answer = Answer("ANSWER: A", finish_reason="length", usage=usage, latency_s=0.05)
    with ModelServer(lambda request: answer) as server:
        reply = model(server).ask(question())
    assert reply == Reply("ANSWER: A", "length", {"prompt_tokens": 9, "completion_tokens": 2}, reply.latency_s)
    assert 0.05 <= reply.latency_s < 1


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (completion(content=None), ""),
        (completion(reasoning_content="hm"), ""),
        (completion(content="A", reasoning_content="hm"), "A"),
        (completion(content=[{"type": "text", "text": "A"}, {"type": "other"}, {"type": "text", "text": "B"}]), "AB"),
        ({**completion(content="A"), "error": None, "usage": None}, "A"),
    ],
)
def test_texts(model, document, text):
    with ModelServer(raw(document)) as server:
        assert model(server).ask(question()).text == text


def test_a_content_filter_in_a_normal_reply_is_an_empty_reply(model):
    with ModelServer(lambda request: Answer(None, finish_reason="content_filter")) as server:
        reply = model(server).ask(question())
    assert (reply.text, reply.finish_reason) == ("", "content_filter")


def test_a_compressed_reply(model):
    import gzip

    body = gzip.compress(json.dumps(completion(content="A")).encode())
    with ModelServer(lambda request: Answer(body=body, headers={"Content-Encoding": "gzip"})) as server:
        assert model(server).ask(question()).text == "A"


@pytest.mark.parametrize(
    ("body", "message", "kind"),
    [
        (b"", "HTTP 200 without a reply in it: an empty body", Failure.TRANSIENT),
        (b"<!DOCTYPE html><title>Hi", "HTTP 200 without a reply in it: an HTML page", Failure.TRANSIENT),
        (
            b'{"choices": [{"message": {"cont',
            "HTTP 200 without a reply in it: broken or unknown JSON",
            Failure.TRANSIENT,
        ),
        (b"[" * 100_000, "HTTP 200 without a reply in it: broken or unknown JSON", Failure.TRANSIENT),
        (b"\xff\xfe", "HTTP 200 without a reply in it: \ufffd\ufffd", Failure.TRANSIENT),
        (b"null", "HTTP 200 without a reply in it: null", Failure.TRANSIENT),
        (b"{}", "HTTP 200 without a reply in it", Failure.TRANSIENT),
        (b'{"choices": null}', "HTTP 200 without a reply in it", Failure.TRANSIENT),
        (b'{"choices": []}', "HTTP 200 without a reply in it", Failure.TRANSIENT),
        (b'{"choices": [null]}', "HTTP 200 without a reply in it", Failure.TRANSIENT),
        (b'{"choices": [{"message": null}]}', "HTTP 200 without a reply in it", Failure.TRANSIENT),
        (b'{"choices": [{"message": {"content": 7}}]}', "HTTP 200 without a reply in it", Failure.TRANSIENT),
        (
            b'{"error": {"message": "slow down", "code": 429}}',
            "HTTP 200 without a reply in it",
            Failure.RATE_LIMIT,
        ),
        (
            b'{"error": {"message": "too long", "code": "context_length_exceeded"}}',
            "HTTP 200 without a reply in it: too long",
            Failure.SAMPLE,
        ),
        (
            b'{"choices": [{"message": {"content": "half"}, "error": {"message": "upstream", "code": 502}}]}',
            "HTTP 200 without a reply in it: upstream",
            Failure.TRANSIENT,
        ),
        (b'{"error": "out of memory"}', "HTTP 200 without a reply in it: out of memory", Failure.TRANSIENT),
        (
            b'{"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}',
            "HTTP 200 without a reply in it: bad",
            Failure.SAMPLE,
        ),
    ],
)
def test_success_without_a_reply_is_a_failure(failure, body, message, kind):
    error = failure(lambda request: Answer(body=body))
    assert (error.message, error.failure, error.status) == (message, kind, 200)


# What goes wrong


ADDRESS = "URL/chat/completions"


@pytest.mark.parametrize(
    ("answer", "message", "kind"),
    [
        (
            Answer("Incorrect API key", status=401),
            f"HTTP 401 from {ADDRESS}: the server refuses the API key; check --vqa-api-key-env: Incorrect API key",
            Failure.PERMANENT,
        ),
        (
            Answer("No.", status=403),
            f"HTTP 403 from {ADDRESS}: the server refuses the API key; check --vqa-api-key-env: No.",
            Failure.PERMANENT,
        ),
        (
            Answer("The model `m` does not exist.", status=400),
            f"HTTP 400 from {ADDRESS}: no such model or address; check the model's name, m, and --vqa-url: "
            "The model `m` does not exist.",
            Failure.PERMANENT,
        ),
        (
            Answer(status=404, body=b"nope"),
            f"HTTP 404 from {ADDRESS}: no such model or address; check the model's name, m, and --vqa-url: nope",
            Failure.PERMANENT,
        ),
        (
            Answer(status=307, body=b"moved", headers={"Location": "http://127.0.0.1:1/"}),
            f"HTTP 307 from {ADDRESS}: the server does not take requests at this address; check --vqa-url: moved",
            Failure.PERMANENT,
        ),
        (
            Answer(status=429, body=b'{"error": {"message": "Quota", "code": "insufficient_quota"}}'),
            f"HTTP 429 from {ADDRESS}: the account has no credit left; check --vqa-api-key-env: Quota",
            Failure.PERMANENT,
        ),
        (Answer("at most 4096 tokens", status=400), "HTTP 400: at most 4096 tokens", Failure.SAMPLE),
        (Answer(status=413, body=b"Too\tlarge\x1b[31m\n"), "HTTP 413: Too large\\x1b[31m", Failure.SAMPLE),
        (
            Answer(status=422, body=b'{"detail": [{"loc": ["body"], "msg": "no images", "input": "AAAA"}]}'),
            "HTTP 422: no images",
            Failure.SAMPLE,
        ),
        (Answer("Used 9 of 10", status=429), "HTTP 429", Failure.RATE_LIMIT),
        (Answer("CUDA error", status=500), "HTTP 500: CUDA error", Failure.TRANSIENT),
        (Answer(status=502, body=b"<html>nginx"), "HTTP 502: an HTML page", Failure.TRANSIENT),
    ],
)
def test_error_statuses(failure, answer, message, kind):
    error = failure(lambda request: answer)
    assert (error.message, error.failure, error.status) == (message, kind, answer.status)


def test_without_a_key_the_advice_is_to_set_one(failure):
    error = failure(lambda request: Answer("?", status=401), api_key="", options="--vqa-judge")
    assert error.message == (
        f"HTTP 401 from {ADDRESS}: the server wants an API key and none is set; check --vqa-judge-api-key-env: ?"
    )


def test_long_words_of_the_server_are_cut_to_one_line(failure):
    error = failure(lambda request: Answer("é\u2028" + "word " * 1000, status=400))
    assert len(error.message) == len("HTTP 400: ") + openai.MAX_QUOTE
    assert error.message.startswith("HTTP 400: é word word")
    assert error.message.endswith("…")


def test_ids_do_not_keep_equal_errors_apart(failure):
    said = "req_{n}abcdef {n}1b2c3d4-0000-4000-8000-0123456789ab 0x7f{n} failed"
    messages = {failure(lambda r, n=n: Answer(said.format(n=n), status=500)).message for n in range(3)}
    assert messages == {"HTTP 500: … … … failed"}


def _with_credentials(url):
    return url.replace("://", "://me:hunter22@") + "?sig=hunter23-and-more"


@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_no_secret_is_in_a_message_even_if_the_server_repeats_it(model, status):
    def echo(request):
        sent = request.headers
        said = f"got {sent['authorization']} and {sent['x-token']} and {sent['x-token'].split()[1]} and hunter22"
        return Answer(status=status, body=json.dumps({"error": {"message": said}}).encode())

    with ModelServer(echo) as server, pytest.raises(ModelError) as caught:
        model(_with_credentials(server.url), headers={"X-Token": "Token abc-123"}).ask(question())
    message = str(caught.value)
    assert "got *** and *** and *** and ***" in message
    assert not any(secret in message for secret in (KEY, "abc-123", "hunter", "me:"))


def test_timeout(failure):
    error = failure(lambda request: Answer("late", latency_s=1), timeout_s=0.1)
    assert (error.message, error.failure) == ("no reply within 0.1 s (--vqa-timeout)", Failure.TRANSIENT)


def test_a_stall_in_the_body_is_a_timeout(failure):
    error = failure(lambda request: Answer("late", stall_s=1), timeout_s=0.1)
    assert error.message == "no reply within 0.1 s (--vqa-timeout)"


def test_bytes_that_trickle_do_not_stretch_the_timeout(model):
    def serve(listener):
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in range(100):
                connection.sendall(b" ")
                time.sleep(0.05)

    started = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        with pytest.raises(ModelError, match=r"no reply within 0\.3 s"):
            model(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", timeout_s=0.3).ask(question())
    assert time.monotonic() - started < 2


def test_a_cut_reply(failure):
    error = failure(lambda request: Answer("x" * 100, cut_after=50))
    assert error.failure is Failure.TRANSIENT
    assert error.message == f"the connection to {ADDRESS} broke before the whole reply was there (RemoteProtocolError)"


def test_a_server_that_is_not_there(model):
    with ModelServer("x") as server:
        url = server.url
    with pytest.raises(ModelError) as caught:
        model(url).ask(question())
    assert str(caught.value) == (
        f"no connection to {url}/chat/completions ([Errno 111] Connection refused); check --vqa-url"
    )
    assert (caught.value.failure, caught.value.status) == (Failure.UNREACHABLE, None)


def test_a_host_that_nobody_knows(model, monkeypatch):
    def unknown(*args, **more):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(
        ModelError, match=r"no connection to http://gpu7/v1/chat/completions \(.*\); check --vqa-url"
    ) as caught:
        model("http://gpu7/v1").ask(question())
    assert caught.value.failure is Failure.UNREACHABLE


def test_retries_obey_the_server_and_are_counted(model, waits):
    answers = iter([Answer(status=429, headers={"Retry-After": "0.5"}), Answer(status=500), Answer("x", cut_after=3)])
    with ModelServer(lambda request: next(answers, Answer("yes"))) as server:
        reply = model(server, retries=3).ask(question())
    assert (reply.text, reply.attempts, server.count) == ("yes", 4, 4)
    assert 0.5 <= waits[0] <= 0.55
    assert all(wait <= 2 for wait in waits[1:])


def test_one_429_pauses_all_threads(model):
    came = []

    def answer(request):
        came.append(time.monotonic())
        if request.number == 1:  # late, so that all others are there before
            return Answer(status=429, headers={"Retry-After": "0.5"}, latency_s=0.5)
        return Answer("yes")

    with ModelServer(answer) as server:
        made = model(server, retries=1)
        with in_threads(5, lambda: made.ask(question())) as replies:
            pass
    assert [reply.text for reply in replies] == ["yes"] * 5
    late = [moment - came[0] for moment in came[1:] if moment - came[0] > 0.5]
    assert min(late) >= 1
    assert 0.5 <= made.pace.throttled_s <= 1


def test_no_more_than_the_concurrency_is_in_flight(model):
    with ModelServer(lambda request: Answer("yes", latency_s=0.2)) as server:
        made = model(server, concurrency=2, timeout_s=0.9)
        with in_threads(12, lambda: made.ask(question())) as replies:
            pass
    assert server.max_in_flight == 2
    # neither the timeout nor the latency contains the wait for a turn, a second for the last
    assert all(0.2 <= reply.latency_s < 0.9 for reply in replies)


def test_the_wait_for_a_turn_leaves_the_time_for_retries(model):
    answers = iter([Answer(status=500)])
    with ModelServer(lambda request: next(answers, Answer("yes"))) as server:
        made = model(server, concurrency=1, timeout_s=0.4, retries=1)
        with contextlib.ExitStack() as other:
            other.enter_context(made.pace.turn())
            with in_threads(1, lambda: made.ask(question())) as replies:
                time.sleep(0.9)
                other.close()
    assert [(reply.text, reply.attempts) for reply in replies] == [("yes", 2)]


def test_a_wait_longer_than_a_sample_gets_is_refused_at_once(model):
    with ModelServer(lambda request: Answer(status=429, headers={"Retry-After": "3600"})) as server:
        made = model(server)
        messages = set()
        for _ in range(3):
            with pytest.raises(ModelError) as caught:
                made.ask(question())
            assert caught.value.failure is Failure.RATE_LIMIT
            messages.add(str(caught.value))
    assert server.count == 1
    assert messages == {
        "HTTP 429",
        "HTTP 429: the server asks for a longer wait than a sample gets (--vqa-timeout, --vqa-retries)",
    }


def test_close_ends_the_waits_for_retries_and_for_turns(model, monkeypatch):
    monkeypatch.undo()  # of `waits`
    with ModelServer(lambda request: Answer(status=503, headers={"Retry-After": "2"})) as server:
        made = model(server, concurrency=1, retries=5)
        started = time.monotonic()
        with in_threads(3, lambda: made.ask(question())) as errors:
            while server.count < 3:
                time.sleep(0.01)
            made.close()
    assert time.monotonic() - started < 1
    assert {str(error) for error in errors} == {"the run ended before this sample was asked"}
    assert server.count == 3


def test_a_dead_server_is_given_up_and_taken_up_again(model, waits):
    with ModelServer("x") as server:
        made = model(server, retries=2)
        made.ask(question())
    for attempts in (3, 3, 3, 1, 1):
        with pytest.raises(ModelError) as caught:
            made.ask(question())
        assert caught.value.attempts == attempts
    assert len(waits) == 6


def test_a_kept_error_does_not_keep_the_request(model):
    def answer(request):
        return Answer(status=500) if request.text == "500" else Answer("x", cut_after=1)

    with ModelServer(answer) as server:
        made = model(server)
        for text in ("500", "cut"):
            with pytest.raises(ModelError) as caught:
                made.ask(question(text))
            assert caught.value.__context__ is None
            trace = caught.value.__traceback__
            while trace is not None:
                assert not any(isinstance(value, bytes) for value in trace.tb_frame.f_locals.values())
                trace = trace.tb_next


# What can't be used


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"url": "localhost:8000/v1"},
            "'localhost:8000/v1' is not a URL such as http://localhost:8000/v1; check --vqa-url",
        ),
        (
            {"url": "ftp://me:pw@host"},
            "'ftp://***@host' is not a URL such as http://localhost:8000/v1; check --vqa-url",
        ),
        ({"url": "http://"}, "'http://' is not a URL such as http://localhost:8000/v1; check --vqa-url"),
        ({"url": "http://h\n/v1"}, "'http://h\\n/v1' is not a URL such as http://localhost:8000/v1; check --vqa-url"),
        ({"url": "http://h:99999"}, "'http://h:99999' is not a URL such as http://localhost:8000/v1; check --vqa-url"),
        ({"url": ""}, "'' is not a URL such as http://localhost:8000/v1; check --vqa-url"),
        (
            {"api_key": "sk-secret\n"},
            "the API key has a line break or another character that can't be in a header; check --vqa-api-key-env",
        ),
        (
            {"headers": {"X-A": "sécret"}},
            "the header X-A has a line break or another character that can't be in a header; check --vqa-header",
        ),
        ({"headers": {"X-A: secret": "1"}}, "a header's name is not valid after 'X-A'; check --vqa-header"),
        ({"headers": {"": "1"}}, "a header's name is not valid after ''; check --vqa-header"),
        ({"headers": {"Content-length": "1"}}, "the header Content-length is not yours to set; check --vqa-header"),
        ({"generation": {"stream": True}}, "--vqa-generation stream=… can't be used: the plugin decides on it"),
        ({"generation": {"messages": []}}, "--vqa-generation messages=… can't be used: the plugin decides on it"),
        (
            {"generation": {"model": "n"}, "options": "--vqa-judge"},
            "--vqa-judge-generation model=… can't be used: the plugin decides on it",
        ),
    ],
)
def test_settings_that_cannot_be_used(settings, message):
    with pytest.raises(UsageError) as caught:
        OpenAI(**{"name": "m", "url": "http://localhost:1/v1", **settings})
    assert str(caught.value) == message


def test_a_host_that_no_name_can_be(model):
    with pytest.raises(UsageError) as caught:
        model("http://\u00ad./v1")
    assert str(caught.value).endswith("check --vqa-url")


@pytest.mark.parametrize("value", [float("nan"), {1, 2}])
def test_a_body_that_json_cannot_express(model, value):
    with pytest.raises(UsageError, match=r"the request can't be written as JSON .*; check --vqa-generation and hooks"):
        model("http://localhost:1/v1", generation={"top_p": value}).ask(question())
