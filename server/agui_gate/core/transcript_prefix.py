"""Settles a journal that grows, at the price of what is new: the beginning is settled once.

`sanitize` looks at everything, as a later entry can change what an earlier one becomes: a message that is edited, a
result that comes late, a note that something is left out. All of these name what they are about by an id. So where no
id of the rest occurs in the beginning, each part can be settled by itself. Where one does, or what the ledger says of
the beginning is another, all of it is settled anew.
"""

from collections.abc import Iterable, Sequence

from agui_gate.core.sanitizer import Outcome, Outcomes, Settled, sanitize
from agui_gate.core.transcript import (
    ActionEntry,
    AssistantTurn,
    CallPart,
    Entry,
    LeftOutEntry,
    ResultEntry,
    TurnEntry,
    UserEntry,
    UserTurn,
)


class TranscriptPrefix:
    """The settled beginning of one journal that is only added to, for models of a ``vendor``."""

    def __init__(self, vendor: str) -> None:
        self._vendor = vendor
        self._forget()

    def _forget(self) -> None:
        self.size = 0
        """Entries of the journal that are settled."""
        self._turns: list[UserTurn | AssistantTurn] = []
        self._names: set[str] = set()
        self._outcomes: dict[tuple[str, str], Outcome] = {}

    def fits(self, entries: Sequence[Entry], outcomes: Outcomes) -> bool:
        """Returns whether the beginning is the same in ``entries``, to which the journal has grown."""
        said = {place: outcome for place, outcome in outcomes.items() if place[1] in self._names}
        return said == self._outcomes and self._names.isdisjoint(_names(entries[self.size :]))

    def extend(self, entries: Sequence[Entry], outcomes: Outcomes, place: int) -> Settled:
        """Returns what `sanitize` returns. What comes before ``place`` is settled for good, as far as one can know."""
        if self.size and not self.fits(entries, outcomes):
            self._forget()
        self._go_on(entries, outcomes, place)
        return (*self._turns, *sanitize(entries[self.size :], outcomes, self._vendor))

    def _go_on(self, entries: Sequence[Entry], outcomes: Outcomes, place: int) -> None:
        """Adds the entries before ``place`` to the beginning, unless something behind them is about them."""
        if place <= self.size:
            return
        new = entries[self.size : place]
        names = _names(new)
        if not names.isdisjoint(_names(entries[place:])):
            return
        self._turns += sanitize(new, outcomes, self._vendor)
        self._names |= names
        self._outcomes |= {key: outcome for key, outcome in outcomes.items() if key[1] in names}
        self.size = place


def _names(entries: Iterable[Entry]) -> set[str]:
    """Returns the ids by which ``entries`` are known, or name others."""
    found: set[str] = set()
    for entry in entries:
        match entry:
            case UserEntry():
                found.add(entry.id)
            case TurnEntry():
                found.add(entry.id)
                found.update([part.id for part in entry.parts if isinstance(part, CallPart)])
            case ResultEntry() | ActionEntry():
                found.add(entry.call_id)
            case LeftOutEntry():
                found.add(entry.call_id or entry.message_id)
            case _:
                pass  # nothing that a model is told
    return found
