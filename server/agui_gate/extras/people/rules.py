"""Rules: what a gate's ``when(arguments, ctx)`` says of a call, when it is asked and again when somebody agrees.

A call of a gate with a rule always has a record. Right after that is saved, the rule is asked (`apply_rules`): it lets
the call go, refuses it, or leaves it to people. When a person agrees, it is asked again (`hold`): it may have become
stricter, and the arguments may be others. Then only its no counts.

A rule may ask for sums (`RuleContext.spent`). The claim that follows depends on them: see `core/terms.py`. What fails,
takes too long or isn't understood leaves the call to people.
"""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import structlog

from agui_gate.agents.agent import Agent
from agui_gate.agents.tool import Tool, needs_context
from agui_gate.approvals.answer_validation import Verdict
from agui_gate.core import result_texts, terms
from agui_gate.core.approvals import SEPARATOR, Approval, Decision, State
from agui_gate.core.json_text import parse_object
from agui_gate.core.principals import By, Principal, on_behalf
from agui_gate.core.terms import MAX_HOURS, WHOSE, Seen, Sum, Terms, Whose
from agui_gate.errors import ApprovalRefused, RequestError, TermsChanged
from agui_gate.extra_loader import load
from agui_gate.extras.people.givers import counts_of
from agui_gate.stores.lookup import takes
from agui_gate.threads.lease import Lease
from agui_gate.turns.gate_evaluation import PREDICATE_SECONDS
from agui_gate.turns.tool_execution import call_function, is_cancelled

if TYPE_CHECKING:
    from agui_gate.runs.run_context import RunContext
    from agui_gate.threads.leased_thread import LeasedThread

BudgetScope = Literal["run", "principal", "tenant", "all"]
"""What a budget is of: see `AGUI_GATE_BUDGETS`."""

ATTEMPTS = 50
"""Times that a rule is asked about a call, while others are claimed at the same moment."""

MAX_REASON = 1_000
"""Characters of the reason for which a rule refuses a call."""

log = structlog.get_logger("agui_gate.gates")


class Ruling(msgspec.Struct, frozen=True):
    """What a rule says of a call: `allow`, `ask` people, or `deny` with a reason, which the model and the user read."""

    says: Literal["allow", "ask", "deny"]
    reason: str = ""

    @classmethod
    def allow(cls) -> "Ruling":
        """The call runs, and nobody is asked."""
        return cls("allow")

    @classmethod
    def ask(cls) -> "Ruling":
        """The gate's people are asked."""
        return cls("ask")

    @classmethod
    def deny(cls, reason: str) -> "Ruling":
        """The call doesn't run, whoever agrees."""
        return cls("deny", reason)


class Earlier(msgspec.Struct, frozen=True):
    """A gated call of the same thread that was asked about before. ``approved``: None where nobody has decided."""

    tool: str
    arguments: Mapping[str, Any]
    state: str
    approved: bool | None
    by: str
    at: int | None


class RuleContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule may go by, besides the arguments.

    ``principal`` asks for the call; it has roles only in the run in which it does. ``owner`` and ``tenant``: whose
    thread it is. ``state``: a copy of the thread's shared state. ``earlier``: the thread's gated calls before this one,
    oldest first. ``approver``: who has just agreed; None while nobody has been asked.
    """

    principal: Principal
    owner: str
    tenant: str
    thread_id: str
    call_id: str
    agent: str
    tool: str
    state: Any
    earlier: tuple[Earlier, ...]
    approver: Principal | None = None
    sums: "Sums"

    def spent(self, tool: str, field: str, *, hours: float, by: Whose = "owner") -> Any:
        """Returns the sum of an argument in this agent's calls of ``tool`` that were let go in the last ``hours``, this
        one left out. In an async rule, ``await`` it.

        ``by``: of the same owner's threads, of the same person's (``principal``), or of the whole ``tenant``. What
        comes of this rule holds only if no such call has come in between; else the rule is asked again.

        Raises ValueError where no sum can be known. A rule that lets it through leaves the call to people.
        """
        return self.sums.spent(tool, field, hours, by)

    def budget(self, scope: BudgetScope = "principal") -> Any:
        """Returns which part of a budget of `AGUI_GATE_BUDGETS` is used: 0.8 for four fifths, 1 or more where nothing
        is left. In an async rule, ``await`` it.

        ``scope``: ``run``, and of the day ``principal`` (the owner), ``tenant`` and ``all``. More may be used by the
        time the call runs: the claim doesn't depend on it. Raises ValueError where there is no such budget. A rule that
        lets it through leaves the call to people.
        """
        return self.sums.budget(scope)


class Sums:
    """The sums that a rule asks for, about one call: ``seen`` is what it was told. ``agent``: whose calls are counted;
    None where that was looked at before.
    """

    def __init__(self, approval: Approval, agent: Agent | None, lease: Lease, meter: Any = None) -> None:
        self._approval, self._agent, self._lease, self._meter = approval, agent, lease, meter
        self._loop = asyncio.get_running_loop()
        self._counts = hasattr(lease.store, "counted_calls") and takes(lease.store.move, "terms")
        self.seen: list[Seen] = []

    def spent(self, tool: str, field: str, hours: float, by: Whose) -> Any:
        """See `RuleContext.spent`."""
        if by not in WHOSE or not 0 < hours <= MAX_HOURS:
            raise ValueError(f"spent(by=…) is one of {', '.join(WHOSE)}, and hours up to {MAX_HOURS}")
        named = self._agent.by_name.get(tool) if self._agent is not None else None
        if self._agent is not None and (named is None or named.gate is None or not named.gate.has_rule):
            raise ValueError(f"only calls of this agent's tools are counted whose gate has a rule: not those of {tool}")
        return self._answered(self._sum(tool, field, hours, by), "spent")

    def budget(self, scope: str) -> Any:
        """See `RuleContext.budget`."""
        return self._answered(self._share(scope), "budget")

    async def _share(self, scope: str) -> float:
        budgets = getattr(self._meter, "budgets", None)
        if budgets is None:
            raise ValueError("there are no budgets: AGUI_GATE_BUDGETS is not set")
        found: float = await budgets.share(self._approval.principal, self._lease.run_key, scope)
        return found

    def _answered(self, work: Coroutine[Any, Any, float], name: str) -> Any:
        """Returns ``work`` for a rule that awaits it, and its result for one that runs in a thread."""
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(PREDICATE_SECONDS)
        if here is not self._loop:
            work.close()
            raise ValueError(f"{name}() can't be used from another event loop")
        return work

    async def _sum(self, tool: str, field: str, hours: float, by: Whose) -> float:
        store: Any = self._lease.store
        if not self._counts:
            raise ValueError("this store doesn't count calls")
        since = store.now() - int(hours * 3_600_000)
        wanted = Sum(by, terms.place(by, self._approval), tool, field, since)
        seen = Seen(wanted, terms.total(await store.counted_calls(wanted), field))
        self.seen.append(seen)
        return seen.total

    def terms(self, **grant: Any) -> dict[str, Any]:
        """Returns what the claim depends on, as `Lease.move` takes it. ``grant``: see `Terms`."""
        if not self._counts:
            return {}
        return {"terms": Terms(seen=tuple(self.seen), counts=counts_of(self._lease.store), **grant)}


# --- asking a rule --------------------------------------------------------------------------------------------------


async def ask_rule(
    tool: Tool,
    agent: Agent | None,
    approval: Approval,
    arguments: str,
    thread: "LeasedThread",
    approver: Principal | None = None,
) -> tuple[Ruling, Sums]:
    """Asks the rule of a gate about a call with these arguments."""
    sums = Sums(approval, agent, thread.lease, thread.meter)
    when = tool.gate.when if tool.gate is not None else None
    if when is None:  # it only offers grants
        return Ruling.ask(), sums
    try:
        given, ctx = parse_object(arguments) or {}, _context(approval, thread, approver, sums)
        async with asyncio.timeout(PREDICATE_SECONDS):
            return _understood(await _call(when, given, ctx, thread)), sums
    except asyncio.CancelledError:
        if is_cancelled():
            raise
        log.exception("rule_failed", tool=approval.tool)
    except Exception:
        log.exception("rule_failed", tool=approval.tool)
    return Ruling.ask(), sums


async def _call(when: Callable[..., Any], given: dict[str, Any], ctx: RuleContext, thread: "LeasedThread") -> Any:
    arguments = (given, ctx) if needs_context(when) else (given,)

    async def in_task(_: Any) -> Any:
        return await when(*arguments)

    function = in_task if inspect.iscoroutinefunction(when) else lambda _: when(*arguments)
    owner = thread.thread.principal
    return await call_function(function, None, "predicates", owner, thread.limits, PREDICATE_SECONDS)


def _understood(said: object) -> Ruling:
    if said is False:
        return Ruling.allow()
    if isinstance(said, Ruling) and said.says == "deny":
        return Ruling.deny(str(said.reason)[:MAX_REASON])
    return Ruling.allow() if isinstance(said, Ruling) and said.says == "allow" else Ruling.ask()


def _context(approval: Approval, thread: "LeasedThread", approver: Principal | None, sums: Sums) -> RuleContext:
    tenant, _, owner = approval.principal.rpartition(SEPARATOR)
    return RuleContext(
        principal=_asker(approval, thread, tenant, owner),
        owner=owner,
        tenant=tenant,
        thread_id=approval.thread_id,
        call_id=approval.call_id,
        agent=approval.agent,
        tool=approval.tool,
        state=msgspec.json.decode(thread.parts.told()),
        earlier=tuple(_earlier(one) for one in thread.approvals.values() if one.id != approval.id),
        approver=approver,
        sums=sums,
    )


def _asker(approval: Approval, thread: "LeasedThread", tenant: str, owner: str) -> Principal:
    by = thread.by
    if approval.asker is None:
        return Principal(owner, tenant)
    if by is not None and by.asker == approval.asker:
        return by.principal
    return on_behalf(approval.asker, approval.principal).principal


def _earlier(one: Approval) -> Earlier:
    arguments, state, made = parse_object(one.effective_arguments) or {}, str(one.state.public), one.decision
    if made is None:
        return Earlier(one.tool, arguments, state, None, "", one.decided_at)
    return Earlier(one.tool, arguments, state, made.approved, made.by, one.decided_at)


# --- a call that nobody has been asked about ----------------------------------------------------------------------


async def apply_rules(scope: "RunContext", agent: Agent, asked: list[Approval]) -> None:
    """Lets go and refuses those calls of a turn, just recorded, of which a rule says so. The others go on waiting, as
    many as may (`extras/quotas.py`).
    """
    ruled = [approval for approval in asked if _rule_of(agent, approval) is not None]
    async with asyncio.TaskGroup() as group:
        for approval in ruled:
            group.create_task(_apply_rule(scope, agent, approval))
    if scope.thread.limits.limits:
        await load("quotas").refuse_excess(scope, asked)


def _rule_of(agent: Agent, approval: Approval) -> Tool | None:
    """Returns the tool that runs a call if its gate has a rule."""
    tool = None if approval.is_held else agent.by_name.get(approval.tool)
    return tool if tool is not None and tool.gate is not None and tool.gate.has_rule else None


async def _apply_rule(scope: "RunContext", agent: Agent, approval: Approval) -> None:
    tool = _rule_of(agent, approval)
    assert tool is not None
    for _ in range(ATTEMPTS):
        ruling, sums = await ask_rule(tool, agent, approval, approval.arguments, scope.thread)
        decision = Decision(ruling.says == "allow", reason=ruling.reason or None, way="rule")
        if ruling.says == "deny":
            words = "A rule doesn't allow this call. It was not executed."
            denied = result_texts.status("rejected", words, ruling.reason)
            await scope.gated_calls.close([approval], State.REJECTED, denied, decision)
        if ruling.says == "ask" and tool.gate is not None and tool.gate.grants:
            from agui_gate.extras.people.grants import apply_grants

            await apply_grants(scope, tool, approval)
        if ruling.says != "allow":
            return
        claim = _claim(approval, decision, sums)
        try:
            await scope.gated_calls.decide(Verdict(approval, State.CLAIMED, decision, claim))
        except TermsChanged:
            continue
        except RequestError as error:  # it isn't to be let go, so people are asked
            log.warning("not_let_go", approval=approval.id, tool=approval.tool, why=error.message)
        return


def _claim(
    approval: Approval, decision: Decision, sums: Sums, **grant: Any
) -> Callable[[Lease], Coroutine[Any, Any, Approval]]:
    return lambda lease: lease.move(approval.id, State.CLAIMED, decision=decision, **sums.terms(**grant))


# --- a call that a person agrees to --------------------------------------------------------------------------------


async def hold(verdict: Verdict, tool: Tool, arguments: str, thread: "LeasedThread", by: By, **grant: Any) -> Verdict:
    """Returns the verdict of a person (``by``) as it is carried out, if the rule doesn't deny it. Raises
    `ApprovalRefused`. ``grant``: the grant that is used or given with it, see `Terms`.
    """
    approval = verdict.approval
    approver = Principal(approval.principal.rpartition(SEPARATOR)[2]) if by is None else by.principal

    async def ask() -> Sums:
        ruling, sums = await ask_rule(tool, None, approval, arguments, thread, approver)
        if ruling.says == "deny":
            raise ApprovalRefused(f"A rule doesn't allow this call: {ruling.reason}")
        return sums

    asked = await ask()

    async def claim(lease: Lease) -> Approval:
        sums = asked
        for _ in range(ATTEMPTS):
            try:
                return await _claim(approval, verdict.decision, sums, **grant)(lease)
            except TermsChanged:
                sums = await ask()
        raise TermsChanged

    return msgspec.structs.replace(verdict, claim=claim)
