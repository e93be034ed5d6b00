"""The history of a thread: its journal, the room that is left in it, and what is made of it for models and clients.

`Capacity` counts the room that is left: exactly when a thread is opened, closely while a run adds to it. What a person
decides always finds room: a thread that is full must not keep a call open that waits for an answer. So do the ends of
calls that a run began; what the tools said is cut then.

`HistoryCache` keeps histories between their runs, so that a run reads and settles what is new and nothing else. What is
kept is never the truth. Under the thread's lease the store compares it with the thread (`JournalVersion`). The key of
the thread's last run is another one after each run, decision, deletion or restored backup, in whichever process. Then
all of it is read. Records of gated calls, the state and the reference are read in any case. A history belongs to one
lease at a time. It is taken out when the thread is leased. It comes back when the lease was given back with everything
saved, and at no other time.
"""

import gc
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from agui_gate.approvals.expiry import with_result
from agui_gate.concurrency import LARGE, LARGE_BYTES, LONG, json_list, off_loop
from agui_gate.config.limits import Limits
from agui_gate.core import result_texts
from agui_gate.core.agent_view import ALONE, Audience, seen
from agui_gate.core.approvals import UNFINISHED, Approval
from agui_gate.core.journal import Journal
from agui_gate.core.message_index import CardIndex
from agui_gate.core.sanitizer import Outcome, Outcomes, TranscriptPrefix, sanitize
from agui_gate.core.stored_values import encode_entries
from agui_gate.core.transcript import Beginning, CardClosedEntry, Entry, Output, Transcript
from agui_gate.errors import LimitReached
from agui_gate.protocol.dialects.base import Told, View
from agui_gate.protocol.snapshot import agui_messages
from agui_gate.stores.base import JournalVersion, Thread

THE_ENTRY_AGENT = Audience()


HELD, HELD_PER_BYTE, HELD_PER_ENTRY = 2_500, 4, 600
"""Bytes of memory that a history takes at most: at all, for each byte that is stored of it, and for each entry."""


class History:
    """The stored history of ``thread``, and what was added since. ``journal`` answers questions about it."""

    def __init__(self, thread: Thread, limits: Limits) -> None:
        self.journal = Journal(thread.entries)
        self._prefixes: dict[str, TranscriptPrefix] = {}  # by vendor
        self.sent: Any = None
        """`RunInput.sent` of its last request."""
        self.read_again(thread, limits)

    def read_again(self, thread: Thread, limits: Limits) -> None:
        """Takes over what the store has of the thread now besides its entries, which are as they were."""
        self.journal.read_again(map(with_result, thread.approvals), thread.ref)
        self.capacity = Capacity(limits, thread.bytes, len(self.journal.entries))
        self._transcripts: dict[Audience, Transcript] = {}

    def rest(self) -> None:
        """Forgets what is read or made anew when it is used again."""
        self.journal.read_again((), None)
        self._transcripts.clear()
        for prefix in self._prefixes.values():
            prefix.beginning = None
            prefix.made = prefix.made.copy()  # a request that was left may add to the other one, on its own thread

    def forget_made(self) -> None:
        """Forgets also what adapters have made of it, and what a client has sent."""
        self.sent = None
        for prefix in self._prefixes.values():
            prefix.made = {}

    @property
    def held(self) -> int:
        """Bytes of memory that it takes, about."""
        made = sum(len(one) for prefix in self._prefixes.values() for _, one in prefix.made.values())
        sent = 0 if self.sent is None else self.sent.held
        return HELD + HELD_PER_BYTE * self.capacity.size + HELD_PER_ENTRY * len(self.journal.entries) + made + sent

    def check(self, entries: Sequence[Entry]) -> None:
        """Raises `AssertionError` unless a history that is made anew of ``entries``, as the store has them, is the
        same.
        """
        anew = Journal(entries, self.journal.approvals.values(), self.journal.ref)
        assert _facts(self.journal) == _facts(anew)
        for vendor, prefix in self._prefixes.items():
            known, place = self._outcomes(), self.journal.newest_place
            assert prefix.extend(entries, known, place) == sanitize(entries, known, vendor)

    # --- changes ------------------------------------------------------------------------------------------------
    def append(self, entries: Sequence[Entry]) -> bytes:
        """Adds to the journal. Returns the entries as `encode_entries` does."""
        self._transcripts.clear()
        self.journal.extend(entries)
        return self.capacity.added(entries)

    def record(self, approval: Approval) -> None:
        """Takes over the record of a gated call as it is now."""
        self.journal.record(approval)
        self._transcripts.clear()

    def forget(self, gone: Collection[str]) -> None:
        """Drops the records with these ids, which came to nothing."""
        if gone:
            self.journal.read_again([a for a in self.journal.approvals.values() if a.id not in gone], self.journal.ref)
            self._transcripts.clear()

    def branch(self, keep: int, said: Iterable[Entry]) -> "Branch":
        """Keeps the first ``keep`` entries and adds ``said``. What ran in the part that goes stays done: the journal
        and the records say so (`threads/regeneration.py`).
        """
        from agui_gate.threads import regeneration

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

    def beginning(self, to: Audience) -> Beginning | None:
        """Returns what adapters have made of the beginning of the transcript that was settled last for ``to``."""
        prefix = self._prefixes.get(to.vendor)
        return None if prefix is None else prefix.beginning

    def _settled(self, to: Audience) -> Transcript:
        entries, known = self.journal.entries, self._outcomes()
        if not self._is_alone(to):
            return sanitize(self._seen(entries, to), known, to.vendor)
        prefix = self._prefixes.setdefault(to.vendor, TranscriptPrefix(to.vendor))
        size, transcript = prefix.size, prefix.extend(entries, known, self.journal.newest_place)
        if prefix.size - size > LARGE and gc.isenabled():
            # The collector leaves tuples alone that it has seen. Now they are in the processor's caches. Later this
            # takes three times as long, and is due for some thirty histories at one go (10 ms).
            gc.collect(0)
        return transcript

    async def prepare(self, to: Audience = THE_ENTRY_AGENT) -> None:
        """Makes `transcript` ready, in a thread where it is long. Nothing else may change the history meanwhile."""
        if to in self._transcripts or not self.capacity.is_large:
            return
        entries, known = self.journal.entries, self._outcomes()
        if not self._is_alone(to):
            self._transcripts[to] = await off_loop(sanitize, self._seen(entries[:], to), known, to.vendor)
            return
        prefix = self._prefixes.get(to.vendor)
        if prefix is None or len(entries) - prefix.size > LONG or not prefix.fits(entries, known):
            prefix = TranscriptPrefix(to.vendor)  # another one, as what is cancelled goes on beside the loop
            self._transcripts[to] = await off_loop(prefix.extend, entries[:], known, self.journal.newest_place)
            self._prefixes[to.vendor] = prefix

    def replaced_note(self) -> str:
        """Returns the note below the model's instructions: what ran in answers that were replaced."""
        if not self.journal.replaced:
            return ""
        from agui_gate.threads import regeneration

        return regeneration.note(self.journal.replaced, self.journal.approvals)

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
            found[approval.turn_id, approval.call_id] = Outcome(result_texts.APPROVED, _edited(approval))
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
    if not isinstance(known, Journal | CardIndex):
        return known
    return {name: _facts(value) for name, value in vars(known).items()}


def _edited(approval: Approval) -> str:
    """Returns the arguments that a person changed. Otherwise "": the model is told its call in its own words."""
    return (approval.decision.edited_arguments if approval.decision else None) or ""


class Conversation:
    """A thread as it was at one moment of a run; called, it gives its messages, made the first time that somebody asks.

    What the run has not told yet is not in them. ``entries`` may be added to later, and don't change otherwise.

    Content has the shapes of 1.x, for whoever joins to bring it into its own.
    """

    __slots__ = ("_approvals", "_entries", "_made", "_size", "_view")

    def __init__(self, entries: list[Entry], approvals: Sequence[Approval], view: View) -> None:
        self._entries, self._size, self._approvals, self._view = entries, len(entries), approvals, view
        self._made: msgspec.Raw | None = None

    def __call__(self) -> msgspec.Raw:
        """Returns the messages, as a JSON list."""
        if self._made is None:
            entries = self._entries[: self._size]
            self._made = json_list(agui_messages(entries, self._approvals, view=self._view, untold=False))
        return self._made

    async def prepare(self) -> None:
        """Makes them now, off the loop where that is heavy."""
        if self._made is None and self._size > LARGE:
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


ALWAYS = 2_000
"""Characters of a result that are kept however full a thread is."""

ANSWER = 64 * 1024
"""Bytes that answers to cards may have over the limit."""

_encode = msgspec.json.encode

_NONE: tuple[list[Entry], bytes] = ([], b"[]")


class Capacity(msgspec.Struct, gc=False):
    """The room in one open thread. ``size`` and ``entries`` are what is there."""

    _limits: Limits
    size: int
    entries: int
    _encoded: tuple[list[Entry], bytes] = _NONE

    @property
    def is_large(self) -> bool:
        """True if to make a request of the thread takes so long that it is not for the event loop."""
        return self.size > LARGE_BYTES or self.entries > LONG

    def added(self, entries: Sequence[Entry]) -> bytes:
        """Counts entries that are in the journal now, and returns them as `encode_entries` does."""
        encoded = self._encode(entries)
        self.entries += len(entries)
        self.size += len(encoded)
        self._encoded = _NONE
        return encoded

    def _encode(self, entries: Sequence[Entry]) -> bytes:
        if self._encoded[0] != entries:  # what a request brings is counted before it is added, and may be long
            self._encoded = ([*entries], encode_entries(entries))
        return self._encoded[1]

    def has_room(self, entry: Entry) -> bool:
        """Returns whether there is room for one more entry, for which none has to be made."""
        size = self.size + len(_encode(entry))
        return size <= self._limits.thread_bytes and self.entries < self._limits.thread_entries

    def add_output(self, output: Output) -> None:
        """Counts an output that is in the record of a gated call now."""
        self.size += len(output.content)

    def dropped(self, entries: Sequence[Entry]) -> None:
        """Subtracts entries that are not there any more."""
        self.entries -= len(entries)
        self.size -= len(_encode(entries))

    def check_new(self, entries: Sequence[Entry], dropped: Sequence[Entry] = (), calls: int = 0) -> None:
        """Raises `LimitReached` unless a request's entries find room, once ``dropped`` are gone. ``calls`` are in
        them: each gets a result.
        """
        said = entries
        if CardClosedEntry in map(type, entries):
            said = [entry for entry in entries if type(entry) is not CardClosedEntry]
        answers = len(_encode(entries)) if entries and not said else 0
        size = self.size + (len(self._encode(said)) if said else 0) - (len(_encode(dropped)) if dropped else 0)
        number = self.entries - len(dropped) + len(said) + calls
        full = size > self._limits.thread_bytes or number > self._limits.thread_entries
        if (said and full) or (answers and size + answers > self._limits.thread_bytes + ANSWER):
            raise self._full()

    def check_turn(self) -> None:
        """Raises `LimitReached` if there is no room for one more answer of the model."""
        if self.size >= self._limits.thread_bytes or self.entries >= self._limits.thread_entries:
            raise self._full()

    def fitted(self, output: Output) -> Output:
        """Returns ``output``, cut where there is no room for the whole of it. Record it before anything is awaited."""
        room = max(ALWAYS, self._limits.thread_bytes - self.size)
        content = output.content
        if len(content) > ALWAYS and (size := len(_encode(content))) > room:
            content = f"{content[: max(ALWAYS, room * len(content) // size)]}… (cut: this conversation is full)"
            return msgspec.structs.replace(output, content=content)
        return output

    def _full(self) -> LimitReached:
        return LimitReached(
            f"This conversation is full (the limits are {self._limits.thread_bytes:,} bytes and "
            f"{self._limits.thread_entries:,} entries). Start a new one. This one can still be read and deleted."
        )


IDLE_SECONDS = 900.0
"""Seconds after which a history is dropped that nobody has taken."""

MOST_KEPT = 5_000
"""Histories, however small: each consists of objects that the garbage collector looks at."""

Place = tuple[str, str]
"""A principal, and the id of a thread of theirs."""


class CachedHistory(msgspec.Struct, frozen=True, gc=False):
    """A ``history`` of a thread whose journal the store has as ``known``; since a time of the event loop. ``size`` is
    in bytes.
    """

    history: History
    known: JournalVersion
    size: int
    since: float


class HistoryCache:
    """Up to ``limit`` bytes of histories; the one that was used last is dropped last. 0: nothing is kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: dict[Place, CachedHistory] = {}
        self.awaited: dict[Place, JournalVersion] = {}
        """What will be kept once it was looked at, unless it is dropped before."""
        self.size = 0
        """Bytes that are held, as `History.held` estimates them."""

    def find(self, place: Place) -> CachedHistory | None:
        """Returns what is kept of a thread. Only who leases the thread then may use it, after `drop`."""
        kept = self._kept.get(place)
        if kept is not None and len(kept.history.journal.entries) != kept.known.entries:
            self.drop(place)  # somebody has changed it without the lease
            return None
        return kept

    def sent(self, *place: str) -> Any:
        """Returns the `SentMessages` of the last request of a thread, if they are kept: its principal, and its id."""
        return self._kept[place].history.sent if place in self._kept else None

    def drop(self, place: Place) -> None:
        """Drops what is kept of a thread, if anything is."""
        self.awaited.pop(place, None)
        if (kept := self._kept.pop(place, None)) is not None:
            self.size -= kept.size

    def put(self, place: Place, history: History, known: JournalVersion, now: float) -> None:
        """Keeps a history that nobody changes any more. What is too much goes, beginning with the oldest."""
        self.drop(place)
        history.rest()
        size = history.held
        if size > self._limit:
            history.forget_made()
            size = history.held
        if size <= self._limit:
            self._kept[place] = CachedHistory(history, known, size, now)
            self.size += size
        while self.size > self._limit or len(self._kept) > MOST_KEPT:
            self.drop(next(iter(self._kept)))

    def expire(self, now: float) -> None:
        """Drops what nobody has used for `IDLE_SECONDS`: its thread may have been deleted elsewhere."""
        while self._kept and next(iter(self._kept.values())).since < now - IDLE_SECONDS:
            self.drop(next(iter(self._kept)))
