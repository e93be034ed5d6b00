"""Makes the frames that a client which comes back to a thread is sent first, and that are for it alone.

While a run is running it is the conversation as it was at the run's last opening, then the run's own frames from there
on. So nothing is shown twice. So much may have been said since that the log has lost the frames that follow the
opening. Then the conversation of then is all there is to show until the run reaches its next one.

Where something is at work whose frames can't be had, it is followed by what it saves: see `readers/thread_poller.py`.

Where nothing is at work it is the conversation as it stands, and the end is that of the thread's last run. What waits
for a person comes first: open cards are part of the messages, anything else is asked by interrupt; whether both may be
at once is the dialect's to say. Where nobody is asked, a run that failed or was stopped ends so again. One whose
process has died ends in RUN_ERROR `interrupted`, whatever became of its calls. Either way CUSTOM
`agui-gate:interrupted` says that it has died. A thread that nobody knows is a run without words (LIFE-1).

All of it is one run to whoever reads it (IN-1). Its thread id is the one that came in. Its run id is that of the run
that goes on, since the last frame is of that run; else the one that came in.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

import msgspec

from agui_gate.agents.team import Team
from agui_gate.approvals import answer_validation
from agui_gate.approvals.expiry import with_result
from agui_gate.bus.base import Messages, Opening, Reader
from agui_gate.core import events as ev
from agui_gate.core import result_texts
from agui_gate.core.approvals import Approval, Style
from agui_gate.core.journal import Journal
from agui_gate.core.message_index import REPLACED
from agui_gate.core.sequencer import Sequencer
from agui_gate.core.sse import FrameEncoder
from agui_gate.core.stop_reasons import ASKED, Stop
from agui_gate.core.transcript import CardClosedEntry, EndedEntry, Entry, ReportedEntry
from agui_gate.errors import AguiGateError, Internal, Interrupted
from agui_gate.protocol import cards
from agui_gate.protocol.cards import already_ran
from agui_gate.protocol.dialects.base import Shapes, Told
from agui_gate.protocol.run_input import RunInput
from agui_gate.protocol.snapshot import result_id
from agui_gate.stores.base import Thread
from agui_gate.stores.outbox import is_run
from agui_gate.threads.budget import Reservation
from agui_gate.threads.history import conversation_json

NOT_KEPT = (Internal.code, "The last run failed. The reason was not saved. Send a message to continue.")
"""The code and message of a failure of which no more is known."""

_decode = msgspec.json.Decoder(list[dict[str, Any]]).decode


class PrivateFrames:
    """The frames that are made for one client alone, under a ``key`` of their own.

    ``lost`` is called with what there is no shape for in its ``shapes``. ``retold``: it is told again that the
    last run failed or was stopped.
    """

    def __init__(
        self,
        thread_id: str,
        run_id: str,
        key: str,
        shapes: Shapes,
        lost: Callable[[Iterable[str]], None],
        *,
        retold: bool = True,
    ) -> None:
        self.run_id, self.shapes, self._lost, self.retold = run_id, shapes, lost, retold
        self._opened: Messages | None = None
        encoder = FrameEncoder(key)
        self._frames: list[bytes] = []
        self.sequencer = Sequencer(thread_id, run_id, lambda event: self._frames.append(encoder.frame(event)), shapes)

    def conversation(self, messages: Told, state: Any) -> None:
        """Frames the messages and the state; before them RUN_STARTED, the first time."""
        self._lost(messages.lost)
        self.sequencer.started()
        self.sequencer.other(ev.MessagesSnapshot(messages.messages))
        self.sequencer.other(ev.StateSnapshot(state))

    def opening(self, opening: Opening) -> bytes:
        """Returns the frames of an opening."""
        self._opened = opening.messages
        self.conversation(self.shapes.messages(opening.messages()), opening.state)
        return self.take()

    def with_unsaved(self, saved: Told) -> Told:
        """Returns ``saved``, and after it what the person said last, if only the run that is gone had it. A page that
        is told its own conversation without it would lose what was typed.
        """
        if self._opened is None:
            return saved
        kept, opened = _decode(saved.messages), _decode(self._opened())
        known = {message["id"] for message in kept}
        last = takewhile(lambda message: message["role"] == "user" and message["id"] not in known, reversed(opened))
        more = self.shapes.messages(msgspec.Raw(msgspec.json.encode([*last][::-1])))
        return Told(msgspec.Raw(msgspec.json.encode([*kept, *_decode(more.messages)])), saved.lost | more.lost)

    def stop(self, why: Stop) -> None:
        """Frames the end of a run that was stopped before it was complete."""
        self._lost(self.sequencer.stop(why))

    def take(self) -> bytes:
        """Returns the frames since the last time."""
        frames, self._frames = self._frames, []
        return b"".join(frames)


class Whole:
    """A reader of what is all there is."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes = b"") -> None:
        self._data = data

    async def read(self) -> bytes:
        """See `Reader`."""
        data, self._data = self._data, b""
        return data

    def ping(self) -> None:
        """Does nothing: it never waits."""

    def close(self) -> None:
        """See `Reader`."""
        self._data = b""


class Reserving:
    """``reader``, with its part of the budget until what it read first, a conversation, was sent."""

    __slots__ = ("_reader", "_reservation", "_sending")

    def __init__(self, reader: Reader, reservation: Reservation) -> None:
        self._reader, self._reservation, self._sending = reader, reservation, False

    async def read(self) -> bytes:
        """See `Reader`."""
        if self._sending:
            self._reservation.release()
        self._sending = True
        return await self._reader.read()

    def ping(self) -> None:
        """See `Reader`."""
        self._reader.ping()

    def close(self) -> None:
        """See `Reader`."""
        self._reservation.release()
        self._reader.close()


def unheard_of(run: RunInput, frames: PrivateFrames) -> bytes:
    """Returns the frames of a thread that isn't there: what the client holds as state stays, there being no other."""
    frames.conversation(Told(msgspec.Raw(b"[]")), run.state or {})
    frames.sequencer.finish()
    return frames.take()


def as_it_stands(team: Team, run: RunInput, thread: Thread, frames: PrivateFrames) -> bytes:
    """Returns the frames of a thread on which nothing is at work, to the end: that of its last run."""
    journal = _journal(thread)
    pending = [approval for approval in journal.pending() if not approval.expired_at(thread.now)]
    style = frames.shapes.style(team.entry.hitl, run)
    bare = [approval for approval in pending if not journal.cards.open_of(approval.id)]
    asked = frames.shapes.asked(style, pending, bare)
    style = "interrupt" if asked else style
    _conversation(team, thread, journal, frames, style)
    if thread.run_status == "interrupted":
        value = {"runKey": thread.run_key, "message": Interrupted().message}
        frames.sequencer.other(ev.Custom("agui-gate:interrupted", value))
    if pending:
        frames.sequencer.finish(_interrupts(team, journal, asked))
    else:
        _end(thread, frames)
    return frames.take()


def _end(thread: Thread, frames: PrivateFrames) -> None:
    """Frames the end of the thread's last run. What a person decided after a stop is no part of what was stopped."""
    is_last = is_run(thread.run_key or "")
    why = next((entry for entry in reversed(thread.entries) if isinstance(entry, EndedEntry)), None)
    if why is not None and is_last and why.run_key != thread.run_key:
        why = None  # of a run before that
    match thread.run_status:
        case "interrupted":
            frames.sequencer.fail(Interrupted.code, Interrupted().message)
        case "failed" if frames.retold:
            frames.sequencer.fail(*((why.code, why.message) if why else NOT_KEPT))
        case "cancelled" if is_last and frames.retold:
            frames.stop(Stop(why.code, why.message, why.reason, why.silent) if why else ASKED)
        case _:
            frames.sequencer.finish()


def failed(frames: PrivateFrames, error: AguiGateError) -> bytes:
    """Returns the frames of an end by RUN_ERROR."""
    frames.sequencer.fail(error.code, error.message)
    return frames.take()


def so_far(team: Team, run: RunInput, thread: Thread, frames: PrivateFrames) -> bytes:
    """Returns the frames of a thread on which something is at work: what was saved until now."""
    _conversation(team, thread, _journal(thread), frames, frames.shapes.style(team.entry.hitl, run))
    frames.sequencer.other(ev.Custom("agui-gate:at_work", {"runKey": thread.run_key}))
    return frames.take()


def _journal(thread: Thread) -> Journal:
    return Journal(thread.entries, map(with_result, thread.approvals))


def _conversation(team: Team, thread: Thread, journal: Journal, frames: PrivateFrames, style: Style) -> None:
    approvals = list(journal.approvals.values())
    entries = [*thread.entries, *_to_be_told(journal, approvals)]
    messages = conversation_json(entries, approvals, frames.shapes.view(style))
    if thread.run_status == "interrupted":
        messages = frames.with_unsaved(messages)
    frames.conversation(messages, team.entry.shown_state(thread.state))


def _to_be_told(journal: Journal, approvals: Sequence[Approval]) -> Iterator[Entry]:
    """Yields what the next run says of calls that were decided elsewhere; without it their cards keep their buttons."""
    for approval in approvals:
        if approval.was and approval.is_pending:
            for card in journal.cards.open_of(approval.was):
                yield CardClosedEntry(card.id, result_id(card.id), REPLACED, retired=True)
        if (output := result_texts.on_cards(approval)) is not None:
            for card in journal.cards.open_of(approval.id, approval.was):
                yield CardClosedEntry(card.id, result_id(card.id), output.content, retired=True)
        if approval.output and journal.shows(approval.call_id):
            yield ReportedEntry(approval.call_id)


def _interrupts(team: Team, journal: Journal, asked: Sequence[Approval]) -> ev.InterruptOutcome | None:
    if not asked:
        return None
    return ev.InterruptOutcome(tuple(_interrupt(team, journal, approval) for approval in asked))


def _interrupt(team: Team, journal: Journal, approval: Approval) -> ev.Interrupt:
    member = team.members.get(approval.agent)
    tool = answer_validation.tool_of(member and member.agent, approval)
    parameters = tool.parameters if tool else {"type": "object"}
    ran = already_ran(approval, parameters, journal.approvals.values(), journal.replaced)
    task = journal.task_of(approval.call_id)
    return cards.interrupt(approval, parameters, ran, asker=team.asker(approval.agent, task), task=task)
