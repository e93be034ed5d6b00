"""Tasks: what agents hand to other agents, at work in one run (docs/teams.md#sub-agents).

A call of a `Delegation` opens a task. Its conversation is in the thread's journal, as turns with its id. So working on
it is one loop over what the journal says: whether the task begins, goes on after an answer, or after a process died, is
the same. It ends with the call's result, which is all that the agent that delegated hears of it.

Where the tool has a gate, people are asked whether the task may begin. It is open once they agreed.

While something inside waits for a person or for the client, the call has no result. Then the run ends, and the next one
goes on with all open tasks, in parallel, before the agent that delegated is asked anything.

What goes wrong inside ends the task and not the run: the agent that delegated is told so. That is what a model and its
provider do wrong, and limits. What goes wrong with the store or the lease ends the run.
"""

import asyncio
from collections.abc import Set

from agui_gate.agents.agent import Agent
from agui_gate.agents.team import Member
from agui_gate.approvals.execution import HeldCalls
from agui_gate.core import result_texts
from agui_gate.core.json_text import parse_object
from agui_gate.core.sequencer import SubagentLane
from agui_gate.core.transcript import CallPart, Output, ResultEntry, TextPart, TurnEntry
from agui_gate.errors import AguiGateError, LimitReached, ProviderError, ToolError
from agui_gate.extras.teams.members import Members
from agui_gate.extras.teams.team import EMPTY
from agui_gate.protocol.snapshot import result_id
from agui_gate.runs.agent_loop import MakeConsents, MakeTurns
from agui_gate.runs.failure_log import provider_failed
from agui_gate.runs.run_context import RunContext
from agui_gate.stores.epochs import MAY_HAVE_RUN
from agui_gate.turns.model_turn import Turns
from agui_gate.turns.tool_dispatch import CallKind, End

TASK_SUPERSEDED = result_texts.status("superseded", "Not finished: the user went on without answering what it asked.")
TASK_LEFT = result_texts.status(
    "cancelled", "Not finished: the task that it was a part of has ended. What was done in it stays done."
)

MAX_DEPTH = 8
"""Levels that tasks can be inside each other. Agents may name each other in circles."""


class Tasks(CallKind):
    """The tasks of one run. ``make_turns`` and ``make_consents`` give a member what it works with in a task."""

    recorded = "task"

    def __init__(self, members: Members, scope: RunContext, make_turns: MakeTurns, make_consents: MakeConsents) -> None:
        self._members, self._scope, self._thread = members, scope, scope.thread
        self._make_turns, self._make_consents = make_turns, make_consents

    def claims(self, member: Member, call: CallPart) -> bool:
        """Claims the tools that are agents."""
        tool = member.agent.by_name.get(call.name)
        return tool is not None and tool.agent is not None

    async def run(self, member: Member, call: CallPart) -> None:
        """Works on the task that the call delegates, until it is done or waits."""
        await self._work(call)

    async def resume(self) -> None:
        """Goes on with all open tasks of the conversation, as far as they can."""
        await self._resume("")

    async def _resume(self, task: str) -> None:
        """Goes on with all open tasks that were delegated by who works on ``task``, as far as they can."""
        calls = self._thread.journal.open_tasks(task)
        if calls:
            async with asyncio.TaskGroup() as group:
                for call in calls:
                    group.create_task(self._work(call))

    async def _work(self, call: CallPart) -> None:
        """Works on the task of ``call`` until it is done, or something in it waits. Its result is saved, then shown."""
        self._scope.begun += (call.id,)
        output = await self._output(call)
        if output is None:
            return
        result = self._scope.untold[call.id] = ResultEntry(
            call.id, result_id(call.id), self._thread.capacity.fitted(output)
        )
        lane = self._scope.lane(call.id)
        self._thread.append([result])
        await self._thread.commit(patient=True)
        if not output.is_error and isinstance(lane, SubagentLane):
            lane.done()
        self._scope.tell(result)

    async def _output(self, call: CallPart) -> Output | None:
        """Returns the task's output; None while something in it waits, also where nobody could go on with it now."""
        try:
            agent, prompt = self._delegated(call)
        except ToolError as error:
            if call.id in self._thread.journal.waiting_tasks():  # a replica of another version may know who it is
                self._scope.lane(call.id).announce()
                return None
            self._leave(call)
            begun = self._has_begun(call)
            return _left_unfinished(call.name) if begun else result_texts.failed(error.message)
        return MAY_HAVE_RUN if self._may_have_run(call) else await self._worked(call.id, agent, prompt)

    def _delegated(self, call: CallPart) -> tuple[Agent, str]:
        """Returns who works on the task of ``call``, and its prompt. Raises `ToolError` where nobody can, saying
        why.
        """
        journal = self._thread.journal
        turn = journal.delegation(call.id)
        delegate = self._members.team.delegate(turn.agent, call.name) if turn else None
        if delegate is None:
            raise ToolError(f"There is no agent called {call.name} any more.")
        if journal.depth(call.id) > MAX_DEPTH:
            raise ToolError(f"Not delegated: tasks can be {MAX_DEPTH} deep. Do it without another agent.")
        record = journal.approvals.get(call.id)
        if record is not None and record.schema_digest != delegate.schema_digest:
            raise ToolError(f"Not delegated: {call.name} has changed since a person agreed. Ask again if wanted.")
        arguments = call.arguments if record is None else record.effective_arguments
        prompt = str(delegate.validate(parse_object(arguments) or {})["task"])
        if not prompt.strip():
            raise ToolError(EMPTY)
        assert delegate.agent is not None  # it delegates
        return delegate.agent, prompt

    def _may_have_run(self, call: CallPart) -> bool:
        """Returns whether a person agreed to it before an older backup was restored, in which nothing of it had
        begun.
        """
        journal = self._thread.journal
        record = journal.approvals.get(call.id)
        return record is not None and record.was == record.id and not self._has_begun(call)

    def _leave(self, task: CallPart) -> None:
        """Closes what is open inside of ``task``, with which nobody goes on. Nothing in it waits."""
        for call in reversed(self._thread.journal.all_open_tasks()):
            if call.id != task.id and self._is_inside(call.id, {task.id}):
                self._scope.result(call, TASK_LEFT if self._has_begun(call) else result_texts.CANCELLED_BEFORE)

    def _has_begun(self, call: CallPart) -> bool:
        return self._thread.journal.latest_in(call.id) is not None

    async def _worked(self, task: str, agent: Agent, prompt: str) -> Output | None:
        consents = self._make_consents(task)
        lane = self._scope.lane(task)
        lane.announce()
        try:
            return await self._turns(task, agent, prompt, consents)
        except (ProviderError, LimitReached) as error:
            await consents.failed(error)
            await consents.gave_up()
            self._tell(error, agent)
            if isinstance(lane, SubagentLane):
                lane.failed(error.code, error.message)
            return result_texts.failed(f"The agent {agent.name} could not finish: {error.message}")

    async def _turns(self, task: str, agent: Agent, prompt: str, consents: HeldCalls) -> Output | None:
        """Turns of whoever works on it, until it is done or waits."""
        journal = self._thread.journal
        lane = self._scope.lane(task)
        turns: dict[str, Turns] = {}
        await self._resume(task)
        for _ in range(agent.max_turns):
            if journal.waits_in(task):
                return None
            self._thread.lease.check()
            member = await self._members.worker(journal, agent, task, prompt)
            latest = journal.latest_in(task)
            if not journal.awaits_model(self._thread.history.transcript(member.to), task):
                return self._said(latest)
            own = turns.get(member.agent.name) or self._make_turns(member, lane, consents)
            turns[member.agent.name] = own
            turn = await own.next_turn()
            lane.end_unfinished()
            if own.was_cut_off and not journal.waits_in(task):
                raise LimitReached(own.was_cut_off)
            if own.verdict.again:
                continue
            if own.verdict.result is not None:
                return Output(own.verdict.result.decode())
            if not turn.awaited:
                return self._said(turn if turn.parts else latest)
        if journal.waits_in(task):
            return None
        raise LimitReached(f"It stopped after {agent.max_turns} turns.")

    def _said(self, turn: TurnEntry | None) -> Output:
        """Returns a task's last words: those of its last turn, or what its own sub-agents said where that has none."""
        if turn is None:
            return result_texts.failed("The agent said nothing.")
        words = [part.text for part in turn.parts if isinstance(part, TextPart)]
        if not words:
            found = (self._thread.journal.result(call.id) for call in turn.calls if call.kind == "task")
            words = [result.output.content for result in found if result is not None]
        return Output("\n\n".join(words) or "(The agent ended without a word.)")

    def _tell(self, error: AguiGateError, agent: Agent) -> None:
        if isinstance(error, ProviderError):
            provider_failed(error, agent.name, self._scope)

    # --- ending ---------------------------------------------------------------------------------------------------
    def stopped(self, error: BaseException | None) -> None:
        """Closes what a run leaves that was stopped, or failed with ``error``. Where it failed, a yes to a task that
        has not begun is good for the next run.
        """

        def end(call: CallPart) -> None:
            if error is None or not self._is_due(call):
                self._scope.stopped(call)

        self._end_idle(end)

    def superseded(self, waited: Set[str]) -> None:
        """Closes tasks whose questions were closed, and all inside of them."""
        self._end_idle(lambda call: self._scope.result(call, TASK_SUPERSEDED), waited)

    def _is_due(self, call: CallPart) -> bool:
        """Returns whether a person has agreed to a task that the user's own agent delegates, and nothing of it has
        begun.
        """
        journal = self._thread.journal
        agreed = call.id in journal.approvals and not journal.task_of(call.id)
        return agreed and call.id not in self._scope.begun and not self._has_begun(call)

    def _end_idle(self, end: End, within: Set[str] | None = None) -> None:
        """Has ``end`` close the open tasks inside which nothing waits (now), the inner ones first.

        ``within``: only such of these ids, and all inside of those, as nobody would go on with what they delegated.
        """
        waiting = self._thread.journal.waiting_tasks()
        over = None if within is None else within - waiting
        for call in reversed(self._thread.journal.all_open_tasks()):
            if call.id not in waiting and (over is None or self._is_inside(call.id, over)):
                end(call)

    def _is_inside(self, task: str, others: Set[str]) -> bool:
        """Returns whether ``task`` is one of ``others``, or was delegated in one, however deep."""
        while task and task not in others:
            task = self._thread.journal.task_of(task)
        return bool(task)


def _left_unfinished(name: str) -> Output:
    """Returns the output of a task that had begun with an agent called ``name``, with which nobody here can go on."""
    return result_texts.failed(
        f"Not finished: the agent {name} is gone, or has changed, so nobody can go on with this task. "
        "It had begun, and what was done in it stays done: check before trying again."
    )
