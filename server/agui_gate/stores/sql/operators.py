"""The operations of operators in SQL: see `stores/operators.py`.

Lists go along the indexes that the lists of one owner use, in their order, and so from owner to owner. A tenant's are
picked out of what was read: an owner's key begins with the tenant, but the order of texts is each database's own.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from agui_gate.core.approvals import Approval, State
from agui_gate.core.audit import Happened, Kind, about, digest
from agui_gate.core.freezes import Freeze
from agui_gate.core.json_text import canonical
from agui_gate.core.principals import owner_key, tenant_of
from agui_gate.core.transcript import Output
from agui_gate.errors import ApprovalRefused, IllegalMove, InvalidRequest, LeaseLost, NotFound
from agui_gate.stores.base import StopRequest, Thread
from agui_gate.stores.lease import lapsed
from agui_gate.stores.operators import NO_THREAD, Act, Found, OwnedCall, OwnedThread, Run, WhichCalls
from agui_gate.stores.sql import freezes
from agui_gate.stores.sql.journal import UNDER_LEASE
from agui_gate.stores.sql.leases import BY_EITHER, ROW
from agui_gate.stores.sql.operations import Conflict, Last, Result, Statement, Steps
from agui_gate.stores.sql.orphans import UNSETTLED
from agui_gate.stores.sql.reasons import encrypted
from agui_gate.stores.sql.rows import ThreadRow
from agui_gate.stores.sql.store_chain import LOCK
from agui_gate.stores.sql.trail import head_of
from agui_gate.stores.sql.variant import FREEZE

if TYPE_CHECKING:
    from agui_gate.stores.sql.store import Operations, SQLStore

STEP = 200
"""Rows that one step reads."""
MOST_STEPS = 50
"""Steps of one page: where a tenant's are few among many, a page may have none of them, and a cursor."""

T = TypeVar("T", OwnedCall, OwnedThread)
Place = tuple[Any, ...]
"""The values by which a list is ordered."""

_RUNS = (
    "SELECT principal, id, agent, run_key, updated_at, lease_owner, lease_until, :ticks FROM threads "
    "WHERE tenant = :tenant AND run_status = 'running'"
)
_PENDING = (
    "(SELECT count(*) FROM approvals WHERE tenant = :tenant AND thread = threads.key AND state = 'pending' "
    "AND (expires_at IS NULL OR expires_at > :now))"
)
_BY = ("principal", "agent", "archived", "updated_at", "key")
_THREADS = (
    f"SELECT {', '.join(_BY)}, id, created_at, run_key, run_status, lease_owner, lease_until, bytes, "  # noqa: S608 ours
    f"{_PENDING}, :ticks FROM threads WHERE tenant = :tenant AND ({', '.join(_BY)}) > (:{', :'.join(_BY)}) "
    f"ORDER BY {', '.join(_BY)} LIMIT :step"
)
_CALL = (
    "principal, seq, id, thread_id, agent, tool, state, runner, asked_at, decided_at, expires_at, run_key, run_id, "
    "call_id, thread"
)
_ORDER = "ORDER BY principal, seq LIMIT :step"
_AFTER = "(principal, seq) > (:principal, :seq)"
_AT_WORK = (
    f"WITH working AS MATERIALIZED (SELECT {_CALL} FROM approvals WHERE tenant = :tenant AND {UNSETTLED} "  # noqa: S608 ours
    f"AND state IN ('claimed', 'passed', 'given_back') AND {_AFTER}) SELECT * FROM working {_ORDER}"
)
"""All of them, as they are a few: see `sql/orphans.py`."""
_WHICH: dict[WhichCalls, str] = {
    "pending": f"SELECT {_CALL} FROM approvals WHERE tenant = :tenant AND state = 'pending' AND {_AFTER} {_ORDER}",  # noqa: S608 ours
    "unknown": (
        f"SELECT {_CALL} FROM approvals WHERE tenant = :tenant AND {UNSETTLED} AND state = 'unknown' "  # noqa: S608 ours
        f"AND {_AFTER} {_ORDER}"
    ),
    "claimed": _AT_WORK,
    "orphaned": _AT_WORK,
}
_THREAD_AT = f"SELECT {', '.join(_BY)} FROM threads WHERE tenant = :tenant AND key = :key"  # noqa: S608 our names
_CALL_AT = "SELECT principal, seq FROM approvals WHERE tenant = :tenant AND seq = :key"
_ONE = f"SELECT {_CALL} FROM approvals WHERE tenant = :tenant AND (id = :id OR (was = :id AND was <> ''))"  # noqa: S608 ours


def _with_leases(calls: str) -> str:
    return (
        "SELECT found.*, threads.run_status, lease_owner, lease_until, :ticks "  # noqa: S608 our names
        f"FROM ({calls}) AS found JOIN threads ON threads.tenant = :tenant AND threads.key = found.thread "
        "ORDER BY found.principal, found.seq"
    )


_ITS_THREAD = "(SELECT thread FROM approvals WHERE tenant = :tenant AND id = :id)"
_SETTLE = "UPDATE approvals SET state = :to, output = :output WHERE tenant = :tenant AND id = :id AND state = 'unknown'"
_FORGET_REF = "UPDATE threads SET ref = NULL, bytes = bytes + :size WHERE tenant = :tenant AND key = :key"
_ASK = f"UPDATE threads SET stop = :stop WHERE {UNDER_LEASE}"  # noqa: S608 our names
_GIVE = f"UPDATE threads SET principal = :to WHERE {UNDER_LEASE}"  # noqa: S608 our names
_GIVE_CALLS = "UPDATE approvals SET principal = :to WHERE tenant = :tenant AND thread = :key"
_NOW = "SELECT :now + 0"

SETTLES = frozenset({State.DONE, State.FAILED})
"""The states to which a call may be settled."""


class SqlOperators:
    """See `stores.operators.Operators`."""

    def __init__(self, store: "SQLStore", sql: "Operations") -> None:
        self._store, self._sql, self._variant = store, sql, sql.ledger.variant
        lock = f"SELECT key, run_key, run_status, :now, tenant FROM threads WHERE tenant = :tenant AND key = {{}}{self._variant.lock}"  # noqa: E501, S608 ours
        self._lock = lock.format(_ITS_THREAD)
        self._lock_key = f"SELECT tenant, :now FROM threads WHERE {UNDER_LEASE}{self._variant.lock}"  # noqa: S608 ours

    # --- lists

    async def runs(self, tenant: str | None, limit: int) -> Found[Run]:
        """See `Operators`. The index of what runs is read as a whole: it is small."""
        found = await self._store._do("read", _running)
        ours = [run for run in found if _is_of(tenant, run.principal)]
        ordered = sorted(ours, key=lambda run: (run.lease_ms, run.principal, run.thread_id))
        return Found(ordered[:limit], None)

    async def threads(self, tenant: str | None, limit: int, cursor: str | None = None) -> Found[OwnedThread]:
        """See `Operators`."""
        start = await self._start(cursor, ("", "", -1, -1, -1), _THREAD_AT)
        return await self._pages(_threads, tenant, limit, start)

    async def calls(
        self, which: WhichCalls, tenant: str | None, limit: int, cursor: str | None = None
    ) -> Found[OwnedCall]:
        """See `Operators`."""
        start = await self._start(cursor, ("", -1), _CALL_AT)
        wanted = {"claimed": False, "orphaned": True}.get(which)

        def is_wanted(call: OwnedCall) -> bool:
            return wanted is None or call.is_orphaned is wanted

        return await self._pages(lambda after: _calls(which, after), tenant, limit, start, is_wanted)

    async def _start(self, cursor: str | None, first: Place, hidden: str) -> Place:
        """Returns the place behind which a page begins. Raises `InvalidRequest`."""
        if cursor is None:
            return first
        place = _place(cursor, tuple(map(type, first)))
        if len(place) == 1:
            place = await self._store._do("read", lambda: _at(hidden, place[0]))
        if not place:
            raise InvalidRequest("The cursor does not belong to this list. Start again without it.", well_formed=True)
        return place

    async def _pages(
        self,
        step: Callable[[Place], Steps[list[tuple[Place, T]]]],
        tenant: str | None,
        limit: int,
        after: Place,
        is_wanted: Callable[[T], bool] = lambda _: True,
    ) -> Found[T]:
        """Reads step by step until a page is full, or enough was read."""
        items: list[T] = []
        for _ in range(MOST_STEPS):
            rows = await self._store._do("read", lambda: step(after))  # noqa: B023 it is awaited here
            for place, item in rows:
                if _is_of(tenant, item.principal) and is_wanted(item):
                    if len(items) == limit:
                        return Found(items, _cursor(after, tenant))
                    items.append(item)
                after = place
            if len(rows) < STEP:
                return Found(items, None)
        return Found(items, _cursor(after, tenant))

    async def call(self, approval_id: str) -> OwnedCall | None:
        """See `Operators`."""
        return await self._store._do("read", lambda: _call(approval_id))

    # --- changes

    async def ask_to_stop(self, principal: str, thread_id: str, act: Act, run_key: str) -> str | None:
        """See `Operators`."""
        return await self._store._do("write", lambda: self._ask_to_stop(principal, thread_id, act, run_key))

    def _ask_to_stop(self, principal: str, thread_id: str, act: Act, run_key: str) -> Steps[str | None]:
        values = {"principal": principal, "thread_id": thread_id}
        (found,) = yield [Statement(f"{ROW}{BY_EITHER}{self._variant.lock}", values)]
        if not found.rows:
            return None
        row = ThreadRow(*found.rows[0])
        if row.run_key != run_key or row.run_status != "running" or row.lapsed():
            return None
        (end,) = yield [Statement(head_of(":key"), {"key": row.key})]
        happened = yield from _happened("stopped", act, row.principal, row.id, {}, run_key=row.run_key or "")
        asked = {"key": row.key, "run_key": row.run_key, "stop": msgspec.json.encode(StopRequest()).decode()}
        yield Last([Statement(_ASK, asked), *self._sql.trail.added(row.key, "", end.rows, row.now, happened)])
        return row.run_key

    async def settle(self, approval_id: str, to: State, output: Output, act: Act, run_key: str) -> Approval:
        """See `Operators`."""
        return await self._store._do("durable", lambda: self._settle(approval_id, to, output, act, run_key))

    def _settle(self, approval_id: str, to: State, output: Output, act: Act, run_key: str) -> Steps[Approval]:
        texts = (self._lock, head_of(_ITS_THREAD), self._sql.ledger.one)
        lock, end, found = yield [Statement(text, {"id": approval_id}) for text in texts]
        if not lock.rows:
            raise NotFound("There is no such approval.")
        ((key, held, status, now, tenant),) = lock.rows
        (approval,) = self._sql.ledger.approvals(found)
        if approval.state is not State.UNKNOWN or to not in SETTLES:
            why = f"This call is {approval.state.public}. Only one whose outcome is unknown is settled."
            raise ApprovalRefused(why)
        if (held, status) != (run_key, "running"):
            raise LeaseLost
        text = msgspec.json.encode(output).decode()
        body = {"output": digest(output.content)}
        whose = (approval.principal, approval.thread_id)
        by = yield from _happened("settled", act, *whose, {"to": to.value}, approval.id, run_key)
        outcome = msgspec.structs.replace(about(approval, to.value, run_key=run_key, body=body), way="operator")
        after = msgspec.structs.replace(approval, state=to, output=output)
        results = yield Last(
            [
                Statement(_SETTLE, {"id": approval_id, "to": to.value, "output": text}),
                Statement(_FORGET_REF, {"key": key, "size": len(text.encode())}),
                *self._sql.trail.added(key, tenant, end.rows, now, [*by, outcome], [after]),
            ]
        )
        if not results[0].changed:
            raise IllegalMove(f"approval {approval_id} was changed meanwhile")
        return after

    async def hand_on(self, thread: Thread, to: str, act: Act, run_key: str) -> None:
        """See `Operators`."""
        await self._store._do("durable", lambda: self._hand_on(thread, to, act, run_key))

    def _hand_on(self, thread: Thread, to: str, act: Act, run_key: str) -> Steps[None]:
        values = {"key": int(thread.key), "run_key": run_key, "to": to}
        locked, end = yield [Statement(self._lock_key, values), Statement(head_of(":key"), values)]
        if not locked.rows:
            raise LeaseLost
        ((tenant, now),) = locked.rows
        body = {"from": thread.principal, "to": to}
        happened = yield from _happened("handed_on", act, to, thread.id, body, run_key=run_key)
        batch = [Statement(_GIVE, values), Statement(_GIVE_CALLS, values)]
        after = yield from self._handed_on(values)
        try:
            yield Last([*batch, *self._sql.trail.added(int(thread.key), tenant, end.rows, now, happened, after)])
        except Conflict:
            raise InvalidRequest(
                f"The new owner has a thread {thread.id!r} already, so it stays where it is.", well_formed=True
            ) from None

    def _handed_on(self, values: Mapping[str, object]) -> Steps[list[Approval]]:
        """Returns the records of a thread as they are when it was handed on, where the trail is signed."""
        if self._sql.trail.keys is None:
            return []
        (found,) = yield [Statement(self._sql.ledger.reading("thread = :key"), values)]
        to = str(values["to"])
        return [msgspec.structs.replace(one, principal=to) for one in self._sql.ledger.approvals(found)]

    async def freeze(self, wanted: Freeze, act: Act, *, lift: bool = False) -> bool:
        """See `Operators`."""
        return await self._store._do("durable", lambda: self._freeze(wanted, act, lift))

    def _freeze(self, wanted: Freeze, act: Act, lift: bool) -> Steps[bool]:
        names = (FREEZE, LOCK)
        yield [Statement(self._variant.alone, {"name": name}) for name in names]
        end, now = yield [Statement(head_of(":key"), {"key": NO_THREAD}), Statement(_NOW)]
        changed: Sequence[Result] = yield [freezes.lifting(wanted) if lift else freezes.freezing(wanted)]
        if lift and not changed[0].changed:
            return False
        whose = owner_key(wanted.of_tenant or "", "")
        happened = yield from _happened("lifted" if lift else "frozen", act, whose, "", freezes.about(wanted))
        yield Last(self._sql.trail.added(NO_THREAD, "", end.rows, now.rows[0][0], happened))
        return True


def _running() -> Steps[list[Run]]:
    (found,) = yield Last([Statement(_RUNS)])
    return [
        Run(
            principal=principal,
            thread_id=thread_id,
            agent=agent,
            run_key=run_key,
            updated_at=updated_at,
            lease_ms=until - ticks,
            is_lost=lapsed("running", owner, until, ticks),
        )
        for principal, thread_id, agent, run_key, updated_at, owner, until, ticks in found.rows
    ]


def _threads(after: Place) -> Steps[list[tuple[Place, OwnedThread]]]:
    values = dict(zip(_BY, after, strict=True))
    (found,) = yield Last([Statement(_THREADS, {**values, "step": STEP})])
    return [(row[:5], _thread(row)) for row in found.rows]


def _thread(row: Sequence[Any]) -> OwnedThread:
    principal, agent, archived, updated_at, _, name, created_at, run_key, *rest = row
    status, owner, until, size, number, ticks = rest
    return OwnedThread(
        principal=principal,
        id=name,
        agent=agent,
        created_at=created_at,
        updated_at=updated_at,
        archived=bool(archived),
        run_key=run_key,
        run_status="interrupted" if lapsed(status, owner, until, ticks) else status,
        bytes=size,
        pending=number,
    )


def _calls(which: WhichCalls, after: Place) -> Steps[list[tuple[Place, OwnedCall]]]:
    principal, seq = after
    values = {"principal": principal, "seq": seq, "step": STEP}
    (found,) = yield Last([Statement(_with_leases(_WHICH[which]), values)])
    return [(row[:2], _owned(row)) for row in found.rows]


def _at(text: str, key: int) -> Steps[Place]:
    (found,) = yield Last([Statement(text, {"key": key})])
    return found.rows[0] if found.rows else ()


def _call(approval_id: str) -> Steps[OwnedCall | None]:
    (found,) = yield Last([Statement(_with_leases(_ONE), {"id": approval_id})])
    return _owned(found.rows[0]) if found.rows else None


def _owned(row: Sequence[Any]) -> OwnedCall:
    *said, call_id, key, status, owner, until, ticks = row
    principal, _, name, thread_id, agent, tool, state, runner, asked_at, decided_at, expires_at, run_key, run_id = said
    known = State(state) if state in _STATES else State.UNKNOWN
    # An approval that the provider was not told of yet is nobody's work: the thread's next run uses it.
    at_work = known is State.PASSED or (known is State.CLAIMED and runner != "provider")
    return OwnedCall(
        id=name,
        principal=principal,
        thread_id=thread_id,
        agent=agent,
        tool=tool,
        state=known,
        runner=runner,
        asked_at=asked_at,
        decided_at=decided_at,
        expires_at=expires_at,
        run_key=run_key,
        run_id=run_id,
        idempotency_key=f"{key}:{call_id}",
        is_orphaned=at_work and (status != "running" or lapsed(status, owner, until, ticks)),
    )


_STATES = frozenset(State)


def _happened(
    kind: Kind,
    act: Act,
    principal: str,
    thread_id: str,
    body: Mapping[str, str | None],
    approval_id: str = "",
    run_key: str = "",
) -> Steps[list[Happened]]:
    """Returns the event, with its reason encrypted."""
    one = Happened(
        kind=kind,
        principal=principal,
        thread_id=thread_id,
        approval_id=approval_id,
        run_key=run_key,
        by=act.by,
        way="operator",
        body=canonical(body),
        reason=act.reason,
        person=act.by,
    )
    return (yield from encrypted([one]))


def _is_of(tenant: str | None, principal: str) -> bool:
    return tenant is None or tenant_of(principal) == tenant


def _cursor(place: Place, tenant: str | None) -> str:
    """Returns the cursor behind a place. If its owner is of another tenant, only the row's key is in it."""
    told = place if _is_of(tenant, place[0]) else place[-1:]
    return urlsafe_b64encode(msgspec.json.encode(told)).rstrip(b"=").decode()


def _place(cursor: str, kinds: tuple[type, ...]) -> Place:
    """Returns the place that `_cursor` encoded, or the key alone; () for what is no cursor."""
    try:
        place = msgspec.json.decode(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=tuple[Any, ...])
    except (ValueError, binascii.Error, msgspec.DecodeError):
        place = ()
    if tuple(map(type, place)) not in (kinds, (int,)) or any(type(one) is int and abs(one) >= 2**63 for one in place):
        return ()
    return place
