"""A thread while a run or a decision holds its lease: its history, and what of it is not saved yet.

Leasing a thread to work on it: under its lease, within the budget, and beside the event loop where it is long.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from agui_gate import log_events
from agui_gate.approvals.answer_validation import Refused
from agui_gate.approvals.expiry import with_result
from agui_gate.concurrency import LARGE, LARGE_BYTES, if_large, off_loop, to_the_end
from agui_gate.config.limits import DEFAULTS, Limits
from agui_gate.core import audit
from agui_gate.core.approvals import Approval, Asker, State
from agui_gate.core.audit import Happened
from agui_gate.core.stop_reasons import Stop
from agui_gate.core.stored_values import decode_entries, encode_entries
from agui_gate.core.transcript import ConversationRef, EndedEntry, Entry, Output, Text, UserEntry
from agui_gate.errors import Unavailable, Unreadable
from agui_gate.protocol.dialects.base import Told, View
from agui_gate.protocol.snapshot import EVERYTHING
from agui_gate.stores import clock
from agui_gate.stores.base import Change, JournalVersion, RunStatus, Store, Thread
from agui_gate.stores.lookup import capabilities
from agui_gate.threads import lease
from agui_gate.threads.budget import Budget, Reservation
from agui_gate.threads.history import Conversation, History, HistoryCache, conversation_json, heaviness
from agui_gate.threads.lease import Lease, SaveRetrier
from agui_gate.threads.parts import Parts

if TYPE_CHECKING:
    from agui_gate.core.principals import By
    from agui_gate.turns.meter import Meter

TITLE_LENGTH = 80

CHECKED = False
"""True in tests: a thread of which something was kept is read all the same, and both are compared."""


class LeasedThread:
    """The unit of work on a thread, for as long as its lease is held. Each `commit` is one store transaction.

    ``history`` is what is known of the thread, with what was added and is not saved yet. ``parts`` are what it has
    besides.
    """

    def __init__(
        self,
        store: Store,
        thread: Thread,
        run_key: str,
        limits: Limits = DEFAULTS,
        keeper: SaveRetrier | None = None,
        history: History | None = None,
    ) -> None:
        self._keeper = keeper or SaveRetrier(store)
        self.lease = Lease(store, thread, run_key, self._keeper.written)
        self.limits = limits
        self.run_key = run_key
        self.thread = thread
        if history is None:
            self.history = History(thread, limits)
        else:
            history.read_again(thread, limits)
            self.history, thread.entries = history, history.journal.entries
        self.journal, self.capacity = self.history.journal, self.history.capacity  # read too often to be properties
        self.parts = Parts(self, thread.state)
        self._unsaved: list[Entry] = []
        self._asked: tuple[Approval, ...] = ()
        self._encoded: list[bytes] | None = []  # the same as JSON; None: it has to be made
        self._happened: tuple[Happened, ...] = ()
        self._saving: asyncio.Lock | None = None
        self._saved = len(self.journal.entries)
        self._keep: int | None = None
        self._replaced: tuple[str, ...] = ()
        self._saved_ref = thread.ref
        self._prepared: tuple[int, Told] | None = None
        self.view: View = EVERYTHING
        """The view in which the clients of the lease's holder are shown the thread."""
        self.by: By = None
        """Who acts on it, where ``auth`` says more than whose it is."""
        self.meter: Meter | None = None
        """Counts what is done on it, where somebody asks for metrics."""
        self.asker: Asker | None = None
        """Whose message is worked on, in a run that only answers: who began what it goes on with."""
        self.ended = False
        self.ended_as: RunStatus | None = None
        """How its run ended; None, too, where a save has failed: what the store has is in doubt."""
        self._is_doubtful = False
        self._added: list[Entry] = []
        self._size = self.capacity.size

    @property
    def entries(self) -> list[Entry]:
        """The journal's entries, those that are not saved yet too."""
        return self.history.journal.entries

    @property
    def approvals(self) -> dict[str, Approval]:
        """The records of its gated calls, by call id, oldest first."""
        return self.history.journal.approvals

    @property
    def ref(self) -> ConversationRef | None:
        """The provider's reference to the conversation, if there is one."""
        return self.history.journal.ref

    @ref.setter
    def ref(self, ref: ConversationRef | None) -> None:
        self.history.journal.ref = ref

    @property
    def actor(self) -> str:
        """The principal who acts on it, for tools and for the trail: its owner, unless ``auth`` says more."""
        return self.thread.principal if self.by is None else self.by.principal

    # --- changing -----------------------------------------------------------------------------------------------
    def append(self, entries: Iterable[Entry], *, as_read: bool = False) -> None:
        """Adds to the journal, to be saved with the next commit.

        ``as_read``: they consist of texts out of a decoded request, and are the same when they are read again.
        """
        entries, size = list(entries), self.capacity.size
        self._unsaved += entries
        encoded = self.history.append(entries)
        if self._encoded is not None and entries:
            self._encoded.append(encoded[1:-1])
        if as_read:
            self._size += self.capacity.size - size
            assert not CHECKED or decode_entries(encoded) == entries
        else:
            self._added += entries

    def branch(self, keep: int, said: Iterable[Entry]) -> list[Approval]:
        """Goes back: only the first ``keep`` entries stay, and ``said`` is new. Returns the records of the part that
        goes which were unfinished. The next commit saves it.
        """
        branch = self.history.branch(keep, said)
        self._keep, self._unsaved = keep, branch.entries  # what was unsaved is dropped, or among these entries
        self._encoded = None
        self._added += branch.entries
        self._replaced += tuple(branch.replaced)
        return branch.unfinished

    def ask(self, approvals: Iterable[Approval]) -> None:
        """Adds records of calls that wait, to be saved with the next commit. Nobody is told of them before."""
        for approval in approvals:
            self._asked += (approval,)
            self.history.record(approval)

    def withdraw(self) -> None:
        """Withdraws the questions that the store has not taken. Nobody was told of them, and nobody will be."""
        gone = {approval.id for approval in self._asked}
        self._asked, self._happened = (), tuple(one for one in self._happened if one.approval_id not in gone)
        self.history.forget(gone)

    def decided(self, approval: Approval) -> None:
        """Takes over a record that was moved in the store."""
        replaced_now = approval.replaced or approval.id in self._replaced  # the store is told with the next commit
        self.history.record(with_result(msgspec.structs.replace(approval, replaced=replaced_now)))

    def happened(self, happened: Iterable[Happened]) -> None:
        """Puts what changes nothing into the audit trail, with the next commit that there is for something else."""
        self._happened += tuple(happened)

    def refused(self, refused: Refused) -> None:
        """Says in the audit trail and the log that an answer could not be taken."""
        by, error = str(self.actor), refused.error
        self.happened([audit.refused(refused.approval, by, refused.way, error, self.run_key)])
        log_events.refused(refused.approval, by, error.message)

    async def commit(
        self, *, approvals: Sequence[Approval] = (), status: RunStatus | None = None, patient: bool = False
    ) -> None:
        """Saves what is new; with ``status``, ends the run and gives the lease back: then it is `ended`.

        Saved as a whole, even if the caller is cancelled meanwhile. Raises `LeaseLost`; then nothing was
        saved. ``patient``: a store that is away is tried again, for `KEEP_SECONDS`.
        """
        seconds = lease.KEEP_SECONDS if patient else 0
        await to_the_end(lease.patiently(lambda: self._save(approvals, status), seconds))

    def note_end(self, why: Stop) -> None:
        """Keeps what the client of a run is told that ends before it is complete. An empty thread stays empty."""
        entry = EndedEntry(self.run_key, why.code, why.message, why.reason, why.silent)
        if self.entries and not self.ended and self.capacity.has_room(entry):
            self.append([entry])

    async def end(self, status: RunStatus, seconds: float) -> None:
        """Ends the run as `commit` with ``status`` does, but after ``seconds`` it goes on in the background until the
        store
        works again.

        Saves nothing if it is `ended` or the lease is lost, and never raises but for cancellation.
        """
        if self.lease.lost:
            log_events.lease_lost(self.thread.id, self.run_key)
        elif not self.ended:
            await self._keeper.end(self.thread, self.run_key, lambda: self._save((), status), seconds)

    async def keep(self, approval: Approval, to: State, output: Output) -> Approval:
        """Records what came of a claimed call: see `SaveRetrier.keep`."""
        return await self._keeper.keep(self.run_key, approval, to, output)

    async def _save(self, approvals: Sequence[Approval], status: RunStatus | None) -> None:
        self._saving = self._saving or asyncio.Lock()
        async with self._saving:  # tools that run in parallel save what all of them have added, once
            entries, state = self._unsaved, self.parts.changes()
            changed = self._keep is not None or state is not None or self.ref != self._saved_ref
            if not (entries or approvals or self._asked or status or changed):
                return
            encoded, asked, happened = self._encoded, self._asked, self._happened
            self._unsaved, self._asked, self._happened, self._encoded = [], (), (), []
            ref = self.ref
            change = Change(
                after=self._saved,
                keep=self._keep,
                entries=entries,
                encoded=None if encoded is None else b"[%b]" % b",".join(encoded),
                approvals=[*asked, *approvals],
                replaced=self._replaced,
                state=msgspec.UNSET if state is None else msgspec.Raw(state),
                ref=ref,
                default_title=None if self.thread.title else self._title(),
                status=status,
                happened=happened,
            )
            assert not CHECKED or change.encoded in (None, encode_entries(entries))
            try:
                await self.lease.commit(change)
            except BaseException:
                self._unsaved, self._happened = entries + self._unsaved, happened + self._happened
                self._asked, self._encoded = asked + self._asked, None
                self._is_doubtful = True
                raise
            self._saved = change.length or 0
            self._keep, self._saved_ref, self._replaced = None, ref, ()
            if state is not None:
                self.parts.saved(state)
            self.ended, self.ended_as = self.ended or status is not None, self.ended_as or status
            for approval in approvals:
                self.history.record(approval)

    def version(self) -> JournalVersion | None:
        """Returns what the store has of its journal, if that is just what its history says; else None.

        The lease was given back, and nothing is left to save. What was added must be read as it was written, too.
        """
        entries = len(self.entries)
        is_saved = not (self._is_doubtful or self._unsaved or self.lease.lost) and entries == self._saved
        if self.ended_as is None or not is_saved:
            return None
        return JournalVersion(self.thread.key, self.run_key, self.ended_as, entries)

    @property
    def has_grown_much(self) -> bool:
        """True if what was added is so much that to go through it is not for the event loop."""
        return len(self._added) > LARGE or self.capacity.size - self._size > LARGE_BYTES

    def is_read_as_written(self) -> bool:
        """Returns whether what was added is the same when it is read again."""
        try:
            return decode_entries(encode_entries(self._added)) == self._added
        except Unreadable:
            return False

    # --- reading ------------------------------------------------------------------------------------------------
    def messages(self) -> Told:
        """Returns the conversation as AG-UI messages, as its `view` has them."""
        prepared, self._prepared = self._prepared, None
        shown = self.parts.entries()
        if prepared is not None and prepared[0] == len(self.entries) and not shown:
            return prepared[1]
        entries = [*self.entries, *shown] if shown else self.entries
        return conversation_json(entries, list(self.approvals.values()), self.view)

    async def prepare_messages(self) -> None:
        """Makes `messages` ready for the next call of it, in a thread where it is long. Nothing else may change the
        history meanwhile.
        """
        if self.capacity.is_large or len(self.entries) > LARGE:
            made = await off_loop(conversation_json, self.entries[:], list(self.approvals.values()), self.view)
            self._prepared = (len(self.entries), made)

    def snapshot(self) -> tuple[Conversation, msgspec.Raw]:
        """Returns the conversation as it is at this moment, made into messages only if somebody asks, and the state."""
        journal, parts = self.history.journal, self.parts
        entries = [*journal.entries, *shown] if (shown := parts.entries()) else journal.entries
        return Conversation(entries, tuple(journal.approvals.values()), self.view), parts.told()

    def _title(self) -> str | None:
        for entry in self.entries:
            if isinstance(entry, UserEntry) and entry.role == "user":
                text = " ".join(" ".join(p.text for p in entry.content if isinstance(p, Text)).split())
                if text:
                    return text if len(text) <= TITLE_LENGTH else text[: TITLE_LENGTH - 1] + "…"
        return None


class Leaser:
    """Leases the threads of one store, for runs and for decisions. What is known of a thread is kept in between."""

    def __init__(
        self, store: Store, keeper: SaveRetrier, budget: Budget, limits: Limits, meter: "Meter | None" = None
    ) -> None:
        self._store, self._keeper, self._budget, self._limits, self._meter = store, keeper, budget, limits, meter
        self.cache = HistoryCache(limits.kept_bytes if capabilities(store).takes_known else 0)

    async def lease(
        self, principal: str, thread_id: str, agent: str, run_key: str, *, create: bool = True
    ) -> tuple[LeasedThread, Reservation]:
        """Returns the thread, under a lease for ``run_key``, and its part of the budget: kept for as long as it is
        worked on.

        Raises as `ThreadStore.lease_thread` and `Budget.reserve`. Whatever it raises, cancellation too, the lease goes
        back.
        """
        reservation = self._budget.expect(principal, thread_id)
        asked = clock.boot_clock()
        place = (principal, thread_id)
        kept = self.cache.find(place)
        more: dict[str, Any] = {} if kept is None else {"known": kept.known}
        thread = await self._store.lease_thread(principal, thread_id, agent, run_key, create=create, **more)
        try:
            self.cache.drop(place)  # whoever has the lease changes it
            history = kept.history if kept is not None and thread.is_known else None
            reservation = reservation.found(thread_id, thread.bytes)
            made = (self._store, thread, run_key, self._limits, self._keeper, history)
            opened = await if_large(heaviness(thread, is_kept=history is not None), LeasedThread, *made)
            if CHECKED and history is not None:
                await self._check(history, thread)
            opened.lease.held_at, opened.meter = asked, self._meter
            return opened, reservation
        except BaseException:
            await self._keeper.give_back(thread, run_key)
            raise

    async def _check(self, history: History, thread: Thread) -> None:
        """Reads the thread as if nothing of it was kept, and compares. Raises `AssertionError`."""
        with suppress(Unavailable):
            stored = await self._store.read_thread(thread.principal, thread.id)
            assert stored is not None
            history.check(stored.entries)

    def release(self, opened: LeasedThread) -> None:
        """Keeps what is known of a thread that nobody works on any more, if the store has just that."""
        opened.parts.close()
        if (known := opened.version()) is None:
            return
        place = (opened.thread.principal, opened.thread.id)
        if opened.has_grown_much:
            from agui_gate.threads.large_histories import put_later

            put_later(self.cache, place, opened, known)
        elif opened.is_read_as_written():
            self.cache.put(place, opened.history, known, asyncio.get_running_loop().time())

    def forget(self, principal: str, thread_id: str) -> None:
        """Drops what is kept of a thread that others have changed or deleted: nobody will ask for it."""
        self.cache.drop((principal, thread_id))

    def tidy(self) -> None:
        """Drops what nobody has asked for in a long time."""
        self.cache.expire(asyncio.get_running_loop().time())
