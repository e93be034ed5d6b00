"""Changes of a JSON value as operations (JSON Patch, RFC 6902), addressed by pointers (RFC 6901)."""

import re
from collections.abc import Iterable, Mapping
from math import inf
from typing import Any

from agui_gate.core.work import PER_BYTE, TooMuchCopied, Work, copy_of, is_deeper, same

_INDEX = re.compile(r"0|[1-9][0-9]*")

PER_OPERATION = 4.0
"""Microseconds, about, that an operation takes, and looking into each object or list on the way to its place."""

MAX_PARTS = 256
"""Parts of one pointer."""

MAX_LEVELS = 512
"""How deep a copy, or what is moved, may come to nest: again and again, it would be deeper than anybody can write."""

SHOWN = 200
"""Characters of a pointer that an error tells."""


class NotApplicable(ValueError):
    """An operation names a place that isn't there, or tests for what isn't so."""


def patched(value: Any, operations: Iterable[Mapping[str, Any]], work: Work | None = None) -> Any:
    """``value`` with ``operations`` made, all or none. Raises `NotApplicable`; `TooMuchWork` where ``work`` is used up.

    Nothing of ``value`` is changed, nor of the operations. What doesn't change is not copied: it is a part of both. So
    a small change of a large value costs little. ``work`` is what a peer may cause, with one patch or several.
    """
    changing = _Changing(value, work or Work(inf, inf))
    try:
        for operation in operations:
            changing.apply(operation)
    except TooMuchCopied as error:
        raise NotApplicable(str(error)) from None
    except RecursionError:
        raise NotApplicable("it nests too deep") from None
    return changing.root[""]


class _Changing:
    """A value that is changed. What holds a place is copied before it is changed there, once."""

    __slots__ = ("_ours", "_work", "root")

    def __init__(self, value: Any, work: Work) -> None:
        self._work = work
        self.root: dict[str, Any] = {"": value}  # so that the whole value has a place, too
        self._ours: dict[int, Any] = {}
        """The copies, by `id`, each of which is in one place only."""

    def apply(self, operation: Mapping[str, Any]) -> None:
        path = operation["path"]
        self._work.take(PER_OPERATION)
        match operation["op"]:
            case "add":
                self._add(path, operation["value"])
            case "remove":
                self._remove(path)
            case "replace":
                self._replace(path, operation["value"])
            case "move":
                self._add(path, self._fitting(path, self._remove(operation["from"])))
            case "copy":
                self._add(path, copy_of(self._fitting(path, self._find(operation["from"])), self._work))
            case "test":
                if not same(self._find(path), operation["value"], self._work):
                    raise NotApplicable(f"{path[:SHOWN]!r} has another value")
            case other:
                raise NotApplicable(f"there is no operation {other!r}")

    def _fitting(self, path: str, value: Any) -> Any:
        """The value, which may be of any depth, if at this place it doesn't nest too deep."""
        if is_deeper(value, MAX_LEVELS - path.count("/"), self._work):
            raise NotApplicable("it nests too deep")
        return value

    def _add(self, path: str, value: Any) -> None:
        parent, name = self._parent(path)
        if isinstance(parent, list):
            self._work.moves(parent)
            parent.insert(len(parent) if name == "-" else _place(name, len(parent) + 1, path), value)
        elif isinstance(parent, dict):
            parent[name] = value
        else:
            raise NotApplicable(f"{path[:SHOWN]!r} is in something that is neither an object nor an array")

    def _remove(self, path: str) -> Any:
        parent, name = self._parent(path)
        _child(parent, name, path)
        if isinstance(parent, list):
            self._work.moves(parent)
            return parent.pop(int(name))
        return parent.pop(name)

    def _replace(self, path: str, value: Any) -> None:
        parent, name = self._parent(path)
        _child(parent, name, path)
        parent[int(name) if isinstance(parent, list) else name] = value

    def _find(self, path: str) -> Any:
        found: Any = self.root
        for name in self._names(path):
            found = _child(found, name, path)
        return found

    def _parent(self, path: str) -> tuple[Any, str]:
        """What holds the place, to be changed, and its name there."""
        *outer, name = self._names(path)
        parent: Any = self.root
        for part in outer:
            inner = _child(parent, part, path)
            if isinstance(inner, list | dict) and id(inner) not in self._ours:
                self._work.copies(inner)
                inner = inner.copy()
                self._ours[id(inner)] = inner
                parent[int(part) if isinstance(parent, list) else part] = inner
            parent = inner
        return parent, name

    def _names(self, path: str) -> list[str]:
        self._work.take(len(path) * PER_BYTE + path.count("/"))
        return _names(path)


def _names(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise NotApplicable(f"{path[:SHOWN]!r} is no JSON pointer: it begins with /, or is empty")
    if path.count("/") > MAX_PARTS:
        raise NotApplicable(f"a pointer has at most {MAX_PARTS} parts")
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]


def _child(parent: Any, name: str, path: str) -> Any:
    if isinstance(parent, list):
        return parent[_place(name, len(parent), path)]
    if isinstance(parent, dict) and name in parent:
        return parent[name]
    raise NotApplicable(f"there is nothing at {path[:SHOWN]!r}")


def _place(name: str, length: int, path: str) -> int:
    if _INDEX.fullmatch(name) is None or len(name) > 9 or int(name) >= length:
        raise NotApplicable(f"there is nothing at {path[:SHOWN]!r}")
    return int(name)
