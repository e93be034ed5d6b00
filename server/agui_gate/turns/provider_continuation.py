"""Continues at a provider from what it remembers, for one member in one run: of the conversation, or of a task."""

from typing import TYPE_CHECKING

import msgspec

from agui_gate.core.agent_view import Viewpoint
from agui_gate.core.transcript import ConversationRef, TurnEntry, WindowEntry

if TYPE_CHECKING:
    from agui_gate.threads.leased_thread import LeasedThread


class ProviderContinuation:
    """The reference from which ``who`` goes on at its provider.

    In the conversation that is the thread's one reference. A task's is its own: that of its newest turn, if that was
    said by ``who``. A conversation that the provider keeps is gone on with within one run alone: in a later one nobody
    knows whether it holds a request that was never answered. But it holds none as long as the provider was not told of
    a call that it holds back, and that a person has agreed to: the first request would have said so.
    """

    def __init__(self, thread: "LeasedThread", who: Viewpoint) -> None:
        self._thread, self._who = thread, who
        latest = thread.journal.latest_in(who.task) if who.task else None
        ref = latest.ref if latest is not None and latest.agent == who.agent and not latest.cut else None
        self._own = ref if ref is not None and (ref.previous_response_id or self._is_newest(latest)) else None

    def _is_newest(self, turn: TurnEntry | None) -> bool:
        """Returns whether nothing was asked after ``turn``."""
        approvals = (self._thread.approvals.get(call.id) for call in turn.calls) if turn is not None else ()
        return any(approval is not None and approval.is_agreed for approval in approvals)

    @property
    def ref(self) -> ConversationRef | None:
        """The reference to go on from, if there is one."""
        if not self._who.task:
            return self._thread.journal.reference(self._who.agent)
        latest = self._thread.journal.latest_in(self._who.task)
        own = latest is not None and self._own is not None and latest.id == self._own.turn_id
        return self._own if own else None

    @ref.setter
    def ref(self, ref: ConversationRef | None) -> None:
        if self._who.task:
            self._own = ref
        else:
            self._thread.ref = ref

    async def suspend(self) -> None:
        """Marks a provider's conversation before a request in it: until its answer is there, it may hold the request
        already.

        So it is not continued after a stop, a failure or a crash, as it would hold the request twice; everything is
        sent again instead. Saved at once. A chain needs none of it: it goes on from the response before.
        """
        if self._who.task:
            if self._own is not None and self._own.conversation_id:
                self._own = None
            return
        ref = self._thread.ref
        if ref is not None and ref.conversation_id:
            self._thread.ref = msgspec.structs.replace(ref, turn_id="")
            await self._thread.commit()

    def keep(self, ref: ConversationRef | None, turn_id: str, now: int) -> ConversationRef | None:
        """Goes on from ``ref``, which an adapter gave for the turn, the next time. Returns it with what was missing."""
        kept = self.ref = msgspec.structs.replace(ref, turn_id=turn_id, committed_at=now) if ref else None
        return kept

    def begin_at(self, start: str = "", then: str = "", summary: str = "") -> None:
        """Notes from where on the conversation is sent; without arguments, that it is sent whole. Where that is another
        place than before, the provider's memory of it is left, as it holds more than is to be sent, or less.
        """
        window = WindowEntry(start, then, summary, *self._who)
        if window != self.window:
            self.ref = None
            self._thread.append([window])

    @property
    def window(self) -> WindowEntry:
        """The entry that says what was sent of the conversation last."""
        whole = WindowEntry(agent=self._who.agent, task=self._who.task)
        return self._thread.journal.windows.get(self._who, whole)
