"""A second writing of what the real clients' verifier throws on, and of what this server promises on top of it."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from agui_gate.core.events import Event


def decoded(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Events as a client reads them from the wire."""
    return [msgspec.json.decode(msgspec.json.encode(event)) for event in events]


class Verifier:
    """One stream, event by event; `AssertionError` where a client would throw."""

    def __init__(self) -> None:
        self.running = self.over = False
        self.texts: set[str] = set()
        self.calls: set[str] = set()
        self.spans: set[str] = set()
        self.reasonings: set[str] = set()
        self.opened: list[tuple[str, str]] = []  # every START ever, by lane
        self.messages: list[str] = []  # ids that a client would make messages of, once each
        self.results: list[str] = []

    def take(self, event: dict[str, Any]) -> None:
        """Check one event and move on."""
        kind = event["type"]
        assert not self.over, f"{kind} after the terminal event"
        assert None not in event.values(), event
        assert kind == "RUN_STARTED" or self.running, f"{kind} before RUN_STARTED"
        handler = getattr(self, f"_{kind.lower()}", None)
        if handler is not None:
            handler(event)

    def _run_started(self, event: dict[str, Any]) -> None:
        assert not self.running
        self.running = True

    def _start(self, lane: set[str], name: str, entity: str) -> None:
        assert entity, "an empty id"
        assert entity not in lane, f"{name} {entity!r} opened twice"
        assert (name, entity) not in self.opened, f"{name} {entity!r} opened again"
        lane.add(entity)
        self.opened.append((name, entity))

    def _text_message_start(self, event: dict[str, Any]) -> None:
        self._start(self.texts, "text", event["messageId"])
        self.messages.append(event["messageId"])

    def _text_message_content(self, event: dict[str, Any]) -> None:
        assert event["messageId"] in self.texts
        assert event["delta"]

    def _text_message_end(self, event: dict[str, Any]) -> None:
        self.texts.remove(event["messageId"])

    def _tool_call_start(self, event: dict[str, Any]) -> None:
        assert event["toolCallName"]
        assert event["parentMessageId"]
        assert event["toolCallId"] not in self.results, "a call that has its result begins"
        self._start(self.calls, "call", event["toolCallId"])

    def _tool_call_args(self, event: dict[str, Any]) -> None:
        assert event["toolCallId"] in self.calls
        assert event["delta"]

    def _tool_call_end(self, event: dict[str, Any]) -> None:
        self.calls.remove(event["toolCallId"])

    def _tool_call_result(self, event: dict[str, Any]) -> None:
        assert event["role"] == "tool"
        assert event["toolCallId"] not in self.calls, "a result before END"
        assert event["toolCallId"] not in self.results, "two results"
        self.results.append(event["toolCallId"])
        self.messages.append(event["messageId"])

    def _reasoning_start(self, event: dict[str, Any]) -> None:
        self._start(self.spans, "reasoning", event["messageId"])
        self.messages.append(event["messageId"])

    def _reasoning_message_start(self, event: dict[str, Any]) -> None:
        assert event["role"] == "reasoning"
        assert event["messageId"] in self.spans
        self._start(self.reasonings, "reasoning message", event["messageId"])

    def _reasoning_message_content(self, event: dict[str, Any]) -> None:
        assert event["messageId"] in self.reasonings
        assert event["delta"]

    def _reasoning_message_end(self, event: dict[str, Any]) -> None:
        self.reasonings.remove(event["messageId"])

    def _reasoning_end(self, event: dict[str, Any]) -> None:
        assert event["messageId"] not in self.reasonings, "the span ends before its message"
        self.spans.remove(event["messageId"])

    def _run_finished(self, event: dict[str, Any]) -> None:
        self._finish()

    def _run_error(self, event: dict[str, Any]) -> None:
        self._finish()  # clients are laxer after RUN_ERROR; this server is not

    def _finish(self) -> None:
        assert not (self.texts | self.calls | self.spans | self.reasonings), "something is still open"
        assert len(self.messages) == len(set(self.messages)), "one id for two messages"
        self.over = True


def verify(events: Sequence[dict[str, Any]], *, left_open: Iterable[str] = ()) -> Verifier:
    """Check a whole stream: legal, one terminal event, and a result for each call but those that were ``left_open``."""
    verifier = Verifier()
    for event in events:
        verifier.take(event)
    assert verifier.over, "no terminal event"
    started = {entity for name, entity in verifier.opened if name == "call"}
    assert started - set(verifier.results) <= set(left_open), "a chip that never ends"
    return verifier
