"""A running server, as seen from a shell."""

import json
from collections.abc import Iterator
from typing import Any, Self
from urllib.parse import quote, urlsplit

import httpx2

from agui_gate.cli.program import Failure
from agui_gate.errors import ConfigurationError
from agui_gate.http.auth import is_loopback

TIMEOUT = 15.0
"""Seconds for an answer that needs no work."""

TOOL_TIMEOUT = 330.0
"""Seconds for a decision: an approved tool runs before the answer comes, and may take five minutes."""

SILENCE = 60.0
"""Seconds without a word, not even that it is there, after which a stream counts as broken off."""


class RemoteServer:
    """A client of one server. Raises `Failure` with what the server said, `ConfigurationError` if it isn't there."""

    def __init__(self, url: str, token: str | None) -> None:
        host = _host(url)
        if token is not None and not (token.isascii() and token.isprintable()):
            raise ConfigurationError("--token must be one line of ASCII characters.")
        self._url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx2.Client(
            headers=headers,
            trust_env=not is_loopback(host),  # a proxy has no business on this machine
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def pending(self) -> list[dict[str, Any]]:
        """What waits for this principal, oldest first."""
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            page = self._ask("GET", f"/approvals?limit=100&cursor={quote(cursor, safe='')}")
            found += page["approvals"]
            cursor = page.get("next_cursor")
        return found

    def decided(self) -> list[dict[str, Any]]:
        """What was decided last, newest first: as much as one page has."""
        found: list[dict[str, Any]] = self._ask("GET", "/approvals?state=decided&limit=100")["approvals"]
        return found

    def decide(self, approval_id: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Decide one; the outcome."""
        return self._ask("POST", f"/approvals/{quote(approval_id, safe='')}", payload)

    def follow(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The events of `GET /approvals/events`, each its name and data, until the stream ends for whatever reason.

        Raises `Failure` when the server refuses it or has none, and `ConfigurationError` when nothing is listening.
        """
        timeout = httpx2.Timeout(SILENCE, connect=5.0)
        try:
            with self._http.stream("GET", f"{self._url}/approvals/events", timeout=timeout) as response:
                if not response.is_success or "text/event-stream" not in response.headers.get("content-type", ""):
                    response.read()
                    self._answer(response)
                    raise Failure(f"The server at {self._url} has no approval events. It may be an older version.")
                yield from _events(response.iter_lines())
        except httpx2.ConnectError as error:
            raise self._nobody() from error
        except httpx2.HTTPError:
            return  # it broke off

    def _ask(self, method: str, path: str, payload: dict[str, Any] | None = None) -> dict[str, Any]:
        try:
            limit = TIMEOUT if payload is None else TOOL_TIMEOUT
            timeout = httpx2.Timeout(limit, connect=5.0)
            response = self._http.request(method, self._url + path, json=payload, timeout=timeout)
        except httpx2.TimeoutException as error:
            raise Failure(f"The server at {self._url} took too long to answer.") from error
        except httpx2.HTTPError as error:
            raise self._nobody() from error
        return self._answer(response)

    def _nobody(self) -> ConfigurationError:
        return ConfigurationError(
            f"Nothing is listening at {self._url}. Start a server with `agui-gate serve`, or pass another --url."
        )

    def _answer(self, response: httpx2.Response) -> dict[str, Any]:
        try:
            body = response.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise Failure(f"The server at {self._url} is not an agui-gate server. Check --url.")
        if response.status_code == 401:
            raise Failure("This server requires a token. Pass --token or set AGUI_GATE_TOKEN.")
        if response.is_success:
            return body
        error = body.get("error")
        message = error.get("message") if isinstance(error, dict) else None
        raise Failure(str(message or f"The server answered with status {response.status_code}."))


def _events(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events that have data, of a stream of ours: each has one line of it."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and url.isprintable():
            return parts.hostname
    except ValueError:  # such as half an IPv6 address
        pass
    raise ConfigurationError(f"--url must be an address such as http://127.0.0.1:8000, not {url!r}.")
