"""Coming back to a thread: what a client that knows only the thread's id is told first.

The snapshot is the conversation as it was when the running run began, and the run's own frames follow from the bus,
so that nothing is shown twice. Without a running run it is the conversation as it stands, ending in what waits for a
person: open cards are part of the messages, anything else is asked by interrupt.
"""

from agui_gate.agent import Agent
from agui_gate.bus.log import EventLog, Reader
from agui_gate.core import events as ev
from agui_gate.core.approvals import Approval, State
from agui_gate.core.sequencer import Sequencer
from agui_gate.core.transcript import CardClosedEntry, CardEntry
from agui_gate.engine import outcomes
from agui_gate.engine.live import LiveRun
from agui_gate.protocol import cards
from agui_gate.protocol.encoder import FrameEncoder
from agui_gate.protocol.inbound import RunInput
from agui_gate.protocol.messages import agui_messages
from agui_gate.stores.base import Thread


def opening_frames(agent: Agent, run: RunInput, thread: Thread, live: LiveRun | None, key: str) -> Reader:
    """A reader of the snapshot, followed by ``live``'s frames if there is a run to follow."""
    encoder = FrameEncoder(key)
    frames: list[bytes] = []
    sequencer = Sequencer(run.thread_id, run.run_id, lambda event: frames.append(encoder.frame(event)))
    sequencer.started()
    state = ev.StateSnapshot({} if thread.state is None else thread.state)
    if live is not None and live.published.log.first_seq == 0:
        for event in (ev.MessagesSnapshot(live.opening()), state):
            sequencer.other(event)
        return live.read(0, b"".join(frames))
    approvals = [outcomes.completed(approval) for approval in thread.approvals]
    sequencer.other(ev.MessagesSnapshot(agui_messages(thread.entries, approvals, file_sources=False)))
    sequencer.other(state)
    sequencer.finish(_asked(agent, thread, approvals))
    ended = EventLog()
    ended.end()
    return Reader(ended, prefix=b"".join(frames))


def _asked(agent: Agent, thread: Thread, approvals: list[Approval]) -> ev.InterruptOutcome | None:
    closed = {entry.card_id for entry in thread.entries if isinstance(entry, CardClosedEntry)}
    carded = {e.approval_id for e in thread.entries if isinstance(e, CardEntry) and e.id not in closed}
    pending = [a for a in approvals if a.state is State.PENDING and not a.expired_at(thread.now) and a.id not in carded]
    if not pending:
        return None
    tools = agent.by_name
    return ev.InterruptOutcome(
        tuple(cards.interrupt(a, tools[a.tool].parameters if a.tool in tools else {"type": "object"}) for a in pending)
    )
