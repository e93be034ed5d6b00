"""Changes of a JSON value as operations (JSON Patch, RFC 6902), addressed by pointers (RFC 6901)."""

import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

import msgspec

_encode = msgspec.json.encode
_INDEX = re.compile(r"0|[1-9][0-9]*")


class NotApplicable(ValueError):
    """An operation names a place that isn't there, or tests for what isn't so."""


MAX_COPIED = 16 * 1024 * 1024
"""Bytes of JSON that ``copy`` may add: forty of them could make as much of a small value as there is room for."""


class Room:
    """What copies may still add, in bytes."""

    __slots__ = ("left",)

    def __init__(self, left: int = MAX_COPIED) -> None:
        self.left = left

    def take(self, value: Any) -> None:
        """Raise `NotApplicable` where there is no room for ``value``."""
        self.left -= len(_encode(value))
        if self.left < 0:
            raise NotApplicable("it copies too much")


def patched(value: Any, operations: Iterable[Mapping[str, Any]], room: Room | None = None) -> Any:
    """``value`` with ``operations`` made, all or none. Raises `NotApplicable`. ``room`` is for several patches.

    Nothing of ``value`` is changed, and what doesn't change is not copied: it is a part of both. So a small change of a
    large value costs little.
    """
    changing = _Changing(value, room or Room())
    for operation in operations:
        changing.apply(operation)
    return changing.root[""]


class _Changing:
    """A value that is changed. What holds a place is copied before it is changed there, once."""

    __slots__ = ("_ours", "_room", "root")

    def __init__(self, value: Any, room: Room) -> None:
        self._room = room
        self.root: dict[str, Any] = {"": value}  # so that the whole value has a place, too
        self._ours: dict[int, Any] = {}
        """The copies, by `id`, each of which is in one place only."""

    def apply(self, operation: Mapping[str, Any]) -> None:
        path = operation["path"]
        match operation["op"]:
            case "add":
                self._add(path, deepcopy(operation["value"]))
            case "remove":
                self._remove(path)
            case "replace":
                self._remove(path)
                self._add(path, deepcopy(operation["value"]))
            case "move":
                self._add(path, self._remove(operation["from"]))
            case "copy":
                value = self._find(operation["from"])
                self._room.take(value)
                self._ours.clear()  # what is in it is in two places now
                self._add(path, value)
            case "test":
                if _canonical(self._find(path)) != _canonical(operation["value"]):
                    raise NotApplicable(f"{path!r} has another value")
            case other:
                raise NotApplicable(f"there is no operation {other!r}")

    def _add(self, path: str, value: Any) -> None:
        parent, name = self._parent(path)
        if isinstance(parent, list):
            parent.insert(len(parent) if name == "-" else _place(name, len(parent) + 1, path), value)
        elif isinstance(parent, dict):
            parent[name] = value
        else:
            raise NotApplicable(f"{path!r} is in something that is neither an object nor an array")

    def _remove(self, path: str) -> Any:
        parent, name = self._parent(path)
        _child(parent, name, path)
        return parent.pop(int(name) if isinstance(parent, list) else name)

    def _find(self, path: str) -> Any:
        found: Any = self.root
        for name in _names(path):
            found = _child(found, name, path)
        return found

    def _parent(self, path: str) -> tuple[Any, str]:
        """What holds the place, to be changed, and its name there."""
        *outer, name = _names(path)
        parent: Any = self.root
        for part in outer:
            inner = _child(parent, part, path)
            if isinstance(inner, list | dict) and id(inner) not in self._ours:
                inner = inner.copy()
                self._ours[id(inner)] = inner
                parent[int(part) if isinstance(parent, list) else part] = inner
            parent = inner
        return parent, name


def _names(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise NotApplicable(f"{path!r} is no JSON pointer: it begins with /, or is empty")
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]


def _child(parent: Any, name: str, path: str) -> Any:
    if isinstance(parent, list):
        return parent[_place(name, len(parent), path)]
    if isinstance(parent, dict) and name in parent:
        return parent[name]
    raise NotApplicable(f"there is nothing at {path!r}")


def _place(name: str, length: int, path: str) -> int:
    if _INDEX.fullmatch(name) is None or len(name) > 9 or int(name) >= length:
        raise NotApplicable(f"there is nothing at {path!r}")
    return int(name)


def _canonical(value: Any) -> bytes:
    return _encode(value, order="sorted")
