"""Sends an answer's events as the bytes of an HTTP body: framing, chunk boundaries, pauses, cuts.

`deliver` is a plain generator of bytes and of instructions to the server in between; `AnswerResponse` sends and waits.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

import anyio
import msgspec
from starlette.types import Receive, Scope, Send

from agui_gate_adapters.testkit.api import Answer
from agui_gate_adapters.testkit.host import Host
from agui_gate_adapters.testkit.script import Chunking
from agui_gate_adapters.testkit.wire import encode


class Pause(msgspec.Struct, frozen=True):
    """Wait this many seconds before the next step."""

    seconds: float


class Hang(msgspec.Struct, frozen=True):
    """Send nothing more and keep the connection open until the client leaves."""


class Cut(msgspec.Struct, frozen=True):
    """Stop here: properly when `clean`, else by dropping the connection in the middle of the body."""

    clean: bool


Step = bytes | Pause | Hang | Cut


def deliver(answer: Answer, chunking: Chunking, pace: float, rng: random.Random) -> Iterator[Step]:
    """Yield the steps of the whole answer. `pace`: seconds before each delta; a `slow` fault sets its own."""
    steps = _streamed(answer, pace) if answer.streamed else _whole(answer)
    return _truncate(_rechunk(steps, chunking, rng), answer)


def _whole(answer: Answer) -> Iterator[Step]:
    fault = answer.fault
    if fault is not None and fault.kind == "hang":
        yield Hang()
        return
    if fault is not None and fault.kind == "slow":
        yield Pause(fault.ms / 1000)
    if fault is not None and fault.kind == "cut" and fault.after_bytes is None:
        yield Cut(fault.clean)
        return
    yield encode(answer.whole())


def _streamed(answer: Answer, pace: float) -> Iterator[Step]:
    fault, frames = answer.fault, answer.frames()
    every = fault.ms / 1000 if fault is not None and fault.kind == "slow" else 0.0
    limit = None
    if fault is not None and fault.kind in ("cut", "hang") and fault.after_bytes is None:
        limit = fault.events_before
    for frame in islice(frames, limit):  # Never pulls the one after the limit: pulling the last one commits.
        if every or (pace and frame.delta):
            yield Pause(every or pace)
        yield frame.data
    if limit is not None and fault is not None and answer.ended is None:
        yield Hang() if fault.kind == "hang" else Cut(fault.clean)


def _rechunk(steps: Iterator[Step], chunking: Chunking, rng: random.Random) -> Iterator[Step]:
    if chunking == "event":
        yield from steps
        return
    buffer = bytearray()
    for step in steps:
        if isinstance(step, bytes):
            buffer += step
            if chunking != "whole":
                yield from _slices(buffer, chunking, rng)
        else:
            if buffer and not isinstance(step, Pause):
                yield bytes(buffer)
                buffer.clear()
            yield step
    if buffer:
        yield bytes(buffer)


def _slices(buffer: bytearray, chunking: Chunking, rng: random.Random) -> Iterator[bytes]:
    """Take full chunks off the front of the buffer; what is left waits for more."""
    while True:
        size = chunking if isinstance(chunking, int) else rng.randint(1, 64)
        if len(buffer) < size:
            return
        yield bytes(buffer[:size])
        del buffer[:size]


def _truncate(steps: Iterator[Step], answer: Answer) -> Iterator[Step]:
    fault = answer.fault
    if fault is None or fault.kind != "cut" or fault.after_bytes is None:
        yield from steps
        return
    left = fault.after_bytes
    for step in steps:
        if isinstance(step, bytes) and len(step) >= left:
            yield step[:left]
            yield Cut(fault.clean)
            return
        left -= len(step) if isinstance(step, bytes) else 0
        yield step


# The ASGI side of an answer: sends the steps of a delivery, waits where they say so, notices a client that leaves.


class AnswerResponse:
    """An ASGI response that tells one answer; whatever happens, the answer is closed at the end.

    A cut returns without finishing the body, which makes the server drop the connection. A client that leaves
    cancels the telling, so a foreground response stores nothing and its conversation is free again.
    """

    def __init__(self, host: Host, answer: Answer) -> None:
        self._host = host
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; returns early when the client leaves."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._watch, receive, group.cancel_scope)
                await self._send_all(send)
                group.cancel_scope.cancel()
        finally:
            self._answer.close()

    async def _watch(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    def _steps(self) -> Iterator[Step]:
        chunking = self._host.chunking(self._answer)
        return deliver(self._answer, chunking, self._host.pace, self._host.rng)

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self._headers()})
        for step in self._steps():
            match step:
                case bytes():
                    await send({"type": "http.response.body", "body": step, "more_body": True})
                case Pause():
                    await anyio.sleep(step.seconds)
                case Hang():
                    await anyio.sleep_forever()
                case Cut():
                    if not step.clean:
                        return
                    break
        await send({"type": "http.response.body", "body": b""})

    def _headers(self) -> list[tuple[bytes, bytes]]:
        media = "text/event-stream; charset=utf-8" if self._answer.streamed else "application/json"
        named = {"content-type": media, **dict(self._answer.headers)}
        fault = self._answer.fault
        if fault is not None and fault.kind == "content_type":
            named["content-type"] = "text/plain; charset=utf-8"
        return [(name.encode(), value.encode()) for name, value in named.items()]
