"""Decisions out of band: `POST /approvals/{id}` and the shell, outside any run."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from agui_gate.agent import Agent
from agui_gate.core import answers as an
from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import Output
from agui_gate.engine import outcomes
from agui_gate.engine.intake import NewId
from agui_gate.engine.open_thread import OpenThread
from agui_gate.engine.settlement import Judgement, Settlement, judge
from agui_gate.engine.tools import run_tool
from agui_gate.errors import ApprovalRefused, InvalidRequest, NotFound, Unavailable
from agui_gate.stores.base import RunStatus, Store
from agui_gate.tool import ToolContext


class Decided(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of deciding one approval. ``result`` is the output's text once there is one."""

    id: str
    state: State
    result: str | None = None


class Decisions:
    """Decides approvals under their threads' leases. ``holding`` are the keys of the leases held now."""

    def __init__(self, agents: Mapping[str, Agent], store: Store, new_id: NewId) -> None:
        self._agents, self._store, self._new_id = agents, store, new_id
        self.holding: set[str] = set()

    async def decide(self, principal: str, approval_id: str, payload: Any) -> tuple[Decided, bool]:
        """Decide one approval out of band, and run its tool now if it was approved.

        Returns the outcome, and whether it was this decision that made it (False: it had been decided before).
        Raises `NotFound`, `InvalidRequest`, `ApprovalRefused` (the edit), `ThreadBusy` and `Unavailable` (nothing was
        decided).
        """
        approval = await self._store.approval(principal, approval_id)
        if approval is None:
            raise NotFound("There is no such approval.")
        if approval.state is not State.PENDING:
            return _decided(approval), False
        answer = an.from_payload("approval", approval_id, payload)
        if answer.problem is not None:
            raise InvalidRequest(f"Not a decision: {answer.problem}.", well_formed=True)
        agent = self._agents.get(approval.agent)
        if agent is None:
            raise Unavailable(f"The agent {approval.agent!r} that asked is not served here now.")
        agent = await agent.ready()
        judgement = judge([answer], {approval_id: approval}, agent.by_name, principal)
        if not judgement.verdicts:
            raise ApprovalRefused(judgement.refused[approval_id])
        return await self._carry_out(agent, judgement.verdicts[0].approval, judgement)

    async def _carry_out(self, agent: Agent, approval: Approval, judgement: Judgement) -> tuple[Decided, bool]:
        """Under the thread's lease, so that no run works on the same call."""
        run_key = f"decide_{self._new_id()}"
        self.holding.add(run_key)
        try:
            return await self._under_lease(agent, approval, judgement, run_key)
        finally:
            self.holding.discard(run_key)

    async def _under_lease(
        self, agent: Agent, approval: Approval, judgement: Judgement, run_key: str
    ) -> tuple[Decided, bool]:
        thread = await self._store.open_thread(approval.principal, approval.thread_id, agent.name, run_key)
        opened = OpenThread(self._store, thread, run_key)
        status: RunStatus = thread.run_status if thread.run_status not in (None, "running") else "waiting"

        async def execute(claimed: Approval) -> Output:
            state = opened.state if isinstance(opened.state, dict) else {}
            context = ToolContext(
                thread_id=thread.id,
                run_id=run_key,
                call_id=claimed.call_id,
                principal=thread.principal,
                idempotency_key=f"{thread.key}:{claimed.call_id}",
                state=state,
            )
            output = await run_tool(agent.by_name.get(claimed.tool), claimed.tool, claimed.effective_arguments, context)
            if state:
                opened.state = state
            return output

        settlement = Settlement(self._store, execute, opened.decided, opened.is_held)
        try:
            fresh = opened.approvals.get(approval.call_id, approval)
            if fresh.state is not State.PENDING:
                return _decided(fresh), False
            local = judgement.verdicts[0].to is State.CLAIMED and not opened.is_held(fresh)
            if local and (reason := agent.why_not(approval.tool)):
                raise Unavailable(reason)
            (done,) = await settlement.carry_out(judgement.verdicts)
            decision = judgement.verdicts[0].decision
            return _decided(done), done.decision == decision
        finally:
            await asyncio.shield(opened.commit(status=status))


def _decided(approval: Approval) -> Decided:
    completed = outcomes.completed(approval)
    return Decided(completed.id, completed.state, completed.output.content if completed.output else None)
