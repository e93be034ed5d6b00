"""Calls and their results: who may answer one, and what a run leaves without an answer."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from agui_gate_adapters.testkit.spec.finding import Breach, Json, listed, word
from agui_gate_adapters.testkit.spec.page import Page


@dataclass(slots=True)
class Calls:
    """The calls of the run that is open, and those of them that have no result."""

    page: Page
    pending: list[str] = field(default_factory=list)
    withdrawn: set[str] = field(default_factory=set)
    restated: dict[str, str] = field(default_factory=dict)
    """Arguments streamed for calls that the input holds: more of them may come, the same ones are said again."""

    def judge(self, event: Json) -> Iterator[Breach]:
        """What an event does to calls."""
        match event["type"]:
            case "RUN_STARTED":
                self.pending, self.withdrawn, self.restated = [], set(), {}
            case "TOOL_CALL_START":
                self._starts(word(event, "toolCallId"))
            case "TOOL_CALL_ARGS" if word(event, "toolCallId") in self.restated:
                self.restated[word(event, "toolCallId")] += word(event, "delta")
            case "TOOL_CALL_END":
                yield from self._ends(word(event, "toolCallId"))
            case "TOOL_CALL_RESULT":
                yield from self._answers(event)
            case "MESSAGES_SNAPSHOT":
                yield from self._restated(listed(event.get("messages")))
            case "RUN_FINISHED":
                yield from self._finishes(event)
            case _:
                pass

    def _starts(self, call_id: str) -> None:
        if call_id in self.page.held_calls:
            self.restated[call_id] = ""
        if call_id not in self.pending:
            self.pending.append(call_id)

    def _ends(self, call_id: str) -> Iterator[Breach]:
        """A closed call may be opened again for more arguments. The same ones again would stand there twice."""
        again = self.restated.pop(call_id, "")
        if again and _same(again, self.page.held_calls[call_id]):
            yield Breach("LIFE-8", f"the call `{call_id}` is streamed again, although the input already contains it")

    def _answers(self, event: Json) -> Iterator[Breach]:
        call_id, message_id = word(event, "toolCallId"), word(event, "messageId")
        if self.page.is_frontend(call_id):
            yield Breach("TOOL-4", f"a result for `{call_id}`, a call of the frontend tool the input advertises")
        if call_id in self.page.held_results:
            yield Breach("LIFE-8", f"the result of `{call_id}` is sent again, although the input already contains it")
        elif call_id in self.page.results:
            yield Breach("TOOL-2", f"a second result for `{call_id}`", "note")
        elif call_id not in self.page.calls:
            yield Breach("TOOL-2", f"a result for `{call_id}`, a call that this client has never seen", "note")
        elif message_id in self.page.roles:
            yield Breach("EVT-4", f"the result's messageId `{message_id}` already names another message")
        if call_id in self.pending:
            self.pending.remove(call_id)

    def _restated(self, messages: list[Json]) -> Iterator[Breach]:
        """A snapshot may take calls back; it may have no results of frontend calls that nobody gave."""
        kept = {word(call, "id") for message in messages for call in listed(message.get("toolCalls"))}
        answered = {word(message, "toolCallId") for message in messages if word(message, "role") == "tool"}
        self.withdrawn |= {i for i in self.pending if i not in kept or i in answered}
        for call_id in sorted(answered - self.page.results.keys()):
            if self.page.is_frontend(call_id):
                yield Breach("TOOL-4", f"the snapshot has a result for `{call_id}`, a frontend call without an answer")

    def _finishes(self, event: Json) -> Iterator[Breach]:
        outcome = event.get("outcome", {"type": "success"})
        kind = outcome.get("type") if isinstance(outcome, dict) else None
        left = [i for i in self.pending if i not in self.withdrawn]
        if kind == "interrupt":
            for interrupt in listed(outcome.get("interrupts")):
                if self.page.is_frontend(word(interrupt, "toolCallId")):
                    yield Breach("TOOL-5", f"an interrupt about `{interrupt['toolCallId']}`, a frontend tool's call")
        elif kind == "success":
            for call_id in left:
                if not self.page.is_frontend(call_id):
                    name = self.page.calls[call_id].name
                    said = f"`{call_id}` is left without a result, and the input advertises no tool `{name}`"
                    yield Breach("TOOL-5", said, "SHOULD")
            yield from self._list(outcome, left)

    def _list(self, outcome: Json, left: list[str]) -> Iterator[Breach]:
        told = outcome.get("pendingToolCallIds")
        if not told:
            if left:
                yield Breach("TOOL-6", "calls are left without a result, and no `pendingToolCallIds` names them")
        elif told not in (left, self.pending):
            yield Breach("TOOL-6", f"`pendingToolCallIds` is {told}, the calls without a result are {left}", "MUST")


def _same(one: str, other: str) -> bool:
    """Whether two texts are the same arguments, however they are spaced."""
    try:
        return bool(json.loads(one) == json.loads(other))
    except (ValueError, RecursionError):
        return one == other
