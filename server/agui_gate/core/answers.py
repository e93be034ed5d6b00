"""Answers to gated calls: every dialect in, one `Answer` out.

These end here, and from here on there is one path (B1):

* a card's tool message, and a tool message on the real call;
* `resume[]`, and the legacy interrupt command;
* a user message's `function_approvals`;
* `POST /approvals/{id}`, and the shell.

It fails closed: booleans are strict, contradictions and unknown shapes are never a yes. An answer that can't be
understood carries `problem`; its call stays pending and is shown again.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from agui_gate.core.json_text import canonical, parse_object
from agui_gate.core.reply_schema import NotUnderstood, read

Target = Literal["approval", "call", "card"]
"""The kind of thing whose id an answer names."""
Choice = Literal["approve", "reject", "cancel"]
"""The choice that an answer makes. To cancel is to leave the call undone without denying it."""
Way = Literal["card", "resume", "message", "http", "shell"]
"""The way in which an answer came: to a card, in `resume[]` (or the legacy command), in another message, out of band,
…
"""


MAX_REASON = 10_000
"""Characters of a reason that are kept. (What a person decides always finds room, so it has to be small.)"""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer to one gated call, as somebody gave it, before it was checked against the record.

    ``target`` says what ``id`` is: the approval's (= interrupt's) id, the tool call's, or the card's. ``name`` and
    ``arguments`` (canonical JSON) are what the answer claims to be about, to be compared with the record. ``edited``
    replaces all arguments. ``given`` is what was sent, where that may be an answer by itself
    (`core/open_questions.py`).
    """

    target: Target
    id: str
    choice: Choice = "reject"
    reason: str | None = None
    edited: dict[str, Any] | None = None
    name: str | None = None
    arguments: str | None = None
    problem: str | None = None
    way: Way = "message"
    given: Any = None


def from_payload(target: Target, target_id: str, payload: Any, way: Way = "message") -> Answer:
    """Returns an answer from a decoded payload such as ``{"approved": true, "editedArgs": {…}, "reason": "…"}``: see
    `read`.
    """
    try:
        reply = read(payload)
    except NotUnderstood as error:
        return Answer(target=target, id=target_id, way=way, problem=str(error))
    reason = reply.reason or ""
    return Answer(
        target=target,
        id=target_id,
        choice="approve" if reply.approved else "reject",
        reason=_kept(reason) if reason.strip() else None,
        edited=reply.edited if reply.approved and reply.edited is not msgspec.UNSET else None,
        way=way,
    )


def from_text(target: Target, target_id: str, content: str, way: Way = "message") -> Answer:
    """Returns an answer from a tool message's content. Plain text such as "yes" is not an answer."""
    return from_payload(target, target_id, parse_object(content), way)


def from_resume(entry_id: str, status: str, payload: Any, way: Way = "resume") -> Answer:
    """Returns an answer from one entry of `resume[]`: ``cancelled`` leaves the call undone without anybody denying
    it.
    """
    if status == "cancelled":
        return Answer(target="approval", id=entry_id, choice="cancel", way=way)
    return msgspec.structs.replace(from_payload("approval", entry_id, payload, way), given=payload)


def from_command(command: Any) -> Answer | None:
    """Returns an answer from the legacy `forwardedProps.command`: ``{"resume": payload, "interruptEvent": value}``.

    None unless it names the interrupt: a guess could approve the wrong call.
    """
    if not isinstance(command, Mapping) or "resume" not in command:
        return None
    event = command.get("interruptEvent")
    payload = parse_object(command["resume"]) if isinstance(command["resume"], str) else command["resume"]
    if isinstance(event, Mapping):
        for key, target in (("id", "approval"), ("interruptId", "approval"), ("toolCallId", "call")):
            if isinstance(event.get(key), str):
                return from_payload("call" if target == "call" else "approval", event[key], payload, "resume")
    return None


def from_function_approval(item: Any) -> Answer | None:
    """Returns an answer from one item of a user message's ``function_approvals``; None if it names no call."""
    if not isinstance(item, Mapping):
        return None
    call_id, approval_id = item.get("call_id"), item.get("id")
    if isinstance(call_id, str) and call_id:
        answer = from_payload("call", call_id, item)
    elif isinstance(approval_id, str) and approval_id:
        answer = from_payload("approval", approval_id, item)
    else:
        return None
    name, arguments = item.get("name"), item.get("arguments")
    if name is not None and not isinstance(name, str):
        return msgspec.structs.replace(answer, problem="'name' must be a string")
    if arguments is None:
        return msgspec.structs.replace(answer, name=name)
    if not isinstance(arguments, str | dict):
        return msgspec.structs.replace(answer, problem="'arguments' must be an object")
    try:
        return msgspec.structs.replace(answer, name=name, arguments=canonical(arguments))
    except ValueError:
        return msgspec.structs.replace(answer, problem="'arguments' is not JSON")


def looks_like_answer(content: str) -> bool:
    """Returns whether a tool message's content is JSON with an approval's member
    (docs/clients.md#answers-as-tool-messages).
    """
    if len(content) > 10_000 or '"a' not in content:
        return False
    value = parse_object(content)
    return value is not None and ("accepted" in value or "approved" in value)


def _kept(reason: str) -> str:
    """Returns the part of a reason that is kept."""
    return reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]}…"
