"""Standing grants: a person's yes to a call, and to those of its kind that come after it.

A gate offers scopes (`extras/people/grants.py`), and a person answers with one. The grant is saved in the transaction
of the claim that its yes makes. Later calls that fit are claimed by it, as its giver could have decided them. Each use
is counted in the transaction of its claim, with the row of the grant locked: two at once never take the same last use.
That transaction reads the grant anew, so one that is revoked lets nothing go from then on, in whichever process.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

import msgspec

from agui_gate.core.approvals import Approval, Login
from agui_gate.core.json_text import canonical, parse_object
from agui_gate.core.terms import Numbers, decode_numbers, numbers
from agui_gate.errors import ApprovalRefused

MAX_STANDING = 1_000
"""Grants of one owner that stand at a time, and that one list has."""

Whose = Literal["id", "owner", "giver", "tenant"]
"""By what grants are read: that one, those for the calls of an owner, those that somebody gave, those of a tenant."""


class GrantLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a grant reaches. ``duration``: ms from its giving. ``up_to`` and ``total`` are amounts, as decimal texts,
    of the ``field``: of one call, and of all together. None: no such limit.
    """

    duration: int
    times: int | None = None
    field: str = ""
    up_to: str | None = None
    total: str | None = None

    def within(self, other: "GrantLimits") -> bool:
        """Returns whether it reaches no further than another."""
        pairs = ((self.up_to, other.up_to), (self.total, other.total), (self.times, other.times))
        narrower = all(most is None or (mine is not None and Decimal(mine) <= Decimal(most)) for mine, most in pairs)
        return narrower and self.duration <= other.duration and self.field == other.field


class Grant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A grant that somebody gave. Times are ms since the epoch, by the store's clock.

    ``owner`` is the key of whose calls they are; ``agent``, ``tool``, ``source`` and ``schema_digest`` say of which
    tool. ``scope`` is the name by which the gate offers it. ``thread_begun``: when the thread of ``thread_id`` began,
    if it is for calls of this thread alone; else None. ``same``: the arguments that have to be equal, as a JSON object.

    ``giver``: the id of who gave it, with the person, the roles and the login that they had, and whether it is one of
    the owner's own principals. ``by_roles``: the roles by which they could give it; None for one of before these were
    kept: all of ``roles``. ``approval_id`` is the call to which they said yes. ``used`` and ``spent``: how many
    calls it has let go, and the sum of their amounts.
    """

    id: str
    owner: str
    agent: str
    tool: str
    scope: str
    limits: GrantLimits
    approval_id: str
    thread_id: str
    giver: str
    source: str = ""
    schema_digest: str | None = None
    thread_begun: int | None = None
    same: str = "{}"
    person: str = ""
    roles: tuple[str, ...] = ()
    by_roles: tuple[str, ...] | None = None
    login: Login | None = None
    is_owners: bool = False
    at: int = 0
    used: int = 0
    spent: str = "0"

    @property
    def until(self) -> int:
        """When it ends."""
        return self.at + self.limits.duration

    @property
    def given_with(self) -> tuple[str, str]:
        """Who gave it, and by which token: see `core.terms.Counts`."""
        return self.giver, self.login.jti if self.login else ""


class Use(msgspec.Struct, frozen=True):
    """The use of a grant by a claim, within the limits that the gate has now."""

    grant_id: str
    limits: GrantLimits


def fits(grant: Grant, approval: Approval, thread_begun: int) -> bool:
    """Returns whether a call is of the kind that a grant is about. Whether there is a use left is another question."""
    names = ("agent", "tool", "source", "schema_digest")
    is_ours = grant.owner == approval.principal and all(getattr(grant, n) == getattr(approval, n) for n in names)
    if not is_ours or approval.is_held or approval.opens_task or grant.schema_digest is None:
        return False
    if grant.thread_begun is not None and (grant.thread_id, grant.thread_begun) != (approval.thread_id, thread_begun):
        return False
    return has_same(parse_object(grant.same), approval.effective_arguments)


def has_same(same: Mapping[str, Any] | None, arguments: str) -> bool:
    """Returns whether the arguments have these values. 1, 1.0 and true are different ones."""
    given = parse_object(arguments)
    if same is None or given is None or not same.keys() <= given.keys():
        return False
    return canonical({name: given[name] for name in same}) == canonical(same)


def used(grant: Grant, limits: GrantLimits, arguments: str, now: int) -> Grant:
    """Returns the grant after it has let go one more call. ``limits``: those of the gate as it is, which count as well.

    Raises `ApprovalRefused` if it doesn't reach as far. An amount below 0 fits no grant.
    """
    amounts = decode_numbers(numbers(arguments))
    spent = Decimal(grant.spent)
    for each in (grant.limits, limits):
        if now >= grant.at + each.duration or (each.times is not None and grant.used >= each.times):
            raise ApprovalRefused("This grant has ended, or is used up.")
        if each.up_to is not None or each.total is not None:
            amount = _amount(amounts, each.field)
            if each.up_to is not None and amount > Decimal(each.up_to):
                raise ApprovalRefused("The amount is above that of the grant.")
            if each.total is not None and spent + amount > Decimal(each.total):
                raise ApprovalRefused("The amount is above what is left of the grant.")
    spent += _amount(amounts, grant.limits.field) if grant.limits.field else 0
    return msgspec.structs.replace(grant, used=grant.used + 1, spent=str(spent))


def _amount(amounts: Numbers, field: str) -> Decimal:
    amount = Decimal(amounts.get(field, "-1"))
    if amount < 0:
        raise ApprovalRefused("The call has no amount that a grant could be about.")
    return amount
