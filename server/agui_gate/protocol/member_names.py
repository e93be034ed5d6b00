"""Members that come in snake_case: ``thread_id`` as well as ``threadId``.

The protocol writes camelCase. Its own Python models take both spellings, and there are clients that send the other one
(Microsoft's `AGUIChatClient`). Only members of the protocol have two spellings. What is the user's own (state, context,
parameters, payloads, arguments) is never touched.

A member may come in both spellings if both say the same. If they differ, nobody knows which one is meant: refused.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec

from agui_gate.errors import InvalidRequest

T = TypeVar("T")

_HUMP = re.compile(r"(?<=[a-z])([A-Z])")


class Members(msgspec.Struct, frozen=True):
    """The members of one kind of object: their ``names``, and the name for each of the other ``spellings``."""

    names: frozenset[str]
    spellings: dict[str, str]


@cache
def members_of(shape: type[msgspec.Struct]) -> Members:
    """Returns the members that ``shape`` is decoded from."""
    config = shape.__struct_config__
    names = [field.encode_name for field in msgspec.structs.fields(shape) if field.type is not msgspec.UnsetType]
    names += [config.tag_field] if config.tag_field and config.tag else []
    snake = {_HUMP.sub(r"_\1", name).lower(): name for name in names}
    return Members(frozenset(names), {other: name for other, name in snake.items() if other != name})


def respelled(sent: Mapping[str, Any], members: Members) -> dict[str, Any]:
    """Returns what ``sent`` says of these members, by their own names. Raises `InvalidRequest` if two spellings
    disagree.
    """
    found = {name: value for name, value in sent.items() if name in members.names}
    for spelling in sent.keys() & members.spellings.keys():
        if (told := sent[spelling]) is not None:
            name = members.spellings[spelling]
            found[name] = agreed(found.get(name), told, spelling)
    return found


def member(item: Mapping[str, Any], camel: str, snake: str) -> Any:
    """Returns a member by either of its names; None if absent. Raises `InvalidRequest` if two spellings disagree."""
    return agreed(item.get(camel), item.get(snake), snake)


def agreed(camel: T, snake: T, name: str) -> T:
    """Returns the value that came in one or both of the spellings. Raises `InvalidRequest` if the two disagree."""
    if snake is None:
        return camel
    if camel is not None and camel != snake:
        raise InvalidRequest(f"{name} occurs twice, in two spellings with different values.", well_formed=True)
    return snake
