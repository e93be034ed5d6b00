"""The context that everything that works in one run shares."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from agui_gate.agents.team import Team
from agui_gate.core import events as ev
from agui_gate.core import result_texts
from agui_gate.core.json_text import object_or_empty
from agui_gate.core.sequencer import Lane, Sequencer
from agui_gate.core.stop_reasons import Stop
from agui_gate.core.transcript import CallPart, Output, ResultEntry, TurnEntry
from agui_gate.log_events import Downgrades
from agui_gate.protocol.cards import metadata
from agui_gate.protocol.dialects.base import Dialect, Result, Shapes
from agui_gate.protocol.run_input import RunInput
from agui_gate.protocol.snapshot import result_id
from agui_gate.runs.live_run import LiveRun
from agui_gate.stores.base import Store
from agui_gate.threads.parts import ThreadPart
from agui_gate.threads.reconciliation import NewId
from agui_gate.turns.tool_execution import Toolbox

if TYPE_CHECKING:
    from agui_gate.approvals.execution import GatedCalls
    from agui_gate.threads.leased_thread import LeasedThread


class Rest(Enum):
    """The reason for which a conversation comes to rest."""

    DONE = auto()
    """The model has said what it had to say."""
    WAITS = auto()
    """The conversation waits: somebody has to do something first."""


@dataclass(slots=True)
class RunContext:
    """One run: its request, its thread, its stream, who follows it; and where ids and the time come from.

    ``dialect`` is its client, as the rules have it by which that is told. ``begun`` are the calls whose tools have been
    started in this run, ``untold`` results that are being saved, by their calls. ``gated_calls`` decides those with a
    gate.
    """

    team: Team
    input: RunInput
    shapes: Shapes
    thread: "LeasedThread"
    seq: Sequencer
    live: LiveRun
    new_id: NewId
    store: Store
    downgrades: Downgrades
    begun: tuple[str, ...] = ()
    untold: dict[str, ResultEntry] = field(default_factory=dict)
    dialect: Dialect = field(init=False)
    gated_calls: "GatedCalls" = field(init=False)

    def begin(self) -> None:
        """Makes what only the run itself needs."""
        self.dialect = self.shapes.dialect(self, self.shapes.style(self.team.entry.hitl, self.input))

    def close(self) -> None:
        """Lets go of what refers to it, when nothing is at work any more: so all of the run is free at once."""
        del self.dialect, self.gated_calls

    @property
    def key(self) -> str:
        """The server's own name for the run."""
        return self.live.key

    @property
    def tools(self) -> Toolbox:
        """The toolbox, which tells the client what tools tell."""
        return Toolbox(self.thread, lambda call_id: self.lane_of(call_id).other)

    def at_rest(self) -> None:
        """Lets clients that connect from now on begin here, as nothing is half said."""
        self.seq.end_unfinished()
        self.opened()

    def opened(self) -> None:
        """Clients that connect from now on begin here; not while a sub-agent is at work that they would not know."""
        if not self.seq.has_subagents:
            self.restart()

    def ask(self, part: ThreadPart) -> None:
        """Has a part of the thread take over what the request brings."""
        part.asked(self.input, self.seq.other, self.restart, known=self.live.keeps_state)

    def restart(self) -> None:
        """Makes clients that connect from now on begin here."""
        self.live.opened(*self.thread.snapshot())

    def lane(self, task: str) -> Lane:
        """Returns the lane of what is said in ``task``. What is said of one that was done in an earlier run is the
        run's.
        """
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
        """Returns the lane of what is said of a call."""
        return self.lane(self.thread.journal.task_of(call_id))

    def messages(self) -> ev.MessagesSnapshot:
        """Returns the whole conversation as it is now, for its client."""
        told = self.thread.messages()
        self.lost(told.lost)
        return ev.MessagesSnapshot(told.messages)

    def result(self, call: CallPart, output: Output) -> None:
        """Records and shows the output of a call that needed no approval. A call of the client's is given up."""
        result = ResultEntry(call.id, result_id(call.id), output, given_up=call.kind == "client")
        self.thread.append([result])
        if result.given_up:
            self.dialect.gave_up(Result(call.id, result.message_id, output.content))
        else:
            self._tell(result)

    def tell(self, result: ResultEntry) -> None:
        """Shows the output of a call whose result was recorded, and saved, first."""
        self.untold.pop(result.call_id, None)
        self._tell(result)

    def _tell(self, entry: ResultEntry) -> None:
        """Shows what came of a call."""
        record = self.thread.approvals.get(entry.call_id)
        said = None if record is None else metadata(record)
        result = Result(entry.call_id, entry.message_id, entry.output.content, said)
        call = self.thread.journal.call(entry.call_id)
        if call is not None and call.kind == "task":
            self.dialect.task_result(call, record, result)
        else:
            self.lane_of(entry.call_id).result(*result)

    def show_freed(self, turn: TurnEntry) -> None:
        """Shows the calls of ``turn`` that were held back and about which nobody is asked."""
        for call in turn.calls:
            if call.shown == "after_turn":
                self.show(call)

    def show(self, call: CallPart, arguments: str | None = None) -> None:
        """Shows a call that was held back, at one go; with these ``arguments`` where they are not as it was made."""
        lane = self.lane_of(call.id)
        lane.call(call.id, call.name, call.parent_id)
        lane.call_args(call.id, object_or_empty(call.arguments) if arguments is None else arguments)
        lane.call_end(call.id)

    def lost(self, words: Iterable[str]) -> None:
        """Tells the developers what the client can't be told (VER-7)."""
        thread = self.thread.thread
        for what in words:
            self.downgrades.lost(what, thread.principal, thread.id, self.shapes.remedy)

    def stop(self, why: Stop, usage: Sequence[Any]) -> None:
        """Ends the stream of a run that was stopped before it was complete."""
        self.lost(self.seq.stop(why, usage))

    def stopped(self, call: CallPart) -> None:
        """Closes a call that the end of the run has left open: one that had not begun has no effect to be feared."""
        begun = call.kind == "client" or call.id in self.begun
        self.result(call, result_texts.CANCELLED_RUNNING if begun else result_texts.CANCELLED_BEFORE)
