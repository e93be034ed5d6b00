"""Tells the other replicas that a thread or an approval has changed, or that what runs is to stop, so that they look at
once.

A stop is a request in the store, which its replica takes with its next beat (`runs/heartbeat.py`): here it is hurried.

What is written here is told to the other replicas by a signal on the bus, and what they tell is passed on here as if it
had been written here. Signals are hints (`bus/base.py`): whoever is woken looks at the store, and everybody who waits
looks from time to time anyway. So nothing depends on a signal but how soon it is known.

What a run saves while it goes on is not told to others: who follows it there reads its events. Its end is, and whatever
happens to an approval. So a run without approvals is one signal. An engine has this where its bus is shared.
"""

from collections.abc import Callable, Collection, Sequence

from agui_gate.bus.base import Bus, Signal
from agui_gate.extension import Extension, Hint, Notice, NoticeKind


class Replicas(Extension):
    """Joins this replica with the others on ``bus``. ``hear`` is told what they tell."""

    notice_kinds: Collection[NoticeKind] = ("approval_pending", "approval_decided")

    def __init__(self, bus: Bus, hear: Callable[[Hint], None]) -> None:
        self._bus, self._pass_on = bus, hear
        bus.listen(self._hear)

    def written(self, hint: Hint) -> None:
        """Tells the others, unless one of them told it."""
        if hint.here and hint.what != "saved":
            self._bus.tell(Signal("written" if hint.what == "ended" else hint.what, hint.principal, hint.thread_id))

    async def notices(self, batch: Sequence[Notice]) -> None:
        """Tells it again where approvals have changed: the first signal may be lost, and its process dead."""
        changed = ((one.principal, one.thread_id) for one in batch if one.kind in self.notice_kinds)
        for principal, thread_id in dict.fromkeys(changed):
            self._pass_on(Hint(principal, thread_id, "approvals", here=False))
            self._bus.tell(Signal("approvals", principal, thread_id))

    def _hear(self, signal: Signal) -> None:
        what = "ended" if signal.kind == "written" else signal.kind
        self._pass_on(Hint(signal.principal, signal.thread_id, what, here=False))
