"""A running server, as seen from a shell. Its answers are bounded in time, bytes and pages, and decoded by type."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Self, TypeVar
from urllib.parse import quote, urlsplit

import click
import msgspec
from click.core import ParameterSource

from agui_gate.cli.interrupts import Runner
from agui_gate.cli.program import Failure
from agui_gate.cli.terminal.console import short
from agui_gate.client import BrokenOff, ClientError, Limits, Refused, TooMuch, TooSlow, Unreachable
from agui_gate.client.connection import Connection, Frames
from agui_gate.config.sources import read_secret
from agui_gate.core.json_text import is_deeper
from agui_gate.errors import ConfigurationError

CONNECT_SECONDS = 5.0

TIMEOUT = 15.0
"""Seconds for an answer that needs no work."""

TOOL_TIMEOUT = 330.0
"""Seconds for a decision: an approved tool runs before the answer comes, and may take five minutes."""

LIST_SECONDS = 120.0
"""Seconds for all pages of a list."""

SILENCE = 60.0
"""Seconds without a word, not even that it is there, after which a stream counts as broken off."""

MAX_ANSWER = 32 * 1024 * 1024
"""Bytes of one answer, and of one event of a stream. A call's arguments and its result may have a few MiB."""

MAX_LIST = 256 * 1024 * 1024
"""Bytes of all pages of a list."""

MAX_PAGES = 1000
MAX_LEVELS = 128

UNCLEAR = " Whether it took effect is not known: look before you try again."
"""Said where a request that changes something was sent, and no answer of the server came."""

Json = dict[str, Any]
T = TypeVar("T")


class Decision(msgspec.Struct):
    """The members of a decision that are shown."""

    by: str | None


class Record(msgspec.Struct):
    """The members of an approval that are shown."""

    id: str
    agent: str
    tool: str
    effective_arguments: Json
    editable: list[str]
    message: str | None
    state: str
    decision: Decision | None
    asked_at: str
    expires_at: str | None


class Outcome(msgspec.Struct):
    """The outcome of a decision. ``run``: what continues the conversation."""

    id: str
    state: str
    result: str | None = None
    message: str | None = None
    run: Json | None = None
    not_continued: str | None = None


class Waiting(msgspec.Struct):
    """The approvals that wait at the beginning of a stream."""

    ids: list[str]


class Gone(msgspec.Struct):
    """An approval whose conversation was deleted."""

    id: str


class _Page(msgspec.Struct):
    approvals: list[Json]
    next_cursor: str | None


class _Error(msgspec.Struct):
    message: str


class _Refusal(msgspec.Struct):
    error: _Error


News = Record | Waiting | Gone
_NEWS: dict[str, type[News]] = {"approval": Record, "waiting": Waiting, "gone": Gone}


class RemoteServer:
    """A client of one server. Raises `Failure` with what the server said, `ConfigurationError` if it isn't there."""

    def __init__(self, url: str, token: str | None) -> None:
        _check(url)
        if token is not None and not (token.isascii() and token.isprintable()):
            raise ConfigurationError("--token must be one line of ASCII characters.")
        self._url, self._has_token = url.rstrip("/"), bool(token)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # A stream of events has no end.
        limits = Limits(connect=CONNECT_SECONDS, idle=SILENCE, event=MAX_ANSWER, stream=sys.maxsize)
        self._connection = Connection(url, headers, limits)
        self._runner = Runner()

    def __enter__(self) -> Self:
        self._runner.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._runner.run(self._connection.aclose())
        self._runner.__exit__(*raised)

    def pending(self, *, in_emergency: bool = False) -> list[Json]:
        """Returns the approvals that wait for this principal, oldest first: each fits `Record`. ``in_emergency``: also
        those that they may decide by breaking the glass.
        """
        return self._run(self._all_pending("&break_glass=true" if in_emergency else ""))

    def decided(self) -> list[Json]:
        """Returns what was decided last, newest first, as much as one page has: each fits `Record`."""
        return self._run(self._page("/approvals?state=decided&limit=100", MAX_ANSWER))[0]

    def decide(self, approval_id: str, payload: Json) -> Json:
        """Decides one; what became of it, which fits `Outcome`."""
        return self._run(self._decide(approval_id, payload))

    def follow(self, show: Callable[[str, Json, News], None]) -> None:
        """Passes the events of `GET /approvals/events` to ``show``, each as its name, as it is, and typed.

        Ends with the stream, for whatever reason. Raises as the class does where the server refuses it or has none.
        """
        self._run(self._follow(show))

    async def _all_pending(self, which: str) -> list[Json]:
        found: list[Json] = []
        cursor, seen, left = "", {""}, MAX_LIST
        try:
            async with asyncio.timeout(LIST_SECONDS):
                for _ in range(MAX_PAGES):
                    path = f"/approvals?limit=100&cursor={quote(cursor, safe='')}{which}"
                    items, following, size = await self._page(path, max(min(left, MAX_ANSWER), 0))
                    found += items
                    if following is None:
                        return found
                    if following in seen:
                        raise Failure(f"The server at {self._url} lists the same page again and again.")
                    cursor, left = following, left - size
                    seen.add(cursor)
        except TimeoutError:
            raise Failure(f"The server at {self._url} took more than {LIST_SECONDS:g} s for its list.") from None
        raise Failure(
            f"The list of the server at {self._url} is too long: the command stopped after {MAX_PAGES:,} pages."
        )

    def ask(self, method: str, path: str, payload: Json | None = None) -> Json:
        """Returns the answer of one request."""
        return self._run(self._asked(method, path, MAX_ANSWER, payload))[0]

    async def _page(self, path: str, most: int) -> tuple[list[Json], str | None, int]:
        told, size = await self._asked("GET", path, most)
        page = self._typed(told, _Page)
        for item in page.approvals:
            self._typed(item, Record)
        return page.approvals, page.next_cursor, size

    async def _decide(self, approval_id: str, payload: Json) -> Json:
        told, _ = await self._asked("POST", f"/approvals/{quote(approval_id, safe='')}", MAX_ANSWER, payload)
        self._typed(told, Outcome)
        return told

    async def _follow(self, show: Callable[[str, Json, News], None]) -> None:
        frames = Events(MAX_ANSWER)
        opened = self._connection.stream("GET", f"{self._connection.base}/approvals/events")
        try:
            async with asyncio.timeout(TIMEOUT) as opening, opened as response:
                opening.reschedule(None)
                async for payloads in self._connection.payloads(response, frames):
                    for payload in payloads:
                        if (name := frames.names.pop(0)) in _NEWS:
                            told = self._decoded(payload)
                            show(name, told, self._typed(told, _NEWS[name]))
        except Refused as error:
            raise self._refusal(error.http_status, error.body) from error
        except TimeoutError:
            raise Failure(f"The server at {self._url} took too long to answer.") from None
        except (BrokenOff, TooSlow):
            return
        except ClientError as error:
            if not isinstance(error, TooMuch | Unreachable):
                raise Failure(
                    f"The server at {self._url} has no approval events. It may be an older version."
                ) from error
            raise self._failure(error) from error

    async def _asked(self, method: str, path: str, most: int, payload: Json | None = None) -> tuple[Json, int]:
        """Returns the answer of a request that succeeded, and its bytes."""
        seconds = TIMEOUT if payload is None else TOOL_TIMEOUT
        try:
            status, said = await self._connection.reply(method, path, payload, seconds=seconds, most=most)
        except ClientError as error:
            raise self._failure(error, "" if method == "GET" else UNCLEAR) from error
        if not 200 <= status < 300:
            raise self._refusal(status, said, is_address=method == "GET")
        return self._decoded(said), len(said)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def _failure(self, error: ClientError, unclear: str = "") -> Exception:
        """Returns the exception for what went wrong on the way. ``unclear``: said if the request was sent."""
        match error:
            case Unreachable(sent=False):
                return ConfigurationError(
                    f"Nothing is listening at {self._url}. "
                    "Start a server with `agui-gate serve`, or pass another --url."
                )
            case TooSlow():
                return Failure(f"The server at {self._url} took too long to answer.{unclear}")
            case TooMuch():
                return Failure(f"The server at {self._url} sent a response that is too large.{unclear}")
            case _:
                return Failure(
                    f"The server at {self._url} closed the connection before its response was complete.{unclear}"
                )

    def _refusal(self, status: int, said: bytes, *, is_address: bool = True) -> Failure:
        """Returns the failure that the server answered with, and what to type if that is known.

        ``is_address``: where the request names nothing that might not be there, a 404 is about --url.
        """
        if status == 401 and not self._has_token:
            return Failure("This server requires a token. Pass --token or set AGUI_GATE_TOKEN.")
        if status == 401:
            return Failure("The server refuses this token (401). Check --token, or AGUI_GATE_TOKEN.")
        if status in (404, 405) and is_address:
            return self._stranger(f" ({status})")
        if 300 <= status < 400:
            return Failure(
                f"The server at {self._url} redirects ({status}). Pass the address it redirects to as --url."
            )
        try:
            return Failure(short(msgspec.json.decode(said, type=_Refusal).error.message, 500))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            pass
        if status < 500:
            return self._stranger(f" ({status})")
        return Failure(f"The server answered with status {status}.{'' if is_address else UNCLEAR}")

    def _decoded(self, said: bytes) -> Json:
        try:
            told = msgspec.json.decode(said)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise self._stranger() from None
        if not isinstance(told, dict) or is_deeper(told, MAX_LEVELS):
            raise self._stranger()
        return told

    def _typed(self, told: Json, kind: type[T]) -> T:
        try:
            return msgspec.convert(told, kind)
        except (msgspec.ValidationError, RecursionError):
            raise self._stranger() from None

    def _stranger(self, more: str = "") -> Failure:
        parts = urlsplit(self._url)
        fix = f"Try --url {parts.scheme}://{parts.netloc}." if parts.path else "Check --url."
        return Failure(f"There is no agui-gate server at {self._url}{more}. {fix}")


def _find_token(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Returns the token that was typed, or that the environment has or names a file of. Raises `ConfigurationError`."""
    path = os.environ.get("AGUI_GATE_TOKEN_FILE")
    if not path or context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE:
        return value
    if value:
        raise ConfigurationError("Set AGUI_GATE_TOKEN or AGUI_GATE_TOKEN_FILE, not both.")
    return read_secret("token", "AGUI_GATE_TOKEN_FILE", path)


_URL = click.option(
    "--url", envvar="AGUI_GATE_URL", default="http://127.0.0.1:8000", show_default=True, help="The server's address."
)
token_option = click.option(
    "--token",
    envvar="AGUI_GATE_TOKEN",
    callback=_find_token,
    help="Your bearer token.  [env: AGUI_GATE_TOKEN, or AGUI_GATE_TOKEN_FILE with its path]",
)


def server_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options of a command that asks a server, which is given that ``server``: it has to enter it."""

    @wraps(command)
    def with_server(url: str, token: str | None, **more: Any) -> None:
        command(server=RemoteServer(url, token), **more)

    return _URL(token_option(with_server))


class Events(Frames):
    """A splitter that knows the names of events. `feed` and `flush` give as many payloads as ``names`` grows by."""

    __slots__ = ("_name", "names")

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._name, self.names = "", list[str]()

    def _frames(self, lines: list[bytes]) -> list[bytes]:
        payloads = []
        for line in lines:
            if line.startswith(b"event:"):
                self._name = line[6:].strip().decode("ascii", "replace")
            whole = super()._frames([line])
            payloads += whole
            self.names += [self._name] * len(whole)
            if not line:
                self._name = ""
        return payloads


def _check(url: str) -> None:
    """Raises `ConfigurationError` for what is no address."""
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and url.isprintable() and parts.port != 0:
            return
    except ValueError:  # such as half an IPv6 address
        pass
    raise ConfigurationError(f"--url must be an address such as http://127.0.0.1:8000, not {url!r}.")
