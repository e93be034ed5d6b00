"""What the user did in a component, as clients report it: a call that no model made, with its result.

`log_a2ui_event` of ``@ag-ui/a2ui-middleware`` comes like that, without a message of the user's. It is taken once, when
it is new: its call is unknown here, and stands behind everything of the request's history that is known. The server's
own tools can't be reported like that: such a pair counts for nothing, whatever it says.
"""

from collections.abc import Callable, Container, Sequence

from agui_gate.core.sanitizer import CARD_TOOL
from agui_gate.core.transcript import ActionEntry, CallPart, Entry, ResultEntry, TurnEntry, UserEntry
from agui_gate.engine.importing import reported
from agui_gate.protocol.inbound import FunctionCall, Message


class Actions:
    """The pairs of one request, for one known thread. ``ours``: the names of the tools that the server runs."""

    def __init__(self, messages: Sequence[Message], entries: Sequence[Entry], ours: Container[str]) -> None:
        issued = (call for e in entries if isinstance(e, TurnEntry) and e.origin for call in e.calls)
        self._issued = {call.name for call in issued if call.kind != "client"}  # a source may be away now
        self._ours = ours
        self._known = {e.call_id for e in entries if isinstance(e, ActionEntry)}
        self._resulted = {e.call_id for e in entries if isinstance(e, ResultEntry)}
        self._calls: dict[str, tuple[Message, FunctionCall]] = {}
        for message in messages[_first_new(messages, entries, self._known | self._resulted) :]:
            self._calls.update((call.id, (message, call.function)) for call in message.tool_calls or ())

    def __contains__(self, call_id: str) -> bool:
        """Whether this is the call of such a pair, known or new."""
        return call_id in self._known or self._is_new(call_id)

    def take(self, message: Message, new_id: Callable[[], str]) -> list[ActionEntry]:
        """What the tool message ``message`` reports; nothing if it was taken before."""
        call_id = message.tool_call_id or ""
        if not self._is_new(call_id):
            return []
        self._known.add(call_id)
        shown, call = self._calls[call_id]
        return [
            ActionEntry(
                message_id=shown.id or new_id(),
                call_id=call_id,
                name=call.name,
                arguments=call.arguments or "{}",
                result_id=message.id or new_id(),
                output=reported(message),
            )
        ]

    def _is_new(self, call_id: str) -> bool:
        if call_id not in self._calls or call_id in self._known or call_id in self._resulted:
            return False
        name = self._calls[call_id][1].name
        return name not in self._ours and name not in self._issued and name != CARD_TOOL


def _first_new(messages: Sequence[Message], entries: Sequence[Entry], calls: set[str]) -> int:
    """The place behind the last message that the thread knows. What stands before it is history, of whatever kind."""
    users = {entry.id for entry in entries if isinstance(entry, UserEntry)}
    parts = [part for entry in entries if isinstance(entry, TurnEntry) for part in entry.parts]
    shown = users | {part.parent_id if isinstance(part, CallPart) else part.id for part in parts}
    known = calls | {part.id for part in parts if isinstance(part, CallPart)}
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.id in shown or (message.role == "tool" and message.tool_call_id in known):
            return place + 1
    return 0
