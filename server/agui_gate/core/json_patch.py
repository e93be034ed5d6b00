"""Changes of a JSON value as operations (JSON Patch, RFC 6902), addressed by pointers (RFC 6901)."""

import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

import msgspec

_INDEX = re.compile(r"0|[1-9][0-9]*")


class NotApplicable(ValueError):
    """An operation names a place that isn't there, or tests for what isn't so."""


def patched(value: Any, operations: Iterable[Mapping[str, Any]]) -> Any:
    """A copy of ``value`` with ``operations`` made, all or none. Raises `NotApplicable`."""
    root = {"": deepcopy(value)}  # so that the whole value has a place, too
    for operation in operations:
        _apply(root, operation)
    return root[""]


def _apply(root: Any, operation: Mapping[str, Any]) -> None:
    path = operation["path"]
    match operation["op"]:
        case "add":
            _add(root, path, deepcopy(operation["value"]))
        case "remove":
            _remove(root, path)
        case "replace":
            _remove(root, path)
            _add(root, path, deepcopy(operation["value"]))
        case "move":
            _add(root, path, _remove(root, operation["from"]))
        case "copy":
            _add(root, path, deepcopy(_find(root, operation["from"])))
        case "test":
            if _canonical(_find(root, path)) != _canonical(operation["value"]):
                raise NotApplicable(f"{path!r} has another value")
        case other:
            raise NotApplicable(f"there is no operation {other!r}")


def _add(root: Any, path: str, value: Any) -> None:
    parent, name = _parent(root, path)
    if isinstance(parent, list):
        parent.insert(len(parent) if name == "-" else _place(name, len(parent) + 1, path), value)
    elif isinstance(parent, dict):
        parent[name] = value
    else:
        raise NotApplicable(f"{path!r} is in something that is neither an object nor an array")


def _remove(root: Any, path: str) -> Any:
    parent, name = _parent(root, path)
    _child(parent, name, path)
    return parent.pop(int(name) if isinstance(parent, list) else name)


def _find(root: Any, path: str) -> Any:
    parent, name = _parent(root, path)
    return _child(parent, name, path)


def _parent(root: Any, path: str) -> tuple[Any, str]:
    """What holds the place, and its name there."""
    if path and not path.startswith("/"):
        raise NotApplicable(f"{path!r} is no JSON pointer: it begins with /, or is empty")
    *outer, name = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]
    for part in outer:
        root = _child(root, part, path)
    return root, name


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
    return msgspec.json.encode(value, order="sorted")
