"""Tells, in a question about a call, of the same tool's earlier calls in its thread.

Somebody who asks for another answer is soon asked the same question again, and the card looks as the first one did. So
each card and interrupt has `already_ran`. Pages that show nothing but the question are told in words what is easily
overlooked. That is what ran in an answer that was replaced, and what ran with the very same arguments.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from agui_gate.core.approvals import RAN, Approval, State
from agui_gate.core.json_text import canonical, parse_object
from agui_gate.core.transcript import Entry, ReplacedEntry
from agui_gate.protocol.cards import AlreadyRan, in_order, iso, shown

MAX_EARLIER = 10
"""Calls that are told, the latest ones."""
MAX_WORDS = 3
"""Calls that are told in words."""
MAX_SHOWN = 300
"""Characters of a result or an argument, or of all arguments in words."""


class _Call(msgspec.Struct, frozen=True):
    """A call of the same tool that ran. ``at`` is in ms; None: not known."""

    arguments: str
    state: State
    result: str | None = None
    at: int | None = None
    replaced: bool = False


def already_ran(
    approval: Approval, parameters: dict[str, Any], approvals: Iterable[Approval], entries: Iterable[Entry]
) -> AlreadyRan | None:
    """Returns what to say beside the question about ``approval``; None if nothing ran. ``parameters``: its tool's
    schema.
    """
    ran = _earlier(approval, approvals, entries)
    return (
        AlreadyRan([_call_view(one, parameters) for one in ran], _sentence(approval, ran, parameters)) if ran else None
    )


def _earlier(approval: Approval, approvals: Iterable[Approval], entries: Iterable[Entry]) -> list[_Call]:
    """Returns the calls of its tool that ran in its thread, oldest first, the latest of them."""
    found = [
        _Call(a.effective_arguments, a.state, a.output.content if a.output else None, a.decided_at, a.replaced)
        for a in approvals
        if a.state in RAN and a.id != approval.id and (a.tool, a.source) == (approval.tool, approval.source)
        if not (a.is_begun and a.replaced)  # its turns are gone, and nobody knows whether it had any
    ]
    free = [
        _Call(call.arguments, State.DONE, call.output.content, None, replaced=True)
        for entry in entries
        if isinstance(entry, ReplacedEntry)
        for call in entry.free
        if call.name == approval.tool and not approval.source
    ]
    return [*free, *sorted(found, key=lambda one: one.at or 0)][-MAX_EARLIER:]


def _call_view(one: _Call, parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "arguments": {name: _short(value) for name, value in shown(one.arguments, parameters).items()},
        "at": None if one.at is None else iso(one.at),
        "state": str(one.state),
        "result": None if one.result is None else _cut(one.result),
        "replaced": one.replaced,
    }


def _sentence(approval: Approval, ran: Sequence[_Call], parameters: dict[str, Any]) -> str | None:
    """Returns one sentence about what is easily overlooked; None if there is nothing of that kind."""
    asked = canonical(approval.arguments)
    striking = [one for one in ran if one.replaced or _same(one, asked)][-MAX_WORDS:]
    if not striking:
        return None
    return f"Already ran in this thread: {'; '.join(_words(one, parameters) for one in striking)}."


def _same(one: _Call, asked: str) -> bool:
    arguments = parse_object(one.arguments)
    return arguments is not None and canonical(arguments) == asked


def _words(one: _Call, parameters: dict[str, Any]) -> str:
    """Returns a call that ran, in words: its arguments, when, and what came of it."""
    items = in_order(one.arguments, parameters).items()
    named = ", ".join(f"{name}={msgspec.json.encode(value).decode()}" for name, value in items)
    when = "" if one.at is None else f" at {datetime.fromtimestamp(one.at / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    where = ", in an answer that was replaced" if one.replaced else ""
    came = {State.FAILED: ", and failed", State.UNKNOWN: ", and whether it took effect is not known"}.get(one.state, "")
    return f"{_cut(named) or 'without arguments'}{when}{where}{came}"


def _short(value: Any) -> Any:
    """Returns an argument as it is, or the beginning of a long one as text."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return value if len(text) <= MAX_SHOWN else _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
