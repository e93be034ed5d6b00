"""Keeps the activities that the tools at work on a thread show on its page.

What begins to be shown is in the journal at once, so that its place there is the one in the stream. A change counts
here alone. When the call has ended, the journal gets what was shown last. It is all saved with the next commit.

A model may show some, too (`extras/remote_state.py`), in the name of its turn. The journal gets them after the turn.

Whoever is told the conversation meanwhile is told it with what is shown right now: clients drop the activities that a
snapshot leaves out (STATE-2), and change what they have by the patches that follow.
"""

from collections.abc import Callable, Iterable
from typing import Any

from agui_gate.agents.tool import Shown, Told, Tool
from agui_gate.core.sequencer import Emit
from agui_gate.core.transcript import ActivityEntry, Entry
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.threads.parts import ACTIVITIES, ThreadPart

Keep = Callable[[Iterable[Entry]], None]
"""Adds to the journal."""


class Activities(ThreadPart):
    """The activities of one open thread. ``keep`` adds to its journal, where ``has_room`` says that it may."""

    def __init__(self, keep: Keep, has_room: Callable[[Entry], bool]) -> None:
        self._keep, self._has_room = keep, has_room
        self._shown: dict[str, ActivityEntry] = {}  # by message id, of calls that are at work
        self._kept: dict[str, ActivityEntry] = {}  # what the journal has of them

    def show(self, entry: ActivityEntry, *, later: bool = False) -> None:
        """Shows this from now on, for a call at work. ``later``: it is in the journal when that is `over`."""
        begins = entry.message_id not in self._shown
        self._shown[entry.message_id] = entry
        if begins and not later:
            self._to_journal(entry)

    def over(self, call_id: str) -> None:
        """Ends the call: what it showed last stays."""
        for entry in self.end(call_id):
            if self._has_room(entry):
                self._keep([entry])

    def end(self, call_id: str) -> list[ActivityEntry]:
        """Ends the call, or the turn. Returns what it showed last, where the journal doesn't have that."""
        ended = [entry for entry in self._shown.values() if entry.call_id == call_id]
        for entry in ended:
            del self._shown[entry.message_id]
        return [entry for entry in ended if self._kept.pop(entry.message_id, None) is not entry]

    def tool_ended(self, tool: Tool | None, call_id: str, emit: Emit) -> None:
        """Keeps what the call showed last."""
        self.over(call_id)

    def pass_on(self, told: Told, emit: Emit) -> bool:
        """Takes activities, and no other events."""
        if not isinstance(told, Shown):
            return False
        self.show(told.entry)
        emit(told.event)
        return True

    def entries(self) -> list[Entry]:
        """Returns what is shown right now, and is not in the journal like that."""
        if not self._shown:
            return []
        return [entry for name, entry in self._shown.items() if self._kept.get(name) is not entry]

    def _to_journal(self, entry: ActivityEntry) -> None:
        """A thread that is full keeps none: they are no reason to take nothing else any more."""
        if self._has_room(entry):
            self._kept[entry.message_id] = entry
            self._keep([entry])


def thread_part(thread: LeasedThread, stored: Any) -> Activities:
    """Returns the activities of a thread that begins to show some."""
    return Activities(thread.append, thread.capacity.has_room)


def activities_of(thread: LeasedThread) -> Activities:
    """Returns the activities of a leased thread."""
    part = thread.parts.need(ACTIVITIES)
    assert isinstance(part, Activities)
    return part
