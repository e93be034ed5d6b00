"""Approvers: who may see a call, and who may decide it, where its gate asks for somebody in particular.

The store counts (`core/agreement.py`), by what a decision says of who makes it. Here is what a store can't know: the
gate as it is now, which counts as well as the one that asked, functions that say who may decide, and deputies of who is
away. All of it is asked before the claim, under the thread's lease. What is not clear means no.
"""

import asyncio
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import structlog

from agui_gate.agents.agent import Agent
from agui_gate.agents.tool import Gate, Tool
from agui_gate.approvals.answer_validation import Refused, Verdict, tool_of
from agui_gate.config.limits import DEFAULTS
from agui_gate.core import agreement
from agui_gate.core.approvals import Approval, Decision, People, State
from agui_gate.core.deputies import Deputy
from agui_gate.core.json_text import parse_object
from agui_gate.core.principals import By, Caller, Principal, on_behalf, tenant_of
from agui_gate.core.terms import Terms
from agui_gate.errors import AguiGateError, ApprovalRefused, ConfigurationError, MayNotDecide
from agui_gate.extras.people.deputies import absent_of, as_deputy, deputies_of, stands
from agui_gate.extras.people.givers import check_caller, counts_of
from agui_gate.extras.people.rights import BREAK_GLASS
from agui_gate.stores.base import Store
from agui_gate.stores.lookup import takes
from agui_gate.turns.tool_execution import call_function, is_cancelled

DECISIONS = ("approve", "edit", "reject")
MAX_NEEDS = 20
"""Different persons that a gate may ask for."""
APPROVER_SECONDS = 10.0
"""Seconds that a function may take that says who may decide."""

if TYPE_CHECKING:
    from agui_gate.threads.leased_thread import LeasedThread

ToolOf = Callable[[Approval], Tool | None]

log = structlog.get_logger("agui_gate.gates")


class CallContext(msgspec.Struct, frozen=True):
    """The call about which a function of `Gate(approvers=…)` is asked. ``owner`` is the id of whose thread it is."""

    thread_id: str
    call_id: str
    agent: str
    tool: str
    owner: str
    tenant: str


# --- what a gate says -----------------------------------------------------------------------------------------------


def people_of(gate: Gate) -> People:
    """Returns the terms of a gate, as records have them. Raises `ConfigurationError`."""
    if isinstance(gate.decisions, str) or not set(gate.decisions) <= set(DECISIONS) or "approve" not in gate.decisions:
        raise ConfigurationError(
            "Gate(decisions=…) takes a list with approve, and of edit and reject those that may be"
        )
    if type(gate.needs) is not int or not 1 <= gate.needs <= MAX_NEEDS:
        raise ConfigurationError(f"Gate(needs=…) is a number of persons from 1 to {MAX_NEEDS}")
    if gate.max_auth_age is not None and not 0 < gate.max_auth_age <= 10_000_000:
        raise ConfigurationError("Gate(max_auth_age=…) is a number of seconds above 0")
    acr: tuple[Any, ...] = (gate.acr,) if isinstance(gate.acr, str) else tuple(gate.acr or ())
    if not all(isinstance(one, str) and one for one in acr):
        raise ConfigurationError("Gate(acr=…) is a text, or a list of texts that are not empty")
    approvers = _named(gate.approvers)
    if isinstance(approvers, tuple) and len(approvers) < gate.needs:
        raise ConfigurationError(f"Gate(needs={gate.needs}) asks for more persons than approvers names")
    return People(
        needs=gate.needs,
        approvers=approvers,
        by_function=callable(gate.approvers),
        # Reminders and escalations alone don't say who may approve: whoever finds the call still may.
        self_approval=gate.self_approval is True or _names_nobody(gate),
        break_glass=gate.break_glass is True,
        decisions=tuple(gate.decisions),
        max_auth_age=None if gate.max_auth_age is None else max(1, int(gate.max_auth_age)),
        acr=acr,
    )


def _names_nobody(gate: Gate) -> bool:
    given = (gate.approvers, gate.needs, set(gate.decisions), gate.max_auth_age, gate.acr or ())
    return given == (None, 1, set(DECISIONS), None, ())


def _named(approvers: Any) -> str | tuple[str, ...] | None:
    if approvers is None or callable(approvers):
        return None
    if isinstance(approvers, str):
        if not approvers:
            raise ConfigurationError("Gate(approvers=…) is a role, a list of ids, or a function")
        return str.__str__(approvers)
    if not isinstance(approvers, Collection) or not all(isinstance(one, str) and one for one in approvers):
        raise ConfigurationError("Gate(approvers=…) is a role, a list of ids, or a function")
    if not approvers:
        raise ConfigurationError("Gate(approvers=…) names nobody, so nobody could approve")
    return tuple(dict.fromkeys(str.__str__(one) for one in approvers))


# --- who decides ----------------------------------------------------------------------------------------------------


async def check_verdicts(
    verdicts: Sequence[Verdict], tool_of: ToolOf, thread: "LeasedThread", now: int
) -> tuple[Sequence[Verdict], Sequence[Refused]]:
    """Returns the verdicts that may be carried out, and those that may not, with the reason.

    Those on calls of other gates are returned as they are.
    """
    kept, refused = [], []
    for verdict in verdicts:
        try:
            if verdict.approval.people is None and verdict.decision.break_glass:
                raise MayNotDecide("The gate of this call asks for nobody in particular: there is no glass to break.")
            said = verdict
            if verdict.approval.people is not None:
                said = await check_verdict(verdict, tool_of, thread.by, now, thread.lease.store)
            held = await _held_to_rule(said, tool_of, thread)
            await check_caller(thread.by)
            kept.append(held)
        except AguiGateError as error:
            refused.append(Refused(verdict.approval, error, verdict.decision.way or "http"))
    return kept, refused


async def _held_to_rule(verdict: Verdict, tool_of: ToolOf, thread: "LeasedThread") -> Verdict:
    """Returns the verdict as its gate's rule lets it be carried out. Raises `ApprovalRefused`."""
    tool = tool_of(verdict.approval) if verdict.to is State.CLAIMED else None  # a no needs no agent
    deputies = _deputies_in(verdict)
    if verdict.grant is not None:
        from agui_gate.extras.people.grants import give

        if verdict.decision.absent is not None or verdict.decision.break_glass:
            raise ApprovalRefused("Only who may approve by a right of their own can give a grant.")
        return await give(verdict, tool, thread)
    if tool is None or tool.gate is None or not tool.gate.has_rule:
        if verdict.approval.people is None or not takes(thread.lease.store.move, "terms"):
            return verdict
        terms = Terms(deputies=deputies, is_counted=False, counts=counts_of(thread.lease.store))
        return msgspec.structs.replace(verdict, terms={"terms": terms})
    from agui_gate.extras.people.rules import hold

    meant = agreement.meant_by(verdict.approval, verdict.decision)
    return await hold(verdict, tool, meant, thread, thread.by, deputies=deputies)


def _deputies_in(verdict: Verdict) -> tuple[str, ...]:
    """Returns the deputies by whom a call would be decided: they have to stand in the transaction that does so."""
    approval, decision = verdict.approval, verdict.decision
    said = () if approval.people is None else approval.people.said
    if (
        verdict.to is not State.CLAIMED
        or decision.break_glass
        or agreement.meant_by(approval, decision) != approval.effective_arguments
    ):
        said = ()  # what was said before doesn't count
    found = (decision.deputy, *(yes.decision.deputy for yes in said if yes.of == approval.id))
    return tuple(dict.fromkeys(one for one in found if one))


async def check_verdict(verdict: Verdict, tool_of: ToolOf, by: By, now: int, store: Store | None = None) -> Verdict:
    """Returns the verdict as it is carried out: it says with which roles it was made, in whose place, and on which
    arguments. ``store``: where deputies are looked up; None: nobody is taken for one. Raises `MayNotDecide`.
    """
    approval, decision, people = verdict.approval, verdict.decision, verdict.approval.people
    assert people is not None  # it is asked about no other
    tool, is_yes = tool_of(approval), verdict.to is State.CLAIMED
    decision = msgspec.structs.replace(decision, roles=() if by is None else by.principal.roles)
    if is_yes and decision.edited_arguments is None and people.edited is not None:  # a yes is to what is shown
        decision = msgspec.structs.replace(decision, edited_arguments=people.edited)
    if decision.break_glass:
        _check_break_glass(approval, people, tool, by, decision, now)
        return msgspec.structs.replace(verdict, decision=decision)
    judge = partial(_check_yes if is_yes else _check_no, approval, people, tool, now=now)
    try:
        await judge(by, decision)
    except MayNotDecide:
        found = await as_deputy(people, decision, judge, await deputies_of(store, by))
        if found is None:
            raise
        decision = found
    if is_yes and agreement.meant_by(approval, decision) == approval.effective_arguments:
        await _check_said(approval, people, tool, store)  # an edit takes back what was said before
    return msgspec.structs.replace(verdict, decision=decision)


async def _check_no(
    approval: Approval, people: People, tool: Tool | None, by: By, decision: Decision, now: int
) -> None:
    """Raises `MayNotDecide` unless somebody may reject a call."""
    if decision.absent is None and is_owners(approval, by):
        return
    if not (
        "reject" in people.decisions
        and is_asked(approval, people, by, decision.absent is not None)
        and await is_approver(approval, tool, by)
    ):
        raise MayNotDecide("You can't reject this.")


async def _check_yes(
    approval: Approval, people: People, tool: Tool | None, by: By, decision: Decision, now: int
) -> None:
    """Raises `MayNotDecide` unless somebody may say yes to a call. ``by``: whose right it is."""
    agreement.check(approval, people, decision, now)
    current = current_terms(tool, people)
    if current is not None:
        if current.needs > people.needs:
            raise MayNotDecide("More persons have to agree by now than when this was asked. Reject it and ask again.")
        agreement.check(approval, msgspec.structs.replace(current, edited=people.edited), decision, now)
    if not (
        is_asked(approval, people, by, decision.absent is not None)
        and await is_approver(approval, tool, by, agreement.meant_by(approval, decision))
    ):
        raise MayNotDecide(f"You can't approve this: it waits for {agreement.waited_for(people)}.")


def _check_break_glass(
    approval: Approval, people: People, tool: Tool | None, by: By, decision: Decision, now: int
) -> None:
    """Raises `MayNotDecide` unless somebody may decide a call in an emergency: by their role, and by both gates."""
    if not may_break_glass(by):
        raise MayNotDecide(f"Breaking the glass needs the role {BREAK_GLASS}.")
    for terms in (people, current_terms(tool, people)):
        if terms is not None and decision.approved:
            agreement.check(approval, msgspec.structs.replace(terms, edited=people.edited), decision, now)
        elif terms is not None:
            agreement.check_break_glass(approval, msgspec.structs.replace(terms, edited=None), decision)


async def _check_said(approval: Approval, people: People, tool: Tool | None, store: Store | None) -> None:
    """Raises `MayNotDecide` if the gate that is there now wouldn't take a yes that was said before, or it was that of a
    deputy whose time is over.
    """
    current, tenant = current_terms(tool, people), tenant_of(approval.principal)
    for yes in people.said:
        if yes.of != approval.id:  # of before a restored backup: it counts no more
            continue
        said = yes.decision
        try:
            if current is not None:
                # an edit was held against `decisions` when it was made; from then on it is what is shown
                terms = msgspec.structs.replace(current, edited=people.edited, decisions=DECISIONS)
                agreement.check(approval, terms, said, yes.at)
            person = said.person if said.absent is None else said.absent.person
            who = Principal(agreement.right_of(said), tenant, said.roles, claims={"person": person} if person else {})
            may = await is_approver(approval, tool, Caller(who)) and await stands(store, tenant, said.deputy)
        except (MayNotDecide, ValueError):
            may = False
        if not may:
            raise MayNotDecide(f"Somebody agreed who may no longer do so: {said.by}. Reject it and ask again.")


def is_owners(approval: Approval, by: By) -> bool:
    """Returns whether somebody works on the thread of a call as on their own."""
    return by is None or by.principal.owner == approval.principal


def is_asked(approval: Approval, people: People, by: By, is_deputy: bool = False) -> bool:
    """Returns whether a gate asks somebody at all: where it names nobody, those who share the thread, and whom an
    escalation has added. Who has the role for emergencies finds more calls than that. ``is_deputy``: ``by`` is who is
    away, whose threads their deputy doesn't share.
    """
    if people.approvers is not None or people.by_function or (is_owners(approval, by) and not is_deputy):
        return True
    return by is not None and agreement.is_among(people.added, by.principal.id, by.principal.roles)


def may_break_glass(by: By) -> bool:
    """Returns whether somebody has the role for emergencies."""
    return by is not None and BREAK_GLASS in by.principal.roles


def current_terms(tool: Tool | None, people: People) -> People | None:
    """Returns the terms of the gate that is there now; of those whom an escalation has added, with whom it names."""
    if tool is None or tool.gate is None or tool.gate.people is None:
        return None
    named = [tuple(who) if not isinstance(who, str) else who for _, who in tool.gate.escalate]
    return msgspec.structs.replace(tool.gate.people, added=tuple(one for one in people.added if one in named))


async def is_approver(approval: Approval, tool: Tool | None, by: By, arguments: str | None = None) -> bool:
    """Returns whether somebody is among those who may approve, by the gate that asked and the one that is there now.

    ``arguments``: those that they would approve, as JSON; the ones that are shown, if None. Whether their login is good
    enough, and whether they asked themselves, is another question.
    """
    people = approval.people
    if people is None:
        return False
    name = approval.principal if by is None else by.principal.id
    roles = () if by is None else by.principal.roles
    if not agreement.is_approver(people, name, roles):
        return False
    current = current_terms(tool, people)
    if current is not None and not agreement.is_approver(current, name, roles):
        return False
    if agreement.is_among((people if current is None else current).added, name, roles):
        return True
    function = tool.gate.approvers if tool is not None and tool.gate is not None else None
    if callable(function):
        return await _says_yes(function, approval, by, approval.effective_arguments if arguments is None else arguments)
    return not people.by_function  # the function that knew is gone


async def _says_yes(function: Callable[..., Any], approval: Approval, by: By, arguments: str) -> bool:
    """Asks a function. One that fails, or takes too long, says no."""
    owner, tenant = approval.principal.rpartition("\x1f")[2], tenant_of(approval.principal)
    about = CallContext(approval.thread_id, approval.call_id, approval.agent, approval.tool, owner, tenant)
    try:
        asker = Principal(owner, tenant)
        if approval.asker is not None:
            asker = on_behalf(approval.asker, approval.principal).principal
        who = Principal(owner, tenant) if by is None else by.principal
        given = (who, asker, parse_object(arguments) or {}, about)[: _parameters(function)]
        async with asyncio.timeout(APPROVER_SECONDS):
            if inspect.iscoroutinefunction(function):
                return await function(*given) is True
            said = await call_function(lambda _: function(*given), None, "approvers", "", DEFAULTS, APPROVER_SECONDS)
            return said is True
    except asyncio.CancelledError:
        if is_cancelled():
            raise
        log.exception("approvers_failed", tool=approval.tool)
    except Exception:
        log.exception("approvers_failed", tool=approval.tool)
    return False


def _parameters(function: Callable[..., Any]) -> int:
    """Returns how many of the four arguments a function takes."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 4
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return 4
    return min(4, sum(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters))


# --- who sees -------------------------------------------------------------------------------------------------------


async def find(store: Store, agents: Mapping[str, Agent], by: By, approval_id: str) -> Approval | None:
    """Returns a call of somebody else's that this principal may decide, or might have; None if there is none."""
    read = getattr(store, "people_approval", None)
    if by is None or read is None:
        return None
    approval: Approval | None = await read(approval_id)
    return approval if approval is not None and await concerns(store, agents, by, approval) else None


async def concerns(store: Store, agents: Mapping[str, Agent], by: Caller, approval: Approval) -> bool:
    """Returns whether somebody else's call is one that this principal may decide, by a right of their own, as a deputy
    or in an emergency; or might have.
    """
    if tenant_of(approval.principal) != by.principal.tenant or approval.people is None:
        return False
    if (may_break_glass(by) and approval.people.break_glass) or await may_see(approval, agents, by):
        return True
    return await may_see(approval, agents, by, await deputies_of(store, by))


async def may_see(approval: Approval, agents: Mapping[str, Agent], by: By, deputies: Sequence[Deputy] = ()) -> bool:
    """Returns whether this principal, who isn't its owner's, is an approver of a call in their own tenant, or one of
    the ``deputies`` of one.
    """
    if by is None or approval.people is None or tenant_of(approval.principal) != by.principal.tenant:
        return False
    people, tool = approval.people, tool_of(agents.get(approval.agent), approval)
    for caller in (by, *map(absent_of, deputies)):
        if is_asked(approval, people, caller, caller is not by) and await is_approver(approval, tool, caller):
            return True
    return False


PREFIX = "people:"
"""The beginning of a cursor in the part of a list that is of others."""
MOST_LOOKED_AT = 2_000
"""Waiting calls of others that one page looks through."""


async def waiting(
    store: Store,
    agents: Mapping[str, Agent],
    by: By,
    owner: str,
    *,
    limit: int,
    cursor: str | None = None,
    in_emergency: bool = False,
) -> tuple[list[Approval], str | None]:
    """Returns others' calls that this principal may approve, oldest first, and the cursor of the next page.

    ``owner`` is the key of its own owner: those are in another part of the list. ``in_emergency``: what it may decide
    by breaking the glass, for who has that role.
    """
    read = getattr(store, "people_waiting", None)
    if by is None or read is None:
        return [], None
    after = int(cursor.removeprefix(PREFIX)) if cursor else 0
    deputies: Sequence[Deputy] | None = None
    found: list[Approval] = []
    looked_at = 0
    while looked_at < MOST_LOOKED_AT:
        some: Sequence[tuple[int, Approval]] = await read(by.principal.tenant, after, 100)
        if not some:
            return found, None
        deputies = await deputies_of(store, by) if deputies is None else deputies
        for seq, approval in some:
            after = seq
            looked_at += 1
            if approval.principal == owner or not approval.waits_at(store.now()):
                continue
            has_glass = in_emergency and approval.people is not None and approval.people.break_glass
            if has_glass or await may_see(approval, agents, by, deputies):
                found.append(approval)
                if len(found) >= limit:
                    return found, f"{PREFIX}{after}"
    return found, f"{PREFIX}{after}"
