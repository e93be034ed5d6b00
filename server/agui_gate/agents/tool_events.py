"""Checks and tells the client what a tool reports while it works, besides its result.

The protocol's own types (`ag_ui.core`) come in, checked; ours go out, to be put into the run's stream. A message id is
the call's own: on the wire it begins with the id of the call. So no tool can write over a message, or over what another
call shows.
"""

from typing import TYPE_CHECKING, Any

import msgspec

from agui_gate.agents.state_form import replace, written
from agui_gate.agents.tool import Shown, Tell, Told
from agui_gate.core import events as ev
from agui_gate.core.json_changes import SLACK, difference, is_safe, patched
from agui_gate.core.json_text import is_deeper
from agui_gate.core.transcript import ActivityEntry

if TYPE_CHECKING:
    from ag_ui.core import (
        ActivityDeltaEvent,
        ActivitySnapshotEvent,
        BaseEvent,
        CustomEvent,
        StateDeltaEvent,
        StateSnapshotEvent,
    )

    Emittable = CustomEvent | StateSnapshotEvent | StateDeltaEvent | ActivitySnapshotEvent | ActivityDeltaEvent


MAX_EVENT = 1024 * 1024
"""Bytes of what one event carries, as JSON; and of all that a call's activities show."""

MAX_LEVELS = 64
"""Levels that an activity, or the shared state, may nest: as many as what comes in may."""

MAX_ACTIVITIES = 100
"""Activities that one call may show."""

OURS = "agui-gate:"
"""The beginning of the names of the server's own CUSTOM events."""

_encode = msgspec.json.encode

_BESIDES = ("timestamp", "raw_event", "metadata", "subagent_run_id")
"""Members of every event of the protocol that nobody needs to set here."""


class Emitter:
    """Emits the events of one call. ``tell`` takes each in order; with None nobody listens, and everything is checked
    still.
    """

    def __init__(self, call_id: str, tell: Tell | None) -> None:
        self._call_id = call_id
        self._tell = tell
        self._shown: dict[str, ActivityEntry] = {}
        """The activities as they are shown, by the id that the tool has for each."""
        self._sizes: dict[str, int] = {}
        """The size of each activity, in bytes."""
        self._state: bytes | None = None
        """The shared state as this call told it last, as JSON."""

    def activity(self, kind: str, content: dict[str, Any]) -> None:
        """Shows an activity that has its kind for an id, or what has changed of it. See `ToolContext.activity`."""
        if not isinstance(kind, str):
            raise TypeError("an activity's kind is a str")
        if not isinstance(content, dict):
            raise TypeError("an activity's content is a dict")
        self.show(kind, kind, content)

    def show(self, key: str, kind: str, content: dict[str, Any]) -> None:
        """Shows the activity ``key``, or what has changed of it. Raises ValueError for one that there is no room
        for, and for one that is no object.
        """
        if not isinstance(content, dict):
            raise ValueError("an activity's content is an object")
        kind, after = _json(kind), _json(content)
        before = self._shown.get(key)
        if before is None or before.kind != kind:
            self._show(key, kind, after, ev.ActivitySnapshot(self._wire_id(key), kind, after))
        elif operations := difference(before.content, after):
            small = len(_encode(operations)) < len(_encode(after)) + SLACK and is_safe(operations)
            name = before.message_id
            event = ev.ActivityDelta(name, kind, operations) if small else ev.ActivitySnapshot(name, kind, after)
            self._show(key, kind, after, event)

    def emit(self, event: "BaseEvent", state: Any) -> None:
        """Sends ``event``; one about the state changes ``state``, too. See `ToolContext.emit`."""
        from ag_ui import core  # whoever has an event has loaded it

        kinds = (
            core.CustomEvent,
            core.StateSnapshotEvent,
            core.StateDeltaEvent,
            core.ActivitySnapshotEvent,
            core.ActivityDeltaEvent,
        )
        if not isinstance(event, kinds):
            names = ", ".join(kind.__name__ for kind in kinds)
            raise TypeError(f"ctx.emit takes {names} of ag_ui.core, not {type(event).__name__}")
        event = _valid(event)
        match event:
            case core.CustomEvent():
                self._send(_custom(event))
            case core.StateSnapshotEvent():
                self._put(_json(event.snapshot), state)
                self._send(ev.StateSnapshot(_json(event.snapshot)))
            case core.StateDeltaEvent():
                self._send(self._state_delta(_operations(event.delta), state))
            case core.ActivitySnapshotEvent():
                self._activity_snapshot(event)
            case core.ActivityDeltaEvent():
                self._activity_delta(event)

    def _state_delta(self, operations: list[dict[str, Any]], state: Any) -> ev.Event:
        """Returns the change, for a client that has what it changes; for others the state as it is now."""
        before = written(state)
        known = self._state is not None and self._state == before
        new = patched(msgspec.json.decode(before), operations)
        self._put(new, state)
        return ev.StateDelta(operations) if known else ev.StateSnapshot(_json(new))

    def _put(self, new: Any, state: Any) -> None:
        """Puts ``new`` into the same object, which other tools may be at work with."""
        if not isinstance(new, dict):
            raise ValueError("the shared state is an object")
        _encoded(new)
        if is_deeper(new, MAX_LEVELS):
            raise ValueError(f"the shared state nests up to {MAX_LEVELS} levels")
        replace(state, new)
        self._state = written(state)

    def _activity_snapshot(self, event: "ActivitySnapshotEvent") -> None:
        key, content = event.message_id, _json(event.content)  # now, as the tool may go on changing it
        told = ev.ActivitySnapshot(self._wire_id(key), event.activity_type, content, event.replace)
        if event.replace is False and key in self._shown:
            self._send(Shown(told, self._shown[key]))
        else:
            self._show(key, event.activity_type, content, told)

    def _activity_delta(self, event: "ActivityDeltaEvent") -> None:
        key = event.message_id
        shown = self._shown.get(key)
        if shown is None:
            raise ValueError(f"this call has shown no activity {key!r} that could be changed; begin with a snapshot")
        if event.activity_type != shown.kind:
            raise ValueError(f"the activity {key!r} is of the type {shown.kind!r}, which a change must repeat")
        operations = _operations(event.patch)
        content = patched(shown.content, operations)
        if not isinstance(content, dict):
            raise ValueError("an activity's content is an object, also after a change")
        self._show(key, shown.kind, content, ev.ActivityDelta(shown.message_id, shown.kind, operations))

    def _show(self, key: str, kind: str, content: dict[str, Any], event: ev.Event) -> None:
        """Shows ``content`` by ``event``, if there is room for it."""
        entry = ActivityEntry(self._wire_id(key), kind, content, self._call_id)
        sizes = self._sizes | {key: len(_encoded(entry))}
        if len(sizes) > MAX_ACTIVITIES:
            raise ValueError(f"one call shows up to {MAX_ACTIVITIES} activities")
        if (size := sum(sizes.values())) > MAX_EVENT:
            raise ValueError(f"the activities of one call show up to {MAX_EVENT:,} bytes, not {size:,}")
        if is_deeper(content, MAX_LEVELS):
            raise ValueError(f"an activity nests up to {MAX_LEVELS} levels")
        self._sizes, self._shown[key] = sizes, entry
        self._send(Shown(event, entry))

    def _wire_id(self, key: str) -> str:
        return f"{self._call_id}-activity-{key}"

    def _send(self, event: Told) -> None:
        if self._tell is not None:
            self._tell(event)


def _valid(event: Any) -> Any:
    """Returns the event once more: what was set after it was made is checked, too. Raises ValueError (pydantic's)."""
    if besides := [name for name in (*_BESIDES, *(event.model_extra or {})) if getattr(event, name) is not None]:
        raise ValueError(f"ctx.emit doesn't send {', '.join(besides)}; leave it out")
    return type(event).model_validate({name: getattr(event, name) for name in type(event).model_fields})


def _custom(event: "CustomEvent") -> ev.Event:
    if event.name.startswith(OURS):
        raise ValueError(f"names that begin with {OURS} are the server's own; choose another than {event.name!r}")
    return ev.Custom(event.name, _json(event.value))


def _operations(patch: list[Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _json([operation.model_dump(by_alias=True) for operation in patch])
    return found


def _json(value: Any) -> Any:
    """Returns a copy of ``value``. Raises ValueError for what is not JSON, or is too large."""
    return msgspec.json.decode(_encoded(value))


def _encoded(value: Any) -> bytes:
    try:
        encoded = _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"an event must contain JSON, and this is not: {error}") from error
    if len(encoded) > MAX_EVENT:
        raise ValueError(f"an event carries up to {MAX_EVENT:,} bytes, not {len(encoded):,}")
    return encoded
