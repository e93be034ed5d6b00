"""Streams that keep every rule, for tests to break one."""

from typing import Any

Json = dict[str, Any]

THREAD, RUN = "t1", "r1"


def user(text: Any = "hi", message_id: str = "u1", **more: Any) -> Json:
    return {"id": message_id, "role": "user", "content": text, **more}


def asked(*messages: Json, **more: Any) -> Json:
    """A request of a client of 1.0."""
    told = list(messages) or [user()]
    return {"threadId": THREAD, "runId": RUN, "protocolVersion": "1.0", "messages": told, **more}


def tool(name: str) -> Json:
    return {"name": name, "description": "Does it.", "parameters": {"type": "object"}}


def started(**more: Any) -> Json:
    return {"type": "RUN_STARTED", "threadId": THREAD, "runId": RUN, "protocolVersion": "1.0", **more}


def finished(**more: Any) -> Json:
    return {"type": "RUN_FINISHED", "threadId": THREAD, "runId": RUN, **more}


def asking(*interrupts: Json) -> Json:
    return finished(outcome={"type": "interrupt", "interrupts": list(interrupts)})


def text(message_id: str = "m1", *deltas: str, **more: Any) -> list[Json]:
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": message_id, **more},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": d} for d in deltas or ("hello",)),
        {"type": "TEXT_MESSAGE_END", "messageId": message_id},
    ]


def call(call_id: str = "c1", name: str = "find", **more: Any) -> list[Json]:
    return [
        {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name, **more},
        {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": "{}"},
        {"type": "TOOL_CALL_END", "toolCallId": call_id},
    ]


def result(call_id: str = "c1", message_id: str = "x1", content: Any = "found", **more: Any) -> Json:
    return {"type": "TOOL_CALL_RESULT", "toolCallId": call_id, "messageId": message_id, "content": content, **more}


def thought(message_id: str = "th1") -> list[Json]:
    return [
        {"type": "REASONING_START", "messageId": message_id},
        {"type": "REASONING_MESSAGE_START", "messageId": message_id, "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": message_id, "delta": "hm"},
        {"type": "REASONING_MESSAGE_END", "messageId": message_id},
        {"type": "REASONING_END", "messageId": message_id},
    ]


def held_call(call_id: str = "c0", name: str = "find", message_id: str = "a0") -> Json:
    """An assistant's message with one call."""
    function = {"name": name, "arguments": "{}"}
    return {
        "id": message_id,
        "role": "assistant",
        "toolCalls": [{"id": call_id, "type": "function", "function": function}],
    }


def held_result(call_id: str = "c0", message_id: str = "x0") -> Json:
    return {"id": message_id, "role": "tool", "toolCallId": call_id, "content": "found"}


def snapshot(*messages: Json) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def activity(**more: Any) -> Json:
    return {"type": "ACTIVITY_SNAPSHOT", "messageId": "v1", "activityType": "plan", "content": {"steps": []}, **more}


def amended(path: str = "/steps/-", **more: Any) -> Json:
    patch = [{"op": "add", "path": path, "value": "look"}]
    return {"type": "ACTIVITY_DELTA", "messageId": "v1", "activityType": "plan", "patch": patch, **more}


def delta(path: str = "/a", op: str = "replace", value: Any = 2) -> Json:
    return {"type": "STATE_DELTA", "delta": [{"op": op, "path": path, "value": value}]}


def sub(kind: str = "STARTED", own: str = "s1", **more: Any) -> Json:
    told = {"STARTED": {"name": "helper"}, "FINISHED": {}, "ERROR": {"message": "no"}}[kind]
    return {"type": f"SUBAGENT_{kind}", "subagentRunId": own, **told, **more}


def step(name: str = "look", kind: str = "STARTED") -> Json:
    return {"type": f"STEP_{kind}", "stepName": name}


USAGE = {"provider": "openai", "model": "m", "inputTokens": 10, "outputTokens": 5, "totalTokens": 15}


def used(**more: Any) -> Json:
    return finished(usage=[USAGE | more])
