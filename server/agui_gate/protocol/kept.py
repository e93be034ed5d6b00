"""What comes in with a message and is of no use to a model: kept beside it, and restated as it came (VER-6, STATE-2).

It is kept as JSON, an object whose members are added to what is made of the rest; None where there is nothing to add.
Members of other types than AG-UI's are left out, and so is a type of a sealed value without its value.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

_TYPES: Mapping[str, type] = {
    "name": str,
    "metadata": dict,
    "subagentRunId": str,
    "encryptedValue": str,
    "encryptedValueType": str,
    "content": str,
}

PART = "{}"
"""Beside a text that came as a part, and not as a plain string: it has no other members."""


def more(**members: Any) -> str | None:
    """These members of a message or a call, as far as it has them."""
    found = {name: value for name, value in members.items() if isinstance(value, _TYPES[name])}
    if "encryptedValue" not in found:
        found.pop("encryptedValueType", None)
    return _text(found)


def of_part(part: Mapping[str, Any]) -> str | None:
    """The members of a part that say nothing to a model."""
    found = {}
    if isinstance(part.get("id"), str):
        found["id"] = part["id"]
    if part.get("metadata") is not None:
        found["metadata"] = part["metadata"]
    return _text(found)


def with_more(item: dict[str, Any], kept: str) -> dict[str, Any]:
    """``item`` with what was kept beside it."""
    item.update(msgspec.json.decode(kept))
    return item


def _text(members: Mapping[str, Any]) -> str | None:
    return msgspec.json.encode(members).decode() if members else None
