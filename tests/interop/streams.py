"""Hand-written events and streams that show what the harness can and can't let through."""

import json
from typing import Any

Event = dict[str, Any]

STARTED: Event = {"type": "RUN_STARTED", "threadId": "t-1", "runId": "r-1", "protocolVersion": "1.0"}
FINISHED: Event = {"type": "RUN_FINISHED", "threadId": "t-1", "runId": "r-1"}
INTERRUPT: Event = {
    "id": "int-1",
    "reason": "tool_call",
    "toolCallId": "c-1",
    "responseSchema": {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]},
}
INTERRUPTED: Event = FINISHED | {"outcome": {"type": "interrupt", "interrupts": [INTERRUPT]}}
RESULT: Event = {
    "type": "TOOL_CALL_RESULT",
    "toolCallId": "c-1",
    "messageId": "m-result",
    "role": "tool",
    "content": '{"refunded":5}',
}


def text(content: str, message_id: str = "m-1") -> list[Event]:
    """An assistant message in one delta."""
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": content},
        {"type": "TEXT_MESSAGE_END", "messageId": message_id},
    ]


def call(arguments: str = '{"amount":5}') -> list[Event]:
    """A complete call of `refund`, without its result."""
    return [
        {"type": "TOOL_CALL_START", "toolCallId": "c-1", "toolCallName": "refund"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c-1", "delta": arguments},
        {"type": "TOOL_CALL_END", "toolCallId": "c-1"},
    ]


def sse(*events: Event, end: str = "\n\n") -> str:
    """The events as frames on the wire, with ids and a keep-alive comment, which clients must ignore."""
    frames = [f"id: run:{number}\ndata: {json.dumps(event)}{end}" for number, event in enumerate(events)]
    return f": ping{end}" + "".join(frames)
