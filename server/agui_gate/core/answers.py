"""Answers to gated calls: every dialect in, one `Answer` out.

These end here, and from here on there is one path (B1):

* a card's tool message, and a tool message on the real call;
* `resume[]`, and the legacy interrupt command;
* a user message's `function_approvals`;
* `POST /approvals/{id}`, the shell, and programs (`agui_gate.session`).

It fails closed: booleans are strict, contradictions and unknown shapes are never a yes. An answer that can't be
understood carries `problem`; its call stays pending and is shown again.

`Reply` is the model of what a person may reply. `read_reply` checks replies with it, and the JSON Schema that clients
are shown is made from it (`reply_schema`). So what is advertised and what is accepted can't disagree.

Divergences from that schema, all of them spellings that clients use:

* ``accepted`` for ``approved``, and ``edited_arguments`` for ``editedArgs``;
* null for a reason or an edit that isn't there;
* the ``steps`` of a confirm card.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from agui_gate.core.json_text import canonical, parse_object

Target = Literal["approval", "call", "card"]
"""The kind of thing whose id an answer names."""
Choice = Literal["approve", "reject", "cancel"]
"""The choice that an answer makes. To cancel is to leave the call undone without denying it."""
Way = Literal["card", "resume", "message", "http", "shell", "rule", "grant", "code"]
"""The way in which an answer came: to a card, in `resume[]` (or the legacy command), in another message, out of band,
… ``rule``: no person answered, but the gate's own rule. ``grant``: a person had said yes beforehand. ``code``: a
program did, in its own process (`agui_gate.session`).
"""


MAX_REASON = 10_000
"""Characters of a reason that are kept. (What a person decides always finds room, so it has to be small.)"""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer to one gated call, as somebody gave it, before it was checked against the record.

    ``target`` says what ``id`` is: the approval's (= interrupt's) id, the tool call's, or the card's. ``name`` and
    ``arguments`` (canonical JSON) are what the answer claims to be about, to be compared with the record. ``edited``
    replaces all arguments. ``grant``: the scope in which it also says yes beforehand, as JSON. ``given`` is what was
    sent, where that may be an answer by itself (`core/open_questions.py`). ``break_glass``: see `Decision`. ``sent``:
    an approval as it was sent, if it has members besides the `PLAIN` ones. They may say what was shown to who approves,
    or be a misspelt edit (`approvals/edits.py`).
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
    grant: str | None = None
    break_glass: bool = False
    sent: Mapping[str, Any] | None = None


PLAIN = {"approved", "accepted", "reason", "editedArgs", "edited_arguments", "steps", "grant", "continue", "way"}
"""Members of answers that name no arguments but edited ones."""


def from_payload(target: Target, target_id: str, payload: Any, way: Way = "message") -> Answer:
    """Returns an answer from a decoded payload such as ``{"approved": true, "editedArgs": {…}, "reason": "…"}``: see
    `read`.
    """
    try:
        reply = read_reply(payload)
    except NotUnderstood as error:
        return Answer(target=target, id=target_id, way=way, problem=str(error))
    if not isinstance(alarm := payload.get("break_glass"), bool | None):
        return Answer(target=target, id=target_id, way=way, problem="'break_glass' must be true or false")
    return Answer(
        target=target,
        id=target_id,
        choice="approve" if reply.approved else "reject",
        reason=_kept(reply.reason or ""),
        edited=reply.edited if reply.approved and reply.edited is not msgspec.UNSET else None,
        way=way,
        grant=None if (grant := payload.get("grant")) is None else canonical({"grant": grant}),
        break_glass=alarm is True,
        sent=payload if reply.approved and payload.keys() - PLAIN else None,
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
    if not isinstance(arguments, str | dict | None):
        return msgspec.structs.replace(answer, problem="'arguments' must be an object")
    try:
        about = None if arguments is None else canonical(arguments)
        return msgspec.structs.replace(answer, name=name, arguments=about)
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


def _kept(reason: str) -> str | None:
    """Returns the part of a reason that is kept; None of one that says nothing."""
    return (reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]}…") if reason.strip() else None


Json = dict[str, Any]


class Reply(msgspec.Struct, frozen=True, kw_only=True, rename={"edited": "editedArgs"}):
    """Yes or no, why, and what to run instead. An edit is advertised only where the gate allows one."""

    approved: Annotated[bool, Meta(description="Whether the call may run.")]
    reason: Annotated[str, Meta(description="Why, for the model and the record.")] | UnsetType = UNSET
    edited: Annotated[Json, Meta(description="Replaces all arguments.")] | UnsetType = UNSET


class NotUnderstood(ValueError):
    """Raised for what is no reply; the text says why."""


_EXPECTED = {
    "approved": "'approved' must be true or false",
    "reason": "'reason' must be text",
    "editedArgs": "the edited arguments must be one object",
}


@cache
def _form() -> Json:
    form: Json = msgspec.json.schema_components([Reply])[1]["Reply"]
    return form


def reply_schema(parameters: Json | None) -> Json:
    """Returns the JSON Schema of a reply. ``parameters``, a tool's schema, only where its arguments may be edited."""
    made = _form()
    shown: Json = {"type": "object", "properties": dict(made["properties"]), "required": made["required"]}
    if parameters is None:
        del shown["properties"]["editedArgs"]
        return shown
    edited = {**parameters, **{k: v for k, v in shown["properties"]["editedArgs"].items() if k != "type"}}
    definitions = edited.pop("$defs", None)  # references point at the root
    shown["properties"]["editedArgs"] = edited
    return shown | ({"$defs": definitions} if definitions else {})


def read_reply(payload: Any) -> Reply:
    """Returns the reply that a decoded payload is. Raises `NotUnderstood`. A card's step that was switched off is a
    no.
    """
    if not isinstance(payload, Mapping):
        raise NotUnderstood("the answer is not an object with a boolean 'approved'")
    try:
        reply = msgspec.convert(_spelled(payload), Reply)
    except msgspec.ValidationError as error:
        named = re.search(r"(\w+)`$", str(error))  # the message ends with the member that is wrong or missing
        raise NotUnderstood(_EXPECTED.get(named[1] if named else "", "it doesn't fit the schema")) from None
    return msgspec.structs.replace(reply, approved=False) if _step_declined(payload.get("steps")) else reply


def _spelled(payload: Mapping[str, Any]) -> Json:
    """Returns the members of a reply, spelled as the model has them. Raises `NotUnderstood` for two that disagree."""
    said = [payload[name] for name in ("approved", "accepted") if name in payload]
    if len(said) > 1 and (type(said[0]), said[0]) != (type(said[1]), said[1]):  # 1 is equal to True
        raise NotUnderstood("'approved' and 'accepted' contradict each other")
    edits = [payload[name] for name in ("editedArgs", "edited_arguments") if payload.get(name) is not None]
    if len(edits) > 1:
        raise NotUnderstood(_EXPECTED["editedArgs"])
    reason = payload.get("reason")
    spelled: Json = {"approved": said[0]} if said else {}
    spelled |= {"editedArgs": edits[0]} if edits else {}
    return spelled if reason is None else spelled | {"reason": reason}


def _step_declined(steps: Any) -> bool:
    if not isinstance(steps, list):
        return steps is not None
    return any(not isinstance(step, Mapping) or step.get("status", "enabled") != "enabled" for step in steps)
