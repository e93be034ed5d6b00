"""What a client's message list becomes: the part of the real clients' reducer that replayed histories depend on."""

import json
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]


def apply(messages: list[Json], stream: Sequence[Json], *, snapshots: bool = True) -> list[Json]:
    """Change ``messages`` as the events say, and return them. Without ``snapshots``: by the streamed pieces alone."""
    reducer = _Reducer(messages)
    for event in stream:
        if snapshots or event["type"] != "MESSAGES_SNAPSHOT":
            getattr(reducer, event["type"].lower(), reducer.ignore)(event)
            reducer.tag(event)
    return messages


class _Reducer:
    """One method an event type."""

    def __init__(self, messages: list[Json]) -> None:
        self.messages = messages
        self.by_id = {m.get("id"): m for m in messages}

    def ignore(self, event: Json) -> None:
        """Ignores an event that isn't about messages."""

    def tag(self, event: Json) -> None:
        """Marks a message with the sub-agent that its first event names."""
        message = self.by_id.get(event.get("parentMessageId") or event.get("messageId"))
        if message is not None and event.get("subagentRunId"):
            message.setdefault("subagentRunId", event["subagentRunId"])

    def text_message_start(self, event: Json) -> None:
        message = self._message(event["messageId"], "assistant")
        message.setdefault("content", "")
        if event.get("name"):
            message.setdefault("name", event["name"])

    def text_message_content(self, event: Json) -> None:
        self.by_id[event["messageId"]]["content"] += event["delta"]

    def reasoning_message_start(self, event: Json) -> None:
        self._message(event["messageId"], "reasoning").setdefault("content", "")

    def reasoning_message_content(self, event: Json) -> None:
        self.by_id[event["messageId"]]["content"] += event["delta"]

    def reasoning_encrypted_value(self, event: Json) -> None:
        self.by_id[event["entityId"]]["encryptedValue"] = event["encryptedValue"]

    def tool_call_start(self, event: Json) -> None:
        function = {"name": event["toolCallName"], "arguments": ""}
        calls = self._message(event["parentMessageId"], "assistant").setdefault("toolCalls", [])
        calls.append({"id": event["toolCallId"], "type": "function", "function": function})

    def tool_call_args(self, event: Json) -> None:
        for message in self.messages:
            for call in message.get("toolCalls", ()):
                if call["id"] == event["toolCallId"]:
                    call["function"]["arguments"] += event["delta"]

    def tool_call_result(self, event: Json) -> None:
        """Adds the first result of a call, after the message that made the call."""
        if any(m.get("toolCallId") == event["toolCallId"] for m in self.messages):
            return
        result = {"id": event["messageId"], "role": "tool"}
        result |= {"toolCallId": event["toolCallId"], "content": event["content"]}
        self.by_id[event["messageId"]] = result
        self.messages.insert(self._place(event["toolCallId"]), result)

    def messages_snapshot(self, event: Json) -> None:
        self.messages[:] = json.loads(json.dumps(event["messages"]))
        self.by_id = {m.get("id"): m for m in self.messages}

    def _message(self, message_id: str, role: str) -> Json:
        if message_id not in self.by_id:
            self.by_id[message_id] = {"id": message_id, "role": role}
            self.messages.append(self.by_id[message_id])
        return self.by_id[message_id]

    def _place(self, call_id: str) -> int:
        made = (i for i, m in enumerate(self.messages) if any(c["id"] == call_id for c in m.get("toolCalls", ())))
        place = next(made, len(self.messages) - 1) + 1
        while place < len(self.messages) and self.messages[place]["role"] == "tool":
            place += 1
        return place
