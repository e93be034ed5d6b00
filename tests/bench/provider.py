"""A provider that costs next to nothing: the Responses API's stream from prepared bytes, over a bare asyncio protocol.

Every event is an HTTP chunk of its own, as the real service sends them. Unpaced ones are written in bursts of 16, paced
ones one at a time: one timer serves all streams of a rate, and a tick's event is encoded once. `GET /stats` says how
many streams are open.

    python -m tests.bench.provider
"""

import asyncio
import json
import re
from functools import cache
from typing import Any, cast

import uvloop

from tests.bench.machine import LOAD, pin
from tests.bench.processes import announce
from tests.bench.work import CALL, DIRECTIVE, paced_word, word

BURST = 16
"""Events a write holds when nothing paces them."""
PHASES = 20
"""Parts of a period that paced streams are spread over."""

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_ITEM = {"item_id": "msg_1", "output_index": 0, "content_index": 0}


def event(kind: str, **members: Any) -> bytes:
    """One SSE frame."""
    data = json.dumps({"type": kind, **members}, separators=(",", ":"))
    return f"event: {kind}\ndata: {data}\n\n".encode()


def delta(text: str, number: int) -> bytes:
    """A text delta's frame."""
    return event("response.output_text.delta", **_ITEM, delta=text, logprobs=[], sequence_number=number)


def frames(deltas: int) -> list[bytes]:
    """The whole answer: 4 frames that open it, the deltas, 4 that close it."""
    text = "".join(map(word, range(deltas)))
    part = {"type": "output_text", "annotations": [], "logprobs": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant"}
    done = {**item, "status": "completed", "content": [{**part, "text": text}]}
    end = 4 + deltas
    return [
        *opening(),
        *(delta(word(number), 4 + number) for number in range(deltas)),
        event("response.output_text.done", **_ITEM, text=text, logprobs=[], sequence_number=end),
        event("response.content_part.done", **_ITEM, part={**part, "text": text}, sequence_number=end + 1),
        event("response.output_item.done", output_index=0, item=done, sequence_number=end + 2),
        event("response.completed", response=_response("completed", [done], deltas), sequence_number=end + 3),
    ]


def call_frames() -> list[bytes]:
    """An answer that calls the gated tool, and says nothing else."""
    item = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "refund", "arguments": ""}
    whole = {**item, "arguments": '{"order":"order-1","amount":49.5}', "status": "completed"}
    place = {"item_id": "fc_1", "output_index": 0}
    return [
        event("response.created", response=_response("in_progress", [], 0), sequence_number=0),
        event("response.output_item.added", output_index=0, item=item, sequence_number=1),
        event("response.function_call_arguments.delta", **place, delta=whole["arguments"], sequence_number=2),
        event("response.function_call_arguments.done", **place, arguments=whole["arguments"], sequence_number=3),
        event("response.output_item.done", output_index=0, item=whole, sequence_number=4),
        event("response.completed", response=_response("completed", [whole], 1), sequence_number=5),
    ]


def opening() -> list[bytes]:
    """The frames before the first delta."""
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    return [
        event("response.created", response=_response("in_progress", [], 0), sequence_number=0),
        event("response.in_progress", response=_response("in_progress", [], 0), sequence_number=1),
        event("response.output_item.added", output_index=0, item=item, sequence_number=2),
        event("response.content_part.added", **_ITEM, part=part, sequence_number=3),
    ]


def _response(status: str, output: list[Any], written: int) -> dict[str, Any]:
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 10 + written,
    }
    empty = ("error", "incomplete_details", "instructions", "max_output_tokens", "previous_response_id", "user")
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_760_000_000,
        "status": status,
        "model": "bench",
        "output": output,
        "parallel_tool_calls": True,
        "reasoning": {"effort": None, "summary": None},
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage if status == "completed" else None,
        "metadata": {},
        **dict.fromkeys(empty),
    }


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@cache
def _writes(deltas: int) -> list[bytes]:
    """The answer in the pieces it is written in."""
    chunks = list(map(_chunk, frames(deltas)))
    middle = chunks[4:-4]
    bursts = [b"".join(middle[i : i + BURST]) for i in range(0, len(middle), BURST)]
    return [_HEAD + b"".join(chunks[:4]), *bursts, b"".join(chunks[-4:]) + b"0\r\n\r\n"]


@cache
def _call_writes() -> list[bytes]:
    """The call in the one piece it is written in."""
    return [_HEAD + b"".join(map(_chunk, call_frames())) + b"0\r\n\r\n"]


class Pacer:
    """The one timer of all streams of a rate (deltas a second and stream), which it spreads over the period."""

    def __init__(self, rate: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._step = 1 / rate / PHASES
        self._phases: list[set[Stream]] = [set() for _ in range(PHASES)]
        self._added = self._ticks = 0
        self._start = self._loop.time()
        self._tick()

    def add(self, stream: "Stream") -> None:
        """Let ``stream`` have a delta every period, until it is discarded."""
        phase = self._phases[self._added * 7 % PHASES]  # 7 and 20 share no factor: neighbours are apart
        self._added += 1
        phase.add(stream)
        stream.phase = phase

    def _tick(self) -> None:
        if phase := self._phases[self._ticks % PHASES]:
            data = _chunk(delta(paced_word(self._ticks // PHASES), self._ticks))
            for stream in phase:
                stream.transport.write(data)
        self._ticks += 1
        self._loop.call_at(self._start + self._ticks * self._step, self._tick)


class Stream(asyncio.Protocol):
    """One connection. It answers one request at a time."""

    open = 0
    pacers: dict[int, Pacer] = {}  # noqa: RUF012  (shared by all connections on purpose)

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._received = bytearray()
        self._wanted = 0
        self._active = self._paused = False
        self._writes: list[bytes] = []
        self._written = 0
        self.phase: set[Stream] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name

    def connection_lost(self, exc: Exception | None) -> None:
        if self.phase is not None:
            self.phase.discard(self)
        self._finished()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._write_on()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._wanted:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                return
            length = _LENGTH.search(self._received, 0, end)
            self._wanted = end + 4 + (int(length[1]) if length else 0)
        if len(self._received) >= self._wanted:
            request = bytes(self._received)
            self._received.clear()
            self._wanted = 0
            self._answer(request)

    def _answer(self, request: bytes) -> None:
        if request.startswith(b"GET"):
            body = b"%d" % Stream.open
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
            return
        found = DIRECTIVE.search(request, request.rfind(b"bench deltas="))
        assert found is not None, "a request without a directive"
        deltas, rate = int(found[1]), int(found[2])
        calls = request.startswith(CALL, found.end()) and request.find(b"function_call_output", found.end()) < 0
        Stream.open += 1
        self._active = True
        if rate:
            self._pace(rate)
        else:
            self._writes, self._written = _call_writes() if calls else _writes(deltas), 0
            self._write_on()

    def _pace(self, rate: int) -> None:
        self.transport.write(_HEAD + b"".join(map(_chunk, opening())))
        if rate not in Stream.pacers:
            Stream.pacers[rate] = Pacer(rate)
        Stream.pacers[rate].add(self)

    def _write_on(self) -> None:
        """Write a piece and come back for the next; each is read before the next is there."""
        if not self._active or self._paused or self.phase is not None:
            return
        self.transport.write(self._writes[self._written])
        self._written += 1
        if self._written == len(self._writes):
            self._finished()
        elif not self._paused:
            asyncio.get_running_loop().call_soon(self._write_on)

    def _finished(self) -> None:
        if self._active:
            self._active = False
            Stream.open -= 1


async def main() -> None:
    """Listen until the parent leaves."""
    server = await asyncio.get_running_loop().create_server(Stream, "127.0.0.1", 0, backlog=4096)
    announce(server.sockets[0].getsockname()[1])
    await server.serve_forever()


if __name__ == "__main__":
    pin(LOAD)
    uvloop.run(main())
