"""The ledger of the memory store: its approvals, and the index of those that are pending."""

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Any

import msgspec

from agui_gate.core import audit
from agui_gate.core.approvals import UNFINISHED, Approval, Decision, State, check_move
from agui_gate.core.transcript import Output
from agui_gate.errors import IllegalMove
from agui_gate.stores.base import ApprovalPage, Which
from agui_gate.stores.cursor import Place, fitting, size_of, to_cursor
from agui_gate.stores.epochs import OUTCOMES, Epoch, agreed_before, asked_again
from agui_gate.stores.expiry import Expired
from agui_gate.stores.memory.trail import Trail
from agui_gate.stores.orphans import Named


class MemoryLedger:
    """Approvals by id. At most ``max_pending`` of one principal wait: when one more is asked for, that principal's
    oldest becomes ``cancelled``. What others asked for is never touched by it.

    Whatever happens goes into the ``trail``. No method awaits, so each is atomic.
    """

    def __init__(self, max_pending: int, trail: Trail) -> None:
        self._max_pending, self._trail = max_pending, trail
        self._approvals: dict[str, Approval] = {}
        self._threads: dict[str, str] = {}
        self._seq: dict[str, int] = {}
        """When each was asked for, as a number: its place in lists."""
        self._mine: dict[str, dict[str, None]] = {}
        """Ids by principal, in that order."""
        self._next = 1
        self._calls: set[tuple[str, str]] = set()
        self._pending: dict[str, dict[str, None]] = {}
        """Ids of those that wait, by principal, oldest first."""
        self._at_work: set[str] = set()
        """Ids of those that were approved, and of which it is not known yet what came of them."""
        self._expiring: list[tuple[int, int, str]] = []
        """A heap of those that wait and expire (when, the place in lists, the id), and of some that wait no more."""

    def get(self, approval_id: str) -> Approval | None:
        """One record, by its id."""
        return self._approvals.get(approval_id)

    def find(self, principal: str, approval_id: str) -> Approval | None:
        """One record of this principal's, by its id or the one that it had before a restore."""
        was = (a for a in map(self.get, self._mine.get(principal, ())) if a is not None and a.was == approval_id)
        found = self.get(approval_id) or next(was, None)
        return found if found is not None and found.principal == principal else None

    def thread_of(self, approval_id: str) -> str:
        """The key of the thread that a record belongs to."""
        return self._threads[approval_id]

    def of(self, thread_key: str) -> list[str]:
        """The ids of one thread's records, oldest first. Takes as long as there are records."""
        return [approval_id for approval_id, key in self._threads.items() if key == thread_key]

    def all(self, approval_ids: Iterable[str], now: int) -> list[Approval]:
        """These records, after the overdue ones were expired."""
        return [self._fresh(approval_id, now) for approval_id in approval_ids]

    def page(self, principal: str, which: Which, limit: int, after: int | None, now: int) -> ApprovalPage:
        """A part of this principal's list, after the overdue ones were expired."""
        pending, ids = which == "pending", list(self._mine.get(principal, ()))
        found: list[Approval] = []
        for approval_id in ids if pending else reversed(ids):
            seq = self._seq[approval_id]
            if after is not None and (seq <= after if pending else seq >= after):
                continue
            approval = self._fresh(approval_id, now)
            if _is_listed(approval, which):
                found.append(approval)
            if len(found) > limit:
                break
        shown = found[: min(limit, fitting(map(size_of, found)))]
        more = len(shown) < len(found)
        return ApprovalPage(shown, to_cursor(Place(0, self._seq[shown[-1].id])) if more else None)

    def waiting_ids(self, principal: str, limit: int) -> list[str]:
        """See `ApprovalStore.waiting_ids`."""
        return list(islice(self._pending.get(principal, ()), limit))

    def read(self, principal: str, approval_ids: Sequence[str], now: int) -> tuple[list[Approval], Sequence[str]]:
        """See `ApprovalStore.read_approvals`."""
        mine = self._mine.get(principal, {})
        ids = sorted((each for each in approval_ids if each in mine), key=self._seq.__getitem__)
        found = [self._fresh(approval_id, now) for approval_id in ids]
        fit = fitting(map(size_of, found))
        return found[:fit], ids[fit:]

    def at_work(self, after: int, most: int) -> list[tuple[str, Named]]:
        """Of those that somebody or the provider is at work at, the first ones, with the keys of their threads."""
        found = sorted((self._seq[each], each) for each in self._at_work if not self._approvals[each].is_agreed)
        later = islice(((seq, each) for seq, each in found if seq > after), most)
        return [(self._threads[each], _named(self._approvals[each], seq)) for seq, each in later]

    def unknown(self, limit: int) -> tuple[int, list[Named]]:
        """See `OrphanStore.unknown`."""
        found = [_named(a, self._seq[a.id]) for a in self._approvals.values() if a.state is State.UNKNOWN]
        return len(found), found[: -limit - 1 : -1]

    def mark_replaced(self, thread_key: str, replaced: Sequence[str], now: int, run_key: str) -> None:
        """Say of those of ``replaced`` that are this thread's that their answer is gone."""
        for approval_id in replaced:
            if self._threads.get(approval_id) == thread_key:
                approval = self._approvals[approval_id]
                self._approvals[approval_id] = msgspec.structs.replace(approval, replaced=True)
                self._trail.add(thread_key, now, [audit.replaced(approval, run_key)])

    def of_thread(self, thread_key: str) -> list[Approval]:
        """Those of one thread as they are, oldest first."""
        return [self._approvals[approval_id] for approval_id, key in self._threads.items() if key == thread_key]

    def waiting(self, approval_ids: Iterable[str], now: int) -> int:
        """How many of these wait for somebody. Changes nothing."""
        found = (self._approvals[approval_id] for approval_id in approval_ids)
        return sum(approval.waits_at(now) for approval in found)

    def check_new(self, thread_key: str, approvals: Sequence[Approval]) -> None:
        """Raise `IllegalMove` if one of them exists already, by its id or by its call."""
        ids = {approval.id for approval in approvals}
        calls = {(thread_key, approval.call_id) for approval in approvals}
        known = ids & self._approvals.keys() or calls & self._calls
        if known or len(ids) < len(approvals) or len(calls) < len(approvals):
            raise IllegalMove("An approval with this id, or for this call, exists already.")

    def record(self, thread_key: str, approval: Approval, now: int) -> None:
        """Keep a new record, and index it if it waits."""
        self._approvals[approval.id] = approval
        self._threads[approval.id] = thread_key
        self._seq[approval.id], self._next = self._next, self._next + 1
        self._mine.setdefault(approval.principal, {})[approval.id] = None
        self._calls.add((thread_key, approval.call_id))
        self._trail.add(thread_key, now, [audit.asked(approval)])
        if approval.is_pending:
            self._index(approval, now)

    def move(
        self,
        approval_id: str,
        to: State,
        now: int,
        decision: Decision | None = None,
        output: Output | None = None,
        run_key: str = "",
    ) -> Approval:
        """Move one record that exists. Raises `IllegalMove`; then nothing changed."""
        approval = self._approvals[approval_id]
        check_move(approval, to, now)
        changes: dict[str, Any] = {"state": to}
        if approval.is_pending:
            changes["decided_at"] = now
            self._unindex(approval)
        if decision is not None:
            changes["decision"] = decision
        if output is not None:
            changes["output"] = output
        self._approvals[approval_id] = moved = msgspec.structs.replace(approval, **changes)
        (self._at_work.add if to in UNFINISHED else self._at_work.discard)(approval_id)
        self._trail.add(self._threads[approval_id], now, audit.moved(approval, to, decision, output, run_key))
        return moved

    def expire(self, now: int, most: int) -> Expired:
        """See `Expiry.expire`."""
        expired: list[Approval] = []
        while self._expiring:
            at, _, approval_id = self._expiring[0]
            approval = self._approvals.get(approval_id)
            if approval is not None and approval.is_pending:
                if at > now or len(expired) == most:
                    break
                expired.append(self.move(approval_id, State.EXPIRED, now))
            heappop(self._expiring)
        threads = dict.fromkeys((approval.principal, approval.thread_id) for approval in expired)
        return Expired(list(threads), max(0, self._expiring[0][0] - now) if self._expiring else None)

    def begin_epoch(self, epoch: int, now: int) -> Epoch:
        """See `EpochStore`."""
        unfinished = [approval for approval in self._approvals.values() if approval.state in UNFINISHED]
        waiting = [approval for approval in unfinished if approval.is_pending]
        for approval in unfinished:
            again = asked_again(approval, epoch) if approval.is_pending else None
            happened = audit.restored(approval, epoch, again.id if again else None)
            self._trail.add(self._threads[approval.id], now, [happened, *([audit.asked(again)] if again else [])])
            if approval.state in OUTCOMES:
                to, output = OUTCOMES[approval.state]
                self.move(approval.id, to, now, output=output)
        yes = [a for a in self._approvals.values() if a.opens_task and a.state is State.DONE]
        self._approvals |= {approval.id: agreed_before(approval) for approval in yes}
        self._rename({approval.id: asked_again(approval, epoch) for approval in waiting})
        return Epoch(epoch, len(waiting), len(unfinished) - len(waiting))

    def _rename(self, again: dict[str, Approval]) -> None:
        """Keep records, by their ids until now, under other ones."""
        names = {old: approval.id for old, approval in again.items()}
        self._approvals = {names.get(key, key): again.get(key, record) for key, record in self._approvals.items()}
        self._threads = {names.get(key, key): thread for key, thread in self._threads.items()}
        self._seq = {names.get(key, key): seq for key, seq in self._seq.items()}
        for ids in (self._mine, self._pending):
            ids |= {who: {names.get(key, key): None for key in mine} for who, mine in ids.items()}
        self._list_expiring()

    def forget(self, thread_key: str, approval_ids: Iterable[str], now: int, run_key: str) -> None:
        """Remove these records of one thread."""
        for approval_id in approval_ids:
            approval = self._approvals.pop(approval_id)
            self._trail.add(thread_key, now, [audit.deleted(approval, run_key)])
            del self._threads[approval_id]
            del self._seq[approval_id], self._mine[approval.principal][approval_id]
            if not self._mine[approval.principal]:
                del self._mine[approval.principal]
            self._calls.discard((thread_key, approval.call_id))
            self._at_work.discard(approval_id)
            self._unindex(approval)

    def _index(self, approval: Approval, now: int) -> None:
        while len(mine := self._pending.get(approval.principal, ())) >= self._max_pending:
            self.move(next(iter(mine)), State.CANCELLED, now)
        self._pending.setdefault(approval.principal, {})[approval.id] = None
        if approval.expires_at is not None:
            heappush(self._expiring, (approval.expires_at, self._seq[approval.id], approval.id))
        if len(self._expiring) > 2 * len(self._approvals):  # most were decided, and their threads deleted
            self._list_expiring()

    def _list_expiring(self) -> None:
        waiting = (self._approvals[approval_id] for mine in self._pending.values() for approval_id in mine)
        self._expiring = [(a.expires_at, self._seq[a.id], a.id) for a in waiting if a.expires_at is not None]
        heapify(self._expiring)

    def _unindex(self, approval: Approval) -> None:
        mine = self._pending.get(approval.principal, {})
        mine.pop(approval.id, None)
        if not mine:
            self._pending.pop(approval.principal, None)

    def _fresh(self, approval_id: str, now: int) -> Approval:
        approval = self._approvals[approval_id]
        if approval.overdue_at(now):
            return self.move(approval_id, State.EXPIRED, now)
        return approval


def _is_listed(approval: Approval, which: Which) -> bool:
    if which in ("claimed", "unknown"):
        return approval.state.public == which
    return which == "all" or approval.is_pending is (which == "pending")


def _named(approval: Approval, seq: int) -> Named:
    return Named(
        seq=seq,
        id=approval.id,
        tool=approval.tool,
        state=approval.state,
        principal=approval.principal,
        thread_id=approval.thread_id,
    )
