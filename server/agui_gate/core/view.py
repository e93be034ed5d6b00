"""What a reader of a thread is shown of its calls, by the rules that it is told by. Pure.

Theory of operation
-------------------
The journal is one, and it is whole: it is what the model is told. Readers of 0.x are shown all of it, where the model
said it. By the specification's rules a call of the frontend's is answered by the frontend alone (TOOL-4), and what a
run leaves unanswered is what a page has to answer (TOOL-6). So readers of 1.x are not shown

* a call of the client's that was given up, nor what the model was told in the place of its result;
* a card that nobody can answer any more and that its page has not answered;
* where people are asked by cards, a gated call that nobody has decided. It was held back from the stream, and stands
  where it was streamed in the end: with its result, where the run stood that decided it. If `connect` told it before,
  it stands before what is said next;
* where the page has tools of its own, a call that delegates a task while that is at work;
* where people are asked by interrupts, cards that are open. The gated calls are shown then, unanswered.

A call whose gate let it go free was held back until its turn was over, and stands behind what the turn showed at once.

See docs/adr/0017-no-server-results-for-frontend-calls.md.
"""

from collections.abc import Sequence, Set
from enum import Enum, auto

from agui_gate.core.approvals import Approval, Style
from agui_gate.core.dialect import Dialect
from agui_gate.core.transcript import CallPart, CardClosedEntry, CardEntry, Entry, ResultEntry


class Place(Enum):
    """Where a reader is shown a call."""

    HERE = auto()
    """Where the model said it."""
    AFTER = auto()
    """Behind what its turn showed at once."""
    DECIDED = auto()
    """Where its outcome was told."""
    NOWHERE = auto()


class View(Enum):
    """By which rules a reader is shown a thread."""

    V0 = auto()
    """The shapes of 0.x: everything."""
    CARDS = auto()
    """The specification's rules, for a page that is asked by cards."""
    INTERRUPTS = auto()
    """The specification's rules, for a page that is asked by interrupts."""

    @property
    def v1(self) -> bool:
        """Whether the specification's rules count."""
        return self is not View.V0

    def place(self, call: CallPart, result: ResultEntry | None, record: Approval | None) -> Place:
        """Where ``call`` is shown, whose journalled result is ``result`` and whose record is ``record``."""
        if self is View.V0:
            return Place.HERE
        if result is not None and result.given_up:
            return Place.NOWHERE
        if call.shown == "when_done" or (call.shown == "when_decided" and record is not None and record.is_begun):
            return Place.NOWHERE if result is None else Place.DECIDED
        if call.shown != "when_decided":
            return Place.HERE if call.shown == "at_once" else Place.AFTER
        if record is not None and record.output is not None:
            return Place.DECIDED
        return Place.HERE if self is View.INTERRUPTS else Place.NOWHERE

    def cards(self, entries: Sequence[Entry]) -> Set[str]:
        """The ids of the cards among ``entries`` that are shown."""
        cards = {entry.id for entry in entries if isinstance(entry, CardEntry)}
        if self is View.V0:
            return cards
        closed = [entry for entry in entries if isinstance(entry, CardClosedEntry)]
        answered = {entry.card_id for entry in closed if entry.by_client}
        if self is View.INTERRUPTS:
            return answered
        return answered | cards.difference(entry.card_id for entry in closed)


def view_of(dialect: Dialect, style: Style) -> View:
    """The view of a reader that is told by ``dialect``, and asked in ``style``."""
    if not dialect.v1:
        return View.V0
    return View.CARDS if style == "card" else View.INTERRUPTS
