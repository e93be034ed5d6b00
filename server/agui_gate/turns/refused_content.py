"""Finds what a provider's refusal was about, where it doesn't say: what is left out from now on.

Imported when a provider refuses something, which few runs see.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from agui_gate.core.media import normal, placeholder
from agui_gate.core.transcript import (
    ActionEntry,
    Entry,
    LeftOutEntry,
    Media,
    ReportedEntry,
    ResultEntry,
    Text,
    TurnEntry,
    UserEntry,
)
from agui_gate.errors import ContentRefused, ContextLength, MediaRefused
from agui_gate.turns.content_refusals import attached

if TYPE_CHECKING:
    from agui_gate.threads.leased_thread import LeasedThread

LONG = 1_000
"""Characters of a message or a result that may be why a conversation is too long."""

REFUSED_MEDIA = "the provider could not take it"
TOO_LARGE_MEDIA = "it was too large for the model"
REFUSED = "[A message was here. The provider refused it for its content, so it was left out.]"
REFUSED_RESULT = "[The result was left out: the provider refused it for its content.]"
TOO_LONG = "[A message was here. It was too long for the model, so it was left out.]"
TOO_LONG_RESULT = "[The result was left out: it was too long for the model.]"


def blamed(thread: "LeasedThread", refused: ContentRefused | ContextLength) -> list[LeftOutEntry]:
    """Returns what is left out from now on after ``refused``: what was new; of what is too long, the longest."""
    new = since_turn(thread.entries)
    gone = [entry for entry in new if isinstance(entry, LeftOutEntry) and entry.part is None]
    too_long = isinstance(refused, ContextLength) or refused.too_long
    if not too_long and any(entry.note in (REFUSED, REFUSED_RESULT) for entry in gone):
        new = since_turn(thread.entries, ours=True)  # once more, and without what was new then: it is something older
    before = {entry.message_id or entry.call_id for entry in gone}
    said = [one for entry in new if (one := _said(entry, thread)) is not None and one.id not in before]
    if not too_long:
        return [one.note(REFUSED, REFUSED_RESULT) for one in said]
    longest = _longest(said) or _longest(_all_said(thread))
    if longest is None:
        return []
    return longest.media or [longest.note(TOO_LONG, TOO_LONG_RESULT)]


def _longest(said: Sequence["_Said"]) -> "_Said | None":
    return max((one for one in said if one.length >= LONG), key=lambda one: one.length, default=None)


def _all_said(thread: "LeasedThread") -> list["_Said"]:
    """Returns all that the model is told of this thread by others."""
    gone = [entry for entry in thread.entries if isinstance(entry, LeftOutEntry)]
    before = {entry.message_id or entry.call_id for entry in gone}
    said = (_said(entry, thread) for entry in thread.entries)
    return [one for one in said if one is not None and one.id not in before]


class _Said(NamedTuple):
    """Something that the model is told. ``media``: notes for its attachments, if they are the larger part of it."""

    id: str
    length: int
    is_result: bool
    media: list[LeftOutEntry]

    def note(self, message: str, result: str) -> LeftOutEntry:
        if self.is_result:
            return LeftOutEntry(result, call_id=self.id)
        return LeftOutEntry(message, self.id)


def _said(entry: Entry, thread: "LeasedThread") -> _Said | None:
    """Returns what an entry said to the model; None for one that says nothing."""
    match entry:
        case UserEntry():
            return _message(entry)
        case ActionEntry():
            return _Said(entry.call_id, len(entry.arguments) + len(entry.output.content), False, [])
        case ResultEntry():
            return _Said(entry.call_id, len(entry.output.content), True, [])
        case ReportedEntry():
            approval = thread.approvals.get(entry.call_id)
            output = approval.output if approval is not None else None
            return _Said(entry.call_id, len(output.content), True, []) if output is not None else None
        case _:
            return None


def _message(entry: UserEntry) -> _Said:
    media = [(place, part) for place, part in enumerate(entry.content) if isinstance(part, Media)]
    attached = sum(len(part.value) for _, part in media)
    text = sum(len(part.text) for part in entry.content if isinstance(part, Text))
    notes = [LeftOutEntry(placeholder(normal(part), TOO_LARGE_MEDIA), entry.id, place) for place, part in media]
    return _Said(entry.id, text + attached, False, notes if attached > text else [])


def withheld(
    entries: Sequence[Entry], before: Sequence[LeftOutEntry], refused: MediaRefused
) -> tuple[list[LeftOutEntry], bool]:
    """Returns the attachments to leave out besides those of ``before``, and whether they are all that there are: the
    one that was refused, or the newest, and the second time all.
    """
    sent, value = _sent(entries, entries, before), refused.value
    found: list[LeftOutEntry] = []
    if not before:
        found = [left for left, media in sent if value and value.endswith(normal(media).value)]
        found = found or [left for left, _ in _sent(since_turn(entries), entries, before)]
    return (found, False) if found else ([left for left, _ in sent], True)


def _sent(
    some: Sequence[Entry], entries: Sequence[Entry], before: Sequence[LeftOutEntry]
) -> list[tuple[LeftOutEntry, Media]]:
    """Returns the attachments in ``some`` entries that would be sent, each with a note for it."""
    notes = [e for e in [*entries, *before] if isinstance(e, LeftOutEntry)]
    gone = {(e.message_id, e.call_id, e.part) for e in notes}
    return [
        (left, media)
        for entry in some
        for left, media in attached(entry, REFUSED_MEDIA)
        if gone.isdisjoint((left.message_id, left.call_id, part) for part in (None, left.part))
    ]


def since_turn(entries: Sequence[Entry], *, ours: bool = False) -> Sequence[Entry]:
    """Returns the entries after the model's last turn. ``ours``: its last turn here, not in a history that a client
    brought.
    """
    for place in range(len(entries) - 1, -1, -1):
        entry = entries[place]
        if isinstance(entry, TurnEntry) and (entry.origin or not ours):
            return entries[place + 1 :]
    return entries
