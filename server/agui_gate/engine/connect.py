"""Coming back to a thread: what a client that knows only the thread's id is told first.

While a run is running it is the conversation as it was at the run's last opening, and the run's own frames from there
on, so that nothing is shown twice. If so much was said since that the log has lost the frames that follow the opening,
the conversation of then is all there is to show until the run reaches its next one.

Without a running run it is the conversation as it stands, ending in what waits for a person: open cards are part of the
messages, anything else is asked by interrupt.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from agui_gate.agent import Agent
from agui_gate.bus.log import EventLog, Reader
from agui_gate.core import events as ev
from agui_gate.core.approvals import Approval, State
from agui_gate.core.sanitizer import CARD_TOOL
from agui_gate.core.sequencer import Sequencer
from agui_gate.core.transcript import CardClosedEntry, CardEntry, Entry, TurnEntry
from agui_gate.engine import outcomes
from agui_gate.engine.live import LiveRun
from agui_gate.off_loop import json_list
from agui_gate.protocol import cards
from agui_gate.protocol.earlier import already_ran
from agui_gate.protocol.encoder import FrameEncoder
from agui_gate.protocol.inbound import RunInput
from agui_gate.protocol.messages import agui_messages, result_id
from agui_gate.stores.base import Thread


class _Told:
    """The frames that are made for one client alone, under a key of their own."""

    def __init__(self, run: RunInput, key: str) -> None:
        encoder = FrameEncoder(key)
        self._frames: list[bytes] = []
        self.sequencer = Sequencer(run.thread_id, run.run_id, lambda event: self._frames.append(encoder.frame(event)))

    def conversation(self, messages: msgspec.Raw, state: Any) -> None:
        """The messages and the state; before them RUN_STARTED, the first time."""
        self.sequencer.started()
        self.sequencer.other(ev.MessagesSnapshot(messages))
        self.sequencer.other(ev.StateSnapshot(state))

    def take(self) -> bytes:
        """The frames since the last time."""
        frames, self._frames = self._frames, []
        return b"".join(frames)


class Joining(Reader):
    """A reader of the conversation, and then of ``live``'s frames."""

    __slots__ = ("_joined", "_live", "_told", "_told_once")

    def __init__(self, run: RunInput, live: LiveRun, key: str) -> None:
        super().__init__(live.published.log, after=live.published.log.next_seq - 1)
        self._live = live
        self._told = _Told(run, key)
        self._joined = self._told_once = False

    async def read(self) -> bytes:
        """See `Reader.read`."""
        if self._joined:
            self.hold = None  # the conversation was sent
        else:
            await self._live.opening.messages.prepare()
        return await super().read()

    def _take(self) -> bytes:
        if self._joined:
            return super()._take()
        opening = self._live.opening
        self._joined = opening.seq >= self._log.first_seq
        if self._told_once and not self._joined:
            return b""
        self._told_once = True
        self.position = opening.seq if self._joined else self._log.next_seq
        self._told.conversation(opening.messages(), opening.state)
        return self._told.take()


def as_it_stands(agent: Agent, run: RunInput, thread: Thread, key: str) -> Reader:
    """A reader of a thread that has no running run."""
    told = _Told(run, key)
    approvals = [outcomes.completed(approval) for approval in thread.approvals]
    entries = [*thread.entries, *_settled_cards(thread.entries, approvals)]
    messages = json_list(agui_messages(entries, approvals, file_sources=False))
    told.conversation(messages, {} if thread.state is None else thread.state)
    told.sequencer.finish(_asked(agent, run, thread, approvals))
    ended = EventLog()
    ended.end()
    return Reader(ended, prefix=told.take())


def _settled_cards(entries: Sequence[Entry], approvals: Sequence[Approval]) -> list[CardClosedEntry]:
    """What the next run says of the cards of calls that were decided elsewhere; without it they keep their buttons."""
    closed = {entry.card_id for entry in entries if isinstance(entry, CardClosedEntry)}
    outputs = {approval.id: approval.output.content for approval in approvals if approval.output}
    cards = [entry for entry in entries if isinstance(entry, CardEntry) and entry.id not in closed]
    return [CardClosedEntry(e.id, result_id(e.id), outputs[e.approval_id]) for e in cards if e.approval_id in outputs]


def _asked(agent: Agent, run: RunInput, thread: Thread, approvals: list[Approval]) -> ev.InterruptOutcome | None:
    """The interrupts of what waits and has no open card. For a page that knows no cards they are no cards."""
    closed = {entry.card_id for entry in thread.entries if isinstance(entry, CardClosedEntry)}
    carded = {e.approval_id for e in thread.entries if isinstance(e, CardEntry) and e.id not in closed}
    if agent.hitl == "interrupt" or (agent.hitl == "auto" and CARD_TOOL not in run.client_tools):
        carded = set()
    pending = [a for a in approvals if a.state is State.PENDING and not a.expired_at(thread.now) and a.id not in carded]
    if not pending:
        return None
    held = {c.id for e in thread.entries if isinstance(e, TurnEntry) for c in e.calls if c.kind == "held"}
    tools = {a.id: agent.by_name[a.tool] for a in pending if a.tool in agent.by_name and a.call_id not in held}
    parameters = {a.id: tools[a.id].parameters if a.id in tools else {"type": "object"} for a in pending}
    return ev.InterruptOutcome(
        tuple(
            cards.interrupt(a, parameters[a.id], already_ran(a, parameters[a.id], approvals, thread.entries))
            for a in pending
        )
    )
