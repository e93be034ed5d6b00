"""Applies JSON Patches (RFC 6902, pointers: RFC 6901), and finds one between two JSON values.

A patch is about as small as the change. The texts of both are compared. Of an object or a list only the texts of its
members are taken, and only those that differ are looked into. So what is the same costs next to nothing. The event loop
waits for this: no more than `MOST_WORK` is done, whatever has changed.

Lists are compared by what stays: elements that both have once, in one order, are anchors. What lies between two anchors
is compared place by place. So one element more or less, wherever it is, doesn't touch the others. Where a patch of an
object or a list would be larger than the new one itself, that is put in its place. RFC 6902 has no word for a change
within a string, so a changed string is told whole.

Why not a library: `jsonpatch`, whose patches are as small, compares values. That is 60 ms for 200 KB.
"""

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from agui_gate.core.document import Document
from agui_gate.core.work_budget import PER_BYTE, TooMuchCopied, Work, copy_of, is_deeper, same

_INDEX = re.compile(r"0|[1-9][0-9]*")

PER_OPERATION = 4.0
"""Microseconds, about, that an operation takes, and looking into each object or list on the way to its place."""

MAX_PARTS = 256
"""Parts of one pointer."""

MAX_LEVELS = 512
"""Levels that a copy, or what is moved, may come to nest: again and again, it would be deeper than anybody can
write.
"""

SHOWN = 200
"""Characters of a pointer that an error tells."""


class NotApplicable(ValueError):
    """An operation names a place that isn't there, or tests for what isn't so."""


def patched(value: Any, operations: Iterable[Mapping[str, Any]], work: Work | None = None) -> Any:
    """Returns ``value`` with ``operations`` made, all or none. Raises `NotApplicable`; `TooMuchWork` where ``work`` is
    used up.

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
        self._work.spend(PER_OPERATION)
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
        """Returns the value, which may be of any depth, if at this place it doesn't nest too deep."""
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
        """Returns the container of the place, to be changed, and the place's name in it."""
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
        self._work.spend(len(path) * PER_BYTE + path.count("/"))
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


Operation = dict[str, Any]
"""A change: ``op`` (add, remove or replace), ``path``, and but for remove ``value``."""

MAX_DEPTH = 64
"""Levels from which on a value that has changed is told whole."""

MOST_WORK = 25_000
"""Microseconds, about. What would take longer is told whole."""

PER_KB_MADE = 10.0
"""Microseconds, about, for each KiB of a text to make its value, and the text of that again."""

PER_KB, PER_MEMBER, PER_ANCHOR, PER_PLACE, PER_OPERATION = 1.0, 0.1, 1.0, 4.0, 2.0
"""Microseconds, about, to divide a text: for each KiB and each member; for an element that may be an anchor; for a
place
where something has changed; and for an operation.
"""

MOST_ANCHORS = 5_000
"""Elements of a list, besides those at both ends that are the same, among which anchors are looked for."""

PIECE = 64
"""Elements of two lists that are compared at a time."""

SLACK = 256
"""Bytes by which a patch may be larger than what it changes: it says what has changed."""

_UNSAFE = {"__proto__", "constructor", "prototype"}
"""Names that clients refuse to follow in a patch, as JavaScript gives them a meaning."""

_encode, _decode = msgspec.json.encode, msgspec.json.decode


class TooDifferent(ValueError):
    """More has changed than can be told place by place."""


class _Longer(Exception):
    """Raised where changes are longer than the new value itself."""


def difference(old: Any, new: Any, path: str = "", *, small: bool = True) -> list[Operation]:
    """Returns the operations that make ``new`` of ``old``, both JSON values that stand at ``path``. None where they are
    equal.

    ``small`` False: operations only for what has changed, so that they can be done to another value, too. Then it
    raises `TooDifferent` where that takes too long. Values in the operations are copies.
    """
    return [] if old is new else changes(Document(old), Document(new), path, small=small)


def changes(old: Document, new: Document, path: str = "", *, small: bool = True) -> list[Operation]:
    """Returns the operations of `difference`, for documents."""
    if old.text == new.text:
        return []
    found = _Found(math.inf if small else None)
    try:
        found.compare(old, new, path, 0)
    except TooDifferent:
        if not small:
            raise
        return [{"op": "replace", "path": path, "value": _decode(new.text)}]
    return [o if o["op"] == "remove" else o | {"value": _decode(o["value"])} for o in found]


def pointer(*names: str) -> str:
    """Returns the JSON pointer (RFC 6901) to a member of a member."""
    return "".join(f"/{name.replace('~', '~0').replace('/', '~1')}" for name in names)


def is_safe(operations: Sequence[Operation]) -> bool:
    """Returns whether every client follows these: none changes the whole, or goes through what is no name of its
    own.
    """
    return all(o["path"] and _UNSAFE.isdisjoint(o["path"].split("/")) for o in operations)


class _Found(list[Operation]):
    """The operations so far. Their values are still text. ``most``: how many bytes they may have; None: any number, and
    one for the whole never stands for many.
    """

    def __init__(self, most: float | None) -> None:
        super().__init__()
        self._most = most
        self._bytes = 0
        self._work_left: float = MOST_WORK

    def compare(self, old: Document, new: Document, path: str, depth: int) -> None:
        """Adds what makes ``new`` of ``old``. Raises `TooDifferent`, or `_Longer` if it is more bytes than may be."""
        begin, begin_bytes, most = len(self), self._bytes, self._most
        if most is not None:
            self._most = min(most, begin_bytes + _size("replace", path, len(new.text)))
        try:
            self._look_into(old, new, path, depth)
        except _Longer:
            del self[begin:]
            self._bytes, self._most = begin_bytes, most
            self._put("replace", path, new.text)
        self._most = most

    def _look_into(self, old: Document, new: Document, path: str, depth: int) -> None:
        self._worked(PER_PLACE)
        before, after = (old.parts, new.parts) if depth < MAX_DEPTH else (None, None)
        for parts, text in ((before, old.text), (after, new.text)):
            self._worked(len(text) / 1024 * PER_KB + len(parts or ()) * PER_MEMBER)
        if isinstance(before, dict) and isinstance(after, dict):
            self._objects(before, after, path, depth)
        elif isinstance(before, list) and isinstance(after, list):
            self._lists(before, after, path, depth)
        elif type(old.parts) is not type(new.parts) or self._says_other(old, new):
            self._put("replace", path, new.text)

    def _says_other(self, old: Document, new: Document) -> bool:
        """Returns whether it is not the same in another spelling: ``1e2`` and ``100.0``, or characters."""
        self._worked((len(old.text) + len(new.text)) / 1024 * PER_KB_MADE)
        return _encode(_decode(old.text)) != _encode(_decode(new.text))

    def _put(self, op: str, path: str, value: bytes) -> None:
        self.append({"op": op, "path": path, "value": value})
        self._added(_size(op, path, len(value)))

    def _remove(self, path: str) -> None:
        self.append({"op": "remove", "path": path})
        self._added(_size("remove", path, 0))

    def _added(self, size: int) -> None:
        self._worked(PER_OPERATION)
        self._bytes += size
        if self._most is not None and self._bytes > self._most:
            raise _Longer

    def _worked(self, microseconds: float) -> None:
        self._work_left -= microseconds
        if self._work_left < 0:
            raise TooDifferent

    def _objects(self, old: dict[str, Raw], new: dict[str, Raw], path: str, depth: int) -> None:
        both, before, after = _common(old, new)
        if len(both) < len(old):
            for name in [name for name in old if name not in new]:
                self._remove(path + pointer(name))
        for at in _unlike(before, after):
            self.compare(_document(before[at]), _document(after[at]), path + pointer(both[at]), depth + 1)
        if len(both) < len(new):
            for name in [name for name in new if name not in old]:
                self._put("add", path + pointer(name), bytes(new[name]))

    def _lists(self, old: list[Raw], new: list[Raw], path: str, depth: int) -> None:
        """Compares two lists, from the end to the beginning, so that the places of what is still to come don't move."""
        for s in reversed(self._stretches(old, new)):
            both = min(s.old_end - s.old, s.new_end - s.new)
            for at in range(s.old_end - 1, s.old + both - 1, -1):
                self._remove(f"{path}/{at}")
            for at in range(s.new + both, s.new_end):
                self._put("add", f"{path}/{s.old + at - s.new}", bytes(new[at]))
            for at in _unlike(old[s.old : s.old + both], new[s.new : s.new + both]):
                was, value = _document(old[s.old + at]), _document(new[s.new + at])
                self.compare(was, value, f"{path}/{s.old + at}", depth + 1)

    def _stretches(self, old: list[Raw], new: list[Raw]) -> list["_Stretch"]:
        """Returns what lies between the elements that stay: at the beginning, at the end, and around the anchors in
        between.
        """
        shorter = min(len(old), len(new))
        first = _alike(old, new, shorter)
        last = _alike(old[::-1], new[::-1], shorter - first)
        ends = len(old) - last, len(new) - last
        anchors = [(first - 1, first - 1), *self._anchors(old[first : ends[0]], new[first : ends[1]], first), ends]
        return [_Stretch(i + 1, next_i, j + 1, next_j) for (i, j), (next_i, next_j) in pairwise(anchors)]

    def _anchors(self, old: list[Raw], new: list[Raw], first: int) -> list[tuple[int, int]]:
        """Returns the places of elements that each side has once: as many as possible that are in the same order on
        both.
        """
        if not old or not new or len(old) + len(new) == 2 or max(len(old), len(new)) > MOST_ANCHORS:
            return []
        self._worked(PER_ANCHOR * (len(old) + len(new)))
        before, after = [*map(bytes, old)], [*map(bytes, new)]
        mine, theirs = Counter(before), Counter(after)
        places = {item: at for at, item in enumerate(after, first) if theirs[item] == 1}
        pairs = [(at, places[item]) for at, item in enumerate(before, first) if mine[item] == 1 and item in places]
        return _longest_rising(pairs)


def _size(op: str, path: str, value: int) -> int:
    """Returns the bytes of an operation with a value of so many, and of what parts it from the next one."""
    return len(_encode({"op": op, "path": path})) + (len(',"value":') + value if value else 0) + 1


def _document(text: Raw) -> Document:
    return Document(text=bytes(text))


def _common(old: dict[str, Raw], new: dict[str, Raw]) -> tuple[list[str], list[Raw], list[Raw]]:
    """Returns the names that both have, and the members of either."""
    before, after = list(old), list(new)
    shorter = min(len(before), len(after))
    if before[:shorter] == after[:shorter]:  # as it is where members were changed, or added at the end
        return after[:shorter], list(old.values())[:shorter], list(new.values())[:shorter]
    both = [name for name in after if name in old]
    return both, [old[name] for name in both], [new[name] for name in both]


def _unlike(old: Sequence[Raw], new: Sequence[Raw]) -> Iterator[int]:
    """Yields the places where two lists of one length differ."""
    for begin in range(0, len(new), PIECE):
        if old[begin : begin + PIECE] != new[begin : begin + PIECE]:
            yield from (at for at in range(begin, min(begin + PIECE, len(new))) if old[at] != new[at])


class _Stretch(NamedTuple):
    """Between two anchors: the elements of ``old`` and of ``new``, from where to where."""

    old: int
    old_end: int
    new: int
    new_end: int


def _alike(old: Sequence[Raw], new: Sequence[Raw], most: int) -> int:
    """Returns how many elements are the same, from the beginning on; ``most`` at most."""
    at = 0
    while at + PIECE <= most and old[at : at + PIECE] == new[at : at + PIECE]:
        at += PIECE
    while at < most and old[at] == new[at]:
        at += 1
    return at


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the longest part of ``pairs``, whose first numbers rise, in which the second ones rise too (patience
    sorting).
    """
    lowest: list[int] = []  # the smallest second number in which a part of that length ends
    ends: list[int] = []  # which pair that is
    previous: list[int] = []
    for number, (_, second) in enumerate(pairs):
        length = bisect_left(lowest, second)
        lowest[length : length + 1] = [second]
        ends[length : length + 1] = [number]
        previous.append(ends[length - 1] if length else -1)
    found, at = [], ends[-1] if ends else -1
    while at >= 0:
        found.append(pairs[at])
        at = previous[at]
    return found[::-1]
