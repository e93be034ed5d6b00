"""Whatever a peer sends, the client library raises `ClientError`, and nothing else."""

import asyncio
import json
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agui_gate.client import Client, ClientError, Fold, Limits
from agui_gate.client.chunks import Chunks
from agui_gate.client.event_decoder import Reader
from agui_gate.client.events import AnyEvent
from agui_gate.client.questions import LEGACY, of_cards, of_interrupts
from agui_gate_adapters.remote_agui.machine import Machine
from tests.support.chance import examples, seeds

KINDS = [str(kind.__struct_config__.tag) for kind in AnyEvent.__args__]
IDS = ("a", "b", "c")
WORDS = (*IDS, "", "user", "assistant", "tool", "activity", "text", "interrupt", "/a", "/a/0", "confirm_changes", "{}")
NAMES = (
    *IDS,
    "id",
    "role",
    "content",
    "metadata",
    "toolCalls",
    "function",
    "name",
    "arguments",
    "type",
    "messages",
    "reason",
    "toolCallId",
    "interrupts",
    "responseSchema",
    "properties",
    "editedArgs",
)
MEMBERS = (
    "threadId",
    "runId",
    "messageId",
    "toolCallId",
    "toolCallName",
    "parentMessageId",
    "delta",
    "content",
    "role",
    "name",
    "value",
    "snapshot",
    "result",
    "activityType",
    "replace",
    "entityId",
    "encryptedValue",
    "subagentRunId",
    "stepName",
    "message",
    "code",
    "usage",
    "event",
    "rawEvent",
    "timestamp",
    "parentRunId",
    "protocolVersion",
    "messages",
    "patch",
    "input",
    "subtype",
    "metadata",
    "outcome",
)
ODD = (
    "timestamp",
    "replace",
    "usage",
    "role",
    "input",
    "outcome",
    "name",
    "code",
    "metadata",
    "parentMessageId",
    "subtype",
)
"""Members that have forms of their own: one of them at a time."""
ROLES = ("user", "assistant", "tool", "activity", "reasoning", "system", "other")


class Made:
    """Events, some of them as they should be, and none of them with only what they should have."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def some(self, *makers: Callable[[], Any]) -> Any:
        return self.random.choice(makers)()

    def word(self) -> str:
        return self.random.choice(IDS)

    def any(self, depth: int = 3) -> Any:
        kind = self.random.randrange(8 if depth else 6)
        if kind == 7:
            names = self.random.sample(NAMES, self.random.randrange(4))
            return {name: self.any(depth - 1) for name in names}
        if kind == 6:
            return [self.any(depth - 1) for _ in range(self.random.randrange(3))]
        return (None, True, self.random.randrange(-2, 3), 0.5, *self.random.choices(WORDS, k=2))[kind]

    def list_of(self, make: Callable[[], Any]) -> Any:
        return self.some(lambda: [make() for _ in range(self.random.randrange(4))], self.any)

    def members(self, given: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
        return {name: make() for name, make in given.items() if self.random.random() < 0.7}

    def call(self) -> Any:
        function = {"name": self.word(), "arguments": self.word()}
        return {"id": self.word(), "type": "function", "function": function} | self.members({"metadata": self.any})

    def message(self) -> Any:
        others = dict.fromkeys(("metadata", "activityType", "name", "subagentRunId"), self.any)
        content = lambda: self.some(self.word, self.word, lambda: {"a": self.any()}, self.any)  # noqa: E731 - said here
        calls = {"content": content, "toolCalls": lambda: self.list_of(self.call), "toolCallId": self.word}
        return {"id": self.word(), "role": self.random.choice(ROLES)} | self.members(calls | others)

    def operation(self) -> Any:
        kind = self.random.choice(("add", "remove", "replace", "move", "copy", "test"))
        path = self.random.choice(("", "/a", "/a/b", "/a/0", "/a/-"))
        return {"op": kind, "path": path, "value": self.any(), "from": self.random.choice(("", "/a", "/a/b"))}

    def interrupt(self) -> Any:
        others = dict.fromkeys(("metadata", "responseSchema", "message", "toolCallId", "expiresAt"), self.any)
        return {"id": self.word(), "reason": self.word(), "toolCallId": self.word()} | self.members(others)

    def outcome(self) -> Any:
        kind = self.random.choice(("interrupt", "success", "cancelled"))
        asked = {"interrupts": lambda: self.list_of(self.interrupt), "pendingToolCallIds": self.any}
        return {"type": kind} | self.members(asked)

    def event(self) -> Any:
        special: dict[str, Callable[[], Any]] = {
            "messages": lambda: self.list_of(self.message),
            "patch": lambda: self.list_of(self.operation),
            "input": lambda: {"messages": self.list_of(self.message)},
            "outcome": self.outcome,
            "metadata": lambda: {"@ag-ui/client": {"authoritativeActivityTypes": [self.any(), "a"]}, "a": self.any()},
        }
        kind = self.random.choice(KINDS)
        plain = {name: self.some(*[self.word] * 15, self.any) for name in MEMBERS if name not in special}
        event = {"type": kind} | plain | {name: self.some(make, make, self.any) for name, make in special.items()}
        if kind == "STATE_DELTA":
            event["delta"] = self.list_of(self.operation)
        if kind == "CUSTOM":
            event["name"] = self.random.choice((LEGACY, "a"))
        optional = [*self.random.sample(MEMBERS, 3), *self.random.sample(ODD, len(ODD) - 1)]
        for name in optional:
            event.pop(name, None)
        return event


def only_client_errors(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except ClientError:
        return None


@pytest.mark.parametrize("seed", seeds(6))
def test_events_of_any_members(seed: int) -> None:
    made = Made(seed)
    read = sum(taken([made.event() for _ in range(12)]) for _ in range(100))
    assert read > 200, "hardly any of them was an event"


def taken(events: list[Any]) -> int:
    """How many of them were read. Raises what is no `ClientError`."""
    number = 0
    reader, chunks, fold, machine = Reader(), Chunks(), Fold(), Machine([], frozenset({"a"}), {})
    for event in events:
        read = only_client_errors(reader.read, json.dumps(event).encode())
        number += read is not None
        for one in (only_client_errors(lambda read=read: list(chunks.unfolded(read))) or ()) if read else ():
            only_client_errors(fold.apply, one)
            if not machine.ended:
                only_client_errors(machine.feed, one)
    of_interrupts(fold.interrupts, fold.call, fold.subagents)
    of_cards(fold.pending, fold.call)
    json.dumps(fold.messages)
    return number


HEADERS = st.lists(
    st.tuples(
        st.sampled_from(
            [b"Content-Type", b"AGUI-Run-Key", b"Content-Length", b"Transfer-Encoding", b"Content-Encoding"]
        )
        | st.binary(max_size=6),
        st.sampled_from([b"text/event-stream", b"chunked", b"7", b"-1", b"gzip", b"r\xc3\xa4", b"\xff\xfe", b"k"])
        | st.binary(max_size=6),
    ),
    max_size=4,
)
FRAME = st.sampled_from(
    [
        b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n',
        b'data: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}\n\n',
        b"id: r\xc3\xa4:1\n",
        b"id: \xff\n",
        b"id: r:1\n",
        b"id: \x00\x01\n",
        b"data: {\n\n",
        b": \n",
        b"\n",
        b"data: \xff\n\n",
    ]
) | st.binary(max_size=20)
ANSWER = st.tuples(
    st.sampled_from(
        [b"HTTP/1.1 200 OK", b"HTTP/1.1 404 x", b"HTTP/1.1 101 x", b"HTTP/1.1 999 x", b"HTTP/1.1 100 x", b"HTTP/9"]
    )
    | st.binary(max_size=12),
    HEADERS,
    st.booleans(),
    st.lists(FRAME, max_size=6),
)
STREAM = (b"Content-Type", b"text/event-stream")


def said(answer: tuple[bytes, list[tuple[bytes, bytes]], bool, list[bytes]]) -> bytes:
    status, headers, proper, frames = answer
    told = [STREAM, (b"AGUI-Run-Key", b"k"), (b"Connection", b"close")] if proper else headers
    return b"\r\n".join([status, *(b": ".join(pair) for pair in told), b"", b"".join(frames)])


async def answered(replies: list[bytes]) -> None:
    """A conversation with a server that answers each connection with the next reply, and closes it."""
    left = list(replies)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(left.pop(0) if left else b"")
            with suppress(OSError):
                await writer.drain()
        finally:
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        limits = Limits(connect=2.0, idle=2.0, total=4.0, linger=0.1, attempts=1)
        async with Client(f"http://127.0.0.1:{port}/", limits=limits) as client, asyncio.timeout(30):
            thread = client.thread()
            with suppress(ClientError):
                await thread.say("hi")
            assert isinstance(thread.text, str)
            with suppress(ClientError):
                await (await thread.attach())


@settings(examples(60), suppress_health_check=list(HealthCheck))
@given(st.lists(ANSWER, max_size=4))
def test_answers_of_any_bytes(answers: list[Any]) -> None:
    asyncio.run(answered([said(answer) for answer in answers]))


def test_an_id_that_can_not_be_said_back_is_none() -> None:
    """The stream breaks behind one. It was told as `internal`."""
    started = b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nAGUI-Run-Key: k\r\n\r\n"
    for told in (b"id: r\xc3\xa4:1\n", b"id: \xff\n", b"id: a\x01b\n", b"id: " + b"x" * 100_000 + b"\n"):
        asyncio.run(answered([head + told + started] * 2))
