"""A thread while a run holds its lease: what is stored, plus what this run has added and not saved yet."""

import asyncio
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from agui_gate.core.approvals import Approval, State
from agui_gate.core.sanitizer import Outcome, sanitize
from agui_gate.core.transcript import (
    ActionEntry,
    CallPart,
    CardClosedEntry,
    CardEntry,
    ConversationRef,
    Entry,
    LeftOutEntry,
    Output,
    PassedEntry,
    ReplacedEntry,
    ReportedEntry,
    ResultEntry,
    Text,
    Transcript,
    TurnEntry,
    UserEntry,
)
from agui_gate.engine import keeping, outcomes, replaced, telling
from agui_gate.engine.capacity import Capacity
from agui_gate.engine.conversation import Conversation, conversation_json, shown
from agui_gate.engine.keeping import Keeper
from agui_gate.engine.lease import Lease
from agui_gate.engine.limits import DEFAULTS, Limits
from agui_gate.engine.shield import to_the_end
from agui_gate.off_loop import LARGE, LARGE_BYTES, off_loop
from agui_gate.stores.base import Change, RunStatus, Store, Thread

TITLE_LENGTH = 80

LARGE_STATE = 32 * 1024
"""Bytes of a shared state that takes a while to encode."""

_NO = frozenset({State.REJECTED, State.SUPERSEDED, State.CANCELLED, State.EXPIRED})
"""What a provider that holds a call is told as a no. (Of a consent that was passed on it is told nothing again.)"""


class OpenThread:
    """Everything a run knows and changes of its thread. Saved by `commit`, in one store transaction each time."""

    def __init__(
        self, store: Store, thread: Thread, run_key: str, limits: Limits = DEFAULTS, keeper: Keeper | None = None
    ) -> None:
        self.lease = Lease(store, thread, run_key)
        self._keeper = keeper or Keeper(store)
        self.limits = limits
        self.capacity = Capacity(self.limits, thread)
        self.run_key = run_key
        self._unsaved: list[Entry] = []
        self._saving = asyncio.Lock()
        self._keep: int | None = None
        self._state_json = self._saved_state = msgspec.json.encode(thread.state)
        self.thread = thread
        self.entries: list[Entry] = thread.entries
        self._replaced: list[str] = []
        self.approvals = {a.call_id: outcomes.completed(a) for a in thread.approvals}
        self.ref = self._saved_ref = thread.ref
        self.state: Any = thread.state
        self._known = {c.id for c in self._calls()}
        self.passed: set[str] = set()
        """Held calls whose consent the provider may have been told."""
        self.passing: frozenset[str] = frozenset()
        """Held calls whose consent the next request tells it."""
        self._held: set[str] = set()
        self._acted: set[str] = set()
        for entry in self.entries:
            self._note(entry)
        self._resulted = {e.call_id for e in self.entries if isinstance(e, ResultEntry)}
        self._reported = {e.call_id for e in self.entries if isinstance(e, ReportedEntry)}
        self.call_ids = self._known | self._resulted | self._reported | self._acted | set(self.approvals)
        """All call ids the client has seen here, also in a history that it brought: none of them is given again."""
        self._settled: Transcript | None = None
        self._prepared: tuple[int, msgspec.Raw] | None = None
        self.ended = False

    # --- changing -----------------------------------------------------------------------------------------------
    def append(self, entries: Iterable[Entry]) -> None:
        """Add to the journal, to be saved with the next commit."""
        self._settled = None
        entries = list(entries)
        self.capacity.added(entries)
        for entry in entries:
            self.entries.append(entry)
            self._unsaved.append(entry)
            self._note(entry)
            if isinstance(entry, ActionEntry):
                self.call_ids.add(entry.call_id)
            elif isinstance(entry, ResultEntry):
                self._resulted.add(entry.call_id)
                self.call_ids.add(entry.call_id)
            elif isinstance(entry, ReportedEntry):
                self._reported.add(entry.call_id)
            elif isinstance(entry, TurnEntry):
                ids = [call.id for call in entry.calls]
                self._known.update(ids)
                self.call_ids.update(ids)

    def _note(self, entry: Entry) -> None:
        """What matters for held calls, which only the server's own journal can say; and ids that are taken."""
        if isinstance(entry, ActionEntry):
            self._acted.add(entry.call_id)
        elif isinstance(entry, PassedEntry):
            (self.passed.discard if entry.back else self.passed.add)(entry.call_id)
        elif isinstance(entry, TurnEntry):
            self._held.update(call.id for call in entry.calls if call.kind == "held")

    def branch(self, keep: int, said: Iterable[Entry]) -> list[Approval]:
        """Go back: only the first ``keep`` entries stay, and ``said`` is new. Returns what was pending in the part that
        goes. What ran there stays done: the journal and the records say so (`engine/replaced.py`).

        The provider's conversation is left (it has later items); a response id committed before the cut is used again.
        """
        cut = self.entries[keep:]
        dropped = dict.fromkeys(c.id for e in cut if isinstance(e, TurnEntry) for c in e.calls)
        gone = replaced.what_goes(cut, self.approvals)
        del self.entries[keep:]
        self.capacity.dropped(cut)
        self._unsaved = []  # is behind every cut, and what stays of it is added again
        self._settled = None
        self._known -= dropped.keys()
        self._held -= dropped.keys()
        self._resulted -= dropped.keys()
        self._keep = keep
        last = next((e for e in reversed(self.entries) if isinstance(e, TurnEntry)), None)
        ref = last.ref if last else None
        self.ref = ref if ref and ref.previous_response_id else None
        shown = {e.id for e in self.entries if isinstance(e, CardEntry | UserEntry)}
        shown |= {e.call_id for e in self.entries if isinstance(e, ActionEntry)}
        self.append(e for e in cut if self._outlives(e, shown))
        # Their ids are not given again: idempotency keys are made of them.
        self.append(ReportedEntry(call_id) for call_id in dropped if call_id not in self._reported)
        self.append(said)
        self.append([*(e for e in cut if isinstance(e, ReplacedEntry)), *([gone] if gone else [])])
        self._replace([a for call_id, a in self.approvals.items() if call_id in dropped])
        return [a for call_id, a in self.approvals.items() if call_id in dropped and a.state is State.PENDING]

    def _replace(self, approvals: Sequence[Approval]) -> None:
        self._replaced += [a.id for a in approvals if not a.replaced]
        self.approvals |= {a.call_id: msgspec.structs.replace(a, replaced=True) for a in approvals}

    def _outlives(self, entry: Entry, shown: Container[str]) -> bool:
        """Whether ``entry`` stays although it is behind a cut: what a call, a card or a message that stays was given
        later. ``shown``: the ids of those cards and messages, and of what the user did in components.
        """
        match entry:
            case ResultEntry():
                return entry.call_id in self._known
            case CardClosedEntry():
                return entry.card_id in shown
            case LeftOutEntry():
                return entry.message_id in shown or entry.call_id in self._known
            case _:
                return isinstance(entry, ReportedEntry)

    def decided(self, approval: Approval) -> None:
        """Take over a record that was moved in the store."""
        replaced_now = approval.replaced or approval.id in self._replaced  # the store is told with the next commit
        moved = msgspec.structs.replace(approval, replaced=replaced_now)
        self.approvals[approval.call_id] = outcomes.completed(moved)
        self._settled = None

    async def doubt(self) -> None:
        """Before a request in a provider's conversation: until its answer is there, that may hold the request already.

        So it is not continued after a stop, a failure or a crash, as it would hold the request twice; everything is
        sent again instead. Saved at once. A chain needs none of it: it goes on from the response before.
        """
        if self.ref is not None and self.ref.conversation_id:
            self.ref = msgspec.structs.replace(self.ref, turn_id="")
            await self.commit()

    async def commit(
        self, *, approvals: Sequence[Approval] = (), status: RunStatus | None = None, patient: bool = False
    ) -> None:
        """Save what is new; with ``status``, end the run and give the lease back: then it is `ended`.

        Saved as a whole, even if the caller is cancelled meanwhile. Raises `LeaseLost`; then nothing was
        saved. ``patient``: a store that is away is tried again, for `KEEP_SECONDS`.
        """
        seconds = keeping.KEEP_SECONDS if patient else 0
        await to_the_end(keeping.patiently(lambda: self._save(approvals, status), seconds))

    async def end(self, status: RunStatus, seconds: float) -> None:
        """As `commit` with ``status``, but after ``seconds`` it goes on in the background until the store works again.

        Saves nothing if it is `ended` or the lease is lost, and never raises but for cancellation.
        """
        if self.lease.lost:
            telling.lease_lost(self.thread.id, self.run_key)
        elif not self.ended:
            await self._keeper.end(self.thread, self.run_key, lambda: self._save((), status), seconds)

    async def keep(self, approval: Approval, to: State, output: Output) -> Approval:
        """Record what came of a claimed call: see `Keeper.keep`."""
        return await self._keeper.keep(self.run_key, approval, to, output)

    async def _save(self, approvals: Sequence[Approval], status: RunStatus | None) -> None:
        async with self._saving:  # tools that run in parallel save what all of them have added, once
            entries, state = self._unsaved, self.state_json()
            changed = self._keep is not None or state != self._saved_state or self.ref != self._saved_ref
            if not (entries or approvals or status or changed):
                return
            self._unsaved = []
            ref = self.ref
            try:
                await self.lease.commit(self._change(entries, approvals, state, status))
            except BaseException:
                self._unsaved = entries + self._unsaved
                raise
            self._keep, self._saved_state, self._saved_ref, self._replaced = None, state, ref, []
            self.ended = self.ended or status is not None
            for approval in approvals:
                self.approvals[approval.call_id] = approval
                self._settled = None

    def _change(
        self, entries: list[Entry], approvals: Sequence[Approval], state: bytes, status: RunStatus | None
    ) -> Change:
        return Change(
            keep=self._keep,
            entries=entries,
            approvals=approvals,
            replaced=self._replaced,
            state=msgspec.Raw(state) if state != self._saved_state else msgspec.UNSET,  # tools may change theirs
            ref=self.ref,
            default_title=None if self.thread.title else self._title(),
            status=status,
        )

    # --- reading ------------------------------------------------------------------------------------------------
    def transcript(self, more: Sequence[Entry] = ()) -> Transcript:
        """The settled transcript, as it is now. Made once for each state: a long one takes milliseconds.

        One that says yes to a held call is made for one request and not kept; nor is one with ``more`` entries.
        """
        if self.passing or more:
            return sanitize([*self.entries, *more] if more else self.entries, self._outcomes())
        if self._settled is None:
            self._settled = sanitize(self.entries, self._outcomes())
        return self._settled

    async def prepare(self) -> None:
        """Make `transcript` ready, off the loop where it is long. Nothing else may work on the thread meanwhile."""
        if self._settled is None and not self.passing and len(self.entries) > LARGE:
            self._settled = await off_loop(sanitize, self.entries[:], self._outcomes())

    async def prepare_messages(self) -> None:
        """Make `messages` ready, for the next call of it, likewise."""
        if self.capacity.size > LARGE_BYTES or len(self.entries) > LARGE:
            made = await off_loop(conversation_json, self.entries[:], list(self.approvals.values()))
            self._prepared = (len(self.entries), made)

    def _outcomes(self) -> dict[tuple[str, str], Outcome]:
        settled = {
            (a.turn_id, a.call_id): Outcome(a.output, _edited(a), False if a.state in _NO else None)
            for a in self.approvals.values()
            if a.output is not None
        }
        for approval in (a for a in self.claimed() if a.call_id in self._held):
            consent = True if approval.call_id in self.passing else None
            place = (approval.turn_id, approval.call_id)
            settled[place] = Outcome(outcomes.APPROVED, approval.arguments, consent)
        return settled

    @property
    def shows_replaced(self) -> bool:
        """Whether messages show calls that ran in an answer that was replaced."""
        return any(isinstance(entry, ReplacedEntry) and entry.gated for entry in self.entries)

    def note(self) -> str:
        """What the model is told below its instructions: what ran in answers that were replaced."""
        return replaced.note(self.entries, self.approvals)

    def messages(self) -> msgspec.Raw:
        """The conversation as AG-UI messages, in shapes that every client takes: JSON."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None and prepared[0] == len(self.entries):
            return prepared[1]
        return conversation_json(self.entries, list(self.approvals.values()))

    def snapshot(self) -> tuple["Conversation", Any]:
        """The conversation as it is at this moment, made into messages only if somebody asks, and the state."""
        return Conversation(self.entries[:], list(self.approvals.values())), self.shown_state()

    def state_json(self) -> bytes:
        """The shared state; as it was last, while a tool at work has put in what is not JSON."""
        with suppress(TypeError, ValueError, RecursionError):
            self._state_json = msgspec.json.encode(self.state)
        return self._state_json

    def shown_state(self) -> msgspec.Raw:
        """The shared state as clients are shown it, for whom there always is one."""
        return shown(self.state_json())

    @property
    def has_large_state(self) -> bool:
        """Whether encoding the shared state takes long enough to be noticed where it is done many times."""
        return len(self._state_json) > LARGE_STATE

    def last_turn(self) -> TurnEntry | None:
        """The newest assistant turn: the only one whose calls can still be open."""
        return next((e for e in reversed(self.entries) if isinstance(e, TurnEntry)), None)

    def pending(self) -> list[Approval]:
        """What waits for a person, oldest first."""
        return [a for a in self.approvals.values() if a.state is State.PENDING]

    def claimed(self) -> list[Approval]:
        """What a process that died was running, and held calls that the provider is to be told about."""
        return [a for a in self.approvals.values() if a.state is State.CLAIMED]

    def is_held(self, approval: Approval) -> bool:
        """Whether this is about a call that the provider would run: there is no tool of ours to run then."""
        return approval.call_id in self._held

    def unreported(self) -> list[Approval]:
        """Outcomes that no stream has told the client yet."""
        return [a for a in self.approvals.values() if a.output and self.shows(a.call_id)]

    def shows(self, call_id: str) -> bool:
        """Whether the client shows this gated call and has not been told its outcome."""
        return call_id not in self._reported and call_id in self._known

    def has_told(self, call_id: str) -> bool:
        """Whether a stream has told the result of this call of ours."""
        return call_id in self._known and (call_id in self._resulted or call_id in self._reported)

    @property
    def waits(self) -> bool:
        """Whether anything waits for a person or for the client."""
        return bool(self.pending() or self.open_calls())

    def open_calls(self) -> list[CallPart]:
        """Calls of the newest turn, other than gated ones, that have no result."""
        turn = self.last_turn()
        calls = turn.calls if turn else ()
        return [c for c in calls if c.id not in self._resulted and c.id not in self.approvals]

    def _calls(self) -> Iterator[CallPart]:
        return (c for e in self.entries if isinstance(e, TurnEntry) for c in e.calls)

    def _title(self) -> str | None:
        for entry in self.entries:
            if isinstance(entry, UserEntry) and entry.role == "user":
                text = " ".join(" ".join(p.text for p in entry.content if isinstance(p, Text)).split())
                if text:
                    return text if len(text) <= TITLE_LENGTH else text[: TITLE_LENGTH - 1] + "…"
        return None


def _edited(approval: Approval) -> str:
    """The arguments that a person changed. Otherwise "": the model is told its call in its own words."""
    return (approval.decision.edited_arguments if approval.decision else None) or ""


def committed_ref(ref: ConversationRef | None, turn_id: str, now: int) -> ConversationRef | None:
    """The adapter's ref, completed with what only the engine knows."""
    return msgspec.structs.replace(ref, turn_id=turn_id, committed_at=now) if ref else None
