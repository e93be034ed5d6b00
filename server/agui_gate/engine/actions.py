"""What the user did in a component, as clients report it: a call that no model made, with its result.

`log_a2ui_event` of ``@ag-ui/a2ui-middleware`` comes like that, without a message of the user's. It is taken once, when
it is new: its call is unknown here, and stands behind everything of the request's history that is known. The server's
own tools can't be reported like that: such a pair counts for nothing, whatever it says.
"""

from collections.abc import Callable, Container, Sequence

from agui_gate.core.journal import Journal
from agui_gate.core.transcript import CARD_TOOL, ActionEntry
from agui_gate.engine.importing import reported
from agui_gate.protocol.inbound import FunctionCall, Message


class Actions:
    """The pairs of one request, for one known thread. ``ours``: the names of the tools that the server runs."""

    def __init__(self, messages: Sequence[Message], journal: Journal, ours: Container[str]) -> None:
        self._journal, self._ours = journal, ours
        self._taken: set[str] = set()  # ids of calls that this request brought
        self._calls: dict[str, tuple[Message, FunctionCall]] = {}
        for message in messages[_first_new(messages, journal) :]:
            self._calls.update((call.id, (message, call.function)) for call in message.tool_calls or ())

    def __contains__(self, call_id: str) -> bool:
        """Whether this is the call of such a pair, known or new."""
        return self._is_known(call_id) or self._is_new(call_id)

    def take(self, message: Message, new_id: Callable[[], str]) -> list[ActionEntry]:
        """What the tool message ``message`` reports; nothing if it was taken before."""
        call_id = message.tool_call_id or ""
        if not self._is_new(call_id):
            return []
        self._taken.add(call_id)
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

    def _is_known(self, call_id: str) -> bool:
        return call_id in self._taken or self._journal.is_action(call_id)

    def _is_new(self, call_id: str) -> bool:
        if call_id not in self._calls or self._is_known(call_id) or self._journal.has_result(call_id):
            return False
        name = self._calls[call_id][1].name  # a source may be away now, so what was called counts too
        return name not in self._ours and not self._journal.has_issued(name) and name != CARD_TOOL


def _first_new(messages: Sequence[Message], journal: Journal) -> int:
    """The place behind the last message that the thread knows. What stands before it is history, of whatever kind."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if (message.id or "") in journal.messages:
            return place + 1
        if message.role == "tool" and journal.knows_call(message.tool_call_id or ""):
            return place + 1
    return 0
