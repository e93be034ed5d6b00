"""A connection to one agent's address: requests to it, and what its answers may cost.

Theory of operation
-------------------
A run is one POST, and its answer a stream of frames. `Limits` bounds everything that a peer may do: silence, time and
size. What can't be read any more is a `ClientError`, whose message has nothing of the peer's in it.
Nothing is ever unpacked: a few packed bytes may stand for gigabytes. Redirects are not followed: headers have secrets.

A connection that breaks in mid-run is taken up again where the peer can: it names its run in the header
``AGUI-Run-Key`` and its frames in ``id:`` lines, and has `GET /runs/{key}/events`. Nothing is posted twice by itself:
a POST that failed may have begun a run.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit, urlunsplit

import anyio
import msgspec

from agui_gate.client.errors import BrokenOff, ClientError, Malformed, Refused, TooMuch, TooSlow, Unreachable
from agui_gate.client.events import Json
from agui_gate.concurrency import off_loop
from agui_gate.core.sse import SSESplitter
from agui_gate.errors import ConfigurationError, ProviderUnavailable

if TYPE_CHECKING:
    import httpx2

MAX_ERROR_BODY = 64 * 1024
CLOSE_SECONDS = 2.0
MAX_WORD = 256
"""Characters of a run's key, and of an event's id."""
_PLAIN = {"Accept-Encoding": "identity"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits what a peer may take of this process, in seconds and bytes.

    ``idle`` is without a byte, comments included; ``total`` is for a run as a whole, with all that it takes to come
    back to it. ``linger``: how long a body may stay open after the run's end.
    """

    connect: float = 10.0
    idle: float = 120.0
    total: float = 1800.0
    linger: float = 2.0
    event: int = 10 * 1024 * 1024
    stream: int = 64 * 1024 * 1024
    attempts: int = 5
    """Times that a broken stream is taken up again, without anything new in between."""


class Frames(SSESplitter):
    """A splitter that knows the id of the last whole frame."""

    __slots__ = ("_next", "last_id")

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.last_id = self._next = ""

    def _frames(self, lines: list[bytes]) -> list[bytes]:
        for line in lines:
            if line.startswith(b"id:"):
                self._next = printable_id(line[3:].strip()) or self._next
            elif not line:
                self.last_id = self._next or self.last_id
        return super()._frames(lines)


def printable_id(told: bytes) -> str:
    """Returns a name that a peer gave something, if it can be said back in a request: printable ASCII. "" if it
    can't.
    """
    text = told.decode("ascii", "replace")
    return text if len(text) <= MAX_WORD and text.isascii() and text.isprintable() else ""


class Connection:
    """Requests to one agent. ``http`` is the caller's own client, which is never closed here."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        limits: Limits,
        http: "httpx2.AsyncClient | None" = None,
    ) -> None:
        parts = _split(url)
        self.url, self.limits = url, limits
        self._headers, self._given, self._own = dict(headers), http, None if http is None else http
        base, _, name = parts.path.rstrip("/").rpartition("/agents/")
        named = bool(name) and "/" not in name and "/agents/" in parts.path
        path = base if named else parts.path.rstrip("/")
        self.base = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        """The server that the agent is on, if it is an agui-gate."""
        self.agent = name if named else ""
        self._nobody = f"Nothing is listening at {parts.scheme}://{parts.netloc.rpartition('@')[2]}."

    async def aclose(self) -> None:
        """Closes what was opened here. Safe to call twice."""
        own, self._own = self._own, None
        if own is not None and own is not self._given:
            await own.aclose()

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        body: Json | None = None,
        headers: Mapping[str, str] | None = None,
        large: bool = False,
    ) -> AsyncGenerator["httpx2.Response", None]:
        """Opens the response to a request, its body unread, if it is a stream of events. Raises `ClientError`.

        ``large``: to write the body as JSON takes so long that others would notice, so it is done beside the loop.
        """
        import httpx2

        head = {
            "Accept": "text/event-stream",
            "Cache-Control": "no-cache",
            **_PLAIN,
            **self._headers,
            **(headers or {}),
        }
        content = None if body is None else await off_loop(_encoded, body) if large else _encoded(body)
        if content is not None:
            head["Content-Type"] = "application/json"
        timeout = httpx2.Timeout(self.limits.idle, connect=self.limits.connect)
        request = self._http().build_request(method, url, content=content, headers=head, timeout=timeout)
        async with self._sent(request) as response:
            await self._check(response)
            yield response

    @asynccontextmanager
    async def _sent(self, request: "httpx2.Request") -> AsyncGenerator["httpx2.Response", None]:
        import httpx2

        try:
            response = await self._http().send(request, stream=True, follow_redirects=False)
        except httpx2.ConnectTimeout as error:
            raise Unreachable(self._nobody) from error
        except httpx2.TimeoutException as error:
            raise TooSlow(f"The agent sent nothing for {self.limits.idle:g} seconds.") from error
        except (httpx2.ConnectError, httpx2.UnsupportedProtocol) as error:
            raise Unreachable(self._nobody) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise Unreachable("The agent closed the connection without an answer.", sent=True) from error
        try:
            yield response
        finally:
            await _closed(response)

    async def _check(self, response: "httpx2.Response") -> None:
        media = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code != 200:
            raise Refused(response.status_code, await self._error_body(response))
        if media != "text/event-stream":
            raise Malformed("This is not an AG-UI server: its response is not an event stream.")
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise Malformed("The agent compresses its response, which was not requested.")

    async def _error_body(self, response: "httpx2.Response") -> bytes:
        import httpx2

        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.connect):
                await _read(response, body, MAX_ERROR_BODY)
        except (TimeoutError, httpx2.HTTPError, httpx2.StreamError):
            pass  # what came is enough
        return bytes(body)

    async def payloads(self, response: "httpx2.Response", frames: Frames) -> AsyncGenerator[list[bytes], None]:
        """Yields the payloads of a stream, as they come. Raises `ClientError`; `BrokenOff` where the connection was
        lost.
        """
        import httpx2

        taken = 0
        try:
            async for piece in response.aiter_raw():
                taken += len(piece)
                if taken > self.limits.stream:
                    raise TooMuch(f"The agent sent more than {self.limits.stream:,} bytes in one run.")
                if payloads := frames.feed(piece):
                    if max(map(len, payloads)) > self.limits.event:
                        raise self._too_large()
                    yield payloads
            if payloads := [payload for payload in frames.flush() if payload.endswith(b"}")]:
                yield payloads
        except ProviderUnavailable as error:
            raise self._too_large() from error
        except httpx2.TimeoutException as error:
            raise TooSlow(f"The agent sent nothing for {self.limits.idle:g} seconds.") from error
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            raise BrokenOff("The connection to the agent was lost.") from error

    def _too_large(self) -> TooMuch:
        return TooMuch(f"The agent sent an event of more than {self.limits.event:,} bytes.")

    async def ask(self, method: str, path: str, body: Json | None = None) -> Any:
        """Asks as `asked` does. Never raises but when cancelled."""
        try:
            return await self.asked(method, path, body)
        except Unreachable:
            return None

    async def asked(self, method: str, path: str, body: Json | None = None) -> Any:
        """Returns the JSON answer of one of agui-gate's own routes; None if there is none. Raises `Unreachable`."""
        try:
            status, said = await self.reply(method, path, body, seconds=self.limits.connect, most=self.limits.event)
            return msgspec.json.decode(said) if 200 <= status < 300 else None
        except Unreachable as error:
            if not error.sent:
                raise
            return None
        except (ClientError, ValueError, RecursionError):
            return None

    async def reply(
        self, method: str, path: str, body: Json | None = None, *, seconds: float, most: int
    ) -> tuple[int, bytes]:
        """Returns the status and the body that one of agui-gate's own routes answers. Raises `ClientError`.

        The answer may take ``seconds`` from the first byte that is sent to its own last one, and have ``most`` bytes.
        """
        import httpx2

        head, said = _PLAIN | self._headers, bytearray()
        timeout = httpx2.Timeout(seconds, connect=self.limits.connect)
        try:
            request = self._http().build_request(method, self.base + path, json=body, headers=head, timeout=timeout)
            async with asyncio.timeout(seconds), self._sent(request) as response:
                await _read(response, said, most + 1)
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise TooSlow(f"The agent's answer took more than {seconds:g} seconds.") from error
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            raise BrokenOff("The connection to the agent was lost.") from error
        except httpx2.InvalidURL as error:
            raise Malformed("The agent named an address that can't be requested.") from error
        if len(said) > most:
            raise TooMuch(f"The agent's response has more than {most:,} bytes.")
        return response.status_code, bytes(said)

    async def agent_name(self) -> str:
        """Returns the agent's name on an agui-gate; "" if it isn't known. Raises `Unreachable`."""
        if not self.agent:
            listed = await self.asked("GET", "/agents")
            agents = listed.get("agents") if isinstance(listed, dict) else None
            first = agents[0] if isinstance(agents, list) and agents else None
            name = first.get("name") if isinstance(first, dict) else None
            self.agent = name if isinstance(name, str) else ""
        return self.agent

    def path(self, *parts: str) -> str:
        """Returns a path below the server, each part encoded."""
        return "".join(f"/{quote(part, safe='')}" for part in parts)

    def _http(self) -> "httpx2.AsyncClient":
        if self._own is None:
            import httpx2

            self._own = self._given or httpx2.AsyncClient(
                verify=_certificates() if self.url.startswith("https") else False, trust_env=not _local(self.url)
            )
        return self._own


@cache
def _certificates() -> ssl.SSLContext:
    """Made once: it takes longer than most runs."""
    return ssl.create_default_context()


async def _read(response: "httpx2.Response", body: bytearray, limit: int) -> None:
    """Reads as much of the body as may be, into ``body``."""
    async for piece in response.aiter_raw():
        body += piece[: limit - len(body)]
        if len(body) >= limit:
            return


async def _closed(response: "httpx2.Response") -> None:
    """Closes it, also where we are being cancelled."""
    with anyio.move_on_after(CLOSE_SECONDS, shield=True):
        await response.aclose()


def _encoded(body: Json) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError, RecursionError):
        raise ConfigurationError("The request to the agent is not JSON.") from None


def _local(url: str) -> bool:
    """Returns whether it is this machine: a proxy has no business there."""
    host = urlsplit(url).hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.")


def _split(url: str) -> Any:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and url.isprintable() and parts.port != 0:
            return parts
    except ValueError:  # half an IPv6 address, a port that is none
        pass
    raise ConfigurationError("An agent's address must be like http://127.0.0.1:8000/, with http or https.")
