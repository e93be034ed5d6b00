"""What everything that works in one run shares."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agui_gate.agents.agent import Agent
from agui_gate.agents.team import Team
from agui_gate.core import events as ev
from agui_gate.core import outcomes
from agui_gate.core.approvals import Approval, Style
from agui_gate.core.dialect import Dialect
from agui_gate.core.json_text import object_or_empty
from agui_gate.core.lane import Lane
from agui_gate.core.sequencer import Sequencer
from agui_gate.core.stop_reasons import Stop
from agui_gate.core.transcript import CARD_TOOL, CallPart, Output, ResultEntry, TurnEntry
from agui_gate.protocol.approval_records import metadata
from agui_gate.protocol.messages import as_run, result_id
from agui_gate.protocol.run_input import RunInput
from agui_gate.runs.downgrades import Downgrades, Lost
from agui_gate.runs.live_run import LiveRun
from agui_gate.threads.history_import import NewId
from agui_gate.threads.leased_thread import LeasedThread

Clock = Callable[[], int]
"""Now, in ms since the epoch."""


def style_of(agent: Agent, run: RunInput, dialect: Dialect) -> Style:
    """How a run asks people: by card, or by interrupt. By the specification's rules nothing is called that nobody
    advertised (TOOL-5).
    """
    offered = CARD_TOOL in run.client_tools
    if agent.hitl == "card":
        return "card" if offered or not dialect.v1 else "interrupt"
    return "card" if agent.hitl == "auto" and offered else "interrupt"


@dataclass(frozen=True, slots=True)
class RunContext:
    """One run: its request and the rules it is told by, its thread, its stream, who follows it; and where ids and the
    time come from.

    ``begun`` are the calls whose tools have been started in this run, ``withdrawn`` those that the page shows and is
    to show otherwise, or no longer: it is told by the next snapshot. ``untold`` are results that are being saved, by
    their calls.
    """

    team: Team
    input: RunInput
    dialect: Dialect
    thread: LeasedThread
    seq: Sequencer
    live: LiveRun
    new_id: NewId
    clock: Clock
    downgrades: Downgrades
    begun: set[str] = field(default_factory=set)
    withdrawn: set[str] = field(default_factory=set)
    untold: dict[str, ResultEntry] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The server's own name for the run."""
        return self.live.key

    def at_rest(self) -> None:
        """Nothing is half said: clients that connect from now on begin here."""
        self.seq.end_unfinished()
        self.opened()

    def opened(self) -> None:
        """Clients that connect from now on begin here; not while a sub-agent is at work that they would not know."""
        if not self.seq.has_subagents:
            self.live.opened(*self.thread.snapshot())

    def lane(self, task: str) -> Lane:
        """Where what is said in ``task`` goes. What is said of one that was done in an earlier run is the run's."""
        journal = self.thread.journal
        call, turn = journal.call(task), journal.delegation(task)
        if call is None or turn is None or (journal.has_result(task) and not self.seq.knows(task)):
            return self.seq
        delegate = self.team.delegate(turn.agent, call.name)
        agent = None if delegate is None else delegate.agent
        name, description = (call.name, "") if agent is None else (agent.name, agent.description)
        about = ev.SubagentStarted(task, name, description or None, turn.task or None, task)
        return self.lane(turn.task).subagent(about)

    def lane_of(self, call_id: str) -> Lane:
        """Where what is said of a call goes."""
        return self.lane(self.thread.journal.task_of(call_id))

    def show_messages(self) -> None:
        """MESSAGES_SNAPSHOT: the whole conversation."""
        told = self.thread.messages()
        for what in told.lost:
            self.lost(Lost(what))
        self.seq.other(ev.MessagesSnapshot(told.messages))

    def result(self, call: CallPart, output: Output) -> None:
        """Record and show the output of a call that needed no approval.

        A call of the client's is given up. By the specification's rules nobody but the client answers it, so the page
        is not told this output; the call is withdrawn from it (TOOL-4).
        """
        message_id, given_up = result_id(call.id), call.kind == "client"
        self.thread.append([ResultEntry(call.id, message_id, output, given_up=given_up)])
        if given_up and self.dialect.v1:
            self.seq.leave_open([call.id])
            self.withdrawn.add(call.id)
        else:
            self._tell(call.id, message_id, output)

    def tell(self, result: ResultEntry) -> None:
        """Show the output of a call whose result was recorded, and saved, first."""
        self.untold.pop(result.call_id, None)
        self._tell(result.call_id, result.message_id, result.output)

    def _tell(self, call_id: str, message_id: str, output: Output) -> None:
        """Show what came of a call."""
        record = self.thread.approvals.get(call_id)
        if not self._restates(call_id, record):
            told = None if record is None else metadata(record)
            self.lane_of(call_id).result(call_id, message_id, output.content, told)

    def _restates(self, call_id: str, record: Approval | None) -> bool:
        """Whether a snapshot tells what came of a task, as the client's request held something of it (LIFE-8).

        Where not, a call that was held back until its task is done is shown now.
        """
        call = self.thread.journal.call(call_id)
        if call is None or call.kind != "task" or not self.dialect.v1:
            return False
        late = call.shown in ("when_done", "when_decided")
        if self._was_sent(call_id, late=late):
            self.withdrawn.add(call_id)
            self.seq.restated(call_id)
            return True
        if late:
            self.show(call, None if record is None else as_run(call.arguments, record))
        return False

    def _was_sent(self, call_id: str, *, late: bool) -> bool:
        """Whether the client's history has something in the place of the call's result; or, of a ``late`` call, it."""
        for message in self.input.messages:
            if message.tool_call_id == call_id or (late and any(c.id == call_id for c in message.tool_calls or ())):
                return True
        return False

    def show_freed(self, turn: TurnEntry) -> None:
        """Show the calls of ``turn`` that were held back and about which nobody is asked."""
        for call in turn.calls:
            if call.shown == "after_turn":
                self.show(call)

    def show(self, call: CallPart, arguments: str | None = None) -> None:
        """Show a call that was held back, at one go; with these ``arguments`` where they are not as it was made."""
        lane = self.lane_of(call.id)
        lane.call(call.id, call.name, call.parent_id)
        lane.call_args(call.id, object_or_empty(call.arguments) if arguments is None else arguments)
        lane.call_end(call.id)

    def lost(self, what: Lost) -> None:
        """The shapes of 0.x have no way to tell the client this: tell the developers (VER-7)."""
        thread = self.thread.thread
        asked, reads_stops = self.input.protocol_version, self.live.reads_stops
        self.downgrades.lost(what, thread.principal, thread.id, asked, reads_stops=reads_stops)

    def stop(self, why: Stop, usage: Sequence[Any]) -> None:
        """End the stream of a run that was stopped before it was complete."""
        if not self.dialect.v1:
            self.lost(Lost.CANCELLED)
        self.seq.stop(why, usage)

    def stopped(self, call: CallPart) -> None:
        """Close a call that the end of the run has left open: one that had not begun has no effect to be feared."""
        begun = call.kind == "client" or call.id in self.begun
        self.result(call, outcomes.CANCELLED_RUNNING if begun else outcomes.CANCELLED_BEFORE)
