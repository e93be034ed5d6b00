"""Deliveries and steps in SQL: see `stores/deliveries.py`."""

from collections.abc import Awaitable, Collection, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec

from agui_gate.core import audit
from agui_gate.core.approvals import Approval, People, State
from agui_gate.core.json_text import canonical
from agui_gate.stores.base import Named
from agui_gate.stores.deliveries import FORGET_MS, GIVE_UP_MS, TOLD_MS, WORK_MS, Delivery, Step, Stepped, Taken, Waiting
from agui_gate.stores.lease import lapsed
from agui_gate.stores.outbox import Telling
from agui_gate.stores.sql.ledger import Ledger
from agui_gate.stores.sql.operations import Kind, Last, Operation, Statement, Steps
from agui_gate.stores.sql.trail import TELL, Trail, head_of
from agui_gate.stores.sql.variant import Variant

T = TypeVar("T")

_ADD = (
    "INSERT INTO deliveries (tenant, endpoint, notice, approval, body, created_at, due_at, gives_up_at) "
    "SELECT :tenant, :endpoint, :notice, :approval_id, :body, :now, coalesce((SELECT max(due_at) FROM deliveries "
    "WHERE tenant = :tenant AND approval = :approval_id AND endpoint = :endpoint AND dead = 0), :now), :now + :stays "
    "WHERE 1 = 1 ON CONFLICT (tenant, endpoint, notice) DO NOTHING"
)
_FORGET = "DELETE FROM deliveries WHERE tenant = :tenant AND gives_up_at < :now - :stays"
_OF_ENDPOINT = "deliveries WHERE tenant = :tenant AND endpoint = :endpoint AND dead = 0 ORDER BY due_at, id LIMIT 1"
_NEXT = f"SELECT due_at, :now FROM {_OF_ENDPOINT}"  # noqa: S608 our names
_LEASE = (
    "INSERT INTO delivery_workers (tenant, endpoint, worker, until) "
    "VALUES (:tenant, :endpoint, :worker, :now + :stays) "
    "ON CONFLICT (tenant, endpoint) DO UPDATE SET worker = excluded.worker, until = excluded.until "
    "WHERE delivery_workers.worker = excluded.worker OR delivery_workers.until <= :now"
)
_LEAVE = (
    "UPDATE delivery_workers SET until = 0 WHERE tenant = :tenant AND endpoint = :endpoint AND worker = :worker "
    "AND until > 0"
)
_COLUMNS = [name if name != "approval_id" else "approval" for name in Waiting.__struct_fields__]
_TAKE = (
    f"SELECT {', '.join(f'deliveries.{name}' for name in _COLUMNS)} FROM delivery_workers CROSS JOIN deliveries "  # noqa: S608 ours
    "WHERE delivery_workers.tenant = :tenant AND delivery_workers.endpoint = :endpoint "
    "AND delivery_workers.worker = :worker AND delivery_workers.until > :now AND deliveries.tenant = :tenant "
    "AND deliveries.endpoint = :endpoint AND deliveries.dead = 0 AND deliveries.due_at <= :now "
    "ORDER BY deliveries.due_at, deliveries.id LIMIT :limit"
)
_DELIVERED = "DELETE FROM deliveries WHERE tenant = :tenant AND id = :id"
_FAILED = (
    "UPDATE deliveries SET attempts = attempts + 1, error = :error, due_at = :now + :again, dead = :dead "
    "WHERE tenant = :tenant AND id = :id"
)
_BEHIND = (
    "UPDATE deliveries SET due_at = :now + :again WHERE tenant = :tenant AND approval = :approval_id "
    "AND endpoint = :endpoint AND dead = 0 AND due_at < :now + :again"
)
_LISTED = (
    f"SELECT {', '.join(_COLUMNS)} FROM deliveries WHERE tenant = :tenant AND id > :after ORDER BY id LIMIT :limit"  # noqa: S608 ours
)
_DEAD = _LISTED.replace("id > :after", "dead = 1 AND id > :after")

_PLAN = (
    "INSERT INTO approval_steps (tenant, approval, kind, after, who, due_at) "
    "VALUES (:tenant, :approval_id, :kind, :after, :who, :due_at) "
    "ON CONFLICT (tenant, approval, kind, after) DO NOTHING"
)
_DUE = (
    "SELECT approval, kind, after, who, due_at, :now FROM approval_steps WHERE tenant = :tenant "
    "ORDER BY due_at, approval LIMIT :limit"
)
_THIS_STEP = "approval_steps WHERE tenant = :tenant AND approval = :id AND kind = :kind AND after = :after"
_STEP = f"SELECT 1 FROM {_THIS_STEP}"  # noqa: S608 our names
_DONE = f"DELETE FROM {_THIS_STEP}"  # noqa: S608 our names
_ITS_THREAD = "(SELECT thread FROM approvals WHERE tenant = :tenant AND id = :id)"
_ADD_PEOPLE = "UPDATE approvals SET people = :people WHERE tenant = :tenant AND id = :id AND state = 'pending'"


_ANYBODY = People(self_approval=True, break_glass=False)
"""The terms of a gate that names nobody: whoever shares the thread may decide a call. So there is no glass."""


class _Do(Protocol):
    """See `SQLStore._do`."""

    def __call__(self, kind: Kind, operation: Operation[T]) -> Awaitable[T]: ...


class Deliveries:
    """The deliveries and steps of one store: see `DeliveryStore`."""

    def __init__(self, do: _Do, ledger: Ledger, trail: Trail) -> None:
        self._do, self._sql = do, _Operations(ledger, trail)

    async def add(self, deliveries: Sequence[Delivery]) -> None:
        """See `DeliveryStore`."""
        if deliveries:
            await self._do("write", partial(_add, deliveries))

    async def take(self, endpoint: str, worker: str, limit: int) -> Taken:
        """See `DeliveryStore`."""
        wait_ms = await self._do("read", partial(_wait, endpoint))
        if wait_ms is None or wait_ms > 0:
            return Taken((), wait_ms)
        return Taken(await self._do("write", partial(_take, endpoint, worker, limit)), wait_ms)

    async def leave(self, endpoint: str, worker: str) -> None:
        """See `DeliveryStore`."""
        await self._do("write", partial(_change, [Statement(_LEAVE, {"endpoint": endpoint, "worker": worker})]))

    async def delivered(self, delivery: Waiting) -> None:
        """See `DeliveryStore`."""
        await self._do("write", partial(_change, [Statement(_DELIVERED, {"id": delivery.id})]))

    async def failed(self, delivery: Waiting, error: str, again_ms: int | None) -> None:
        """See `DeliveryStore`."""
        again = again_ms or 0
        values = {"id": delivery.id, "error": error[:500], "again": again, "dead": int(again_ms is None)}
        batch = [Statement(_FAILED, values)]
        if again_ms is not None:
            behind = {"endpoint": delivery.endpoint, "approval_id": delivery.approval_id, "again": again}
            batch.append(Statement(_BEHIND, behind))
        await self._do("write", partial(_change, batch))

    async def listed(self, *, after: int = 0, limit: int, dead: bool = False) -> Sequence[Waiting]:
        """See `DeliveryStore`."""
        return await self._do("read", partial(_read, _DEAD if dead else _LISTED, after, limit))

    async def retry(self, ids: Collection[int]) -> int:
        """See `DeliveryStore`."""
        return await self._do("write", partial(self._sql.retry, ids)) if ids else 0

    async def approval(self, approval_id: str) -> Approval | None:
        """See `DeliveryStore`."""
        return await self._do("read", partial(self._sql.approval, approval_id))

    async def plan(self, steps: Sequence[Step], asked_at: int) -> None:
        """See `DeliveryStore`."""
        if steps:
            await self._do("write", partial(_plan, steps, asked_at))

    async def due_steps(self, limit: int) -> tuple[Sequence[Step], int | None]:
        """See `DeliveryStore`."""
        return await self._do("read", partial(_due, limit))

    async def take_step(self, step: Step, *, tell: bool) -> Stepped | None:
        """See `DeliveryStore`."""
        return await self._do("durable", partial(self._sql.take_step, step, tell))

    async def hand_to(self, approval_id: str, to: str, by: str, way: str = "http") -> Stepped | None:
        """See `DeliveryStore`."""
        return await self._do("durable", partial(self._sql.hand_to, approval_id, to, by, way))

    async def report_orphan(self, orphan: Named) -> Stepped | None:
        """See `DeliveryStore`."""
        return await self._do("write", partial(self._sql.report_orphan, orphan))


def _add(deliveries: Sequence[Delivery]) -> Steps[None]:
    stays = {"stays": GIVE_UP_MS}
    added = [Statement(_ADD, msgspec.structs.asdict(delivery) | stays) for delivery in deliveries]
    yield Last([*added, Statement(_FORGET, {"stays": FORGET_MS})])


def _wait(endpoint: str) -> Steps[int | None]:
    (found,) = yield Last([Statement(_NEXT, {"endpoint": endpoint})])
    return max(0, found.rows[0][0] - found.rows[0][1]) if found.rows else None


def _take(endpoint: str, worker: str, limit: int) -> Steps[list[Waiting]]:
    values = {"endpoint": endpoint, "worker": worker, "stays": WORK_MS, "limit": limit}
    _, found = yield Last([Statement(_LEASE, values), Statement(_TAKE, values)])
    return _made(found.rows)


def _read(text: str, after: int, limit: int) -> Steps[list[Waiting]]:
    (found,) = yield Last([Statement(text, {"after": after, "limit": limit})])
    return _made(found.rows)


def _made(rows: Sequence[tuple[Any, ...]]) -> list[Waiting]:
    names = Waiting.__struct_fields__
    return [Waiting(**dict(zip(names, row, strict=True)) | {"dead": bool(row[names.index("dead")])}) for row in rows]


def _change(batch: list[Statement]) -> Steps[None]:
    yield Last(batch)


def _plan(steps: Sequence[Step], asked_at: int) -> Steps[None]:
    rows = [
        msgspec.structs.asdict(step) | {"who": canonical({"to": step.who}), "due_at": asked_at + step.after}
        for step in steps
    ]
    yield Last([Statement(_PLAN, row) for row in rows])


def _due(limit: int) -> Steps[tuple[list[Step], int | None]]:
    (found,) = yield Last([Statement(_DUE, {"limit": limit + 1})])
    waits = [due_at - now for *_, due_at, now in found.rows]
    due = [
        msgspec.convert({"approval_id": name, "kind": kind, "after": after, **_decode(who)}, Step)
        for name, kind, after, who, due_at, now in found.rows[:limit]
        if due_at <= now
    ]
    return due, max(0, waits[len(due)]) if len(waits) > len(due) else None


def _decode(who: str) -> dict[str, Any]:
    return {"who": msgspec.json.decode(who)["to"]}


class _Operations:
    """The operations that need the ledger."""

    def __init__(self, ledger: Ledger, trail: Trail) -> None:
        variant: Variant = ledger.variant
        self._ledger, self._trail = ledger, trail
        lock = (
            "SELECT key, tenant, :now, run_status, lease_owner, lease_until, :ticks FROM threads "  # noqa: S608 our names
            f"WHERE tenant = :tenant AND key = {_ITS_THREAD}{variant.lock}"
        )
        self._look = (lock, head_of(_ITS_THREAD), ledger.one, _STEP)
        self._retry = (
            "UPDATE deliveries SET dead = 0, attempts = 0, due_at = :now, gives_up_at = :now + :stays "  # noqa: S608 ours
            f"WHERE tenant = :tenant AND {variant.among('id', 'ids')} AND dead = 1"
        )
        self._variant = variant

    def retry(self, ids: Collection[int]) -> Steps[int]:
        (done,) = yield Last([Statement(self._retry, {"ids": self._variant.listed(list(ids)), "stays": GIVE_UP_MS})])
        return done.changed

    def approval(self, approval_id: str) -> Steps[Approval | None]:
        (found,) = yield Last([Statement(self._ledger.one, {"id": approval_id})])
        return next(iter(self._ledger.approvals(found)), None)

    def take_step(self, step: Step, tell: bool) -> Steps[Stepped | None]:
        values = {"id": step.approval_id, "kind": step.kind, "after": step.after}
        lock, end, found, there = yield [Statement(text, values) for text in self._look]
        if not there.rows:
            return None
        batch = [Statement(_DONE, values)]
        approval = self._ledger.approvals(found)[0] if lock.rows else None
        done = approval is not None and approval.waits_at(lock.rows[0][2])
        if approval is None or not done:
            yield Last(batch)
            return None
        if step.kind == "escalated":
            key, tenant, now = lock.rows[0][:3]
            people = _with_added(approval.people, step.who)
            if people is approval.people:
                yield Last(batch)
                return None
            row = {"id": approval.id, "people": msgspec.json.encode(people).decode()}
            happened = audit.about(approval, "escalated", body={"after": step.after, "to": _names(step.who)})
            after = msgspec.structs.replace(approval, people=people)
            batch += [Statement(_ADD_PEOPLE, row), *self._trail.added(key, tenant, end.rows, now, [happened], [after])]
        if tell or step.kind == "escalated":
            batch.append(_notice(approval, step.kind, {"after": step.after, "to": _names(step.who)}))
        yield Last(batch)
        return Stepped(approval.principal, approval.thread_id)

    def hand_to(self, approval_id: str, to: str, by: str, way: str) -> Steps[Stepped | None]:
        values = {"id": approval_id, "kind": "", "after": 0}
        lock, end, found, _ = yield [Statement(text, values) for text in self._look]
        approval = self._ledger.approvals(found)[0] if lock.rows else None
        if approval is None or not approval.waits_at(lock.rows[0][2]):
            return None
        key, tenant, now = lock.rows[0][:3]
        people = msgspec.structs.replace(approval.people or _ANYBODY, handed_to=to, handed_by=by)
        if people != approval.people:
            told = canonical({"to": [to]})
            happened = msgspec.structs.replace(audit.about(approval, "handed_to"), by=by, way=way, body=told)
            after = msgspec.structs.replace(approval, people=people)
            yield Last(
                [
                    Statement(_ADD_PEOPLE, {"id": approval.id, "people": msgspec.json.encode(people).decode()}),
                    *self._trail.added(key, tenant, end.rows, now, [happened], [after]),
                    _notice(approval, "handed_to", {"to": [to], "by": by}),
                ]
            )
        return Stepped(approval.principal, approval.thread_id)

    def report_orphan(self, orphan: Named) -> Steps[Stepped | None]:
        values = {"id": orphan.id, "kind": "orphaned", "after": 0}
        lock, _, found, there = yield [Statement(text, values) for text in self._look]
        if not lock.rows or there.rows:
            return None
        ((_, _, now, status, owner, until, ticks),) = lock.rows
        (approval,) = self._ledger.approvals(found)
        at_work = approval.state in (State.CLAIMED, State.PASSED)
        if not at_work or (status == "running" and not lapsed(status, owner, until, ticks)):
            return None
        row = {"approval_id": orphan.id, "kind": "orphaned", "after": 0, "who": '{"to":""}', "due_at": now + TOLD_MS}
        yield Last([Statement(_PLAN, row), _notice(approval, "orphaned", {})])
        return Stepped(approval.principal, approval.thread_id)


def _with_added(people: People | None, who: str | tuple[str, ...]) -> People:
    """Returns the terms with these among those who may decide. They are the same object where they were already."""
    terms = people or _ANYBODY
    return terms if who in terms.added else msgspec.structs.replace(terms, added=(*terms.added, who))


def _names(who: str | tuple[str, ...]) -> tuple[str, ...]:
    return (who,) if isinstance(who, str) else who


def _notice(approval: Approval, kind: str, more: dict[str, Any]) -> Statement:
    body = canonical({"state": kind, **more})
    telling = Telling("approval_notice", approval.principal, approval.thread_id, approval.id, body)
    return Statement(TELL, msgspec.structs.asdict(telling))


__all__ = ["Deliveries"]
