"""The history of a thread: its journal, and what is made of it for models and clients. It can be kept between runs."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from agui_gate.concurrency import LARGE, LARGE_BYTES, json_list, off_loop
from agui_gate.core import outcomes
from agui_gate.core.agent_view import ALONE, Audience, seen
from agui_gate.core.approvals import UNFINISHED, Approval
from agui_gate.core.journal import Journal
from agui_gate.core.sanitizer import Outcome, Outcomes, sanitize
from agui_gate.core.shown_messages import CardsShown, MessagesShown
from agui_gate.core.transcript import Entry, Output, Transcript
from agui_gate.core.transcript_prefix import TranscriptPrefix
from agui_gate.protocol.dialects.base import Told, View
from agui_gate.protocol.messages import agui_messages
from agui_gate.stores.base import Thread
from agui_gate.threads import regeneration
from agui_gate.threads.limits import Capacity, Limits

THE_ENTRY_AGENT = Audience()


HELD, HELD_PER_BYTE, HELD_PER_ENTRY = 5_000, 4, 600
"""Bytes of memory that a history takes at most: at all, for each byte that is stored of it, and for each entry."""


class History:
    """The stored history of ``thread``, and what was added since. ``journal`` answers questions about it."""

    def __init__(self, thread: Thread, limits: Limits) -> None:
        self.journal = Journal(thread.entries)
        self._prefixes: dict[str, TranscriptPrefix] = {}  # by vendor
        self.read_again(thread, limits)

    def read_again(self, thread: Thread, limits: Limits) -> None:
        """Takes over what the store has of the thread now besides its entries, which are as they were."""
        self.journal.read_again(map(outcomes.with_output, thread.approvals), thread.ref)
        self.capacity = Capacity(limits, thread.bytes, len(self.journal.entries))
        self._transcripts: dict[Audience, Transcript] = {}

    def rest(self) -> None:
        """Forgets what is made anew when it is used again."""
        self._transcripts.clear()

    @property
    def held(self) -> int:
        """Bytes of memory that it takes, about."""
        return HELD + HELD_PER_BYTE * self.capacity.size + HELD_PER_ENTRY * len(self.journal.entries)

    def check(self, entries: Sequence[Entry]) -> None:
        """Raises `AssertionError` unless a history that is made anew of ``entries``, as the store has them, is the
        same.
        """
        anew = Journal(entries, self.journal.approvals.values(), self.journal.ref)
        self.journal.call_ids = self.journal.recorded_ids.copy()  # as `read_again` does
        assert _facts(self.journal) == _facts(anew)
        for vendor, prefix in self._prefixes.items():
            known, place = self._outcomes(), self.journal.newest_place
            assert prefix.extend(entries, known, place) == sanitize(entries, known, vendor)

    # --- changes ------------------------------------------------------------------------------------------------
    def append(self, entries: Sequence[Entry]) -> None:
        """Adds to the journal."""
        self._transcripts.clear()
        self.capacity.added(entries)
        for entry in entries:
            self.journal.note(entry)

    def record(self, approval: Approval) -> None:
        """Takes over the record of a gated call as it is now."""
        self.journal.record(approval)
        self._transcripts.clear()

    def branch(self, keep: int, said: Iterable[Entry]) -> "Branch":
        """Keeps the first ``keep`` entries and adds ``said``. What ran in the part that goes stays done: the journal
        and the records say so (`threads/regeneration.py`).
        """
        dropped = self.journal.branch(keep)
        self._prefixes.clear()
        gone = regeneration.what_goes(dropped.entries, self.journal.approvals)
        self.capacity.dropped(dropped.entries)
        entries = [*dropped.outlives, *said, *dropped.replaced, *([gone] if gone else [])]
        self.append(entries)
        records = [r for call_id in dropped.calls if (r := self.journal.approvals.get(call_id)) is not None]
        replaced = [record.id for record in records if not record.replaced]
        for record in records:
            self.journal.record(msgspec.structs.replace(record, replaced=True))
        unfinished = [self.journal.approvals[r.call_id] for r in records if r.state in UNFINISHED]
        return Branch(entries, replaced, unfinished)

    # --- what a model reads -------------------------------------------------------------------------------------
    def transcript(self, to: Audience = THE_ENTRY_AGENT, more: Sequence[Entry] = ()) -> Transcript:
        """Returns the settled transcript for ``to``, as it is now. Made once for each state: a long one takes
        milliseconds.

        One with ``more`` entries is made for one request and not kept.
        """
        if more:
            return sanitize(self._seen([*self.journal.entries, *more], to), self._outcomes(), to.vendor)
        if to not in self._transcripts:
            self._transcripts[to] = self._settled(to)
        return self._transcripts[to]

    def _settled(self, to: Audience) -> Transcript:
        entries, known = self.journal.entries, self._outcomes()
        if not self._is_alone(to):
            return sanitize(self._seen(entries, to), known, to.vendor)
        prefix = self._prefixes.setdefault(to.vendor, TranscriptPrefix(to.vendor))
        return prefix.extend(entries, known, self.journal.newest_place)

    async def prepare(self, to: Audience = THE_ENTRY_AGENT) -> None:
        """Makes `transcript` ready, in a thread where it is long. Nothing else may change the history meanwhile."""
        if to in self._transcripts or len(self.journal.entries) <= LARGE:
            return
        entries, known = self.journal.entries[:], self._outcomes()
        if not self._is_alone(to):
            self._transcripts[to] = await off_loop(sanitize, self._seen(entries, to), known, to.vendor)
            return
        prefix = self._prefixes.get(to.vendor)
        if prefix is None or len(entries) - prefix.size > LARGE or not prefix.fits(entries, known):
            prefix = TranscriptPrefix(to.vendor)  # another one, as what is cancelled goes on beside the loop
            self._transcripts[to] = await off_loop(prefix.extend, entries, known, self.journal.newest_place)
            self._prefixes[to.vendor] = prefix

    def replaced_note(self) -> str:
        """Returns the note below the model's instructions: what ran in answers that were replaced."""
        replaced = self.journal.replaced
        return regeneration.note(replaced, self.journal.approvals) if replaced else ""

    @property
    def shows_replaced(self) -> bool:
        """True if messages show calls that ran in an answer that was replaced."""
        return any(entry.gated for entry in self.journal.replaced)

    def _is_alone(self, to: Audience) -> bool:
        """Returns whether ``to`` sees all entries as they are: there is no team."""
        return self.journal.alone and to.who == ALONE

    def _seen(self, entries: Sequence[Entry], to: Audience) -> Sequence[Entry]:
        """Returns the entries that ``to`` sees."""
        return entries if self._is_alone(to) else seen(entries, to.who, to.prompt)

    def _outcomes(self) -> Outcomes:
        found = {
            (a.turn_id, a.call_id): Outcome(output, _edited(a))
            for a in self.journal.approvals.values()
            if (output := self._output(a)) is not None
        }
        for approval in (*self.journal.agreed(), *self.journal.passed()):
            found[approval.turn_id, approval.call_id] = Outcome(outcomes.APPROVED, _edited(approval))
        return found

    def _output(self, approval: Approval) -> Output | None:
        """Returns the call's output: what the ledger says, but of a task that was begun what the journal says."""
        result = self.journal.result(approval.call_id) if approval.is_begun else None
        return approval.output if result is None else result.output


class Branch(msgspec.Struct, frozen=True):
    """The result of a branch: the ``entries`` behind the part that is kept, the ids of records that it ``replaced``,
    and the records of the dropped part that were ``unfinished``.
    """

    entries: list[Entry]
    replaced: list[str]
    unfinished: list[Approval]


def _facts(known: Any) -> Any:
    """Returns all that a journal, or a part of it, consists of: two that consist of the same answer the same."""
    if not isinstance(known, Journal | CardsShown | MessagesShown):
        return known
    return {name: _facts(value) for name, value in vars(known).items()}


def _edited(approval: Approval) -> str:
    """Returns the arguments that a person changed. Otherwise "": the model is told its call in its own words."""
    return (approval.decision.edited_arguments if approval.decision else None) or ""


class Conversation:
    """A thread as it was at one moment of a run; called, it gives its messages, made the first time that somebody asks.

    What the run has not told yet is not in them.

    Content has the shapes of 1.x, for whoever joins to bring it into its own.
    """

    __slots__ = ("_approvals", "_entries", "_made", "_view")

    def __init__(self, entries: list[Entry], approvals: list[Approval], view: View) -> None:
        self._entries, self._approvals, self._view = entries, approvals, view
        self._made: msgspec.Raw | None = None

    def __call__(self) -> msgspec.Raw:
        """Returns the messages, as a JSON list."""
        if self._made is None:
            self._made = json_list(agui_messages(self._entries, self._approvals, view=self._view, untold=False))
        return self._made

    async def prepare(self) -> None:
        """Makes them now, off the loop where that is heavy."""
        if self._made is None and len(self._entries) > LARGE:
            await off_loop(self)


def conversation_json(entries: Sequence[Entry], approvals: Sequence[Approval], view: View) -> Told:
    """Returns a thread as AG-UI messages that one reader is shown."""
    messages = agui_messages(entries, approvals, view=view)
    lost = view.fit(messages)
    return Told(json_list(messages), lost)


def heaviness(thread: Thread, *, is_kept: bool = False) -> int:
    """Returns how much work a whole thread is, in entries. Of one whose history ``is_kept`` only records are new."""
    if is_kept:
        return len(thread.approvals)
    return max(len(thread.entries), LARGE * thread.bytes // LARGE_BYTES)
