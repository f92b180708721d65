"""The scriptable model server, with the standard library's client."""

import contextlib
import http.client
import json
import threading
import time
from urllib.parse import urlsplit

import pytest

from pytest_vqaeval import testing
from pytest_vqaeval.testing import Answer, ModelServer, Request

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 200_000}}


@pytest.fixture
def connect():
    """Connections to a server, closed at the end of the test."""
    with contextlib.ExitStack() as stack:

        def connect(server):
            address = urlsplit(server.url)
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=5)
            return stack.enter_context(contextlib.closing(connection))

        yield connect


def ask(connection, text="?", headers=None):
    body = {"model": "m", "messages": [{"role": "user", "content": [PICTURE, {"type": "text", "text": text}]}]}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers or {})
    response = connection.getresponse()
    return response, response.read()


def text_of(content):
    return json.loads(content)["choices"][0]["message"]["content"]


def test_exported_names():
    assert sorted(testing.__all__) == ["Answer", "ModelServer", "Request"]


def test_a_fixed_text_is_a_whole_chat_completion(connect):
    with ModelServer("ANSWER: A") as server:
        response, content = ask(connect(server))
    assert (response.status, response.headers["content-type"]) == (200, "application/json")
    completion = json.loads(content)
    assert completion["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": "ANSWER: A"}, "finish_reason": "stop"}
    ]
    assert completion["usage"] == {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}


def test_a_function_sees_the_request_and_the_connection_is_kept(connect):
    seen = []

    def answer(request: Request) -> str:
        seen.append(request)
        return f"{request.number}: {request.text}"

    with ModelServer(answer) as server:
        connection = connect(server)
        texts = [text_of(ask(connection, text, {"X-Run": "7"})[1]) for text in ("one", "two")]
    assert texts == ["1: one", "2: two"]
    assert seen[0].messages[0]["content"][0] == PICTURE
    assert seen[0].body["model"] == "m"
    assert seen[0].headers["x-run"] == "7"


def test_text_is_that_of_the_last_user_message(connect):
    parts = [{"type": "text", "text": "a"}, PICTURE, {"type": "text", "text": "b"}]
    messages = [{"role": "user", "content": "first"}, {"role": "user", "content": parts}]
    messages.append({"role": "assistant", "content": "hm"})
    with ModelServer("ok") as server:
        connection = connect(server)
        connection.request("POST", "/v1/chat/completions", json.dumps({"messages": messages}))
        connection.getresponse().read()
    assert server.requests[0].text == "a\nb"


@pytest.mark.parametrize("keep", [True, False])
def test_bodies_are_kept_only_if_asked_for(connect, keep):
    with ModelServer("ok", keep_bodies=keep) as server:
        ask(connect(server), "which?")
    assert server.count == 1
    assert server.requests[0].text == "which?"
    assert bool(server.requests[0].messages) is keep


def test_status_headers_and_error_message(connect):
    with ModelServer(lambda request: Answer("slow down", status=429, headers={"Retry-After": "2"})) as server:
        response, content = ask(connect(server))
    assert (response.status, response.headers["Retry-After"]) == (429, "2")
    assert json.loads(content)["error"]["message"] == "slow down"


def test_raw_body_with_a_status_that_has_no_name(connect):
    answer = Answer(status=529, body=b"<html>", headers={"Content-Type": "text/html"})
    with ModelServer(lambda request: answer) as server:
        response, content = ask(connect(server))
    assert (response.status, response.headers["content-type"], content) == (529, "text/html", b"<html>")


def test_a_cut_body(connect):
    with (
        ModelServer(lambda request: Answer("x", cut_after=10)) as server,
        pytest.raises(http.client.IncompleteRead) as e,
    ):
        ask(connect(server))
    assert len(e.value.partial) == 10


def test_latency_comes_before_the_headers_and_a_stall_after_them(connect):
    with ModelServer(lambda request: Answer("x", latency_s=0.15, stall_s=0.15)) as server:
        connection = connect(server)
        started = time.monotonic()
        connection.request("POST", "/v1/chat/completions", '{"messages": [{"role": "user", "content": "?"}]}')
        response = connection.getresponse()
        headers_s = time.monotonic() - started
        response.read()
        body_s = time.monotonic() - started
    assert headers_s >= 0.15
    assert body_s >= headers_s + 0.1


def test_requests_in_flight_are_counted(connect):
    with ModelServer(lambda request: Answer("x", latency_s=0.3)) as server:
        threads = [threading.Thread(target=ask, args=(connect(server),)) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ask(connect(server))
    assert (server.count, server.max_in_flight) == (6, 5)


def test_models_and_unknown_addresses(connect):
    with ModelServer("x") as server:
        connection = connect(server)
        connection.request("GET", "/v1/models")
        assert json.loads(connection.getresponse().read())["data"][0]["object"] == "model"
        connection.request("POST", "/chat/completions", "{}")
        response = connection.getresponse()
        response.read()
    assert (response.status, server.count) == (404, 0)


@pytest.mark.parametrize("body", ["{", "[]", '{"messages": 3}', '{"model": "m"}'])
def test_what_is_no_chat_completion_request_is_refused(connect, body):
    with ModelServer("x") as server:
        connection = connect(server)
        connection.request("POST", "/v1/chat/completions", body)
        assert connection.getresponse().status == 400
    assert server.count == 0


def test_an_exception_of_the_answer_function_comes_out_at_the_end(connect):
    def answer(request):
        raise KeyError("picture")

    with pytest.raises(KeyError, match="picture"), ModelServer(answer) as server:
        response, content = ask(connect(server))
    assert response.status == 400
    assert b"KeyError" in content


def test_it_leaves_no_thread_and_no_socket_and_says_nothing(connect, capfd, recwarn):
    before = threading.active_count()
    with ModelServer(lambda request: Answer("x", latency_s=60)) as server:
        waiting = connect(server)
        waiting.request("POST", "/v1/chat/completions", '{"messages": [{"role": "user", "content": "?"}]}')
        idle = connect(server)
        idle.request("GET", "/v1/models")
        idle.getresponse().read()
        while not server.count:
            time.sleep(0.01)
    assert threading.active_count() == before
    with pytest.raises(ConnectionRefusedError):
        connect(server).connect()
    with pytest.raises(ConnectionError):
        waiting.getresponse()
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list
