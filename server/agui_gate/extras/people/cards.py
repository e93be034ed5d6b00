"""What a card says of people besides the record: whose edit it shows, and what its reader may do.

Only the terms of the gate are asked, of when it asked and of now. A function that says who may approve is not: it may
take seconds, and is asked when somebody decides. So a card may offer what is refused then, with the same sentence.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agui_gate.agents.agent import Agent
from agui_gate.approvals.answer_validation import tool_of
from agui_gate.core import agreement
from agui_gate.core.approvals import Approval, Decision, People
from agui_gate.core.deputies import Deputy
from agui_gate.core.principals import By
from agui_gate.errors import MayNotDecide
from agui_gate.extras.people.approvers import current_terms, is_asked, is_owners, may_break_glass
from agui_gate.extras.people.deputies import absent_of, deputies_of, made_by
from agui_gate.protocol.cards import iso
from agui_gate.stores.base import Store

Json = dict[str, Any]


async def with_people(
    views: Sequence[Json], approvals: Sequence[Approval], store: Store, agents: Mapping[str, Agent], by: By
) -> list[Json]:
    """Returns the views of ``approvals`` as ``by`` reads them: see `add_people`."""
    return add_people(views, approvals, agents, by, await deputies_of(store, by), store.now())


def add_people(
    views: Sequence[Json],
    approvals: Sequence[Approval],
    agents: Mapping[str, Agent],
    by: By,
    deputies: Sequence[Deputy],
    now: int,
) -> list[Json]:
    """Returns the cards of ``approvals``, with ``edited_by`` and ``you`` in those that wait for people. ``deputies``:
    in whose place they may decide.
    """
    return [
        view | _people_view(approval, approval.people, agents, by, deputies, now)
        if approval.people is not None and approval.is_pending
        else view
        for view, approval in zip(views, approvals, strict=True)
    ]


def _people_view(
    approval: Approval, people: People, agents: Mapping[str, Agent], by: By, deputies: Sequence[Deputy], now: int
) -> Json:
    tool = tool_of(agents.get(approval.agent), approval)
    current = current_terms(tool, people)
    terms = [people, *([current] if current else [])]
    roles = () if by is None else by.principal.roles
    decision = Decision(True, approval.principal, edited_arguments=people.edited, roles=roles)
    if by is not None:
        decision = by.sign(decision)
    why, deputy = _why_not(approval, people, terms, decision, now), None
    is_named = is_asked(approval, people, by) and all(agreement.is_approver(one, decision.by, roles) for one in terms)
    if why is None and not is_named:  # somebody else's call, that names nobody
        why = f"You can't approve this: it waits for {agreement.waited_for(people)}."
    for each in deputies if why else ():
        made = made_by(decision, each)
        if not is_asked(approval, people, absent_of(each), is_deputy=True):
            continue
        if _why_not(approval, people, terms, made, now) is None:
            why, deputy, is_named = None, each, True
            break
    may = [] if why else ["approve"]
    if not why and approval.editable and all("edit" in one.decisions for one in terms):
        may.append("edit")
    if is_owners(approval, by) or (is_named and "reject" in people.decisions):
        may.append("reject")
    alarm = msgspec.structs.replace(decision, break_glass=True, reason="any")
    if may_break_glass(by) and why and _why_not(approval, people, terms, alarm, now) is None:
        may.append("break_glass")
    said = {agreement.person_of(yes.decision) for yes in people.said if yes.of == approval.id}
    you = {"may": may, "agreed": agreement.person_of(decision) in said, "why": why}
    if deputy is not None:
        you["deputy_of"] = {"id": deputy.absent, "until": iso(deputy.until)}
    return {"edited_by": people.editor or None, "you": you}


def _why_not(approval: Approval, people: People, terms: Sequence[People], decision: Decision, now: int) -> str | None:
    """Returns why somebody can't approve a call, by the terms alone; None if they can."""
    if terms[-1].needs > people.needs:
        return "More persons have to agree by now than when this was asked. Reject it and ask again."
    try:
        for one in terms:
            agreement.check(approval, msgspec.structs.replace(one, edited=people.edited), decision, now)
    except MayNotDecide as error:
        return error.message
    return None
