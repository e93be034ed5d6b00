"""What a page is shown of calls whose arguments stream to the shared state, and when that is taken back.

A preview is taken back as soon as its call has ended, whatever came of it: by then the state holds what the tool really
did. It stays while a person is asked, so that they see what they agree to. Then the journal has an entry for it, and
what comes back of it with the page's state is not taken for the page's own (`extras/shared_state/state_intake.py`).
"""

from collections.abc import Callable, Mapping
from typing import Any

from agui_gate.agents.tool import Tool
from agui_gate.core import events as ev
from agui_gate.core.argument_preview import Growing, Place
from agui_gate.extras.shared_state.part import state_of
from agui_gate.threads.leased_thread import LeasedThread

Emit = Callable[[ev.Event], None]


class Previews:
    """For the calls of one agent, on one thread."""

    def __init__(self, tools: Mapping[str, Tool], thread: LeasedThread, emit: Emit) -> None:
        self._places = {name: tool.place for name, tool in tools.items() if tool.place is not None}
        self._shared, self._emit = state_of(thread), emit

    def begin(self, call_id: str, name: str) -> Growing | None:
        """A call of the tool ``name`` begins: where its arguments go, if they are to be shown."""
        if name not in self._places:
            return None
        place = self._places[name]
        return Growing(lambda arguments: self._show(call_id, place, arguments))

    def _show(self, call_id: str, place: Place, arguments: dict[str, Any] | None) -> None:
        if arguments is None:
            self._shared.withdraw(call_id)
        else:
            self._shared.preview(call_id, place, arguments)
        self._shared.tell(self._emit)
