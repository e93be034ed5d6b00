"""Deputies in SQL: see `DeputyStore` in `stores/capabilities.py`.

Who names one takes the lock of the trail's chain without a thread, so they are named one after the other. Who claims a
call as a deputy has locked the row of a thread before, and then the deputy's own.
"""

from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Protocol, TypeVar

import msgspec

from agui_gate.core import audit
from agui_gate.core.deputies import MAX_OF_TENANT, Deputy, Side, check_named
from agui_gate.core.grants import Grant
from agui_gate.core.json_text import canonical
from agui_gate.core.principals import owner_key
from agui_gate.core.terms import Terms
from agui_gate.errors import MayNotDecide
from agui_gate.stores.outbox import Telling
from agui_gate.stores.sql import grants
from agui_gate.stores.sql.operations import Kind, Last, Operation, Result, Statement, Steps
from agui_gate.stores.sql.store_chain import LOCK, add
from agui_gate.stores.sql.trail import TELL, Trail
from agui_gate.stores.sql.variant import Variant

T = TypeVar("T")

_NOT_OVER = "until > :now ORDER BY until DESC LIMIT :most"
_FOUND = "SELECT body FROM deputies WHERE tenant = :tenant AND of_tenant = :of_tenant"
_READ: dict[Side, str] = {
    "id": "SELECT body FROM deputies WHERE tenant = :tenant AND id = :value AND until > :now",
    "absent": f"{_FOUND} AND absent = :value AND {_NOT_OVER}",
    "deputy": f"{_FOUND} AND deputy = :value AND {_NOT_OVER}",
    "tenant": f"{_FOUND} AND {_NOT_OVER}",
}
_ONE = "SELECT body FROM deputies WHERE tenant = :tenant AND id = :id"
_ADD = (
    "INSERT INTO deputies (tenant, id, of_tenant, absent, deputy, since, until, body) "
    "VALUES (:tenant, :id, :of_tenant, :absent, :deputy, :since, :until, :body)"
)
_REMOVE = "DELETE FROM deputies WHERE tenant = :tenant AND id = :id"
_FORGET = "DELETE FROM deputies WHERE tenant = :tenant AND until <= :now"

FORGET_ALL = "DELETE FROM deputies WHERE tenant = :tenant"
"""The SQL for a restored backup: nobody knows who was removed since it was made."""

_decode = msgspec.json.Decoder(Deputy).decode


class _Do(Protocol):
    """See `SQLStore._do`."""

    def __call__(self, kind: Kind, operation: Operation[T]) -> Awaitable[T]: ...


class Deputies:
    """The deputies of one store: see `DeputyStore`."""

    def __init__(self, do: _Do, variant: Variant, trail: Trail) -> None:
        self._do, self._variant, self._trail = do, variant, trail

    async def add(self, wanted: Deputy, way: str = "http") -> Deputy:
        """See `DeputyStore`."""
        return await self._do("durable", partial(self._add, wanted, way))

    async def remove(self, deputy_id: str, by: str, way: str = "http", *, why: str = "") -> bool:
        """See `DeputyStore`."""
        return await self._do("durable", partial(self._remove, deputy_id, by, way, why))

    async def find(self, side: Side, tenant: str, value: str = "") -> Sequence[Deputy]:
        """See `DeputyStore`."""
        return await self._do("read", partial(_find, side, tenant, value))

    async def given_by(self, tenant: str, name: str) -> tuple[Sequence[Grant], Sequence[Deputy]]:
        """See `DeputyStore`."""
        return await self._do("read", partial(_given_by, tenant, name))

    def _add(self, wanted: Deputy, way: str) -> Steps[Deputy]:
        yield [Statement(self._variant.alone, {"name": LOCK})]
        known = yield from _read("tenant", wanted.tenant, "")
        (clock,) = yield [Statement("SELECT :now")]
        now = clock.rows[0][0]
        check_named(wanted, known, now)
        named = msgspec.structs.replace(wanted, at=now, since=max(wanted.since, now))
        row = msgspec.structs.asdict(named) | {"of_tenant": named.tenant, "body": _text(named)}
        row = {name: row[name] for name in ("id", "of_tenant", "absent", "deputy", "since", "until", "body")}
        yield [Statement(_FORGET), Statement(_ADD, row), _notice("deputy_named", named, named.absent)]
        yield from add(self._variant, self._trail, _happened("deputy_named", named, named.absent, way))
        return named

    def _remove(self, deputy_id: str, by: str, way: str, why: str) -> Steps[bool]:
        _, found = yield [Statement(self._variant.alone, {"name": LOCK}), Statement(_ONE, {"id": deputy_id})]
        (gone,) = yield [Statement(_REMOVE, {"id": deputy_id})]
        if not gone.changed:
            return False
        removed = _decode(found.rows[0][0])
        yield [_notice("deputy_removed", removed, by)]
        yield from add(self._variant, self._trail, _happened("deputy_removed", removed, by, way, why))
        return True


def check_standing(variant: Variant, terms: Terms, at: int) -> Steps[None]:
    """Raises `MayNotDecide` unless all deputies of the ``terms`` stand at that time, and the logins count by which they
    were named. Their rows stay locked to the end of the transaction.
    """
    for deputy_id in sorted(set(terms.deputies)):
        (found,) = yield [Statement(f"{_ONE}{variant.lock}", {"id": deputy_id})]
        named = [_decode(body) for (body,) in found.rows]
        if not any(one.stands_at(at) and terms.counts(*one.given_with) for one in named):
            raise MayNotDecide("A deputy agreed whose time is over. Reject it and ask again.")


def _given_by(tenant: str, name: str) -> Steps[tuple[list[Grant], list[Deputy]]]:
    wanted = [grants.reading("giver", owner_key(tenant, name)), _reading("absent", tenant, name)]
    given, named = yield Last(wanted)
    return grants.decoded(given), _decoded(named, tenant)


def _find(side: Side, tenant: str, value: str) -> Steps[list[Deputy]]:
    return (yield from _read(side, tenant, value))


def _read(side: Side, tenant: str, value: str) -> Steps[list[Deputy]]:
    (found,) = yield [_reading(side, tenant, value)]
    return _decoded(found, tenant)


def _reading(side: Side, tenant: str, value: str) -> Statement:
    return Statement(_READ[side], {"of_tenant": tenant, "value": value, "most": MAX_OF_TENANT})


def _decoded(found: Result, tenant: str) -> list[Deputy]:
    deputies = [one for (body,) in found.rows if (one := _decode(body)).tenant == tenant]
    return sorted(deputies, key=lambda one: (one.since, one.absent, one.id))


def _happened(kind: audit.Kind, deputy: Deputy, by: str, way: str, why: str = "") -> audit.Happened:
    body: dict[str, str | int | list[str]] = {"deputy": deputy.id, "to": deputy.deputy, "absent": deputy.absent}
    body["since"], body["until"] = deputy.since, deputy.until
    if kind == "deputy_named":  # who gave what
        body["person"], body["roles"] = deputy.person, list(deputy.roles)
    if why:
        body["why"] = why
    return audit.Happened(
        kind=kind,
        principal=owner_key(deputy.tenant, deputy.absent),
        thread_id="",
        approval_id="",
        by=by,
        way=way,
        body=canonical(body),
    )


def _notice(kind: str, deputy: Deputy, by: str) -> Statement:
    body = {"state": kind, "to": [deputy.deputy], "by": by, "since": deputy.since, "until": deputy.until}
    telling = Telling("approval_notice", owner_key(deputy.tenant, deputy.absent), "", deputy.id, canonical(body))
    return Statement(TELL, msgspec.structs.asdict(telling))


def _text(deputy: Deputy) -> str:
    return msgspec.json.encode(deputy).decode()


__all__ = ["Deputies"]
