"""Where a data file is published: `hf://datasets/OWNER/NAME@REVISION/PATH`, `modelscope://…`, or an https URL.

The addresses are those that the hubs' own tools use, and so are the environment variables: `HF_ENDPOINT`, `HF_TOKEN`
(huggingface_hub), `MODELSCOPE_DOMAIN`, `MODELSCOPE_API_TOKEN` (modelscope).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

_REPOSITORY = re.compile(
    r"(?P<hub>hf|modelscope)://datasets/(?P<name>[\w.-]+/[\w.-]+)(?:@(?P<revision>[^/@]+))?/(?P<path>[^/].*)"
)
FORMS = "hf://datasets/OWNER/NAME@REVISION/PATH, modelscope://datasets/OWNER/NAME@REVISION/PATH or an https URL"


@dataclass(frozen=True)
class _Hub:
    """A hub.

    Attributes:
        file: the address of a file below the endpoint.
        tokens: environment variables that may hold the user's token; the first that is set counts.
    """

    title: str
    endpoint: str
    endpoint_variable: str
    revision: str
    file: str
    tokens: tuple[str, ...]


_HUBS = {
    "hf": _Hub(
        "Hugging Face",
        "https://huggingface.co",
        "HF_ENDPOINT",
        "main",
        "datasets/{name}/resolve/{revision}/{path}",
        ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
    ),
    "modelscope": _Hub(
        "ModelScope",
        "https://www.modelscope.cn",
        "MODELSCOPE_DOMAIN",
        "master",
        "api/v1/datasets/{name}/repo?Revision={revision}&FilePath={path}",
        ("MODELSCOPE_API_TOKEN",),
    ),
}


@dataclass(frozen=True)
class Source:
    """One place that a file is published at: `text` is as the spec writes it."""

    text: str

    def __post_init__(self) -> None:
        """Refuse what is no source.

        Raises:
            ValueError: it is of no known form, or leads out of its repository.
        """
        found = _REPOSITORY.fullmatch(self.text)
        if found and ".." in (found["name"] + "/" + found["path"]).split("/"):
            raise ValueError(f"{self.text!r} leads out of its repository")
        if not found and not _is_web(self.text):
            raise ValueError(f"{self.text!r} is no source: give {FORMS}")

    @property
    def url(self) -> str:
        """The address of the file; the endpoint is that of the environment.

        Raises:
            ValueError: the environment's endpoint is no http URL.
        """
        hub, parts = self._hub
        if hub is None:
            return self.text
        revision = parts["revision"] or hub.revision
        return f"{_endpoint(hub)}/" + hub.file.format(
            name=parts["name"], revision=quote(revision, safe="%"), path=quote(parts["path"])
        )

    @property
    def token(self) -> str | None:
        """The user's token for the hub. It is for the hub alone: never in messages, never to another host.

        Raises:
            ValueError: it can't be in a header; the message names the variable.
        """
        hub, _ = self._hub
        for name in hub.tokens if hub else ():
            if token := os.environ.get(name, "").strip():
                if not re.fullmatch("[!-~]+", token):
                    raise ValueError(f"{name} has a space or another character that no token has")
                return token
        return None

    @property
    def access(self) -> str:
        """What the user does where access is refused."""
        hub, parts = self._hub
        if hub is None:
            return "the server wants credentials, which are not supported here: fetch the file by hand"
        page = f"{_endpoint(hub)}/datasets/{parts['name']}"
        if self.token:
            return f"your token ({self._token_name(hub)}) has no access: ask for it at {page}"
        return f"if it is gated or private, get access at {page} and set {hub.tokens[0]}"

    @property
    def pinned(self) -> bool:
        """The revision is a commit: the bytes can't change, whatever ETag a mirror gives them."""
        return bool(re.search(r"@[0-9a-f]{40}/", self.text))

    @property
    def title(self) -> str:
        """The hub, or the host."""
        hub, _ = self._hub
        return hub.title if hub else urlsplit(self.text).netloc.rpartition("@")[2]

    @property
    def _hub(self) -> tuple[_Hub | None, dict[str, str]]:
        found = _REPOSITORY.fullmatch(self.text)
        return (_HUBS[found["hub"]], found.groupdict()) if found else (None, {})

    @staticmethod
    def _token_name(hub: _Hub) -> str:
        return next(name for name in hub.tokens if os.environ.get(name, "").strip())


@dataclass(frozen=True)
class PublishedFile:
    """A data file that can be fetched.

    Attributes:
        name: where it lies in the benchmark's data folder.
        sources: where it is published, the first one first.
        size: in bytes, verified on the real file; None if nobody did.
        sha256: as 64 hex digits, likewise.
    """

    name: str
    sources: Sequence[Source]
    size: int | None = None
    sha256: str | None = None


def _endpoint(hub: _Hub) -> str:
    own = os.environ.get(hub.endpoint_variable, "").strip().rstrip("/")
    if own and "://" not in own:  # modelscope's variable is a host name
        own = f"https://{own}"
    if own and not _is_web(own):
        raise ValueError(f"{hub.endpoint_variable} is no http or https URL")
    return own or hub.endpoint


def _is_web(text: str) -> bool:
    try:
        parts = urlsplit(text)
        clean = text.isprintable() and " " not in text and parts.username is None  # a secret does not belong there
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and clean
    except ValueError:
        return False
