"""Messages of a snapshot as a client keeps them: JSON objects, of known roles, with the members that their role has.

They stay JSON, since they go back to the server as they came. What is unknown is left out, as far as the specification
says (PROC-3): a member by itself, a message of an unknown role, a part of an unknown kind or source.
"""

from typing import Any

from agui_gate.client.errors import Malformed
from agui_gate.client.events import Json

_ALL = frozenset({"id", "role", "content", "metadata", "subagentRunId"})
_NAMED = _ALL | {"name", "encryptedValue"}
MEMBERS = {
    "developer": _NAMED,
    "system": _NAMED,
    "user": _NAMED,
    "assistant": _NAMED | {"toolCalls"},
    "tool": _ALL | {"toolCallId", "error", "encryptedValue"},
    "activity": _ALL | {"activityType"},
    "reasoning": _ALL | {"encryptedValue"},
}
_CALL = frozenset({"id", "type", "function", "metadata", "encryptedValue"})
_KINDS: dict[str, type] = {
    "metadata": dict,
    "activityType": str,
    "subagentRunId": str,
    "encryptedValue": str,
    "name": str,
    "error": str,
}
_MEDIA = ("image", "audio", "video", "document")
_SOURCES = ("data", "url", "file")


def cleaned(messages: list[Any]) -> list[Json]:
    """Returns the messages that can be kept. Raises `Malformed` for one without an id, a role, or readable content."""
    return [kept for kept in map(_message, messages) if kept is not None]


def _message(message: Any) -> Json | None:
    role = message.get("role") if isinstance(message, dict) else None
    if not isinstance(role, str) or not isinstance(message.get("id"), str):
        raise Malformed("The agent's messages can't be read: one has no id or no role.")
    members = MEMBERS.get(role)
    if members is None:
        return None
    kept = {name: value for name, value in message.items() if name in members and _fits(name, value)}
    if "content" in kept:
        kept["content"] = _content(kept["content"], role)
    elif role != "assistant":
        raise Malformed(f"The agent's messages can't be read: one of role {role} has no content.")
    if "toolCalls" in kept:
        kept["toolCalls"] = _calls(kept["toolCalls"])
    if role == "tool" and not isinstance(kept.get("toolCallId"), str):
        raise Malformed("The agent's messages can't be read: a result names no call.")
    return kept


def _fits(name: str, value: Any) -> bool:
    """Returns whether an optional member is there, and of its kind."""
    kind = _KINDS.get(name)
    return value is not None and (kind is None or isinstance(value, kind))


def _content(content: Any, role: str) -> Any:
    if isinstance(content, dict) if role == "activity" else isinstance(content, str):
        return content
    if role in ("user", "tool") and isinstance(content, list):
        parts = [_modern(part) for part in content]
        return [part for part in parts if isinstance(part, dict) and _is_known(part)]
    raise Malformed(f"The agent's messages can't be read: content of role {role} is of another kind.")


def _is_known(part: Json) -> bool:
    if part.get("type") == "text":
        return isinstance(part.get("text"), str)
    source = part.get("source")
    return part.get("type") in _MEDIA and isinstance(source, dict) and source.get("type") in _SOURCES


def _modern(part: Any) -> Any:
    """Returns a retired ``binary`` part as the one that took its place."""
    if not isinstance(part, dict) or part.get("type") != "binary" or not isinstance(part.get("mimeType"), str):
        return part
    family = part["mimeType"].partition("/")[0]
    kind = family if family in _MEDIA else "document"
    for member, where in (("data", "data"), ("url", "url")):
        if part.get(member):
            source = {"type": where, "value": part[member], "mimeType": part["mimeType"]}
            named = {"metadata": {"filename": part["filename"]}} if part.get("filename") else {}
            return {"type": kind, "source": source, **named}
    return part


def _calls(calls: Any) -> list[Json]:
    good = isinstance(calls, list) and all(isinstance(call, dict) and _is_call(call) for call in calls)
    if not good:
        raise Malformed("The agent's messages can't be read: a call has an invalid form.")
    kept = [{name: value for name, value in call.items() if name in _CALL and _fits(name, value)} for call in calls]
    return [
        call | {"function": {"name": call["function"]["name"], "arguments": call["function"]["arguments"]}}
        for call in kept
    ]


def _is_call(call: Json) -> bool:
    function = call.get("function")
    if not isinstance(call.get("id"), str) or not isinstance(function, dict):
        return False
    return isinstance(function.get("name"), str) and isinstance(function.get("arguments"), str)
