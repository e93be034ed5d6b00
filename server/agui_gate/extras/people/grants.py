"""Standing grants: a gate offers scopes in which a person may say yes beforehand.

A call of a gate with ``grants`` always has a record. If its rule leaves it to people, or it has none, the grants that
fit are tried first (`apply_grants`). Each stands for its giver, as they were when they gave it: what they couldn't
approve by the gate that is there now, their grant can't either. What is in doubt is asked.

What is counted, and whether a grant still stands, is for the store to say, in the claim's transaction:
`core/grants.py`.
"""

import secrets
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
import structlog

from agui_gate.agents.tool import Gate, Tool
from agui_gate.approvals.answer_validation import Verdict
from agui_gate.core import agreement, grants
from agui_gate.core.approvals import SEPARATOR, Approval, Decision, People, State
from agui_gate.core.grants import MAX_STANDING, GrantLimits, Use
from agui_gate.core.json_text import canonical, parse_object
from agui_gate.core.principals import By, Caller, Principal
from agui_gate.core.terms import decode_numbers, numbers
from agui_gate.errors import ApprovalRefused, ConfigurationError, RequestError, TermsChanged
from agui_gate.extras.people.approvers import check_verdict, current_terms
from agui_gate.extras.people.givers import is_current
from agui_gate.extras.people.rules import hold
from agui_gate.stores.lookup import takes

if TYPE_CHECKING:
    from agui_gate.runs.run_context import RunContext
    from agui_gate.threads.leased_thread import LeasedThread

MAX_GRANT_HOURS = 24 * 366
"""Hours for which a grant may stand."""
MAX_HOURS_BY_ROLE = 24 * 92
"""Hours for which a grant may stand that a role gives: nobody tells the server that somebody has left."""
MAX_TIMES = 1_000_000
"""Calls that a grant may let go."""

log = structlog.get_logger("agui_gate.gates")


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A scope that a gate offers: see docs/people.md#standing-grants. Make it with `thread`, `arguments` or `amount`.

    ``name`` is what an answer names it by. ``same`` names the arguments that have to be equal; None: all.
    """

    name: str
    hours: float
    times: int | None = None
    in_thread: bool = False
    same: tuple[str, ...] | None = ()
    field: str = ""
    up_to: float | None = None
    total: float | None = None

    @classmethod
    def thread(cls, *, hours: float = 24, times: int | None = None, name: str = "thread") -> "Grant":
        """Offers: all calls of this tool in this thread."""
        return cls(name=name, hours=hours, times=times, in_thread=True)

    @classmethod
    def arguments(
        cls, *names: str, hours: float = 24, times: int | None = None, in_thread: bool = False, name: str = "arguments"
    ) -> "Grant":
        """Offers: calls of this tool in which these arguments are the same (none named: all are)."""
        return cls(name=name, hours=hours, times=times, in_thread=in_thread, same=names or None)

    @classmethod
    def amount(
        cls,
        field: str,
        *,
        up_to: float | None = None,
        total: float | None = None,
        same: Sequence[str] = (),
        hours: float = 24,
        times: int | None = None,
        in_thread: bool = False,
        name: str = "amount",
    ) -> "Grant":
        """Offers: calls of this tool whose ``field`` is up to an amount, and up to a ``total`` in all of them.
        ``same``: the arguments that have to be the same besides.
        """
        limits = {"hours": hours, "times": times, "up_to": up_to, "total": total}
        return cls(name=name, in_thread=in_thread, same=tuple(same), field=field, **limits)  # type: ignore[arg-type]  # of several types

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments that it names."""
        return (*(self.same or ()), *((self.field,) if self.field else ()))

    @property
    def limits(self) -> GrantLimits:
        """How far it reaches."""
        return GrantLimits(int(self.hours * 3_600_000), self.times, self.field, _text(self.up_to), _text(self.total))

    def view(self) -> dict[str, Any]:
        """Returns it as JSON, as records have it."""
        shown = {"scope": self.name, "in_thread": self.in_thread, "hours": self.hours, "times": self.times}
        shown["same"] = None if self.same is None else list(self.same)
        return shown | ({"field": self.field, "up_to": self.up_to, "total": self.total} if self.field else {})


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The scope that an answer names, and what is narrower there than it was offered."""

    scope: str
    hours: float | None = None
    times: int | None = None
    up_to: float | None = None
    total: float | None = None


class _Sent(msgspec.Struct, frozen=True):
    grant: Wanted


def check_gate(gate: Gate) -> None:
    """Prepares a gate that offers grants, or never does. Raises `ConfigurationError`."""
    offers: Any = gate.grants
    if gate.always and (offers or gate.when is not None):
        raise ConfigurationError("Gate(always=True) asks about each call: it takes no grants=… and no when=…")
    if isinstance(offers, str) or not all(isinstance(one, Grant) for one in offers):
        raise ConfigurationError("Gate(grants=…) takes a list of Grant.thread(), .arguments(…) and .amount(…)")
    if offers and gate.needs > 1:
        raise ConfigurationError("Gate(grants=…) can't be with needs=…: no one person can say yes for several")
    if len({one.name for one in offers}) < len(offers):
        raise ConfigurationError("Gate(grants=…) has two of one name: give them different ones by name=…")
    escalates = any(isinstance(who, str) for _, who in gate.escalate)
    by_role = isinstance(gate.approvers, str) or callable(gate.approvers) or escalates
    for offer in offers:
        _check_offer(offer)
        if by_role and offer.hours > MAX_HOURS_BY_ROLE:
            raise ConfigurationError(
                f"Grant(hours=…) is at most {MAX_HOURS_BY_ROLE:,} where a role or a function says who may approve: the "
                "server isn't told who has left"
            )
    object.__setattr__(gate, "grants", tuple(offers))
    object.__setattr__(gate, "has_rule", gate.has_rule or bool(offers))


def _check_offer(offer: Grant) -> None:
    name: Any = offer.name
    if not isinstance(name, str) or not name:
        raise ConfigurationError("Grant(name=…) is a text")
    if not _is_number(offer.hours) or not 0.001 <= offer.hours <= MAX_GRANT_HOURS:
        raise ConfigurationError(f"Grant(hours=…) is a number above 0, up to {MAX_GRANT_HOURS:,}")
    if offer.times is not None and (type(offer.times) is not int or not 0 < offer.times <= MAX_TIMES):
        raise ConfigurationError(f"Grant(times=…) is a number of calls from 1 to {MAX_TIMES:,}")
    amounts = [one for one in (offer.up_to, offer.total) if one is not None]
    if not all(_is_number(one) and one > 0 for one in amounts) or bool(offer.field) is not bool(amounts):
        raise ConfigurationError("Grant.amount(…) names a field, and up_to=… or total=…, or both: numbers above 0")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and Decimal(str(value)).is_finite()


def _text(amount: float | None) -> str | None:
    return None if amount is None else str(Decimal(str(amount)))


# --- giving one -----------------------------------------------------------------------------------------------------


async def give(verdict: Verdict, tool: Tool | None, thread: "LeasedThread") -> Verdict:
    """Returns the verdict of a person whose yes comes with a grant, as it is carried out. Raises `ApprovalRefused`, and
    then nothing is decided.
    """
    approval = verdict.approval
    if verdict.to is not State.CLAIMED:
        raise ApprovalRefused("A grant comes with a yes.")
    offers = tool.gate.grants if tool is not None and tool.gate is not None else ()
    if tool is None or not offers or approval.schema_digest is None:
        raise ApprovalRefused("The gate of this call offers no grant.")
    if approval.people is not None and approval.people.needs > 1:
        raise ApprovalRefused("Several persons have to agree to this call, so nobody can grant others like it.")
    store = thread.lease.store
    if not hasattr(store, "grants") or not takes(store.move, "terms"):
        raise ApprovalRefused("This store keeps no grants.")
    arguments = agreement.meant_by(approval, verdict.decision)
    offer, limits = _chosen(verdict.grant or "", offers, arguments)
    if len(await store.grants("owner", approval.principal)) >= MAX_STANDING:
        raise ApprovalRefused(f"There are {MAX_STANDING:,} grants already. Revoke some.")
    made = _made(approval, verdict.decision, offer, limits, arguments, thread, tool)
    decision = msgspec.structs.replace(verdict.decision, grant=made.id)
    verdict = msgspec.structs.replace(verdict, decision=decision)
    return await hold(verdict, tool, arguments, thread, thread.by, given=made)


def _chosen(sent: str, offers: Sequence[Grant], arguments: str) -> tuple[Grant, GrantLimits]:
    """Returns the scope that an answer names, and how far it reaches there. Raises `ApprovalRefused`."""
    try:
        wanted = msgspec.json.decode(sent, type=_Sent).grant
    except msgspec.ValidationError:
        raise ApprovalRefused(
            "The grant was not understood: it is an object with a scope, and maybe hours, times, up_to and total."
        ) from None
    offer = next((one for one in offers if one.name == wanted.scope), None)
    if offer is None:
        raise ApprovalRefused(f"The gate offers no such grant. It offers: {', '.join(one.name for one in offers)}.")
    names = ("hours", "times", "up_to", "total")
    given = {name: value for name in names if (value := getattr(wanted, name)) is not None}
    narrowed = msgspec.structs.replace(offer, **given)
    try:
        _check_offer(narrowed)
    except ConfigurationError:
        raise ApprovalRefused("The limits of the grant are numbers above 0, and of amounts where it has one.") from None
    if not narrowed.limits.within(offer.limits):
        raise ApprovalRefused("The grant is wider than the gate offers.")
    if missing := [name for name in offer.same or () if name not in (parse_object(arguments) or {})]:
        raise ApprovalRefused(f"The call has no {', '.join(missing)}, so there is no grant for the same.")
    if offer.field and offer.field not in decode_numbers(numbers(arguments)):
        raise ApprovalRefused(f"The call has no number {offer.field}, so there is no grant up to an amount.")
    return offer, narrowed.limits


def _made(
    approval: Approval,
    decision: Decision,
    offer: Grant,
    limits: GrantLimits,
    arguments: str,
    thread: "LeasedThread",
    tool: Tool,
) -> grants.Grant:
    by, given = thread.by, parse_object(arguments) or {}
    same = given if offer.same is None else {name: given[name] for name in offer.same}
    return grants.Grant(
        id=f"gr_{secrets.token_hex(16)}",
        owner=approval.principal,
        agent=approval.agent,
        tool=approval.tool,
        source=approval.source,
        schema_digest=approval.schema_digest,
        scope=offer.name,
        limits=limits,
        approval_id=approval.id,
        thread_id=approval.thread_id,
        thread_begun=thread.thread.created_at if offer.in_thread else None,
        same=canonical(same),
        giver=decision.by,
        person=decision.person,
        roles=() if by is None else by.principal.roles,
        by_roles=_by_roles(approval.people, by, tool),
        login=decision.login,
        is_owners=by is None or by.principal.owner == approval.principal,
    )


def _by_roles(people: People | None, by: By, tool: Tool) -> tuple[str, ...]:
    """Returns the roles by which somebody may approve a call, by the gate that asked and by the one that is there now.
    A function may go by any of them.
    """
    if people is None or by is None:
        return ()
    who, found = by.principal, list[str]()
    for terms in (people, current_terms(tool, people)):
        if terms is not None and terms.by_function:
            return who.roles
        for named in () if terms is None else (terms.approvers, *terms.added):
            if isinstance(named, str) and named in who.roles:
                found.append(named)
            if named is not None and (named in who.roles if isinstance(named, str) else who.id in named):
                break
    return tuple(dict.fromkeys(found))


# --- using one ------------------------------------------------------------------------------------------------------


async def apply_grants(scope: "RunContext", tool: Tool, approval: Approval) -> None:
    """Lets go a call, just recorded, if there is a grant for it. If not, it goes on waiting."""
    thread = scope.thread
    store: Any = thread.lease.store
    if tool.gate is None or not hasattr(store, "grants") or not takes(store.move, "terms"):
        return
    for grant in await store.grants("owner", approval.principal):
        offer = next((one for one in tool.gate.grants if one.name == grant.scope), None)
        if offer is None or not _is_offered(offer, grant, approval, thread.thread.created_at):
            continue
        if not is_current(store, grant):
            log.info(
                "grant_not_used", grant=grant.id, approval=approval.id, tool=approval.tool, why="its giver's login"
            )
            continue
        try:
            await scope.gated_calls.decide(await _by(grant, offer, tool, approval, thread, store.now()))
        except (RequestError, TermsChanged, ValueError) as error:  # the next one may; else people are asked
            log.info("grant_not_used", grant=grant.id, approval=approval.id, tool=approval.tool, why=str(error))
        else:
            return


def _is_offered(offer: Grant, grant: grants.Grant, approval: Approval, thread_begun: int) -> bool:
    """Returns whether a call is one that the grant is about, and that the gate as it is now would offer one for.

    So a scope that was narrowed since is as narrow for the grants that were given before.
    """
    if (offer.in_thread and grant.thread_begun is None) or offer.field != grant.limits.field:
        return False
    same = parse_object(grant.same) or {}
    names = parse_object(approval.effective_arguments) or {} if offer.same is None else offer.same
    return set(names) <= same.keys() and grants.fits(grant, approval, thread_begun)


async def _by(
    grant: grants.Grant, offer: Grant, tool: Tool, approval: Approval, thread: "LeasedThread", now: int
) -> Verdict:
    """Returns the verdict of a grant's giver, as it is carried out. Raises what a person is told who may not decide."""
    if approval.people is None and not grant.is_owners:
        raise ApprovalRefused("By now only the owner's principals may approve this.")
    claims = {"person": grant.person} if grant.person else {}
    tenant, _, owner = grant.owner.rpartition(SEPARATOR)
    giver = Principal(grant.giver, tenant, grant.roles, owner if grant.is_owners else None, claims)
    by: By = Caller(giver, grant.login)
    decision = Decision(True, grant.giver, way="grant", person=grant.person, login=grant.login, grant=grant.id)
    verdict = Verdict(approval, State.CLAIMED, decision)
    if approval.people is not None:
        verdict = await check_verdict(verdict, lambda _: tool, by, now)
    return await hold(verdict, tool, approval.arguments, thread, by, by_grant=Use(grant.id, offer.limits))
