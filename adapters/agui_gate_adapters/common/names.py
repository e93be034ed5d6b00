"""Renames tools for a provider that accepts only some names, and makes call ids.

Providers refuse a request for one name with a dot or a space in it, whether a tool has it or a call in the history. And
models invent such names (`functions.pay`, `multi_tool_use.parallel`), and histories bring them. A name that is fine
goes as it is. Any other goes under one that is made from it. It is the same each time (prompt caches), and never one
that something else in the request has. A call that comes back under such a name is given its own again, so that a
client's tool may be called what it likes. Nothing is ever guessed: a name that only looks like a tool's is not that
tool's.
"""

import hashlib
import re
from collections.abc import Callable
from contextlib import aclosing
from functools import lru_cache

import msgspec

from agui_gate.adapter import (
    AssistantTurn,
    CallStart,
    ModelEvent,
    NamedTool,
    SettledCall,
    ToolChoice,
    TurnRequest,
    UserTurn,
)
from agui_gate_adapters.common.large_requests import Turns, is_new, made_of
from agui_gate_adapters.common.provider_turn import Batches, prepared

# Call ids for a provider that would not accept the ones a transcript has.


def stable_id(prefix: str, *names: str, digits: int = 32) -> str:
    """Makes an id from what it names, not at random: equal transcripts give equal requests (prompt caches)."""
    text = "\0".join(names).encode(errors="replace")
    return prefix + hashlib.blake2b(text, digest_size=32).hexdigest()[:digits]


NAMES = "names"
"""The name by which those of a thread stay with it: see `made_of`."""

LONGEST = 64
"""Characters that most providers take."""

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]+")
_DIGITS = 10


class Names:
    """The names of one request, both ways. ``longest``: characters that this provider takes."""

    def __init__(self, request: TurnRequest, longest: int = LONGEST) -> None:
        self._wire = _changed(tuple(_all(request)), longest)
        self._ours = {wire: name for name, wire in self._wire.items()} if self._wire else self._wire

    def __bool__(self) -> bool:
        """Whether any name goes under another."""
        return bool(self._wire)

    def wire(self, name: str) -> str:
        """Returns the name that the provider is sent."""
        return self._wire.get(name, name)

    def ours(self, wire: str) -> str:
        """Returns the own name behind one that the provider sends."""
        return self._ours.get(wire, wire)

    def request(self, request: TurnRequest) -> TurnRequest:
        """Returns the request with the names that the provider is sent."""
        tools = tuple(msgspec.structs.replace(tool, name=self.wire(tool.name)) for tool in request.tools)
        return msgspec.structs.replace(
            request,
            tools=tools,
            transcript=tuple(map(self._turn, request.transcript)),
            tool_choice=self._choice(request.tool_choice),
        )

    def _turn(self, turn: UserTurn | AssistantTurn) -> UserTurn | AssistantTurn:
        if isinstance(turn, UserTurn) or not any(call.part.name in self._wire for call in turn.local_calls):
            return turn
        parts = tuple(self._call(part) if isinstance(part, SettledCall) else part for part in turn.parts)
        return msgspec.structs.replace(turn, parts=parts)

    def _call(self, call: SettledCall) -> SettledCall:
        name = self.wire(call.part.name) if call.part.local else call.part.name
        return msgspec.structs.replace(call, part=msgspec.structs.replace(call.part, name=name))

    def _choice(self, choice: ToolChoice | None) -> ToolChoice | None:
        return NamedTool(self.wire(choice.name)) if isinstance(choice, NamedTool) else choice


@lru_cache(maxsize=64)
def _changed(names: tuple[str, ...], longest: int) -> dict[str, str]:
    """Returns the names that go under another one, and that. Not to be changed: most requests have the same."""
    taken = {name for name in names if len(name) <= longest and _NAME.fullmatch(name)}
    changed: dict[str, str] = {}
    for name in names:
        if name not in taken:
            changed[name] = made = _made(name, taken, longest)
            taken.add(made)
    return changed


def _made(name: str, taken: set[str], longest: int) -> str:
    """Makes a name that the provider accepts from ``name``, other than those in ``taken``."""
    readable = _NOT_IN_NAMES.sub("_", name)[: longest - _DIGITS - 1].strip("_-")
    if not readable[:1].isalpha():  # some providers insist on a letter
        readable = f"tool_{readable}"[: longest - _DIGITS - 1]
    attempt = 0
    while (made := stable_id(f"{readable.rstrip('_')}_", name, str(attempt), digits=_DIGITS)) in taken:
        attempt += 1
    return made


def _all(request: TurnRequest) -> dict[str, None]:
    """Returns every name in the request, once, in order."""
    called, rest = made_of(request, NAMES, dict[str, None](), _with_called)
    return dict.fromkeys([tool.name for tool in request.tools]) | _with_called(called, rest)


def _with_called(names: dict[str, None], turns: Turns) -> dict[str, None]:
    """Returns ``names``, and then those of the calls in these turns."""
    calls = [p.part for turn in turns if type(turn) is AssistantTurn for p in turn.parts if type(p) is SettledCall]
    return names | dict.fromkeys([call.name for call in calls if call.kind not in ("hosted", "held")])


def stream_named(request: TurnRequest, stream: Callable[[TurnRequest], Batches], *, longest: int = LONGEST) -> Batches:
    """Yields what ``stream`` yields for the request with names that the provider accepts, renamed back."""

    def named(request: TurnRequest) -> tuple[TurnRequest, Names]:
        names = Names(request, longest)
        return (names.request(request) if names else request), names

    def streamed(made: tuple[TurnRequest, Names]) -> Batches:
        return _renamed(stream(made[0]), made[1]) if made[1] else stream(made[0])

    if not is_new(request, NAMES) and not Names(request, longest):  # they stay with the thread
        return stream(request)
    return prepared(request, named, streamed, heavy=request.large)


async def _renamed(batches: Batches, names: Names) -> Batches:
    """Yields the batches, with calls under their own names."""
    async with aclosing(batches):
        async for batch in batches:
            yield [_named(event, names) for event in batch]


def _named(event: ModelEvent, names: Names) -> ModelEvent:
    if not isinstance(event, CallStart) or event.hosted:
        return event
    return msgspec.structs.replace(event, name=names.ours(event.name))
