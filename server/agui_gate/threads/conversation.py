"""A thread as clients are told it: messages and shared state as JSON."""

from collections.abc import Sequence

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.transcript import Entry
from agui_gate.protocol.dialects.base import Told, View
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
        """Returns the messages, as a JSON list."""
        if self._made is None:
            self._made = json_list(agui_messages(self._entries, self._approvals, view=self._view, untold=False))
        return self._made

    async def prepare(self) -> None:
        """Makes them now, off the loop where that is heavy."""
        if self._made is None and len(self._entries) > LARGE:
            await off_loop(self)


def conversation_json(entries: Sequence[Entry], approvals: Sequence[Approval], view: View) -> Told:
    """Returns a thread as AG-UI messages that one reader is shown."""
    messages = agui_messages(entries, approvals, view=view)
    lost = view.fit(messages)
    return Told(json_list(messages), lost)


def heaviness(thread: Thread) -> int:
    """Returns how much work a whole thread is, in entries."""
    return max(len(thread.entries), LARGE * thread.bytes // LARGE_BYTES)
