"""The events of one run, as a client received them."""

import json
from typing import Any

Json = dict[str, Any]


class Stream(list[Json]):
    """The events of one run, with the raw bytes and the response's head.

    A response that is not a stream has one event of type ``HTTP`` with the error's body, and its ``status``.
    """

    raw: str = ""
    status: int = 200
    run_key: str = ""
    input: Json

    def of(self, kind: str) -> list[Json]:
        """Returns the events of one type."""
        return [event for event in self if event["type"] == kind]

    def types(self) -> list[str]:
        """Returns the types of all events, in order."""
        return [event["type"] for event in self]

    @property
    def text(self) -> str:
        """All assistant text."""
        return "".join(event["delta"] for event in self.of("TEXT_MESSAGE_CONTENT"))

    @property
    def error(self) -> str | None:
        """The code that the run failed with; None if it did not."""
        return self[-1].get("code") if self and self[-1]["type"] == "RUN_ERROR" else None

    @property
    def results(self) -> dict[str, str]:
        """Content of each result by call id; a second result for one call is a failure."""
        found: dict[str, str] = {}
        for event in self.of("TOOL_CALL_RESULT"):
            assert event["toolCallId"] not in found, f"two results for {event['toolCallId']}"
            found[event["toolCallId"]] = event["content"]
        return found

    @property
    def calls(self) -> dict[str, str]:
        """Tool name by call id."""
        return {event["toolCallId"]: event["toolCallName"] for event in self.of("TOOL_CALL_START")}

    @property
    def interrupts(self) -> list[Json]:
        """What the run waits for."""
        outcome = self[-1].get("outcome") or {}
        return list(outcome.get("interrupts", ()))

    @property
    def cards(self) -> dict[str, Json]:
        """Arguments of each confirm card by its call id."""
        cards = {i: n for i, n in self.calls.items() if n == "confirm_changes"}
        return {i: json.loads(self.arguments(i)) for i in cards}

    def arguments(self, call_id: str) -> str:
        """Returns the streamed arguments of a call."""
        return "".join(e["delta"] for e in self.of("TOOL_CALL_ARGS") if e["toolCallId"] == call_id)


def parse(raw: str) -> Stream:
    """Decode an SSE body, checking the framing that clients depend on."""
    assert "\r" not in raw, "a carriage return in the stream: clients split frames on two line feeds"
    stream = Stream()
    stream.raw = raw
    for frame in raw.split("\n\n"):
        lines = [line for line in frame.split("\n") if line and not line.startswith(":")]
        if lines:
            assert len(lines) == 2, lines
            assert lines[0].startswith("id: "), lines
            assert lines[1].startswith("data: "), lines
            stream.append(json.loads(lines[1][6:]))
    return stream
