"""Sources of a spec: their addresses, and what is none."""

import pytest

from pytest_vqaeval.remote.source import Source

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_ENDPOINT", "MODELSCOPE_DOMAIN", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "MODELSCOPE_API_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("hf://datasets/o/d.x/a/b c.zip", "https://huggingface.co/datasets/o/d.x/resolve/main/a/b%20c.zip"),
        (f"hf://datasets/o/d@{COMMIT}/a", f"https://huggingface.co/datasets/o/d/resolve/{COMMIT}/a"),
        ("hf://datasets/o/d@refs%2Fpr%2F1/a", "https://huggingface.co/datasets/o/d/resolve/refs%2Fpr%2F1/a"),
        (
            "modelscope://datasets/o/d/f/a.zip",
            "https://www.modelscope.cn/api/v1/datasets/o/d/repo?Revision=master&FilePath=f/a.zip",
        ),
        (
            "modelscope://datasets/o/d@v1/a&b",
            "https://www.modelscope.cn/api/v1/datasets/o/d/repo?Revision=v1&FilePath=a%26b",
        ),
        ("https://example.org/a.zip?x=1", "https://example.org/a.zip?x=1"),
    ],
)
def test_addresses(text: str, url: str) -> None:
    assert Source(text).url == url


def test_endpoints_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://hf-mirror.example/")
    assert Source("hf://datasets/o/d/a").url == "https://hf-mirror.example/datasets/o/d/resolve/main/a"
    monkeypatch.setenv("MODELSCOPE_DOMAIN", "www.modelscope.ai")
    assert Source("modelscope://datasets/o/d/a").url.startswith("https://www.modelscope.ai/api/v1/datasets/o/d/repo?")
    monkeypatch.setenv("HF_ENDPOINT", "file:///etc")
    with pytest.raises(ValueError, match="HF_ENDPOINT is no http or https URL"):
        _ = Source("hf://datasets/o/d/a").url


@pytest.mark.parametrize(
    "text",
    [
        "file:///etc/passwd",
        "ftp://example.org/a",
        "/etc/passwd",
        "hf://models/o/d/a",
        "hf://datasets/o/a",
        "hf://datasets/o/d@main",
        "https://",
        "https://user:secret@example.org/a",
        "https://example.org/a b",
        "https://[::1/a",
        "https://example.org:99999/a",
        "",
    ],
)
def test_what_is_no_source(text: str) -> None:
    with pytest.raises(ValueError, match="is no source: give hf://"):
        Source(text)


@pytest.mark.parametrize("text", ["hf://datasets/../d/a", "hf://datasets/o/d/../../x", "hf://datasets/o/d/a/.."])
def test_what_leads_out_of_a_repository(text: str) -> None:
    with pytest.raises(ValueError, match="leads out of its repository"):
        Source(text)


def test_tokens_are_those_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    hf, other = Source("hf://datasets/o/d/a"), Source("modelscope://datasets/o/d/a")
    assert (hf.token, other.token, Source("https://example.org/a").token) == (None, None, None)
    monkeypatch.setenv("HUGGING_FACE_HUB_TOKEN", "old")
    monkeypatch.setenv("MODELSCOPE_API_TOKEN", "ms")
    assert (hf.token, other.token) == ("old", "ms")
    monkeypatch.setenv("HF_TOKEN", " new\n")
    assert hf.token == "new"
    assert Source("https://example.org/a").token is None


def test_a_commit_is_pinned() -> None:
    assert Source(f"hf://datasets/o/d@{COMMIT}/a").pinned
    assert not Source("hf://datasets/o/d@main/a").pinned
