"""The seam between the emulator and the APIs it speaks: what an API offers, and what one of its answers offers.

The emulator routes a request to an API. The API checks it and asks the host for the turn to play. The answer it returns
is cut into chunks, paced, spoiled by faults and sent without anybody knowing its format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import msgspec

from agui_gate_adapters.testkit.faults import Fault, Reply, Violation
from agui_gate_adapters.testkit.journal import Entry
from agui_gate_adapters.testkit.script import Turn
from agui_gate_adapters.testkit.wire import Json


class Frame(msgspec.Struct, frozen=True):
    """One event as its bytes on the wire; `delta` when it carries new text, which is what a pace slows down."""

    data: bytes
    delta: bool = False


class Answer(Protocol):
    """One accepted request being answered. Iterate `frames`, or take `whole`; then `close`, which may be the abort."""

    id: str
    turn: Turn
    fault: Fault | None
    streamed: bool
    """Whether the client asked for events; else `whole` is sent."""
    entry: Entry | None
    """The journal's entry; the answer writes to it how it ended."""
    ended: str | None
    """How it ended, see `Entry.ended`. Set before the last frame is handed out, so that nothing follows it."""

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """HTTP headers such as the request id, in lower case. `content-type` only where it is not that of events."""

    def frames(self) -> Iterator[Frame]:
        """Yield the events lazily: what was not pulled did not happen. `error_event` and `failed` shorten them."""

    def whole(self) -> Json:
        """Run to the end and return the body of an answer that is not streamed."""

    def close(self) -> None:
        """Ends the answer when the client is done or gone: before its end this is an abort. May be called again."""


Create = Callable[[bytes, Mapping[str, str]], Answer | Reply]
"""Takes the raw body and the headers (lower-case names); a refusal may be returned or raised as `Refused`."""


class Request(msgspec.Struct, frozen=True):
    """One request as it came: its path and what stands at its ``{names}``, lower-case headers, the query, the body."""

    method: str
    path: str
    ids: Mapping[str, str]
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes


Handle = Callable[[Request], Answer | Reply]
"""Takes any request; a refusal may be returned or raised as `Refused`."""


class Exposing(Protocol):
    """An `Api` with routes: requests other than a plain `POST` to one path."""

    @property
    def routes(self) -> Mapping[tuple[str, str], Handle]:
        """By method and path, such as `("GET", "/v1/rooms/{room}")`. What stands at ``{room}`` is in `Request.ids`."""


class Forgetful(Protocol):
    """An `Api` with a memory of its own."""

    def forget(self) -> None:
        """Forgets everything, on `Emulator.reset`, and where a script's fault says so (`Host.forget_first`)."""


def routes_of(api: Api) -> Mapping[tuple[str, str], Handle]:
    """Returns what an API has besides its `paths`."""
    routes: Mapping[tuple[str, str], Handle] = getattr(api, "routes", {})
    return routes


class Api(Protocol):
    """One provider API. It may have `routes` as well (`Exposing`), and a memory of its own (`Forgetful`)."""

    @property
    def paths(self) -> Mapping[str, Create]:
        """The paths that take a `POST` with a JSON body, such as `/v1/chat/completions`."""

    def authorize(self, headers: Mapping[str, str]) -> None:
        """Check the key, in whichever header this provider has it; raises `Refused`."""

    def error_reply(self, violation: Violation, retry_after: float | None = None) -> Reply:
        """Return the HTTP answer of an error, in this API's shape."""

    def fault_violation(self, fault: Fault) -> Violation:
        """Return this API's own words for a fault that ends a request: `status`, `locked`, `error_event`, `failed`."""
