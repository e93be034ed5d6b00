"""Previews on the page the arguments that stream to the shared state, and takes them back.

A preview is taken back as soon as its call has ended, whatever came of it: by then the state holds what the tool really
did. It stays while a person is asked, so that they see what they agree to. Then the journal has an entry for it, and
what comes back of it with the page's state is not taken for the page's own (`extras/shared_state/state_intake.py`).
"""

from collections.abc import Mapping
from typing import Any

from agui_gate.core.argument_preview import Growing, Place
from agui_gate.extras.shared_state.part import state_of
from agui_gate.turns.steps import Speaker, TurnStep
from agui_gate.turns.turn_recorder import CallBegun, Tap


class Previews(TurnStep):
    """The previews of one member's calls. ``places`` has those of its tools by their names."""

    def __init__(self, speaker: Speaker, places: Mapping[str, Place]) -> None:
        self._places, self._shared, self._emit = places, state_of(speaker.thread), speaker.lane.other

    def taps(self) -> Mapping[type, Tap]:
        """Returns the functions that follow the arguments of calls."""
        return {CallBegun: self._begin}

    def _begin(self, call: CallBegun) -> None:
        if call.name in self._places:
            place = self._places[call.name]
            call.sink = Growing(lambda arguments: self._show(call.call_id, place, arguments))

    def _show(self, call_id: str, place: Place, arguments: dict[str, Any] | None) -> None:
        if arguments is None:
            self._shared.withdraw(call_id)
        else:
            self._shared.preview(call_id, place, arguments)
        self._shared.tell(self._emit)


def turn_step(speaker: Speaker) -> Previews:
    """Returns the step of a member some of whose tools show their arguments in the state."""
    tools = speaker.member.agent.by_name
    return Previews(speaker, {name: tool.place for name, tool in tools.items() if tool.place is not None})
