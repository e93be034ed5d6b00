"""The events of one run, as a client received them, and what its message list becomes by them."""

import json
from collections.abc import Sequence
from typing import Any

from agui_gate.client import Fold
from agui_gate.client.chunks import Chunks
from agui_gate.client.event_decoder import Reader

Json = dict[str, Any]

_NAMELESS = "nameless-"
"""The beginning of the ids that messages without one have while they are folded."""

_STATE = frozenset({"STATE_SNAPSHOT", "STATE_DELTA"})
"""Events that change no message, and may be large."""


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


def folded(messages: Sequence[Json]) -> Fold:
    """Returns what a client has that holds these messages. They need no ids."""
    return Fold([{"id": f"{_NAMELESS}{number}"} | message for number, message in enumerate(messages)])


def held(fold: Fold) -> list[Json]:
    """Returns the messages that the client holds, and sends back: no client sends activities."""
    told = [message for message in fold.messages if message["role"] != "activity"]
    return [dict(m) if not m["id"].startswith(_NAMELESS) else _without_id(m) for m in told]


def _without_id(message: Json) -> Json:
    return {name: value for name, value in message.items() if name != "id"}


def apply(messages: list[Json], stream: Sequence[Json], *, snapshots: bool = True) -> list[Json]:
    """Changes ``messages`` as the events say, and returns them. Without ``snapshots``: by the streamed pieces alone.

    Raises `ClientError` for an event that can't be read; those before it count.
    """
    fold, reader, chunks = folded(messages), Reader(), Chunks()
    left_out = _STATE if snapshots else {*_STATE, "MESSAGES_SNAPSHOT"}
    try:
        for told in stream:
            if told["type"] in left_out:
                continue
            event = reader.read(json.dumps(told).encode())
            if event is not None:
                for one in chunks.unfolded(event):
                    fold.apply(one)
    finally:
        messages[:] = held(fold)
    return messages
