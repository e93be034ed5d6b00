"""The engine: what the HTTP routes and the command line call to start runs and to decide approvals."""

import asyncio
import time
import uuid
from collections.abc import Sequence
from typing import Any

import msgspec
import structlog

from agui_gate.agent import Agent
from agui_gate.core import answers as an
from agui_gate.core.approvals import Approval, State
from agui_gate.core.dialect import Dialect, choose
from agui_gate.core.transcript import Output
from agui_gate.engine import outcomes
from agui_gate.engine.live import LiveRun
from agui_gate.engine.open_thread import OpenThread
from agui_gate.engine.run import Run
from agui_gate.engine.settlement import Judgement, Settlement, judge
from agui_gate.engine.tools import run_tool
from agui_gate.errors import ApprovalRefused, InvalidRequest, NotFound, Unavailable
from agui_gate.protocol.inbound import RunInput
from agui_gate.stores.base import LEASE_MS, RunStatus, Store
from agui_gate.tool import ToolContext

log = structlog.get_logger("agui_gate.engine")


def new_id() -> str:
    """A fresh random id: 32 hex digits."""
    return uuid.uuid4().hex


def now_ms() -> int:
    """Wall-clock time in ms since the epoch."""
    return time.time_ns() // 1_000_000


class Decided(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of deciding one approval. ``result`` is the output's text once there is one."""

    id: str
    state: State
    result: str | None = None


class Engine:
    """Agents over a store. ``start`` and ``aclose`` bracket its use; runs in flight belong to it."""

    agents: dict[str, Agent]
    store: Store

    def __init__(self, agents: Sequence[Agent], store: Store, dialect: Dialect = Dialect.COMPAT) -> None:
        self.agents = {agent.name: agent for agent in agents}
        self.store = store
        self._dialect = dialect
        self._runs: dict[str, LiveRun] = {}
        self._deciding: set[str] = set()  # keys under which out-of-band decisions hold a thread's lease
        self._heart: asyncio.Task[None] | None = None
        self._starting: asyncio.Future[None] | None = None
        self._started = self._closing = False

    async def start(self) -> None:
        """Open the store and begin to keep leases alive. Once: calling it again does nothing."""
        if self._started:
            return
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
        try:
            await asyncio.shield(self._starting)
        except Exception:
            self._starting = None  # the next caller may try again
            raise

    async def _start(self) -> None:
        await self.store.start()
        self._heart = asyncio.create_task(self._beat(), name="agui-gate leases")
        self._started, self._closing = True, False

    async def drain(self, grace: float = 5.0) -> None:
        """Take no new runs, stop those in flight (each ends its own stream), wait up to ``grace`` seconds for them.

        What else is under way can still use the store. Safe to call twice.
        """
        self._closing = True
        tasks = [run.task for run in self._runs.values() if run.task is not None]
        for run in list(self._runs.values()):
            run.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=grace)

    async def aclose(self, grace: float = 5.0) -> None:
        """Drain, then close everything. Safe to call twice; `start` opens it again."""
        await self.drain(grace)
        self._started, self._starting = False, None
        if self._heart is not None:
            self._heart.cancel()
        for agent in self.agents.values():
            await agent.model.aclose()
        await self.store.aclose()

    async def run(self, agent: Agent, run: RunInput, principal: str) -> LiveRun:
        """Begin a run. Raises `ThreadBusy` before anything was streamed; after that, errors are in the stream."""
        if self._closing:
            raise Unavailable("The server is shutting down. Try again in a moment.")
        live = LiveRun(f"run_{new_id()}")
        thread = await self.store.open_thread(principal, run.thread_id, agent.name, live.key)
        opened = OpenThread(self.store, thread, live.key)
        dialect = choose(run.protocol_version, self._dialect)
        work = Run(agent, run, opened, self.store, live, dialect, new_id, now_ms)
        self._runs[live.key] = live
        live.start(work.execute())
        assert live.task is not None  # start made it
        live.task.add_done_callback(lambda _: self._runs.pop(live.key, None))
        return live

    async def decide(self, principal: str, approval_id: str, payload: Any) -> tuple[Decided, bool]:
        """Decide one approval out of band, and run its tool now if it was approved.

        Returns the outcome, and whether it was this decision that made it (False: it had been decided before).
        Raises `NotFound`, `InvalidRequest`, `ApprovalRefused` (the edit), `ThreadBusy` (nothing was decided).
        """
        approval = await self.store.approval(principal, approval_id)
        if approval is None:
            raise NotFound("There is no such approval.")
        if approval.state is not State.PENDING:
            return _decided(approval), False
        answer = an.from_payload("approval", approval_id, payload)
        if answer.problem is not None:
            raise InvalidRequest(f"Not a decision: {answer.problem}.", well_formed=True)
        agent = self.agents.get(approval.agent)
        if agent is None:
            raise Unavailable(f"The agent {approval.agent!r} that asked is not served here now.")
        judgement = judge([answer], {approval_id: approval}, agent.by_name, principal)
        if not judgement.verdicts:
            raise ApprovalRefused(judgement.refused[approval_id])
        return await self._carry_out(agent, judgement.verdicts[0].approval, judgement)

    async def _carry_out(self, agent: Agent, approval: Approval, judgement: Judgement) -> tuple[Decided, bool]:
        """Under the thread's lease, so that no run works on the same call."""
        run_key = f"decide_{new_id()}"
        self._deciding.add(run_key)
        try:
            return await self._under_lease(agent, approval, judgement, run_key)
        finally:
            self._deciding.discard(run_key)

    async def _under_lease(
        self, agent: Agent, approval: Approval, judgement: Judgement, run_key: str
    ) -> tuple[Decided, bool]:
        thread = await self.store.open_thread(approval.principal, approval.thread_id, agent.name, run_key)
        opened = OpenThread(self.store, thread, run_key)
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

        settlement = Settlement(self.store, execute, opened.decided)
        try:
            fresh = opened.approvals.get(approval.call_id, approval)
            if fresh.state is not State.PENDING:
                return _decided(fresh), False
            (done,) = await settlement.carry_out(judgement.verdicts)
            decision = judgement.verdicts[0].decision
            return _decided(done), done.decision == decision
        finally:
            await asyncio.shield(opened.commit(status=status))

    async def _beat(self) -> None:
        """Renew the leases of runs in flight, well before they end."""
        while True:
            await asyncio.sleep(LEASE_MS / 3000)
            try:
                await self.store.renew([*self._runs, *self._deciding])
            except Exception:
                log.exception("leases_not_renewed")


def _decided(approval: Approval) -> Decided:
    completed = outcomes.completed(approval)
    return Decided(completed.id, completed.state, completed.output.content if completed.output else None)
