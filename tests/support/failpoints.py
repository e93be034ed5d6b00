"""Places at which a test kills a process, as `kill -9` does, to see what is lost.

There is one before and one after every write to the store, every tool and every event of a stream. What kind of write
it is, is told by what it is for, not by its method: a test of "after the claim" reads as that.
"""

import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, Literal, cast, get_args

import msgspec

from agui_gate.bus.base import Bus, Publisher
from agui_gate.core.approvals import State
from agui_gate.stores.base import Change
from agui_gate.turns import tool_execution

Side = Literal["before", "after"]
Reach = Callable[[Side, "Place"], None]
"""Says that the process is there. Doesn't return if that is where it ends."""


class Place(StrEnum):
    """A place in the code: what is about to happen there, or has just happened."""

    LEASE = "lease"
    """A thread's lease is taken."""
    RENEW = "renew"
    """Leases are prolonged."""
    SAVE = "save"
    """The journal is saved, in the middle of a run."""
    ASK = "ask"
    """A turn is saved with the approvals that it asks for."""
    CLAIM = "claim"
    """An approval is claimed."""
    TOOL = "tool"
    """A tool runs."""
    RESULT = "result"
    """The outcome of a claimed call is recorded."""
    PASS = "pass"
    """A held call is passed on to the provider, or comes back."""
    CLOSE = "close"
    """An approval is closed that nothing ran of: rejected, expired, superseded, cancelled."""
    RELEASE = "release"
    """A run ends in the store, and gives its lease back."""
    STOP = "stop"
    """Somebody asks a run to stop."""
    STOPPED = "stopped"
    """A process takes what was asked of its runs."""
    RENAME = "rename"
    """A thread's title changes, or it goes into the archive."""
    DELETE = "delete"
    """A thread is deleted."""
    NOTE = "note"
    """Something is kept that changed nothing."""
    DELIVER = "deliver"
    """Notices are taken out of the outbox, or forgotten because they were told."""
    SWEEP = "sweep"
    """One step of forgetting what is old and settled."""
    EPOCH = "epoch"
    """A restored backup begins a new epoch."""
    FREEZE = "freeze"
    """Gated calls are frozen, or a freeze ends."""
    REVOKE = "revoke"
    """A standing grant is revoked."""
    EVENT = "event"
    """An event of a run is published."""
    TERMINAL = "terminal"
    """The last event of a run is published."""


class Failpoint(msgspec.Struct, frozen=True):
    """The point at which the process ends: the ``number``-th time that it comes to one side of a place."""

    side: Side
    place: Place
    number: int = 1

    def __str__(self) -> str:
        return f"{self.side} {self.place} {self.number}"


EVERY = tuple(Failpoint(side, place) for place in Place for side in get_args(Side))
"""All of them, the first time that each is reached."""


def parse(text: str) -> Failpoint:
    """Reads ``SIDE PLACE [NUMBER]``."""
    return msgspec.convert(dict(zip(("side", "place", "number"), text.split(), strict=False)), Failpoint, strict=False)


class Trap:
    """Counts how often its failpoint is reached, and ends the process at the wanted time."""

    def __init__(self, text: str) -> None:
        self._point = parse(text)
        self._left = self._point.number

    def reach(self, side: Side, place: Place) -> None:
        if (side, place) == (self._point.side, self._point.place):
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def arm_server(text: str) -> None:
    """Ends this process at ``SIDE PLACE [NUMBER]`` ("": nowhere) of the applications that it makes from now on."""
    from agui_gate.http import app

    if text:
        reach, make = Trap(text).reach, vars(app)["Engine"]

        def armed(agents: Any, store: Any, deployment: Any, bus: Any, **more: Any) -> Any:
            return make(
                agents, cast(Any, GuardedStore(store, reach)), deployment, cast(Any, GuardedBus(bus, reach)), **more
            )

        vars(app)["Engine"] = armed
        vars(tool_execution)["run_tool"] = _guarded(tool_execution.run_tool, _always(Place.TOOL), reach)


def arm_command(text: str) -> None:
    """Ends this process at ``SIDE PLACE [NUMBER]`` of the store that its command opens."""
    from agui_gate.cli import store_access

    reach, make = Trap(text).reach, vars(store_access)["open_store"]
    vars(store_access)["open_store"] = lambda *args, **more: GuardedStore(make(*args, **more), reach)


# --- stores ----------------------------------------------------------------------------------------------------------


def _commit(_thread: object, change: Change, _run_key: str) -> Place:
    if change.approvals:
        return Place.ASK
    return Place.SAVE if change.status is None else Place.RELEASE


def _move(_approval_id: str, to: State, **_: object) -> Place:
    match to:
        case State.CLAIMED:
            return Place.CLAIM
        case State.DONE | State.FAILED | State.UNKNOWN:
            return Place.RESULT
        case State.PASSED | State.GIVEN_BACK:
            return Place.PASS
        case _:
            return Place.CLOSE


def _always(place: Place) -> Callable[..., Place]:
    return lambda *_, **__: place


WRITES: Mapping[str, Callable[..., Place]] = {
    "lease_thread": _always(Place.LEASE),
    "renew": _always(Place.RENEW),
    "commit": _commit,
    "move": _move,
    "ask_to_stop": _always(Place.STOP),
    "take_stops": _always(Place.STOPPED),
    "update_thread": _always(Place.RENAME),
    "delete_thread": _always(Place.DELETE),
    "note": _always(Place.NOTE),
    "take_notices": _always(Place.DELIVER),
    "sweep": _always(Place.SWEEP),
    "begin_epoch": _always(Place.EPOCH),
    "freeze": _always(Place.FREEZE),
    "revoke_grant": _always(Place.REVOKE),
}
"""The methods of a store that write, and what each call of them is for."""


class GuardedStore:
    """A store whose writes are failpoints."""

    def __init__(self, inner: Any, reach: Reach) -> None:
        self._inner, self._reach = inner, reach

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return _guarded(found, WRITES[name], self._reach) if name in WRITES else found


def _guarded(
    write: Callable[..., Awaitable[Any]], place_of: Callable[..., Place], reach: Reach
) -> Callable[..., Awaitable[Any]]:
    async def guarded(*args: Any, **kwargs: Any) -> Any:
        place = place_of(*args, **kwargs)
        reach("before", place)
        result = await write(*args, **kwargs)
        reach("after", place)
        return result

    return guarded


# --- buses -----------------------------------------------------------------------------------------------------------

_TERMINAL = (b'"type":"RUN_FINISHED"', b'"type":"RUN_ERROR"')


class GuardedBus:
    """A bus whose frames are failpoints."""

    def __init__(self, inner: Bus, reach: Reach) -> None:
        self._inner, self._reach = inner, reach

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def open(self, *args: Any, **kwargs: Any) -> Publisher:
        return cast(Publisher, _Publisher(await self._inner.open(*args, **kwargs), self._reach))


class _Publisher:
    """A run's publisher whose frames are failpoints."""

    def __init__(self, inner: Publisher, reach: Reach) -> None:
        self._inner, self._reach = inner, reach

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def append(self, frame: bytes) -> None:
        place = Place.TERMINAL if any(kind in frame for kind in _TERMINAL) else Place.EVENT
        self._reach("before", place)
        self._inner.append(frame)
        self._reach("after", place)
