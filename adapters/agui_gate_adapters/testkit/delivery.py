"""How an answer's events become the bytes of an HTTP body: framing, chunk boundaries, pauses, cuts.

`deliver` yields bytes to send and instructions to the server in between. It is a plain generator; whoever drives it
does the sending and the waiting.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

import msgspec

from agui_gate_adapters.testkit.api import Answer
from agui_gate_adapters.testkit.script import Chunking
from agui_gate_adapters.testkit.wire import encode

__all__ = ["Cut", "Hang", "Pause", "Step", "deliver"]


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
