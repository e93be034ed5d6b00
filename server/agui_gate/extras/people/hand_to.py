"""Hands a call that waits to a colleague: they are told, and shown as waited for.

It gives nobody a right. Where the gate names ids alone, a colleague who is none of them is refused at once. What roles
they have is not known before they answer, so that is judged then, as ever.
"""

from typing import Any

from agui_gate.approvals.answer_validation import tool_of
from agui_gate.core import agreement
from agui_gate.core.approvals import Approval, Decision, People
from agui_gate.core.principals import Caller, tenant_of
from agui_gate.errors import ApprovalRefused, InvalidRequest, MayNotDecide, NotFound
from agui_gate.extras.people.approvers import current_terms, find, is_owners, may_see
from agui_gate.extras.people.deputies import deputies_of
from agui_gate.runs.engine import Engine


async def hand_to(engine: Engine, owner: str, approval_id: str, by: Caller, to: str, way: str = "http") -> Approval:
    """Hands a call to ``to``, a principal's id in the same tenant; returns its record as it is then.

    Raises `NotFound`, `MayNotDecide` if this isn't theirs to hand on, or can't be the colleague's to decide, and
    `ApprovalRefused` if it waits no more.
    """
    store: Any = engine.store
    approval = await store.approval(owner, approval_id) or await find(store, engine.members, by, approval_id)
    if approval is None:
        raise NotFound("There is no such approval.")
    if to == by.principal.id:
        raise InvalidRequest("Nobody hands a call to themselves. Name a colleague.", well_formed=True)
    if not hasattr(store, "deliveries"):
        raise InvalidRequest("This store can't hand calls to anybody.", well_formed=True)
    if approval.people is not None:
        await _check(engine, approval, approval.people, by, to)
    if await store.deliveries().hand_to(approval_id, to, by.principal.id, way) is None:
        raise ApprovalRefused("This call is no longer pending.")
    engine.written(approval.principal, approval.thread_id, "approvals")
    return approval


async def _check(engine: Engine, approval: Approval, people: People, by: Caller, to: str) -> None:
    """Raises `MayNotDecide`."""
    store: Any = engine.store
    tool = tool_of(engine.members.get(approval.agent), approval)
    if not is_owners(approval, by) and not await may_see(approval, engine.members, by, await deputies_of(store, by)):
        raise MayNotDecide("You can't hand this on: it isn't yours to decide.")
    if not people.self_approval and agreement.is_asker(approval, Decision(True, to)):
        raise MayNotDecide("Who asked for this can't approve it. Hand it to somebody else.")
    names = {to, *(one.absent for one in await store.deputies().find("deputy", tenant_of(approval.principal), to))}
    for terms in (people, current_terms(tool, people)):
        if terms is not None and _is_outside(terms, names):
            raise MayNotDecide(f"{to} can't decide this: it waits for {agreement.waited_for(people)}.")


def _is_outside(people: People, names: set[str]) -> bool:
    """Returns whether none of these ids can be among those who decide, whatever their roles are."""
    groups = (people.approvers, *people.added)
    if people.approvers is None or any(isinstance(group, str) for group in groups):
        return False
    return not any(names.intersection(group or ()) for group in groups)
