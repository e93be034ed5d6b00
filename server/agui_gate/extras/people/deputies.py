"""Deputies in decisions: in whose place somebody may decide, and with which right. See `core/deputies.py`.

Somebody's own right comes first. Only where that isn't enough the store is asked whose deputy they are.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from agui_gate.core import agreement
from agui_gate.core.approvals import Decision, People
from agui_gate.core.deputies import Deputy
from agui_gate.core.principals import By, Caller, Principal
from agui_gate.errors import MayNotDecide
from agui_gate.extras.people.givers import is_current
from agui_gate.stores.lookup import takes

Judge = Callable[[By, Decision], Awaitable[None]]
"""Raises `MayNotDecide` unless a decision may be made, by the right of that principal."""


async def deputies_of(store: Any, by: By) -> Sequence[Deputy]:
    """Returns in whose place somebody may decide now: the deputies that they are. Never for another account of their
    own.
    """
    if by is None or not hasattr(store, "deputies") or not takes(store.move, "terms"):
        return ()
    who, now = by.principal, store.now()
    found: Sequence[Deputy] = await store.deputies().find("deputy", who.tenant, who.id)
    ours = [one for one in found if one.stands_at(now) and who.person not in (one.person, one.absent)]
    return [one for one in ours if is_current(store, one)]


def absent_of(deputy: Deputy) -> Caller:
    """Returns who is away, with the right that their deputy has from them: with no claim but the person."""
    claims = {"person": deputy.person} if deputy.person else {}
    return Caller(Principal(deputy.absent, deputy.tenant, deputy.roles, deputy.acts_for, claims))


def made_by(decision: Decision, deputy: Deputy) -> Decision:
    """Returns a decision as one that is made in the place of who is away."""
    asker = absent_of(deputy).asker
    return msgspec.structs.replace(decision, roles=deputy.roles, absent=asker, deputy=deputy.id)


async def as_deputy(people: People, decision: Decision, judge: Judge, deputies: Sequence[Deputy]) -> Decision | None:
    """Returns the decision as it may be made in somebody's place; None if it may not. Who hasn't agreed yet, neither
    themselves nor by somebody else, comes first.
    """
    agreed = {name for yes in people.said for name in agreement.persons_of(yes.decision)}
    for deputy in sorted(deputies, key=lambda one: (one.person or one.absent) in agreed):
        try:
            made = made_by(decision, deputy)
            await judge(absent_of(deputy), made)
        except MayNotDecide:
            continue
        return made
    return None


async def stands(store: Any, tenant: str, deputy_id: str) -> bool:
    """Returns whether a deputy may decide still; "" for who isn't one."""
    if not deputy_id:
        return True
    found = await store.deputies().find("id", tenant, deputy_id) if hasattr(store, "deputies") else ()
    return any(one.stands_at(store.now()) and is_current(store, one) for one in found)
