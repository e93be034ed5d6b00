"""Indexes the cards, calls and messages that a thread has shown, so that a replayed history can be compared with it.

A card is *open* until something closed it: an answer, its call's outcome, or a note that its question is asked again
(`REPLACED`). It is *answerable* a little longer, for such a note is no answer. Another tab may still show the card with
its buttons, and its call still waits. What is asked is the same, since a record's arguments never change. Cards of an
answer that was replaced are known too, so that whoever clicks on one is told what is true.

Clients send what was said to a card again with every run, the server's own notes too. What was said before, word for
word, is such a repetition and says nothing new, whether it was taken or refused then.

Messages are known by their ids. Users' messages that came without one are known by what they say, and by their place
among those like them.
"""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

import msgspec

from agui_gate.core.transcript import (
    CallPart,
    CardClosedEntry,
    CardEntry,
    Content,
    ReplacedEntry,
    ResultEntry,
    TurnEntry,
    UserEntry,
)

REPLACED = '{"status":"replaced","message":"This question is asked again below."}'
"""The text to a card that is still open when its question is asked again: no answer, and no outcome."""


def is_answerable(said: Collection[str]) -> bool:
    """Returns whether an answer to a card counts to which this was ``said`` so far."""
    return all(text == REPLACED for text in said)


class CardIndex:
    """The cards of one thread, by their call ids. Each entry costs the same, however many there were before."""

    def __init__(self) -> None:
        self._approvals: dict[str, str] = {}
        self._said: dict[str, set[str]] = {}  # what was said to each card, by its id
        self._open: dict[str, dict[str, CardEntry]] = {}

    def note(self, entry: CardEntry | CardClosedEntry | ReplacedEntry) -> None:
        """Takes what the journal has next about cards."""
        match entry:
            case CardEntry():
                self._approvals[entry.id] = entry.approval_id
                if entry.id not in self._said:
                    self._open.setdefault(entry.approval_id, {})[entry.id] = entry
            case CardClosedEntry():
                self._close(entry)
            case ReplacedEntry():
                self._approvals |= dict(entry.cards)

    def _close(self, entry: CardClosedEntry) -> None:
        said = self._said.setdefault(entry.card_id, set())
        said.add(entry.content)
        if entry.said is not None:
            said.add(entry.said)
        approval_id = self._approvals.get(entry.card_id, "")
        cards = self._open.get(approval_id, {})
        if cards.pop(entry.card_id, None) is not None and not cards:
            del self._open[approval_id]

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._approvals

    @property
    def approvals(self) -> Mapping[str, str]:
        """The approvals that the cards ask about: the record's id by the card's."""
        return self._approvals

    def said(self, card_id: str) -> Collection[str]:
        """Returns what was said to it so far."""
        return self._said.get(card_id, ())

    def open_of(self, *approval_ids: str) -> list[CardEntry]:
        """Returns the open cards that ask about this record, by any of its ids; of each the oldest first."""
        return [card for name in dict.fromkeys(approval_ids) for card in self._open.get(name, {}).values()]


NO_CARDS = CardIndex()
"""The cards of a thread that has none, which most are: nothing is added to it."""


NOTHING = cast("dict[Any, Any]", MappingProxyType({}))
"""Shared by all journals that have none of a kind; nothing can be added to it."""


class CallIndex(msgspec.Struct, gc=False):
    """The calls of one thread, and what entries say of them."""

    by_id: dict[str, CallPart] = {}
    tasks: dict[str, str] = {}  # of calls that were made in one
    delegations: dict[str, TurnEntry] = {}  # the turns that hold the calls that delegated tasks
    issued: dict[str, None] = {}
    results: dict[str, ResultEntry] = {}
    reported: dict[str, None] = {}
    actions: dict[str, None] = {}
    previews: dict[str, tuple[str, ...]] = {}  # the places where pages show arguments of calls that waited, or do


NO_CALLS = CallIndex(*[NOTHING] * len(CallIndex.__struct_fields__))
"""The calls of a thread that has none."""


class MessageIndex(msgspec.Struct, gc=False):
    """The messages of one thread. Each entry costs the same, however many there were before."""

    shown: dict[str, None] = {}
    """The ids of all other messages: of turns' texts and reasoning, of those that show calls, of what is kept."""
    users: dict[str | None, int] = {}
    """The places in the journal of users' messages, by id: the latest one of each."""
    unnamed: int = 0
    """The number of users' messages that came without an id."""
    _unnamed: dict[tuple[Content, ...], list[int]] = {}

    def note_unnamed(self, entry: UserEntry) -> None:
        """Takes a user's message that came without an id."""
        self._unnamed.setdefault(entry.content, []).append(self.unnamed)
        self.unnamed += 1

    def __contains__(self, message_id: str) -> bool:
        return message_id in self.users or message_id in self.shown

    def place_of(self, message_id: str) -> int | None:
        """Returns the place in the journal of the user's message with this id, the latest one."""
        return self.users.get(message_id)

    def places_of(self, content: tuple[Content, ...]) -> Sequence[int]:
        """Returns the places, among users' messages that came without an id, of those that say just this."""
        return self._unnamed.get(content, ())
