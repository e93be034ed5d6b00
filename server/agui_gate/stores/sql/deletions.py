"""Keeps in SQL what outlives a deleted thread."""

import msgspec

from agui_gate.core import audit
from agui_gate.core.approvals import Approval
from agui_gate.stores.sql.ledger import Move
from agui_gate.stores.sql.operations import Last, Statement, Steps
from agui_gate.stores.sql.trail import READ_EVENT, Trail, event_of, head_of
from agui_gate.stores.tombstones import LATE, Tombstone, digest, tombstone

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
_LAST_OF = f"{READ_EVENT} AND {_NAMED} ORDER BY thread, seq DESC LIMIT 1"
_CHAIN = f"(SELECT thread FROM approval_events WHERE tenant = :tenant AND {_NAMED} LIMIT 1)"  # noqa: S608 our names
_END = head_of(_CHAIN)


class Ends:
    """The statements and steps of deletions."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail

    @staticmethod
    def bury(approval: Approval, now: int) -> list[Statement]:
        """Keeps a tombstone of a call that ran or was decided."""
        kept = tombstone(approval, now)
        return [] if kept is None else [Statement(_BURY, _row(kept))]

    def amend(self, move: Move) -> Steps[None]:
        """Amends what came of a call that was at work, in a process that slept, when its thread was deleted."""
        if move.to not in LATE or move.output is None:
            return
        values = {"id": move.approval_id, "state": move.to.value, "digest": digest(move.output.content)}
        clock = Statement("SELECT :now")
        amended, last, end, now = yield [*(Statement(text, values) for text in (_AMEND, _LAST_OF, _END)), clock]
        if amended.changed and last.rows:
            gone = event_of(last.rows[0])
            happened = [audit.late(gone, move.to, move.output)]
            yield Last(self._trail.added(int(gone.thread), gone.tenant, end, now.rows[0][0], happened))

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
