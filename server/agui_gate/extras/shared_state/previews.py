"""What a page is shown of calls whose arguments stream to the shared state, and when that is taken back.

A preview is taken back as soon as its call has ended, whatever came of it: by then the state holds what the tool really
did. It stays while a person is asked, so that they see what they agree to. Then the journal has an entry for it, and
what comes back of it with the page's state is not taken for the page's own (`extras/shared_state/state_intake.py`).
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from agui_gate.agents.tool import Tool
from agui_gate.core import events as ev
from agui_gate.core.argument_preview import Growing, Place
from agui_gate.core.transcript import PreviewEntry
from agui_gate.threads.leased_thread import LeasedThread

Emit = Callable[[ev.Event], None]


class Previews:
    """For the calls of one agent, on one thread."""

    def __init__(self, tools: Mapping[str, Tool], thread: LeasedThread, emit: Emit) -> None:
        self._places = {name: tool.place for name, tool in tools.items() if tool.place is not None}
        self._thread, self._emit = thread, emit

    def begin(self, call_id: str, name: str) -> Growing | None:
        """A call of the tool ``name`` begins: where its arguments go, if they are to be shown."""
        if name not in self._places:
            return None
        place = self._places[name]
        return Growing(lambda arguments: self._show(call_id, place, arguments))

    def _show(self, call_id: str, place: Place, arguments: dict[str, Any] | None) -> None:
        if arguments is None:
            self._thread.shared.withdraw(call_id)
        else:
            self._thread.shared.preview(call_id, place, arguments)
        self._thread.shared.tell(self._emit)


def settle(thread: LeasedThread, emit: Emit, calls: Collection[str] | None = None) -> None:
    """Take back what is shown of ``calls`` (None: of all) that don't wait for a person."""
    shared = thread.shared
    waiting = {approval.call_id for approval in thread.journal.pending()}
    new = [name for name in shared.previews if name in waiting and name not in thread.journal.previews]
    thread.append([PreviewEntry(name, shared.previews[name][0]) for name in new])
    over = [name for name in shared.previews if name not in waiting and (calls is None or name in calls)]
    for call_id in over:
        shared.withdraw(call_id)
    shared.tell(emit)
