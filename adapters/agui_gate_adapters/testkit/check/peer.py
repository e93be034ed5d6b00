"""The server that is checked: one request at a time, with a bound on everything that it may send or leave unsaid."""

import asyncio
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import httpx2

from agui_gate_adapters.testkit.spec.frames import BINARY, binary_frames, frames
from agui_gate_adapters.testkit.spec.rules import Json, word

MOST_BODY = 100_000
"""Characters of a body that are told. A history may hold whatever the server said."""


@dataclass(frozen=True, slots=True)
class Request:
    """One POST. ``number`` counts from 1. What was given with `--header` is named, its values aren't told."""

    number: int
    url: str
    headers: Mapping[str, str]
    secrets: tuple[str, ...]
    body: Json | bytes

    @property
    def thread(self) -> str:
        """The thread that it is about; "" where none can be read."""
        return word(self.body, "threadId") if isinstance(self.body, dict) else ""

    def told(self) -> dict[str, Any]:
        """Returns the request as JSON."""
        text = self._text()
        body: Any = self.body if isinstance(self.body, dict) else text
        headers = {**self.headers, **dict.fromkeys(self.secrets, "…")}
        left_out = {"body": body} if len(text) <= MOST_BODY else {"body": None, "characters": len(text)}
        return {"number": self.number, "method": "POST", "url": self.url, "headers": headers, **left_out}

    def curl(self) -> str:
        """Returns the request as a shell command, with names in place of the given headers' values."""
        text = self._text()
        if len(text) > MOST_BODY:
            return f"# request {self.number} has {len(text):,} characters: too long for a line"
        given = {name: f"${name.upper().replace('-', '_')}" for name in self.secrets}
        heads = [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in self.headers.items()]
        heads += [f'-H "{name}: {value}"' for name, value in given.items()]
        return " ".join(["curl -sN", shlex.quote(self.url), *heads, "--data-binary", shlex.quote(text)])

    def _text(self) -> str:
        return self.body.decode("ascii", "replace") if isinstance(self.body, bytes) else json.dumps(self.body)


@dataclass(slots=True)
class Requests:
    """All that were sent, in their order."""

    sent: list[Request] = field(default_factory=list)

    def keep(self, url: str, headers: Mapping[str, str], secrets: Iterable[str], body: Json | bytes) -> int:
        """Take one in; its number."""
        self.sent.append(Request(len(self.sent) + 1, url, dict(headers), tuple(secrets), body))
        return len(self.sent)

    def upto(self, number: int) -> list[Request]:
        """Returns a request with those before it on its thread: what it takes to see its answer again."""
        last = self.sent[number - 1]
        earlier = [one for one in self.sent[: number - 1] if last.thread and one.thread == last.thread]
        return [*earlier, last]


MAX_BYTES = 2_000_000
"""Of one answer: more than any scenario asks for."""

LINGER = 2.0
"""Seconds that a body may stay open after the run's end before that is held against it."""

SSE = "text/event-stream"

End = Literal["whole", "late", "lingering", "large", "broken", "left"]
"""How an answer ended: by itself, not in time, not after the run's end, too large, cut off, or because we left."""

_ENDS = (b'"RUN_FINISHED"', b'"RUN_ERROR"')
_BLANKS = (b"\n\n", b"\r\n\r\n", b"\r\r")


CLOSED = "it closes the connection without an answer; does it want https:// (or http://) instead"


class Unreachable(Exception):
    """Nothing that speaks HTTP answered; says why."""


@dataclass(slots=True)
class Answer:
    """What came back for one request."""

    status: int
    media: str
    body: bytes
    end: End
    location: str = ""
    content_type: str = ""
    number: int = 0
    """Of the request that it answers."""

    @property
    def streams(self) -> bool:
        """Whether it is a stream of events by its status and type."""
        return self.status == 200 and self.media in (SSE, BINARY)

    @property
    def is_binary(self) -> bool:
        """Whether its events are in the protobuf binding."""
        return self.media == BINARY

    @property
    def events(self) -> list[Json]:
        """The events that can be read: objects that say their type."""
        read = (frame.event for frame in (binary_frames if self.is_binary else frames)(self.body)[0])
        return [event for event in read if event is not None and isinstance(event.get("type"), str)]


class Peer:
    """One address. ``timeout`` is in seconds, for each answer as a whole."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        self.url, self.timeout, self.linger = url, timeout, LINGER
        self.requests, self._given = Requests(), tuple(headers)
        # A connection for each request: a server may close one that was kept, and that is no missing answer.
        limits = httpx2.Limits(max_keepalive_connections=0)
        self._http = httpx2.AsyncClient(headers=dict(headers), timeout=timeout, follow_redirects=False, limits=limits)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def post(
        self, body: Json | bytes, *, leave_at: Sequence[str] = (), accept: str = SSE, below: str = ""
    ) -> Answer:
        """Send one input and read the answer. ``leave_at``: hang up at the first event of one of these types.

        ``below``: to this path under the address. Raises `Unreachable`.
        """
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = {"Content-Type": "application/json", "Accept": accept}
        url = self.url.rstrip("/") + below if below else self.url
        answer = Answer(0, "", b"", "whole", number=self.requests.keep(url, head, self._given, body))
        try:
            async with (
                asyncio.timeout(self.timeout),
                self._http.stream("POST", url, content=content, headers=head) as response,
            ):
                answer.status, answer.location = response.status_code, response.headers.get("location", "")
                answer.content_type = response.headers.get("content-type", "")
                answer.media = answer.content_type.split(";")[0].strip().lower()
                await _read(response, answer, [kind.encode() for kind in leave_at], self.linger)
        except TimeoutError:
            if not answer.status:
                raise Unreachable(f"no answer within {self.timeout:g} s") from None
            answer.end = "lingering" if _over(answer.body) else "late"
        except httpx2.TimeoutException:
            raise Unreachable(f"no answer within {self.timeout:g} s") from None
        except Exception as error:  # whatever an address or a server may make of a connection
            if not answer.status:
                raise Unreachable(str(error).rstrip(".") or CLOSED) from None
            answer.end = "broken"
        if answer.media == SSE and answer.end in ("left", "late", "large"):  # we left, perhaps in the middle of a frame
            answer.body = answer.body[: _framed(answer.body)]
        if answer.end == "lingering":  # known by now; the others needn't take as long
            self.linger = LINGER / 20
        return answer

    async def get(self, path: str) -> Any:
        """Gets the JSON at a path below the address; None where there is none."""
        try:
            async with asyncio.timeout(self.timeout), self._http.stream("GET", self.url.rstrip("/") + path) as response:
                answer = Answer(response.status_code, "", b"", "whole")
                await _read(response, answer, (), self.linger)
                return json.loads(answer.body) if answer.status == 200 and answer.end == "whole" else None
        except (TimeoutError, httpx2.HTTPError, httpx2.StreamError, OSError, ValueError, RecursionError):
            return None


async def _read(response: httpx2.Response, answer: Answer, leave_at: Sequence[bytes], linger: float) -> None:
    """Read until the end, one of the bounds, or the event at which to leave."""
    told = bytearray()
    pieces = response.aiter_bytes()
    try:
        while answer.end == "whole":
            async with asyncio.timeout(linger if _over(told) or answer.media not in (SSE, BINARY) else None):
                piece = await anext(pieces, None)
            if piece is None:
                return
            told += piece
            if any(told.find(kind, 0, _framed(told)) >= 0 for kind in leave_at):
                answer.end = "left"
            elif len(told) > MAX_BYTES:
                answer.end = "large"
    except TimeoutError:
        answer.end = "lingering" if _over(told) else "late" if answer.streams else "whole"
    finally:
        answer.body = bytes(told)


def _framed(told: bytes | bytearray) -> int:
    """Returns how much of a body is whole frames."""
    return max(told.rfind(blank) + len(blank) if blank in told else 0 for blank in _BLANKS)


def _over(told: bytes | bytearray) -> bool:
    """Whether the last thing that was said is the end of a run."""
    last = told[max(told.rfind(b"\n\n", 0, len(told) - 2), 0) :]
    return last.endswith(b"\n\n") and any(end in last for end in _ENDS)
