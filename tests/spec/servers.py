"""Servers to check: one that keeps the rules, the same with habits that break them, and what is no server."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

from agui_gate_adapters.testkit.spec.judge import is_older
from agui_gate_adapters.testkit.spec.shapes import misfits
from tests.spec.streams import Json, call, result, text

Habits = frozenset[str]

_head: ContextVar[bytes] = ContextVar("head")


def accepts() -> bytes:
    """The Accept header of the request that is answered."""
    return _head.get().split(b"\r\naccept: ")[1].split(b"\r\n")[0]


@asynccontextmanager
async def listening(answer: Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[str]:
    """A socket on which ``answer`` is called with the body of each request; yields its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            _head.set(head)
            length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0]) if b"content-length: " in head else 0
            await answer(await reader.readexactly(length), writer)
            await writer.drain()
        except (
            ConnectionError,
            asyncio.IncompleteReadError,
            asyncio.CancelledError,
            LookupError,
            TypeError,
            ValueError,
        ):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    finally:
        server.close()


def head(status: str = "200 OK", media: str = "text/event-stream", **more: str) -> bytes:
    """The beginning of an answer that ends with its connection."""
    lines = [f"HTTP/1.1 {status}", f"content-type: {media}", "connection: close"]
    return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in more.items()), "", ""]).encode()


def sse(*events: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


class Fake:
    """A server that keeps the rules, but for its habits. What it does hangs on words in the last message."""

    def __init__(self, *habits: str) -> None:
        self.habits = frozenset(habits)
        self.open: dict[str, Json] = {}
        self.number = 0

    async def __call__(self, body: bytes, writer: asyncio.StreamWriter) -> None:
        given = self._read(body)
        if given is None:
            writer.write(head("400 Bad Request", "application/json") + b'{"error": "malformed"}')
            return
        told = self._events(given)
        version = given.get("protocolVersion") if "echoes" in self.habits else "1.0"
        ids = {"threadId": given["threadId"], "runId": given["runId"]}
        if "in chunks" in self.habits:
            told = [chunk for event in told for chunk in _chunks(event)]
        *inside, end = told
        started = {"type": "RUN_STARTED", **ids, "protocolVersion": version or "1.0"}
        writer.write(head() + sse(started, *inside, {**end, **ids} if end["type"] == "RUN_FINISHED" else end))

    def _read(self, body: bytes) -> Json | None:
        try:
            given = json.loads(body)
        except ValueError:
            return None
        if "reads all" in self.habits and isinstance(given, dict):
            return {"threadId": "t", "runId": "r", **given}
        unknown = "agui_check_"
        faults = [f for f in misfits(given, "Input") if f.kind != "unknown" and unknown not in repr(given)]
        strict = "knows all" in self.habits and unknown in repr(given).replace("agui_check_colour", "")
        return None if faults or strict or not isinstance(given, dict) else given

    def _events(self, given: Json) -> list[Json]:
        last = given["messages"][-1] if isinstance(given["messages"], list) else {}
        said = str(last.get("content"))
        thread = str(given["threadId"])
        if given.get("resume") and self.open.get(thread):
            return [result(self.open.pop(thread)["toolCallId"], self._id()), *text(self._id()), _end()]
        if last.get("role") == "assistant":
            return self._again(given)
        if thread in self.open and "forgets" not in self.habits:
            return self._silent(thread)
        fails = {"resume": "resume" in given, "tool": last.get("role") == "tool"}
        if any(fails[what] and f"fails {what}" in self.habits for what in fails):
            return [{"type": "RUN_ERROR", "message": "no"}]
        if "approved" in said:
            return self._ask(thread)
        if "agui_check_colour" in said and not is_older(given):
            return self._paint(given)
        if "your own tools" in said:
            call_id = self._id()
            return [*call(call_id), result(call_id, self._id()), *text(self._id()), _end()]
        return [*text(self._id() if "same ids" not in self.habits else "m1", *["word "] * 50), _end()]

    def _ask(self, thread: str) -> list[Json]:
        interrupt = {"id": self._id(), "reason": "tool_call", "toolCallId": self._id()}
        if "asks nobody" in self.habits:
            asks = {"type": "CUSTOM", "name": "on_interrupt", "value": "Refund?"}
            return [*call(interrupt["toolCallId"], "refund"), *([asks] if "by an event" in self.habits else []), _end()]
        self.open[thread] = interrupt
        return [*call(interrupt["toolCallId"], "refund"), _end(type="interrupt", interrupts=[interrupt])]

    def _again(self, given: Json) -> list[Json]:
        """A page comes back."""
        if "streams again" in self.habits:
            return [*text(given["messages"][-1]["id"]), _end()]
        return [{"type": "MESSAGES_SNAPSHOT", "messages": given["messages"]}, _end()]

    def _silent(self, thread: str) -> list[Json]:
        interrupt = self.open[thread]
        if "reads silence" in self.habits:
            return [result(interrupt["toolCallId"], self._id()), _end()]
        if "goes on" in self.habits:
            return [*text(self._id()), _end()]
        return [_end(type="interrupt", interrupts=[interrupt])]

    def _paint(self, given: Json) -> list[Json]:
        call_id = self._id()
        if not given.get("tools"):
            return [*text(self._id()), _end()]
        answer = [result(call_id, self._id())] if "answers for the page" in self.habits else []
        return [
            *call(call_id, "agui_check_colour"),
            *answer,
            _end(type="success", pendingToolCallIds=[call_id][len(answer) :]),
        ]

    def _id(self) -> str:
        self.number += 1
        return f"id-{self.number}"


def _chunks(event: Json) -> list[Json]:
    """The event in chunk form."""
    kind = event["type"]
    if kind in ("TEXT_MESSAGE_END", "TOOL_CALL_END"):
        return []
    if kind.startswith(("TEXT_MESSAGE_", "TOOL_CALL_")) and kind != "TOOL_CALL_RESULT":
        return [{**event, "type": "TEXT_MESSAGE_CHUNK" if kind.startswith("TEXT") else "TOOL_CALL_CHUNK"}]
    return [event]


def _end(**outcome: Any) -> Json:
    return {"type": "RUN_FINISHED", **({"outcome": outcome} if outcome else {})}
