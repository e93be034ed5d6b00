"""Places at which a test can kill the process, to see what is lost. Off, unless the environment asks for one.

``_AGUI_GATE_FAILPOINT="before claim 2"`` ends the process, as `kill -9` does, right before it claims a call for the
second time. There is one before and one after every write to the store, every tool and every event of a stream. What
kind of write it is, is told by what it is for, not by its method: a test of "after the claim" reads as that.

Free when off: nothing imports this module. While one is on, `armed` wraps the store, the bus and what runs tools.
Commands that write to a store have them, too.
"""

import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, Literal, cast, get_args

import msgspec
import structlog

from agui_gate.bus.base import Bus, Publisher
from agui_gate.core.approvals import State
from agui_gate.errors import ConfigurationError
from agui_gate.stores.base import Change, Store
from agui_gate.stores.capabilities import FullStore
from agui_gate.turns import tool_execution
from agui_gate.turns.tool_execution import run_tool

VARIABLE = "_AGUI_GATE_FAILPOINT"
"""``SIDE PLACE [NUMBER]``. It begins with an underscore because it is no setting."""

Side = Literal["before", "after"]

log = structlog.get_logger("agui_gate.failpoints")


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
    PASS = "pass"  # noqa: S105  no password: a held call is passed on
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
    """Reads ``SIDE PLACE [NUMBER]``. Raises `ConfigurationError`."""
    words = text.split()
    try:
        return msgspec.convert(dict(zip(("side", "place", "number"), words, strict=False)), Failpoint, strict=False)
    except msgspec.ValidationError:
        known = ", ".join(Place)
        problem = f'must be "before" or "after", one of {known}, and optionally a number'
        raise ConfigurationError(f"{VARIABLE} {problem}; not {text!r}.") from None


class _Trap:
    """Counts how often its failpoint is reached, and ends the process at the wanted time."""

    def __init__(self, point: Failpoint) -> None:
        self._point, self._left = point, point.number

    def reach(self, side: Side, place: Place) -> None:
        if (side, place) == (self._point.side, self._point.place):
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


_trap: _Trap | None = None


def reach(side: Side, place: Place) -> None:
    """Says that the process is there. Doesn't return if that is where it ends."""
    if _trap is not None:
        _trap.reach(side, place)


def armed(store: Store, bus: Bus, environ: Mapping[str, str] = os.environ) -> tuple[Store, Bus]:
    """Returns the store and the bus as they are; wrapped where the environment names a failpoint. Raises
    `ConfigurationError`.

    A failpoint counts for the whole process. The log warns of it.
    """
    return (cast(Store, _Store(store)), cast(Bus, _Bus(bus))) if _set(environ) else (store, bus)


def armed_store(store: FullStore, environ: Mapping[str, str] = os.environ) -> FullStore:
    """Returns the store as it is, or wrapped, for a command, which has no bus."""
    return cast(FullStore, _Store(store)) if _set(environ) else store


def _set(environ: Mapping[str, str]) -> bool:
    """Sets the trap that the environment names; whether there is one."""
    global _trap
    if not (text := environ.get(VARIABLE)):
        return False
    point = parse(text)
    _trap = _Trap(point)
    _guard_tools()
    log.warning("failpoint", at=str(point), means=f"This process ends itself here. Unset {VARIABLE} outside of tests.")
    return True


def _guard_tools() -> None:
    """Makes every tool a failpoint. The trunk has no place for that, so that a tool costs nothing while none is on."""
    names = vars(tool_execution)
    if names["run_tool"] is run_tool:
        names["run_tool"] = _guarded(run_tool, _always(Place.TOOL))


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


class _Store:
    """A store whose writes are failpoints."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return _guarded(found, WRITES[name]) if name in WRITES else found


def _guarded(write: Callable[..., Awaitable[Any]], place_of: Callable[..., Place]) -> Callable[..., Awaitable[Any]]:
    async def guarded(*args: Any, **kwargs: Any) -> Any:
        place = place_of(*args, **kwargs)
        reach("before", place)
        result = await write(*args, **kwargs)
        reach("after", place)
        return result

    return guarded


# --- buses -----------------------------------------------------------------------------------------------------------

_TERMINAL = (b'"type":"RUN_FINISHED"', b'"type":"RUN_ERROR"')


class _Bus:
    """A bus whose frames are failpoints."""

    def __init__(self, inner: Bus) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def open(self, *args: Any, **kwargs: Any) -> Publisher:
        return cast(Publisher, _Publisher(await self._inner.open(*args, **kwargs)))


class _Publisher:
    """A run's publisher whose frames are failpoints."""

    def __init__(self, inner: Publisher) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def append(self, frame: bytes) -> None:
        place = Place.TERMINAL if any(kind in frame for kind in _TERMINAL) else Place.EVENT
        reach("before", place)
        self._inner.append(frame)
        reach("after", place)
