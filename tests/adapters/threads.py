"""Threads that talk to an emulator: what every one of them can, and the one that keeps its turns as it got them."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from agui_gate.adapter import (
    Adapter,
    AssistantTurn,
    ConversationRef,
    Output,
    TextPart,
    Transcript,
    TurnRequest,
    UserTurn,
)
from agui_gate_adapters.testkit import Emulator, serve

from .support import WEATHER, Json, Turn, run, user

M = TypeVar("M", bound=Adapter)
T = TypeVar("T")


class Talks(Protocol):
    """A thread as the tests of every adapter use it."""

    model: Any
    edits: dict[str, str]
    """By the tool's name: arguments that a person changed a call to before it ran."""

    def request(self) -> TurnRequest:
        """What the next turn is asked with."""
        ...

    def say(self, text: str, role: Any = "user") -> None:
        """The user says something (or, by ``role``, the developer)."""
        ...

    async def turn(self) -> Turn:
        """The model's next turn, kept with outputs for its calls."""
        ...

    def keep_cut(self, text: str) -> None:
        """Keep a turn that showed this text and then failed."""
        ...


class Thread(Generic[M]):
    """A thread as the engine keeps it: the whole transcript and the last committed ref."""

    def __init__(self, model: M) -> None:
        self.model = model
        self.transcript: list[UserTurn | AssistantTurn] = []
        self.ref: ConversationRef | None = None
        self.outputs: dict[str, Output] = {}
        self.edits: dict[str, str] = {}

    def request(self) -> TurnRequest:
        """What the next turn is asked with."""
        transcript: Transcript = tuple(self.transcript)
        return TurnRequest(transcript, "Be brief.", (WEATHER,), self.ref)

    def say(self, text: str, role: Any = "user") -> None:
        """The user says something."""
        self.transcript.append(user(text, f"u{len(self.transcript)}", role))

    async def turn(self) -> Turn:
        """The model's next turn, added to the transcript with outputs for its calls."""
        turn = await run(self.model, self.request())
        turn_id = f"t{len(self.transcript)}"
        ref = turn.done.ref
        if ref is not None:
            ref = msgspec.structs.replace(ref, turn_id=turn_id, committed_at=time.time_ns() // 1_000_000)
            self.ref = ref
        parts = turn.parts(self.outputs, self.edits)
        self.transcript.append(AssistantTurn(turn_id, parts, self.model.origin, ref))
        return turn

    def keep_cut(self, text: str) -> None:
        """A turn that failed was not committed: it has no ref."""
        self.transcript.append(AssistantTurn("cut", (TextPart("m", text),), self.model.origin))


@asynccontextmanager
async def talking_to(
    make: Callable[..., M], thread: Callable[[M], T], script: Any, emulator: Json, options: Json
) -> AsyncIterator[tuple[Emulator, T]]:
    """An emulator with this script, and a thread of this kind that talks to it."""
    provider = Emulator(script=script, **emulator)
    async with serve(provider) as base_url:
        model = make(base_url=base_url, api_key="sk-test", **options)
        try:
            yield provider, thread(model)
        finally:
            await model.aclose()
