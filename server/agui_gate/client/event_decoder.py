"""Bytes of a stream → typed events. What an old server spells otherwise is put right here, as client 1.0.0 does it.

A clean event is one call of a decoder. What doesn't fit is looked at member by member: an unknown type is no event, and
None; a retired one (``THINKING_…``) stands for the one that took its place. Anything else is `Malformed`.

Divergence from client 1.0.0: null stands for absent in every optional member, not in a few of them.
"""

import logging
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from agui_gate.client import events as ev
from agui_gate.client.errors import Malformed, TooMuch
from agui_gate.client.messages import cleaned
from agui_gate.core.json_text import has_more, is_deeper

MAX_LEVELS = 128
"""Levels that an event may nest."""

LARGE = 32 * 1024
"""Bytes from which on reading an event, and what it causes, takes long enough to be noticed."""

MAX_CONTAINERS, MAX_VALUES = 100_000, 250_000
"""Objects and lists, and values of any kind, in one event: the decoder lets nobody else work while it makes them."""

log = logging.getLogger("agui_gate.client")

_decoder = msgspec.json.Decoder(ev.AnyEvent)
_any = msgspec.json.Decoder()
_KNOWN = frozenset(str(kind.__struct_config__.tag) for kind in ev.AnyEvent.__args__)
_PATCHES = frozenset({"add", "remove", "replace", "move", "copy", "test"})
_RETIRED = {
    "THINKING_START": "REASONING_START",
    "THINKING_END": "REASONING_END",
    "THINKING_TEXT_MESSAGE_START": "REASONING_MESSAGE_START",
    "THINKING_TEXT_MESSAGE_CONTENT": "REASONING_MESSAGE_CONTENT",
    "THINKING_TEXT_MESSAGE_END": "REASONING_MESSAGE_END",
}


class Reader:
    """The events of one stream. Not for concurrent use."""

    def __init__(self, new_id: Callable[[], str] = lambda: uuid.uuid4().hex) -> None:
        self._new_id = new_id
        self._thought: dict[str, str] = {}
        self._told: set[str] = set()

    def read(self, payload: bytes) -> ev.AnyEvent | None:
        """Returns the event; None for one of an unknown type. Raises `Malformed` and `TooMuch`."""
        if len(payload) > LARGE:
            _check_values(payload)
        try:
            event: ev.AnyEvent = _decoder.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._otherwise(payload)
        _check_depth(payload, event)
        return _checked(event)

    def _otherwise(self, payload: bytes) -> ev.AnyEvent | None:
        """Returns an event that the decoder doesn't take as it is."""
        try:
            sent = _any.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise Malformed("The agent sent an event that is not JSON.") from None
        kind = sent.get("type") if isinstance(sent, dict) else None
        if not isinstance(kind, str):
            raise Malformed("The agent sent an event without a type.")
        if kind in _RETIRED:
            sent, kind = self._renewed(sent, kind), _RETIRED[kind]
        if kind not in _KNOWN:
            if kind not in self._told and len(self._told) < 100:
                self._told.add(kind)
                log.warning("an event of an unknown type is ignored: %s", kind[:60])
            return None
        try:
            event: ev.AnyEvent = msgspec.convert(sent, ev.AnyEvent)
        except (msgspec.ValidationError, RecursionError):
            raise Malformed(f"The agent sent a {kind} that has an invalid form.") from None
        _check_depth(payload, event)
        return _checked(event)

    def _renewed(self, sent: ev.Json, kind: str) -> ev.Json:
        """Returns a retired event as the one that took its place. It had no id, so it gets the one of its beginning."""
        lane = "text" if "TEXT" in kind else "span"
        if kind.endswith("START"):
            self._thought[lane] = self._new_id()
        role = {"role": "reasoning"} if kind == "THINKING_TEXT_MESSAGE_START" else {}
        return {**sent, "type": _RETIRED[kind], "messageId": self._thought.get(lane) or self._new_id(), **role}


def _check_values(payload: bytes) -> None:
    """Raises `TooMuch` for an event of so many values that reading it takes too long."""
    if has_more(payload, MAX_CONTAINERS, b"{[") or has_more(payload, MAX_VALUES, b","):
        raise TooMuch(f"The agent sent an event of more than {MAX_CONTAINERS:,} objects, or {MAX_VALUES:,} values.")


def _check_depth(payload: bytes, event: ev.AnyEvent) -> None:
    """Raises `Malformed` for what nests so deep that others may fail at it. Most events have too few brackets."""
    if payload.count(b"{") + payload.count(b"[") <= MAX_LEVELS:
        return
    if any(is_deeper(getattr(event, name), MAX_LEVELS) for name in event.__struct_fields__):
        raise Malformed("The agent sent an event that is nested too deeply.")


def _checked(event: ev.AnyEvent) -> ev.AnyEvent:
    """Returns the event, if what a decoder can't check is right, too. Raises `Malformed`."""
    match event:
        case ev.MessagesSnapshot():
            return msgspec.structs.replace(event, messages=cleaned(event.messages))
        case ev.RunStarted(input=dict() as given):
            told = given.get("messages")
            messages = cleaned(told) if isinstance(told, list) else []
            return msgspec.structs.replace(event, input={**given, "messages": messages})
        case ev.RunFinished(outcome=dict() as outcome):
            return msgspec.structs.replace(event, outcome=_outcome(outcome))
        case ev.StateDelta():
            _check_patch(event.delta)
        case ev.ActivityDelta():
            _check_patch(event.patch)
        case _:
            pass
    return event


def _outcome(outcome: ev.Json) -> ev.Json | None:
    """Returns a known outcome; one of an unknown type is read as a success (client 1.0.0 strips it)."""
    match outcome.get("type"):
        case "interrupt":
            asked = outcome.get("interrupts")
            if not isinstance(asked, list) or not all(map(_is_interrupt, asked)):
                raise Malformed("The agent asks a question that can't be read.")
            return {"type": "interrupt", "interrupts": [_without_nulls(one) for one in asked]}
        case "cancelled":
            return {"type": "cancelled"}
        case _:
            pending = outcome.get("pendingToolCallIds")
            named = [one for one in pending if isinstance(one, str)] if isinstance(pending, list) else []
            return {"type": "success", "pendingToolCallIds": named} if named else None


def _is_interrupt(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("id"), str) and isinstance(value.get("reason"), str)


def _without_nulls(value: ev.Json) -> ev.Json:
    return {name: member for name, member in value.items() if member is not None}


def _check_patch(operations: list[ev.Json]) -> None:
    for one in operations:
        path, op = one.get("path"), one.get("op")
        good = isinstance(path, str) and (not path or path.startswith("/")) and op in _PATCHES
        if op in ("add", "replace", "test"):
            good = good and "value" in one
        if op in ("move", "copy"):
            good = good and isinstance(one.get("from"), str)
        if not good:
            raise Malformed("The agent sent a change that is not a JSON Patch.")
