"""Deletes threads in SQL, and keeps what outlives them."""

from collections.abc import Sequence
from typing import cast

import msgspec

from agui_gate.core import audit
from agui_gate.core.approvals import RAN, UNFINISHED, Approval, State, after_move
from agui_gate.core.audit import Event, Happened, Kind, about, digest
from agui_gate.core.json_text import canonical
from agui_gate.core.transcript import Output
from agui_gate.errors import LeaseLost
from agui_gate.stores.base import MAX_LISTED
from agui_gate.stores.sql.journal import UNDER_LEASE
from agui_gate.stores.sql.ledger import Ledger, Move
from agui_gate.stores.sql.operations import Last, Result, Statement, Steps
from agui_gate.stores.sql.trail import EVENT, Trail, event_of, head_of
from agui_gate.stores.sql.variant import Variant
from agui_gate.stores.tombstones import Tombstone

_NAMES = Tombstone.__struct_fields__
_BURY = (
    f"INSERT INTO tombstones (tenant, {', '.join(_NAMES)}) VALUES (:tenant, :{', :'.join(_NAMES)}) "  # noqa: S608 ours
    f"ON CONFLICT (tenant, id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _NAMES)}"
)
_READ = f"SELECT {', '.join(_NAMES)} FROM tombstones WHERE tenant = :tenant AND principal = :principal"  # noqa: S608 ours
_ORDER = " ORDER BY deleted_at DESC, id LIMIT :limit"
_AMEND = (
    "UPDATE tombstones SET state = :state, output_digest = :digest "
    "WHERE tenant = :tenant AND id = :id AND state = 'unknown'"
)
_NAMED = (
    "principal = (SELECT principal FROM tombstones WHERE tenant = :tenant AND id = :id) "
    "AND thread_id = (SELECT thread_id FROM tombstones WHERE tenant = :tenant AND id = :id) AND approval_id = :id"
)
"""What is said of the approval ``:id``, whose thread is gone: by its thread's name there is an index."""
_LAST_OF = (
    f"SELECT {', '.join(EVENT)} FROM approval_events WHERE tenant = :tenant "  # noqa: S608 our names
    f"AND {_NAMED} ORDER BY thread, seq DESC LIMIT 1"
)
_CHAIN = f"(SELECT thread FROM approval_events WHERE tenant = :tenant AND {_NAMED} LIMIT 1)"  # noqa: S608 our names
_END = head_of(_CHAIN)


KEPT = (UNFINISHED - {State.PENDING}) | RAN | {State.REJECTED}
"""The states that leave a tombstone: it ran, may have run, or was decided by a person. Others came to nothing."""


LATE = frozenset({State.DONE, State.FAILED})
"""The states that an `unknown` tombstone may get, should its process have slept and come back with a result."""


class Deletions:
    """The statements and steps of deletions."""

    def __init__(self, variant: Variant, ledger: Ledger, trail: Trail) -> None:
        self._ledger, self._trail = ledger, trail
        self._lock = f"SELECT entries, :now, tenant FROM threads WHERE {UNDER_LEASE}{variant.lock}"  # noqa: S608 ours
        self._end = head_of(":key")
        self._listed = ledger.reading("thread = :key", listed=True)

    def delete(self, key: int, run_key: str) -> Steps[None]:
        """Deletes a thread of a run. Raises `LeaseLost`; then nothing happened."""
        held = Statement(self._lock, {"key": key, "run_key": run_key})
        if not (yield from self.remove(key, held, run_key)):
            raise LeaseLost

    def remove(self, key: int, lock: Statement, run_key: str = "") -> Steps[bool]:
        """Deletes a thread; its journal and its approvals go with it. ``lock`` locks it, and finds the clock and the
        tenant behind its key; if it finds nothing, nothing happens, and it is False.
        """
        values = {"key": key}
        locked, end, listed = yield [lock, Statement(self._end, values), Statement(self._listed, values)]
        if not locked.rows:
            return False
        ((_, now, tenant),) = locked.rows
        happened: list[Happened] = []
        batch: list[Statement] = []
        for found in self._ledger.approvals(listed):
            approval = found
            if found.overdue_at(now):
                happened += audit.moved(found, State.EXPIRED)
                approval = after_move(found, State.EXPIRED, now)
            happened.append(deleted(approval, run_key))
            kept = tombstone((yield from self._whole(approval)), now)
            batch += [] if kept is None else [Statement(_BURY, _row(kept))]
        batch += self._trail.added(key, tenant, end.rows, now, happened)
        yield Last([*batch, Statement("DELETE FROM threads WHERE tenant = :tenant AND key = :key", values)])
        return True

    def _whole(self, approval: Approval) -> Steps[Approval]:
        """Returns a record with all of its output, where a digest is made of that: one at a time, as they may be
        large.
        """
        if approval.state not in KEPT or approval.output is None or len(approval.output.content) <= MAX_LISTED:
            return approval
        found: Sequence[Result] = yield [Statement(self._ledger.one, {"id": approval.id})]
        return self._ledger.approvals(found[0])[0]

    def amend(self, move: Move) -> Steps[None]:
        """Amends what came of a call that was at work, in a process that slept, when its thread was deleted."""
        if move.to not in LATE or move.output is None:
            return
        values = {"id": move.approval_id, "state": move.to.value, "digest": digest(move.output.content)}
        clock = Statement("SELECT :now")
        amended, last, end, now = yield [*(Statement(text, values) for text in (_AMEND, _LAST_OF, _END)), clock]
        if amended.changed and last.rows:
            gone = event_of(last.rows[0])
            happened = [ended_after_deletion(gone, move.to, move.output)]
            yield Last(self._trail.added(int(gone.thread), gone.tenant, end.rows, now.rows[0][0], happened))

    def read(
        self, principal: str, thread_id: str | None, approval_id: str | None, limit: int
    ) -> Steps[list[Tombstone]]:
        """Reads tombstones of this principal, newest first."""
        wanted = {"thread_id": thread_id, "id": approval_id}
        where = "".join(f" AND {name} = :{name}" for name, value in wanted.items() if value is not None)
        values = {**wanted, "principal": principal, "limit": limit}
        (found,) = yield Last([Statement(_READ + where + _ORDER, values)])
        rows = [dict(zip(_NAMES, row, strict=True)) for row in found.rows]
        return msgspec.convert(rows, list[Tombstone], strict=False)  # SQLite's booleans are 0 and 1


def _row(kept: Tombstone) -> dict[str, object]:
    return msgspec.structs.asdict(kept) | {"state": kept.state.value}


def tombstone(approval: Approval, now: int) -> Tombstone | None:
    """Returns what stays of ``approval`` when it is deleted at ``now``; None if nothing does."""
    if approval.state not in KEPT:
        return None
    decision = approval.decision
    return Tombstone(
        id=approval.id,
        principal=approval.principal,
        thread_id=approval.thread_id,
        agent=approval.agent,
        tool=approval.tool,
        source=approval.source,
        state=_state(approval),
        arguments_digest=digest(approval.effective_arguments),
        output_digest=digest(approval.output.content) if approval.output else None,
        approved=decision.approved if decision else None,
        decided_by=decision.by if decision else None,
        way=decision.way if decision else None,
        asked_at=approval.asked_at,
        decided_at=approval.decided_at,
        deleted_at=now,
    )


def _state(approval: Approval) -> State:
    if approval.is_agreed:  # nobody tells the provider any more
        return State.FAILED
    return State.UNKNOWN if approval.state in UNFINISHED else approval.state


def deleted(approval: Approval, run_key: str) -> Happened:
    """Returns the event of a thread's deletion, for an approval that was in that state then."""
    return about(approval, "deleted", run_key=run_key, body={"state": approval.state.value})


def ended_after_deletion(gone: Event, to: State, output: Output) -> Happened:
    """Returns the event of the outcome of a call whose thread was deleted meanwhile, by the event ``gone``."""
    return Happened(
        kind=cast(Kind, to.value),
        principal=gone.principal,
        thread_id=gone.thread_id,
        approval_id=gone.approval_id,
        body=canonical({"output": digest(output.content)}),
    )
