"""The shared state of a thread that is worked on: what is kept, what tools have in hand, and what clients were told.

Theory of operation
-------------------
Four things, and one way from each to the next:

* *in hand*: one object for all tools that are at work at the same time. It is made when the first of them begins, and
  is dropped when the last one has ended. What a tool that was abandoned changes after that is nobody's; before, nobody
  can tell it from what the others do.
* *kept*: JSON, saved with the next commit. When a tool ends, whatever became of it, what it left in hand is kept if it
  fits: it is JSON, not too large, and what the agent's model takes. If not, it is looked at again when the next tool
  ends, as it may have been another's half of a change. When none is left, it is undone, and logged.
* *shown*: what is kept, and laid over it the previews of calls that are arriving, or wait
  (`extras/shared_state/previews.py`).
* *told*: the client's copy. It begins as the state that came in (IN-6) or as our snapshot, and every event about the
  state is folded into it. So `tell` always knows what differs, and no delta is without its baseline (SNAP-2).

Before its first delta a run restates that copy, though the state that came in would do as a baseline. CopilotKit's Node
runtime folds the events of a run by themselves, and its process ends with a patch that it can't apply. Clients that say
that they know this server are told the patch alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import structlog

from agui_gate.agents.state_form import DICT, StateForm, Unfit, replace, written
from agui_gate.core import events as ev
from agui_gate.core.argument_preview import Place, laid_over
from agui_gate.core.document import Document
from agui_gate.core.json_changes import SLACK, NotApplicable, Operation, changes, is_safe, patched
from agui_gate.core.json_text import MAX_DEPTH, is_deeper

log = structlog.get_logger("agui_gate.state")

LARGE_STATE = 32 * 1024
"""Bytes of a shared state that takes a while to encode."""

_NOTHING = Document({}, text=b"{}")
"""The state that clients are shown where there is none."""

_encode = msgspec.json.encode


class SharedState:
    """The shared state of one thread, under its lease. ``stored`` is what the store has. Values handed out are not
    changed.

    Clients send back what they are shown. So it is never longer than ``limit`` bytes, nor deeper than what comes in may
    be: else no request of theirs would be taken any more.
    """

    __slots__ = (
        "_at_work",
        "_begun",
        "_form",
        "_kept",
        "_limit",
        "_live",
        "_stored",
        "_told",
        "_whole",
        "previews",
        "shown",
    )

    def __init__(self, stored: Any, limit: int) -> None:
        self._limit = limit
        self._kept = Document(stored)
        self._begun = self._stored = self._kept.text
        self._form = DICT
        self._live: Any = None
        self._at_work = 0
        self._told: Document | None = None  # None: nobody knows what the client has
        self._whole = False  # whether this run has told all of it
        self.shown = _NOTHING if stored is None else self._kept
        """The state that clients are shown, for whom there always is one: what is kept, under the previews."""
        self.previews: dict[str, tuple[Place, Mapping[str, Any]]] = {}
        """The arguments that clients are shown besides what is kept, by call id, and their places
        (`core/argument_preview.py`)."""

    def take_form(self, form: StateForm) -> None:
        """Reads it as the thread's agent has it. What doesn't fit any more counts as none, until a change is kept."""
        if form is self._form:
            return
        self._form = form
        try:
            fitted = form.default() if self.json == b"null" else form.fitted(self.json)
        except Unfit as unfit:
            log.warning("state_does_not_fit", why=str(unfit))
            fitted = form.default()
        if fitted != self.json:
            self._keep(Document(text=fitted))
        self._begun = self.json

    @property
    def json(self) -> bytes:
        """The state that is kept, as JSON."""
        return self._kept.text

    @property
    def value(self) -> Any:
        """The state that is kept, as a value."""
        return self._kept.value

    def copy(self) -> Any:
        """Returns the state that is kept, in the form in which tools have it, for somebody to look at."""
        return self._form.live(_NOTHING.text if self._is_none else self.json)

    @property
    def to_save(self) -> bytes:
        """The state that the store is to have. Defaults alone are no change."""
        return self._stored if self.json is self._begun else self.json

    @property
    def is_large(self) -> bool:
        """True if encoding it takes long enough to be noticed where it is done many times."""
        return len(self.json) > LARGE_STATE

    def keep(self, value: Document, form: StateForm | None = None) -> None:
        """Keeps ``value``, as the agent's model writes it. ``form``: the one that it was written in. Raises `Unfit`."""
        after = value if form is self._form else Document(text=self._form.fitted(value.text))
        if self._is_as_kept(after.text):
            return
        if problem := self._too_much(after.text):
            raise Unfit(problem)
        self._keep(after)

    def _too_much(self, after: bytes) -> str | None:
        """Returns the problem where no client could send this back."""
        if len(after) > max(self._limit, len(self.json)):
            return "state_too_large"
        return "state_too_deep" if is_text_deeper(after, MAX_DEPTH) else None

    def _is_as_kept(self, after: bytes) -> bool:
        return after == self.json or (after == b"{}" and not self.json.startswith(b"{"))

    def _keep(self, after: Document) -> None:
        self._kept = after
        self._show()

    @property
    def _is_none(self) -> bool:
        return self.json == b"null"

    def _show(self) -> None:
        self.shown = _NOTHING if self._is_none else self._kept
        for place, arguments in self.previews.values():
            shown = Document(laid_over(self.shown.value, place, arguments))
            if self._too_much(shown.text) is None:
                self.shown = shown

    # --- tools ------------------------------------------------------------------------------------------------------
    def begin(self) -> Any:
        """Begins a tool, and returns the object that it shares with those at work. Say `end`, once."""
        if self._live is None:
            self._live = self._form.live(self.json)
        self._at_work += 1
        return self._live

    def end(self) -> tuple[Sequence[Operation], str | None]:
        """Ends a tool, and keeps what fits of its changes.

        Returns the way back, from what is kept now to what was; and what was wrong, if something was undone.
        """
        self._at_work -= 1
        before = self._kept
        problem = self._look()
        if not self._at_work:
            self._live = None
        return changes(self._kept, before), None if self._at_work else problem

    def _look(self) -> str | None:
        try:
            after = self._form.fitted(written(self._live))
        except Unfit:
            return "state_does_not_fit"
        except ValueError:
            return "state_not_json"
        if self._is_as_kept(after):
            return None
        problem = self._too_much(after)
        if problem is None:
            self._keep(Document(text=after))
        return problem

    # --- models -----------------------------------------------------------------------------------------------------
    @property
    def kept(self) -> Document:
        """The state that is kept: another document after each change."""
        return self._kept

    def held(self) -> Document:
        """Returns the state that tools have in hand, else what is kept. Raises ValueError if that is no JSON."""
        return self._kept if self._live is None else Document(text=written(self._live))

    def put(self, after: Document, form: StateForm | None = None) -> None:
        """Puts ``after`` in the place of what is `held`; ``form`` as in `keep`. Raises ValueError; it may quote it."""
        if self._live is None:
            self.keep(after, form)
        else:
            replace(self._live, after.value)
            self._look()

    # --- previews ---------------------------------------------------------------------------------------------------
    def preview(self, call_id: str, place: Place, arguments: Mapping[str, Any]) -> None:
        """Shows clients these arguments from now on, until `withdraw`; unless that is too much for them."""
        self.previews[call_id] = place, arguments
        self._show()

    def withdraw(self, call_id: str) -> None:
        """Takes back the arguments that `preview` has shown."""
        if self.previews.pop(call_id, None) is not None:
            self._show()

    # --- clients ----------------------------------------------------------------------------------------------------
    def holds(self, value: Any, *, known: bool = False) -> None:
        """Begins a run, whose client holds this. ``known``: it needs not be told what that is."""
        self._told, self._whole = Document(value), known

    def emitted(self, event: ev.StateSnapshot | ev.StateDelta, emit: Callable[[ev.Event], None]) -> None:
        """Hands on what a tool itself tells the client of the state, if the client can take it."""
        if isinstance(event, ev.StateSnapshot):
            self._told, self._whole = Document(event.snapshot), True
            emit(event)
            return
        if self._told is None:
            return
        try:
            after = Document(patched(self._told.value, event.delta))
        except NotApplicable:
            return
        self._restate(self._told, emit)
        self._told = after
        emit(event)

    def tell(self, emit: Callable[[ev.Event], None], *, whole: bool = False) -> None:
        """Tells the client what differs from its copy, if anything does; ``whole``: as a snapshot."""
        told = self._told
        if told is self.shown:
            return
        if told is None:
            self.tell_whole(emit)
        elif operations := changes(told, self.shown):
            if whole or len(_encode(operations)) >= len(self.shown.text) + SLACK or not is_safe(operations):
                self.tell_whole(emit)
                return
            self._restate(told, emit)
            emit(ev.StateDelta(operations))
        self._told = self.shown

    def _restate(self, told: Document, emit: Callable[[ev.Event], None]) -> None:
        """Tells what the client holds, unless this run has told all of the state before, or there is none."""
        if not self._whole and told.text != _NOTHING.text:
            emit(ev.StateSnapshot(told.raw))
        self._whole = True

    def tell_whole(self, emit: Callable[[ev.Event], None]) -> None:
        """Tells the client all of it, whatever it holds."""
        self._told, self._whole = self.shown, True
        emit(self.snapshot())

    def snapshot(self) -> ev.StateSnapshot:
        """Returns all of it, as an event."""
        return ev.StateSnapshot(self.shown.raw)

    def told(self) -> msgspec.Raw:
        """Returns what clients that follow have by now: where one that comes later has to begin."""
        return (self.shown if self._told is None else self._told).raw


def is_text_deeper(text: bytes, levels: int) -> bool:
    """Returns what `is_deeper` does, for JSON that was encoded here.

    Most texts aren't deeper, which is seen without making their values.

    Each value is put in a line of its own, indented by its level. No string has a line's end in it.
    """
    if text.count(b"{") + text.count(b"[") <= levels:
        return False
    try:
        lines = msgspec.json.format(text, indent=1)
    except RecursionError:
        return True
    return b"\n" + b" " * levels in lines and is_deeper(msgspec.json.decode(text), levels)
