"""A client of any AG-UI server: typed, asynchronous, and of few words.

    from agui_gate.client import Client

    async with Client("http://127.0.0.1:8000/", headers={"Authorization": "Bearer …"}) as client:
        thread = client.thread()
        async with thread.say("Refund order A1") as run:
            async for event in run:
                ...
        for question in thread.questions:
            await thread.answer(question.approve())
        print(thread.text)

It declares AG-UI 1.0 and reads 0.x. Events become messages and state as in `@ag-ui/client` 1.0.0 (`fold.py`).
Divergences from it are in `event_decoder.py`, and two more: an item that is begun twice, or not ended before its run
is, ends no run; a stream without a terminal event is no success.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from agui_gate.agents.tool import Tool
from agui_gate.client import events
from agui_gate.client.connection import Connection, Limits
from agui_gate.client.errors import (
    BrokenOff,
    ClientError,
    Malformed,
    NoWayBack,
    Refused,
    TooMuch,
    TooSlow,
    Unanswered,
    Unreachable,
)
from agui_gate.client.events import AnyEvent, Json
from agui_gate.client.fold import Fold
from agui_gate.client.questions import Answer, Question
from agui_gate.client.run import Outcome, Run
from agui_gate.client.thread import CARD, Thread

if TYPE_CHECKING:
    import httpx2

__all__ = [
    "CARD",
    "Answer",
    "AnyEvent",
    "BrokenOff",
    "Client",
    "ClientError",
    "Fold",
    "Json",
    "Limits",
    "Malformed",
    "NoWayBack",
    "Outcome",
    "Question",
    "Refused",
    "Run",
    "Thread",
    "TooMuch",
    "TooSlow",
    "Unanswered",
    "Unreachable",
    "events",
]


LEAVING = {"AGUI-Gate-Leaving": "continue"}
"""Tells an agui-gate that closing a stream stops nothing: `Run.stop` asks for that."""


class Client:
    """An agent's address. ``url`` is what a run is POSTed to; ``http`` a client of yours, which stays open.

    On an agui-gate a run that is left goes on; `Thread.attach` comes back to it. On any other server leaving is all
    that there is. Give the header ``AGUI-Gate-Leaving: cancel`` to have it so on an agui-gate, too.

    Belongs to one event loop. Raises `ConfigurationError` for what is no address.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        http: "httpx2.AsyncClient | None" = None,
    ) -> None:
        own = dict(headers or {})
        says = {name.lower() for name in own}
        leaving = {name: value for name, value in LEAVING.items() if name.lower() not in says}
        self._connection = Connection(url, leaving | own, limits or Limits(), http)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections that were opened here. Safe to call twice."""
        await self._connection.aclose()

    def thread(
        self,
        thread_id: str = "",
        *,
        messages: Sequence[Json] = (),
        state: Any = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        advertised: Sequence[Json] = (),
        context: Sequence[Json] = (),
        forwarded: Json | None = None,
    ) -> Thread:
        """Returns a conversation: a new one, or one of an earlier time. The parameters are those of `Thread`."""
        return Thread(
            self._connection,
            thread_id or uuid.uuid4().hex,
            messages=messages,
            state=state,
            tools=tools,
            advertised=advertised,
            context=context,
            forwarded=forwarded,
        )
