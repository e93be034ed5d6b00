"""Standing grants in SQL: see `core/grants.py` and `GrantingStore`.

Who changes a grant has locked the row of a thread before, and then the grant's own: always in that order.
"""

from collections.abc import Sequence

import msgspec

from agui_gate.core import audit
from agui_gate.core.approvals import Approval
from agui_gate.core.grants import MAX_STANDING, Grant, Use, Whose, used
from agui_gate.core.principals import owner_key, tenant_of
from agui_gate.core.terms import Counts
from agui_gate.errors import ApprovalRefused
from agui_gate.stores.sql.operations import Last, Result, Statement, Steps
from agui_gate.stores.sql.store_chain import add
from agui_gate.stores.sql.trail import Trail, head_of
from agui_gate.stores.sql.variant import Variant

_STANDS = "ORDER BY until DESC LIMIT :most"
_READ: dict[Whose, str] = {
    "id": "SELECT body FROM grants WHERE tenant = :tenant AND id = :value AND until > :now",
    "owner": f"SELECT body FROM grants WHERE tenant = :tenant AND owner = :value AND until > :now {_STANDS}",  # noqa: S608 ours
    "giver": f"SELECT body FROM grants WHERE tenant = :tenant AND giver = :value AND until > :now {_STANDS}",  # noqa: S608 ours
    "tenant": f"SELECT body FROM grants WHERE tenant = :tenant AND of_tenant = :value AND until > :now {_STANDS}",  # noqa: S608 ours
}
_LOOK = "SELECT body FROM grants WHERE tenant = :tenant AND id = :id"
_USE = "UPDATE grants SET body = :body WHERE tenant = :tenant AND id = :id"
_GIVE = (
    "INSERT INTO grants (tenant, id, of_tenant, owner, giver, until, body) "
    "VALUES (:tenant, :id, :of_tenant, :owner, :giver, :until, :body)"
)
_FORGET = "DELETE FROM grants WHERE tenant = :tenant AND until < :before"
_REVOKE = "DELETE FROM grants WHERE tenant = :tenant AND id = :id"
_ITS_THREAD = "(SELECT thread FROM approvals WHERE tenant = :tenant AND id = :approval_id)"

FORGET_ALL = "DELETE FROM grants WHERE tenant = :tenant"
"""The SQL for a restored backup: nobody knows what was used or revoked since it was made."""

_decode = msgspec.json.Decoder(Grant).decode


def standing(whose: Whose, value: str) -> Steps[Sequence[Grant]]:
    """Returns grants that have not ended, those that end last first."""
    (found,) = yield Last([reading(whose, value)])
    return decoded(found)


def reading(whose: Whose, value: str) -> Statement:
    """Returns the statement that reads those grants."""
    return Statement(_READ[whose], {"value": value, "most": MAX_STANDING})


def decoded(found: Result) -> list[Grant]:
    """Returns the grants that were read."""
    return [_decode(body) for (body,) in found.rows]


def use(variant: Variant, wanted: Use, counts: Counts, claimed: Approval, at: int) -> Steps[list[Statement]]:
    """Returns the statement that counts the use of a grant by a call which is claimed at that time. ``counts``: which
    logins do. Raises `ApprovalRefused`.
    """
    (found,) = yield [Statement(f"{_LOOK}{variant.lock}", {"id": wanted.grant_id})]
    grants = [_decode(body) for (body,) in found.rows]
    if not grants or (grants[0].owner, grants[0].tool) != (claimed.principal, claimed.tool):
        raise ApprovalRefused("This grant was revoked.")
    if not counts(*grants[0].given_with):
        raise ApprovalRefused("The token by which this grant was given is no longer valid.")
    after = used(grants[0], wanted.limits, claimed.effective_arguments, at)
    return [Statement(_USE, {"id": after.id, "body": _text(after)})]


def give(given: Grant, at: int) -> list[Statement]:
    """Returns the statements that save a grant which is given at that time."""
    grant = msgspec.structs.replace(given, at=at)
    tenant = tenant_of(grant.owner)
    values = {"id": grant.id, "owner": grant.owner, "of_tenant": tenant, "giver": owner_key(tenant, grant.giver)}
    values |= {"body": _text(grant)}
    return [
        Statement(_GIVE, {**values, "until": grant.until}),
        Statement(_FORGET, {"before": at}),
    ]


def revoke(variant: Variant, trail: Trail, grant_id: str, by: str, why: str = "") -> Steps[bool]:
    """Removes a grant, and says so in the trail. Returns whether there was one."""
    (found,) = yield [Statement(_LOOK, {"id": grant_id})]
    if not found.rows:
        return False
    grant = _decode(found.rows[0][0])
    lock = f"SELECT key, tenant, :now FROM threads WHERE tenant = :tenant AND key = {_ITS_THREAD}{variant.lock}"  # noqa: S608 ours
    values = {"approval_id": grant.approval_id}
    locked, end = yield [Statement(lock, values), Statement(head_of(_ITS_THREAD), values)]
    (gone,) = yield [Statement(_REVOKE, {"id": grant_id})]
    if gone.changed and not locked.rows:
        yield from add(variant, trail, _revoked(grant, by, why))
    for key, tenant, now in locked.rows if gone.changed else ():
        yield Last(trail.added(key, tenant, end.rows, now, [_revoked(grant, by, why)]))
    return gone.changed > 0


def _revoked(grant: Grant, by: str, why: str) -> audit.Happened:
    return audit.Happened(
        kind="revoked",
        principal=grant.owner,
        thread_id=grant.thread_id,
        approval_id=grant.approval_id,
        by=by,
        way="" if why else "http",
        body=msgspec.json.encode({"grant": grant.id, **({"why": why} if why else {})}).decode(),
    )


def _text(grant: Grant) -> str:
    return msgspec.json.encode(grant).decode()
