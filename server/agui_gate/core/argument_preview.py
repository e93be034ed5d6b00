"""A call's arguments while they arrive, laid over the shared state where its tool says (`@tool(streams_to=…)`).

It is a preview: it is shown, and is no part of the state. How often it is shown grows slower than the arguments do, and
what is shown in all is a few times their size, however small the pieces are in which they come.
"""

from collections.abc import Callable, Mapping
from typing import Any

from agui_gate.core.json_text import so_far

Place = tuple[str, ...]
"""The names that lead to a place in the state. Empty: the state itself."""

STEP = 64
"""Characters that have to come before more is shown; later an eighth of what has come."""

MAX_SHOWN = 128 * 1024
"""Characters of arguments that are shown while they come. What comes after them is not."""

Show = Callable[[dict[str, Any] | None], None]


def place_of(path: str) -> Place:
    """Returns the place that a path names: a JSON pointer (``/draft/text``), or names with dots (``draft.text``).

    Raises ValueError for a path with an empty name, or with a number: places in lists move.
    """
    if path == "":
        return ()
    pointed = path.startswith("/")
    names = path[1:].split("/") if pointed else path.split(".")
    place = tuple(n.replace("~1", "/").replace("~0", "~") for n in names) if pointed else tuple(names)
    if not all(place) or any(name.isdecimal() or name == "-" for name in place):
        raise ValueError(f"{path!r} names no member of an object")
    return place


def laid_over(state: Any, place: Place, arguments: Mapping[str, Any]) -> Any:
    """Returns ``state`` with ``arguments`` at ``place``: member by member where an object is there, else in its place.

    Nothing of ``state`` is changed. Where no object can be on the way, it is returned as it is.
    """
    if not place:
        return {**state, **arguments} if isinstance(state, dict) else dict(arguments)
    if not isinstance(state, dict):
        return state
    name, *rest = place
    inner = state.get(name, {}) if rest else state.get(name)
    return {**state, name: laid_over(inner, tuple(rest), arguments)}


def found(state: Any, place: Place) -> tuple[Any, ...]:
    """Returns what is at ``place``, in a tuple that is empty where nothing is."""
    for name in place:
        if not isinstance(state, dict) or name not in state:
            return ()
        state = state[name]
    return (state,)


def put_back(state: Any, place: Place, was: Any) -> Any:
    """Returns ``state`` with what the state ``was`` has at ``place``, or with nothing there. Nothing of it is changed.

    An object on the way that ``was`` doesn't have goes too, unless it holds something else.
    """
    if not isinstance(state, dict):
        return state
    name, *rest = place
    before = was if isinstance(was, dict) else {}
    there = before.get(name)
    if rest:
        inner = put_back(state.get(name), tuple(rest), there)
        if inner != {} or (isinstance(there, dict) and there):
            return {**state, name: inner}
    return {**state, name: there} if name in before else {n: value for n, value in state.items() if n != name}


class Growing:
    """The arguments of one call. ``show`` is called with what they are so far, now and then. With None once they are
    too long to be shown whole: a part of them couldn't be told from what a page has written there itself.
    """

    __slots__ = ("_next", "_pieces", "_show", "_size")

    def __init__(self, show: Show) -> None:
        self._show = show
        self._pieces: list[str] = []
        self._size, self._next = 0, 1

    def add(self, text: str) -> None:
        """Takes a piece of their JSON."""
        if self._size > MAX_SHOWN:
            return
        self._pieces.append(text)
        self._size += len(text)
        if self._size >= self._next:
            self._pieces = ["".join(self._pieces)]
            self._next = self._size + max(STEP, self._size // 8)
            self._look(self._pieces[0])

    def end(self, text: str) -> None:
        """Takes all of it, as JSON."""
        if len(text) <= MAX_SHOWN:
            self._look(text)
        else:
            self._show(None)

    def _look(self, text: str) -> None:
        arguments = so_far(text)
        if isinstance(arguments, dict) and arguments:
            self._show(arguments)
