"""The store without a file: the same rules in plain dicts, for tests, trials and servers that may forget.

Everything happens on one event loop and no method awaits, so each is atomic by itself.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from agui_gate.core.approvals import Approval, Decision, State, check_move
from agui_gate.core.registry import PendingApprovalRegistry
from agui_gate.core.transcript import ConversationRef, Entry, Output
from agui_gate.errors import IllegalMove, NotFound, ThreadBusy, Unavailable
from agui_gate.stores.base import LEASE_MS, Change, RunStatus, Thread, provider_id
from agui_gate.stores.lease import system_clock

MAX_PENDING = 10_000
"""Pending approvals kept; when one more is asked for, the oldest becomes ``cancelled``."""


class _Record(msgspec.Struct):
    """A thread as kept. ``state`` is JSON, so that nobody can change it from outside."""

    key: str
    principal: str
    id: str
    agent: str
    created_at: int
    updated_at: int
    title: str | None = None
    state: bytes | None = None
    ref: ConversationRef | None = None
    run_key: str | None = None
    run_status: RunStatus | None = None
    lease_until: int = 0
    entries: list[Entry] = msgspec.field(default_factory=list)
    approvals: list[str] = msgspec.field(default_factory=list)

    def lapsed(self, now: int) -> bool:
        return self.run_status == "running" and self.lease_until <= now


class MemoryStore:
    """A `Store` that lives as long as its process. ``clock`` gives ms since the epoch."""

    def __init__(self, *, clock: Callable[[], int] = system_clock, max_pending: int = MAX_PENDING) -> None:
        self._clock = clock
        self._open = False
        self._threads: dict[str, _Record] = {}
        self._keys: dict[tuple[str, str], str] = {}
        self._approvals: dict[str, Approval] = {}
        self._calls: set[tuple[str, str]] = set()
        self._aliases: dict[tuple[str, str], dict[str, None]] = {}  # → thread keys, latest last
        self._pending = PendingApprovalRegistry(max_pending)

    # --- lifecycle

    async def start(self) -> None:
        """Nothing to open."""
        self._open = True

    async def check(self) -> None:
        """Raise `Unavailable` unless it is open."""
        self._require_open()

    async def aclose(self) -> None:
        """End all leases."""
        self._open = False
        for record in self._threads.values():
            record.lease_until = 0

    def _require_open(self) -> None:
        if not self._open:
            raise Unavailable("The store is closed.")

    # --- threads

    async def open_thread(self, principal: str, thread_id: str, agent: str, run_key: str) -> Thread:
        """See `ThreadStore`."""
        self._require_open()
        now = self._clock()
        record = self._find(principal, thread_id) or self._create(principal, thread_id, agent, now)
        if record.run_status == "running" and record.run_key != run_key and not record.lapsed(now):
            raise ThreadBusy("Another run is active on this thread.")
        thread = self._thread(record, now)
        record.run_key, record.run_status, record.lease_until = run_key, "running", now + LEASE_MS
        return thread

    async def read_thread(self, principal: str, thread_id: str) -> Thread | None:
        """See `ThreadStore`."""
        self._require_open()
        record = self._find(principal, thread_id)
        return self._thread(record, self._clock()) if record else None

    async def commit(self, thread: Thread, change: Change, run_key: str) -> None:
        """See `ThreadStore`."""
        self._require_open()
        now = self._clock()
        record = self._held(thread.key, run_key)
        fields = _fields(change)  # whatever can fail comes before the first change
        self._check_new(record.key, change.approvals)
        if change.keep is not None:
            del record.entries[change.keep :]
        record.entries.extend(change.entries)
        for approval in change.approvals:
            self._record(record, _dated(approval, now), now)
        if change.ref is not msgspec.UNSET:
            self._set_ref(record, change.ref)
        for name, value in fields.items():
            setattr(record, name, value)
        record.updated_at = now

    async def renew(self, run_keys: Sequence[str]) -> None:
        """See `ThreadStore`."""
        self._require_open()
        wanted = set(run_keys)
        until = self._clock() + LEASE_MS
        for record in self._threads.values():
            if record.run_status == "running" and record.run_key in wanted:
                record.lease_until = until

    def _create(self, principal: str, thread_id: str, agent: str, now: int) -> _Record:
        key = str(len(self._threads) + 1)
        record = _Record(key, principal, thread_id, agent, created_at=now, updated_at=now)
        self._threads[key] = record
        self._keys[principal, thread_id] = key
        return record

    def _find(self, principal: str, thread_id: str) -> _Record | None:
        """Find by the client's id, else by the provider's current id (S2)."""
        key = self._keys.get((principal, thread_id))
        if key is not None:
            return self._threads[key]
        aliased = self._aliases.get((principal, thread_id))
        return self._threads[next(reversed(aliased))] if aliased else None

    def _set_ref(self, record: _Record, ref: ConversationRef | None) -> None:
        if (old := provider_id(record.ref)) is not None:
            self._aliases[record.principal, old].pop(record.key)
        if (new := provider_id(ref)) is not None:
            self._aliases.setdefault((record.principal, new), {})[record.key] = None
        record.ref = ref

    def _held(self, key: str, run_key: str) -> _Record:
        record = self._threads[key]
        if record.run_status != "running" or record.run_key != run_key:
            raise ThreadBusy("This run doesn't hold the thread any more.")
        return record

    def _thread(self, record: _Record, now: int) -> Thread:
        self._expire(record.approvals, now)
        return Thread(
            key=record.key,
            principal=record.principal,
            id=record.id,
            agent=record.agent,
            created_at=record.created_at,
            updated_at=record.updated_at,
            now=now,
            title=record.title,
            state=None if record.state is None else msgspec.json.decode(record.state),
            ref=record.ref,
            run_key=record.run_key,
            run_status="interrupted" if record.lapsed(now) else record.run_status,
            entries=record.entries.copy(),
            approvals=[self._approvals[approval_id] for approval_id in record.approvals],
        )

    # --- approvals

    async def approval(self, principal: str, approval_id: str) -> Approval | None:
        """See `ApprovalStore`."""
        self._require_open()
        found = self._approvals.get(approval_id)
        if found is None or found.principal != principal:
            return None
        self._expire([approval_id], self._clock())
        return self._approvals[approval_id]

    async def pending_approvals(self, principal: str) -> list[Approval]:
        """See `ApprovalStore`."""
        self._require_open()
        waiting = (key for key in self._pending if key in self._approvals)
        mine = [approval_id for approval_id in waiting if self._approvals[approval_id].principal == principal]
        self._expire(mine, self._clock())
        found = (self._approvals[approval_id] for approval_id in mine)
        return [approval for approval in found if approval.state is State.PENDING]

    async def move(
        self, approval_id: str, to: State, *, decision: Decision | None = None, output: Output | None = None
    ) -> Approval:
        """See `ApprovalStore`."""
        self._require_open()
        if approval_id not in self._approvals:
            raise NotFound("There is no such approval.")
        return self._move(approval_id, to, self._clock(), decision, output)

    def _check_new(self, key: str, approvals: Sequence[Approval]) -> None:
        ids = {approval.id for approval in approvals}
        calls = {(key, approval.call_id) for approval in approvals}
        known = ids & self._approvals.keys() or calls & self._calls
        if known or len(ids) < len(approvals) or len(calls) < len(approvals):
            raise IllegalMove("An approval with this id, or for this call, exists already.")

    def _record(self, record: _Record, approval: Approval, now: int) -> None:
        """Keep a new record and index it: by id, by thread and call, by the provider's reference and call (S1, S2)."""
        while len(self._pending) >= self._pending.max_size:
            self._move(next(key for key in self._pending if key in self._approvals), State.CANCELLED, now)
        self._approvals[approval.id] = approval
        self._calls.add((record.key, approval.call_id))
        record.approvals.append(approval.id)
        if approval.state is not State.PENDING:
            return
        keys = [approval.id, f"thread\n{record.key}\n{approval.call_id}"]
        by_provider = f"provider\n{record.principal}\n{approval.provider_ref}\n{approval.call_id}"
        if approval.provider_ref and by_provider not in self._pending:
            keys.append(by_provider)
        self._pending.register(keys, approval.tool, approval.arguments)

    def _move(
        self, approval_id: str, to: State, now: int, decision: Decision | None = None, output: Output | None = None
    ) -> Approval:
        approval = self._approvals[approval_id]
        check_move(approval, to, now)
        changes: dict[str, Any] = {"state": to}
        if approval.state is State.PENDING:
            changes["decided_at"] = now
            self._pending.consume(approval_id, approval.tool, approval.arguments)
        if decision is not None:
            changes["decision"] = decision
        if output is not None:
            changes["output"] = output
        self._approvals[approval_id] = moved = msgspec.structs.replace(approval, **changes)
        return moved

    def _expire(self, approval_ids: Sequence[str], now: int) -> None:
        for approval_id in approval_ids:
            approval = self._approvals[approval_id]
            if approval.state is State.PENDING and approval.expired_at(now):
                self._move(approval_id, State.EXPIRED, now)


def _fields(change: Change) -> dict[str, Any]:
    """Return the thread's fields that ``change`` sets, except `ref`."""
    fields: dict[str, Any] = {}
    if change.state is not msgspec.UNSET:
        fields["state"] = msgspec.json.encode(change.state)
    if change.title is not msgspec.UNSET:
        fields["title"] = change.title
    if change.agent is not msgspec.UNSET:
        fields["agent"] = change.agent
    if change.status is not None:
        fields |= {"run_status": change.status, "lease_until": 0}
    return fields


def _dated(approval: Approval, now: int) -> Approval:
    """Make the relative times absolute."""
    expires_at = None if approval.expires_at is None else now + approval.expires_at
    return msgspec.structs.replace(approval, asked_at=now + approval.asked_at, expires_at=expires_at)
