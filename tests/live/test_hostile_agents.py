"""A remote agent that means harm costs its own run, and nobody else's time: neither a server's nor a client's.

Each shape stays within all limits of bytes, or ends at one; ten times as large it ends with a code in any case. What
others wait is measured as in `test_stalls`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import repeat
from typing import Any

import pytest
from anyio.lowlevel import checkpoint
from pydantic import BaseModel

from agui_gate.client import Client, ClientError, Limits
from agui_gate_adapters.testkit.agui import AGUIClient, connecting
from tests.bench.heart import GOAL, Heartbeat, as_served, slower
from tests.client.servers import scripted
from tests.interop.streams import FINISHED, STARTED, Event, call
from tests.remote.kit import in_front
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T15")]

PIECE = 64 * 1024
"""Bytes that come at a time."""

WIDE = Limits(idle=120.0, total=120.0)


class Shared(BaseModel):
    """What the server in front shares."""

    model_config = {"extra": "allow"}


def snapshot(state: Any) -> Event:
    return {"type": "STATE_SNAPSHOT", "snapshot": state}


def delta(*operations: Event) -> Event:
    return {"type": "STATE_DELTA", "delta": list(operations)}


def said(number: int) -> Event:
    return {"id": f"m{number}", "role": "user", "content": "x"}


def copies(times: int) -> Iterator[Event]:
    yield snapshot({"l": [0] * 100_000})
    yield delta(*[o for _ in range(times * 20_000) for o in (
        {"op": "copy", "from": "/l/0", "path": "/l/0"}, {"op": "remove", "path": "/l/0"})])  # fmt: skip


def copied_lists(times: int) -> Iterator[Event]:
    """The same in small events."""
    yield snapshot({"l": [0] * 20_000})
    copied = delta({"op": "copy", "from": "/l", "path": "/m"}, {"op": "remove", "path": "/m"})
    yield from repeat(copied, times * 5_000)


def failing_tests(times: int) -> Iterator[Event]:
    large = [{"a": str(n)} for n in range(20_000)]
    yield snapshot({"l": large})
    yield from repeat(delta({"op": "test", "path": "/l", "value": []}), times * 20_000)


def late_failing_tests(times: int) -> Iterator[Event]:
    large = [{"a": str(n)} for n in range(20_000)]
    yield snapshot({"l": large})
    yield from repeat(delta({"op": "test", "path": "/l", "value": [*large[:-1], 0]}), times * 100)


def results(times: int) -> Iterator[Event]:
    yield {"type": "MESSAGES_SNAPSHOT", "messages": [said(n) for n in range(times * 90_000)]}
    yield from call()
    for number in range(1_990):
        yield {"type": "TOOL_CALL_RESULT", "messageId": f"r{number % 900}", "toolCallId": "c-1", "content": "x"}


def characters(times: int) -> Iterator[Event]:
    yield snapshot({f"k{n}": "x" for n in range(20_000)})
    for number in range(times * 20_000):
        yield delta({"op": "replace", "path": f"/k{number % 20_000}", "value": str(number % 10)})


def interrupts(times: int) -> Iterator[Event]:
    asked = [{"id": f"i{n}", "reason": "tool_call"} for n in range(times * 20_000)]
    yield FINISHED | {"outcome": {"type": "interrupt", "interrupts": asked}}


def messages(times: int) -> Iterator[Event]:
    answers = [{"id": f"a{n}", "role": "assistant", "content": "x"} for n in range(times * 50_000)]
    yield {"type": "MESSAGES_SNAPSHOT", "messages": [*map(said, range(times * 50_000)), *answers]}


def open_chunks(times: int) -> Iterator[Event]:
    for number in range(times * 20_000):
        named = {"messageId": f"m{number}", "subagentRunId": f"s{number}"}
        yield {"type": "TEXT_MESSAGE_CHUNK", "delta": "x", **named}


def activities(times: int) -> Iterator[Event]:
    """Changes of an activity, and pieces of a long text between them."""
    yield {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x" * 3_000_000}
    content = {"l": [str(n) for n in range(50_000)]}
    yield {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan", "content": content}
    for number in range(times * 5_000):
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}
        change = {"op": "replace", "path": "/l/7", "value": str(number)}
        yield {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan", "patch": [change]}


def deep(times: int) -> Iterator[Event]:
    """Each change nests the state deeper."""
    yield snapshot({"a": {}})
    for number in range(times * 3_000):
        away, new = {"op": "move", "from": "/a", "path": "/b"}, {"op": "add", "path": "/a", "value": {}}
        back, copied = {"op": "move", "from": "/b", "path": "/a/a"}, {"op": "copy", "from": "/a", "path": "/c"}
        yield delta(away, new, back, copied | {"path": f"/c{number % 9}"})


def empty_lists(times: int) -> Iterator[Event]:
    yield snapshot({"l": [[]] * (times * 300_000)})


SHAPES: list[Callable[[int], Iterator[Event]]] = [
    copies, copied_lists, failing_tests, late_failing_tests, results, characters, interrupts, messages,
    open_chunks, activities, deep, empty_lists,
]  # fmt: skip

COPYING = [copies, copied_lists]
"""Those that are copied in a worker thread, in Python. The loop waits there for the interpreter's lock, which is handed
over every 5 ms on every machine: `slower` knows nothing of that, as it decodes JSON."""

ENDED: list[Callable[[int], Iterator[Event]]] = [copied_lists, characters, activities, deep]
"""Those that end with a code as they are, in a server: ten times as large they begin with the same events."""


async def streamed(events: Iterator[Event]) -> AsyncIterator[bytes]:
    """In pieces as a network brings them. What is sent again is not made again."""
    piece, size = [_frame(STARTED)], 0
    before: Event = {}
    parts: list[bytes] = []
    for event in events:
        if event is not before:
            frame = _frame(event)
            parts = [frame[start : start + PIECE] for start in range(0, len(frame), PIECE)]
            before = event
        if size + sum(map(len, parts)) > PIECE:
            yield b"".join(piece)
            await checkpoint()
            piece, size = [], 0
        for part in parts[:-1]:
            yield part
        piece.append(parts[-1])
        size += len(parts[-1])
    yield b"".join(piece) + _frame(FINISHED)


def _frame(event: Event) -> bytes:
    return f"data: {json.dumps(event, separators=(',', ':'))}\n\n".encode()


async def prepared(shape: Callable[[int], Iterator[Event]], times: int) -> list[bytes]:
    """The same for a server and for a client: it is made once for both."""
    if (shape, times) not in _PREPARED:
        _PREPARED.clear()
        _PREPARED[shape, times] = [piece async for piece in streamed(shape(times))]
    return _PREPARED[shape, times]


_PREPARED: dict[tuple[Callable[[int], Iterator[Event]], int], list[bytes]] = {}


async def sent(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
        await checkpoint()


async def in_a_server(pieces: list[bytes]) -> tuple[str, Heartbeat]:
    """The code that the run of a server in front ended with."""
    async with (
        scripted(lambda: sent(pieces)) as server,
        in_front(server.url, state=Shared, limits=WIDE) as url,
        connecting() as http,
    ):
        with as_served():
            async with Heartbeat() as heartbeat:
                stream = await AGUIClient(http, url).say("go")
        return stream.error or "", heartbeat


async def in_a_client(pieces: list[bytes]) -> tuple[str, Heartbeat]:
    """The code that a client's run ended with."""
    async with scripted(lambda: sent(pieces)) as server, Client(server.url, limits=WIDE) as client:
        code = ""
        with as_served():
            async with Heartbeat() as heartbeat:
                try:
                    await client.thread().say("go")
                except ClientError as error:
                    code = error.code
        return code, heartbeat


def cases() -> Iterator[Any]:
    """Each shape in a server and in a client, one of them ten times as large; the next shape the other way round.

    The rest is left to `--every`.
    """
    for turn, shape in enumerate(SHAPES):
        for times in (1, 10):
            for where in (in_a_server, in_a_client):
                if times == 10 or where is in_a_client or shape not in ENDED:
                    large = in_a_server if turn % 2 or shape in ENDED else in_a_client
                    marks = () if (times == 10) is (where is large) else pytest.mark.spare
                    yield pytest.param(
                        shape, where, times, id=f"{shape.__name__}-{where.__name__}-{times}", marks=marks
                    )


@pytest.mark.parametrize(("shape", "where", "times"), [*cases()])
async def test_it_keeps_nobody_else_waiting(shape: Any, where: Any, times: int) -> None:
    pieces = await prepared(shape, times)
    goal, told = GOAL * (1.5 if shape in COPYING else 1.0), []
    for _ in range(3):
        before = slower()
        async with asyncio.timeout(100):
            code, heartbeat = await where(pieces)
        worst, limit = max(heartbeat.work), goal * max(before, slower())
        if worst < limit:
            break
        told.append(f"{worst:.3f} s, of {limit:.3f} s")
    if times == 10:
        assert code == {in_a_server: "provider_unavailable", in_a_client: "agent_too_large"}[where]
    assert len(told) < 3, told
