"""The model of what a person may reply to a question about a call.

`read` checks replies with it, and the JSON Schema that clients are shown is made from it (`schema`). So what is
advertised and what is accepted can't disagree.

Divergences from the schema, all of them spellings that clients use:

* ``accepted`` for ``approved``, and ``edited_arguments`` for ``editedArgs``;
* null for a reason or an edit that isn't there;
* the ``steps`` of a confirm card.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

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


def schema(parameters: Json | None) -> Json:
    """Returns the JSON Schema of a reply. ``parameters``, a tool's schema, only where its arguments may be edited."""
    _, components = msgspec.json.schema_components([Reply])
    made = components["Reply"]
    shown: Json = {"type": "object", "properties": dict(made["properties"]), "required": made["required"]}
    if parameters is None:
        del shown["properties"]["editedArgs"]
        return shown
    edited = {**parameters, **{k: v for k, v in shown["properties"]["editedArgs"].items() if k != "type"}}
    definitions = edited.pop("$defs", None)  # references point at the root
    shown["properties"]["editedArgs"] = edited
    return shown | ({"$defs": definitions} if definitions else {})


def read(payload: Any) -> Reply:
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
