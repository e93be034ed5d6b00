"""The cards that a thread has shown, and what was said to each.

A card counts as open until an answer closed it, or its call's outcome did. A note that its question was asked again
(`REPLACED`) is no answer: another tab may still show the card with its buttons, its call still waits, and what is asked
is the same, since a record's arguments never change. So an answer to it counts. Cards of an answer that was replaced
are known too, so that whoever clicks on one is told what is true.

Clients send what was said to a card again with every run, the server's own notes too. What was said before, word for
word, is such a repetition and says nothing new, whether it was taken or refused then.
"""

from collections.abc import Iterable, Mapping

from agui_gate.core.transcript import CardClosedEntry, CardEntry, Entry, ReplacedEntry
from agui_gate.protocol.cards import REPLACED


class CardsShown:
    """The cards of one thread, by their call ids."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._approvals: dict[str, str] = {}
        self._said: dict[str, set[str]] = {}
        for entry in entries:
            if isinstance(entry, CardEntry):
                self._approvals[entry.id] = entry.approval_id
            elif isinstance(entry, ReplacedEntry):
                self._approvals |= dict(entry.cards)
            elif isinstance(entry, CardClosedEntry):
                self.say(entry.card_id, entry.content)
                if entry.said is not None:
                    self.say(entry.card_id, entry.said)

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._approvals

    @property
    def approvals(self) -> Mapping[str, str]:
        """Which record each asks about, by its id."""
        return self._approvals

    def heard(self, card_id: str, text: str) -> bool:
        """Whether this was said to it before."""
        return text in self._said.get(card_id, ())

    def is_open(self, card_id: str) -> bool:
        """Whether an answer to it counts."""
        return self._said.get(card_id, set()) <= {REPLACED}

    def say(self, card_id: str, text: str) -> None:
        """``text`` was said to it."""
        self._said.setdefault(card_id, set()).add(text)
