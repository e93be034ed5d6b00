"""The ledger in SQL: its columns, and each move of `core.approvals` as one conditional update.

Whatever changes an approval locks the row of its thread first. So what is read after that stays as it is until the end
of the transaction, and approvals of one thread change one after the other.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from agui_gate.core import audit
from agui_gate.core.approvals import DECISIONS, UNFINISHED, Approval, Decision, State, after_move, sources
from agui_gate.core.stored_values import decode_approvals
from agui_gate.core.transcript import Output
from agui_gate.errors import ApprovalRefused, IllegalMove, LeaseLost
from agui_gate.stores.base import MAX_LISTED
from agui_gate.stores.sql.operations import NOTHING, Last, Result, Statement, Steps
from agui_gate.stores.sql.trail import Rows, Trail, decode_rows, ends_at, locking
from agui_gate.stores.sql.variant import Variant

if TYPE_CHECKING:
    from agui_gate.core.terms import Terms

_encode = msgspec.json.encode

COLUMNS = Approval.__struct_fields__
"""The columns of ``approvals``, besides ``thread`` (its key) and ``seq`` (the order in which they were asked for)."""

_JSON = frozenset({"asker", "decision", "editable", "output", "people"})

_RECORD = (
    f"INSERT INTO approvals (tenant, thread, {', '.join(COLUMNS)}) "  # noqa: S608 our names
    f"VALUES (:tenant, :thread, :{', :'.join(COLUMNS)})"
)
_GROW = "UPDATE threads SET bytes = bytes + :size WHERE tenant = :tenant AND key = :key"
DUE = (
    "SELECT expires_at, thread, :now FROM approvals WHERE tenant = :tenant AND state = 'pending' "
    "AND expires_at IS NOT NULL ORDER BY expires_at, seq LIMIT :limit"
)
"""The next to expire, whosever they are."""
_ITS_THREAD = "(SELECT thread FROM approvals WHERE tenant = :tenant AND id = :id)"

BEGAN = (
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM approval_events WHERE tenant = :tenant AND thread = 0 AND kind = 'pruned') "
    "THEN 0 ELSE (SELECT min(at) FROM approval_events WHERE tenant = :tenant) END"
)
"""The SQL that reads when the trail began: in an upgraded store, some were asked before. 0 once events were pruned."""
_AGREED = (
    "SELECT kind, body FROM approval_events "  # noqa: S608 our names
    f"WHERE tenant = :tenant AND thread = {_ITS_THREAD} AND approval_id = :id "
    "AND (kind = 'asked' OR kind = 'approved' OR kind = 'agreed')"
)
"""SQLite makes a table of a list of more than two."""


_FREEZE = ("tool", "agent", "of_tenant", "reason", "at")
FREEZES = f"SELECT {', '.join(_FREEZE)} FROM freezes WHERE tenant = :tenant ORDER BY id"  # noqa: S608 our names


def _move(to: State) -> str:
    """Returns the table of moves as the WHERE clause of one conditional update."""
    states = ", ".join(f"'{state}'" for state in sources(to))
    only = "1 = 1"
    if to is State.PASSED:
        only = "runner = 'provider'"
    elif to in DECISIONS:
        only = "(expires_at IS NULL OR expires_at > :at)"
    elif to is State.EXPIRED:
        only = "expires_at <= :at"
    return (
        "UPDATE approvals SET state = :to, decision = coalesce(:decision, decision), "  # noqa: S608 our names
        "output = coalesce(:output, output), decided_at = CASE state WHEN 'pending' THEN :at ELSE decided_at END "
        f"WHERE tenant = :tenant AND id = :id AND state IN ({states}) AND {only}"
    )


_MOVE = {to: _move(to) for to in State}


_AGREE = (
    "UPDATE approvals SET people = :people, state = :to, decision = :decision, decided_at = :decided_at "
    "WHERE tenant = :tenant AND id = :id AND state = 'pending' AND (expires_at IS NULL OR expires_at > :at)"
)


class Move(msgspec.Struct, frozen=True):
    """A move that is asked for. ``run_key``: see `ApprovalStore.move`."""

    approval_id: str
    to: State
    decision: Decision | None
    output: Output | None
    run_key: str | None
    terms: "Terms | None" = None


def _with_reasons(move: Move, happened: Sequence[audit.Happened]) -> Steps[Sequence[audit.Happened]]:
    """Returns what happened, with the reason of the decision encrypted."""
    if move.decision is None or not move.decision.reason:
        return happened
    from agui_gate.stores.sql.reasons import encrypted

    return (yield from encrypted(happened))


class Ledger:
    """The statements and steps of the ledger."""

    def __init__(self, variant: Variant, trail: Trail) -> None:
        self.variant = variant
        self.expired = 0  # approvals that this object has moved to it
        self.trail = trail
        columns = {name: variant.json(name) if name in _JSON else name for name in COLUMNS}
        columns["replaced"] = variant.flag("replaced")
        self._whole = variant.objects(columns)
        self._listed = variant.objects(columns | {"output": variant.beginning("output", "content", MAX_LISTED + 1)})
        self.one = self.reading("id = :id")
        """The SQL that reads the approval ``:id``."""
        thread, its = "key, run_key, run_status, :now, tenant", f"tenant = :tenant AND key = {_ITS_THREAD}"
        read = (ends_at(variant, _ITS_THREAD), self._reading("id = :id"))
        agreed = f"SELECT {variant.arrays(('kind', 'body'))} FROM ({_AGREED}) AS found"  # noqa: S608 our names
        freezes = f"SELECT {variant.arrays(_FREEZE)} FROM ({FREEZES}) AS found"  # noqa: S608 our names
        self._to_move = locking(variant, thread, its, *read)
        self._to_run = locking(variant, thread, its, *read, agreed, freezes)
        if variant.beside:
            self._to_run.insert(-1, variant.beside)
        self._replaced = (
            "UPDATE approvals SET replaced = :replaced WHERE tenant = :tenant AND thread = :key "  # noqa: S608 our names
            f"AND {variant.among('id', 'ids')}"
        )

    def reading(self, condition: str, *, listed: bool = False) -> str:
        """Returns the SQL that reads the approvals of that condition, oldest first, and the clock; see `approvals`.

        ``listed``: of long outputs the beginning.
        """
        return self._reading(condition, ", :now", listed=listed)

    def _reading(self, condition: str, also: str = "", *, listed: bool = False) -> str:
        rows = f"SELECT * FROM approvals WHERE tenant = :tenant AND {condition} ORDER BY seq"  # noqa: S608 our names
        return f"SELECT {self._listed if listed else self._whole}{also} FROM ({rows}) AS found"  # noqa: S608 our names

    @staticmethod
    def approvals(result: Result) -> list[Approval]:
        """Returns the approvals that were read."""
        return _approvals(result.rows[0][0])

    def read(self, condition: str, values: Mapping[str, object]) -> Steps[list[Approval] | None]:
        """Returns the approvals of a condition; None if some of them are to be expired first."""
        (found,) = yield Last([Statement(self.reading(condition), values)])
        approvals, now = self.approvals(found), found.rows[0][1]
        return None if any(approval.overdue_at(now) for approval in approvals) else approvals

    def fresh(self, condition: str, values: Mapping[str, object]) -> Steps[list[Approval]]:
        """Returns the approvals of a condition, after overdue ones were expired."""
        yield from self.expire(condition, values)
        (found,) = yield Last([Statement(self.reading(condition), values)])
        return self.approvals(found)

    def fresh_of(self, key: int) -> Steps[list[Approval]]:
        """Returns those of one thread, after overdue ones were expired."""
        return (yield from self.fresh("thread = :key", {"key": key}))

    def record(self, key: int, approvals: Sequence[Approval]) -> list[Statement]:
        """New records, their times absolute."""
        return [Statement(_RECORD, _new_row(key, approval)) for approval in approvals]

    def mark_replaced(self, key: int, approval_ids: Sequence[str]) -> Statement:
        """Says of these records that the answer that their calls belong to is gone."""
        return Statement(self._replaced, {"key": key, "ids": self.variant.listed(approval_ids), "replaced": True})

    def expire(
        self, condition: str = "1 = 1", values: Mapping[str, object] = NOTHING, *, at: int | None = None
    ) -> Steps[None]:
        """See `expiry.expire`."""
        from agui_gate.stores.sql.expiry import expire

        yield from expire(self, condition, values, at)

    def next_expiry(self) -> Steps[int | None]:
        """Returns in how many ms the next one expires; not above 0 where one is overdue. None where none ever does."""
        (found,) = yield Last([Statement(DUE, {"limit": 1})])
        return found.rows[0][0] - found.rows[0][2] if found.rows else None

    def move(self, move: Move) -> Steps[Approval | None]:
        """Moves one record and returns it; None if there is none. Raises `IllegalMove`, `LeaseLost`, `TermsChanged` and
        `Frozen`.

        Raises `ApprovalRefused` before a call is carried out whose arguments somebody has changed in the store.
        """
        runs = move.to in (State.CLAIMED, State.PASSED)
        *_, found = yield self.lock_and_read(move, runs=runs)
        if not found.rows:
            return None
        key, at, tenant, end, approval = checked(move, found)
        if runs:
            yield from self._check_run(move.to, approval, *map(decode_rows, found.rows[0][-2:]))
        after = after_move(approval, move.to, at, move.decision, move.output)
        if after is approval:
            return after
        row = _moved_row(move, at)
        happened = audit.moved(approval, move.to, move.decision, move.output, move.run_key or "")
        text = _MOVE[move.to]
        if runs and approval.people is not None and move.decision is not None:
            text, is_last = _AGREE, after.state is State.CLAIMED
            row |= {"to": after.state.value, "people": _to_json(after.people), "decided_at": after.decided_at}
            if not is_last:
                row["decision"], happened = None, (audit.agreed(approval, move.decision, move.run_key or ""),)
        told = yield from _with_reasons(move, happened)
        batch = [Statement(text, row), *self.trail.added(key, tenant, end, at, told, [after])]
        if move.terms is not None:
            from agui_gate.stores.sql.counted_calls import CountedCalls

            batch += yield from CountedCalls(self.variant).checked(move.terms, after, at)
        if size := size_of(after):
            batch.append(Statement(_GROW, {"size": size, "key": key}))
        results = yield Last(batch)
        if not results[0].changed:
            raise IllegalMove(f"approval {approval.id} can't become {move.to}")
        return after

    def _check_run(self, to: State, approval: Approval, agreed: Rows, freezes: Rows) -> Steps[None]:
        """Raises `Frozen`, and `ApprovalRefused`, if a call can't be let go."""
        if to is State.CLAIMED and freezes:
            from agui_gate.stores.sql.freezes import check

            check(approval, freezes)
        if not audit.is_as_agreed(approval, agreed, told=(yield from self._is_told(approval, agreed))):
            raise ApprovalRefused(
                f"The arguments of {approval.tool} in the store are not those that were asked about. It is not carried "
                "out. Reject it, and find out who changed them."
            )

    def is_agreed(self, approval: Approval) -> Steps[bool]:
        """See `AuditStore.is_agreed`."""
        (agreed,) = yield [Statement(_AGREED, {"id": approval.id})]
        events = agreed.rows
        told = yield from self._is_told(approval, events)
        said_yes = not told or any(kind == "approved" for kind, _ in events)
        return said_yes and audit.is_as_agreed(approval, events, told=told)

    def _is_told(self, approval: Approval, agreed: Rows) -> Steps[bool]:
        """Returns whether the trail has to have the question: one that was asked before there was a trail has none
        there.
        """
        if any(kind == "asked" for kind, _ in agreed):
            return True
        (first,) = yield [Statement(BEGAN)]
        began = first.rows[0][0]
        return began is not None and int(began) <= approval.asked_at

    def lock_and_read(self, move: Move, *, runs: bool) -> list[Statement]:
        """Returns what locks the thread and reads for `checked`; where it ``runs`` then, also what that needs."""
        return [Statement(text, {"id": move.approval_id}) for text in (self._to_run if runs else self._to_move)]


def checked(move: Move, found: Result) -> tuple[int, int, str, Rows, Approval]:
    """Returns the thread's key, the time, the tenant, the end of the chain, and the record. Raises `LeaseLost`."""
    key, run_key, status, at, tenant, end, read = found.rows[0][:7]
    if move.run_key is not None and (move.run_key, "running") != (run_key, status):
        raise LeaseLost
    (approval,) = _approvals(read)
    return key, at, tenant, decode_rows(end), approval


def _approvals(read: str) -> list[Approval]:
    return decode_approvals(read.encode())


def _new_row(thread: int, approval: Approval) -> dict[str, Any]:
    row = {"thread": thread, **msgspec.structs.asdict(approval)}
    return row | {name: _to_json(row[name]) for name in _JSON} | {"state": approval.state.value}


def _moved_row(move: Move, at: int) -> dict[str, Any]:
    decision, output = _to_json(move.decision), _to_json(move.output)
    return {"id": move.approval_id, "to": move.to.value, "at": at, "decision": decision, "output": output}


def size_of(record: Approval) -> int:
    """Returns the bytes of the decision and the output of a record that has just been moved: 0 until nothing more comes
    of it, so that a thread is told of them once.
    """
    if record.state in UNFINISHED:
        return 0
    return sum(len(_encode(part)) for part in (record.decision, record.output) if part is not None)


def _to_json(value: object) -> str | None:
    """JSON as text; None stays NULL."""
    return None if value is None else _encode(value).decode()
