"""Members that come in snake_case: ``thread_id`` as well as ``threadId``.

The protocol writes camelCase. Its own Python models take both spellings, and there are clients that send the other one
(Microsoft's `AGUIChatClient`). So the structs of `inbound.py` have a second field, named ``snake_…``, beside each
member whose two spellings differ, and `one_spelling` brings what came there to where it belongs. Nothing is searched
for or renamed: only members of the protocol have two spellings. What is the user's own (state, context, parameters,
payloads, arguments) is never touched.

A member may come in both spellings if both say the same. If they differ, nobody knows which one is meant: refused.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec

from agui_gate.errors import InvalidRequest

S = TypeVar("S", bound=msgspec.Struct)

PREFIX = "snake_"


def one_spelling(value: S) -> S:
    """``value`` with all its members under their own names. Raises `InvalidRequest` if two spellings disagree."""
    changes: dict[str, Any] = {}
    for field, name in _twice(type(value)):
        if (told := getattr(value, field)) is not None:
            changes[field], changes[name] = None, _agreed(getattr(value, name), told, name)
    return msgspec.structs.replace(value, **changes) if changes else value


@cache
def _twice(kind: type[msgspec.Struct]) -> list[tuple[str, str]]:
    """The fields for snake_case, each with the one that it stands for."""
    return [(field, field.removeprefix(PREFIX)) for field in kind.__struct_fields__ if field.startswith(PREFIX)]


def member(item: Mapping[str, Any], camel: str, snake: str) -> Any:
    """A member of an object that is not decoded into a struct; None if absent. Raises `InvalidRequest`."""
    told = item.get(snake)
    return item.get(camel) if told is None else _agreed(item.get(camel), told, snake)


def _agreed(camel: Any, snake: Any, name: str) -> Any:
    if camel is not None and camel != snake:
        raise InvalidRequest(f"{name} is there twice, spelled in two ways, and the two differ.", well_formed=True)
    return snake
