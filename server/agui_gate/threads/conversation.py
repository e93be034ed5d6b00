"""A thread as clients are told it: messages and shared state as JSON."""

from collections.abc import Sequence, Set
from typing import NamedTuple

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.transcript import Entry
from agui_gate.core.view import View
from agui_gate.protocol.message_shapes import Message, for_v0
from agui_gate.protocol.messages import agui_messages
from agui_gate.stores.base import Thread
from agui_gate.worker_thread import LARGE, LARGE_BYTES, json_list, off_loop


class Conversation:
    """A thread as it was at one moment of a run; called, it gives its messages, made the first time that somebody asks.

    What the run has not told yet is not in them.

    Content has the shapes of 1.x, for whoever joins to bring it into its own.
    """

    __slots__ = ("_approvals", "_entries", "_made", "_view")

    def __init__(self, entries: list[Entry], approvals: list[Approval], view: View) -> None:
        self._entries, self._approvals, self._view = entries, approvals, view
        self._made: msgspec.Raw | None = None

    def __call__(self) -> msgspec.Raw:
        """The messages, as a JSON list."""
        if self._made is None:
            self._made = json_list(agui_messages(self._entries, self._approvals, view=self._view, untold=False))
        return self._made

    async def prepare(self) -> None:
        """Make them now, off the loop where that is heavy."""
        if self._made is None and len(self._entries) > LARGE:
            await off_loop(self)


class Told(NamedTuple):
    """A thread as AG-UI messages that one reader is shown, a JSON list; and what its dialect has no shape for."""

    messages: msgspec.Raw
    lost: Set[str] = frozenset()


def conversation_json(entries: Sequence[Entry], approvals: Sequence[Approval], view: View) -> Told:
    """A thread as AG-UI messages."""
    return told(agui_messages(entries, approvals, view=view), v1=view.v1)


def told(messages: list[Message], *, v1: bool) -> Told:
    """These messages, in the shapes of 0.x unless the reader is of 1.x."""
    lost = frozenset() if v1 else for_v0(messages)
    return Told(json_list(messages), lost)


def heaviness(thread: Thread) -> int:
    """How much work a whole thread is, in entries."""
    return max(len(thread.entries), LARGE * thread.bytes // LARGE_BYTES)
