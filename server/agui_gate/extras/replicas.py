"""What the replicas of a server tell each other, and what each does when it hears it.

What is written here wakes who waits for it here, and a signal on the bus wakes who waits for it elsewhere. Signals are
hints (`bus/base.py`): whoever is woken looks at the store, and everybody who waits looks from time to time anyway. So
nothing depends on a signal but how soon it is known.

What a run saves while it goes on is not told to others: who follows it there reads its events. Its end is, and whatever
happens to an approval. So a run without approvals is one signal.
"""

from collections.abc import Callable

from agui_gate.approvals.inbox import Inbox
from agui_gate.bus.base import Bus, Signal
from agui_gate.readers.wake_ups import Watch
from agui_gate.threads.lease import What


class Replicas:
    """This replica among the others. ``stop`` is told of which thread somebody wants what works on it stopped;
    ``deliver``, that there may be something in the outbox (`approvals/outbox.py`).
    """

    def __init__(
        self, bus: Bus, watch: Watch, inbox: Inbox, stop: Callable[[str, str], None], deliver: Callable[[], None]
    ) -> None:
        self._bus, self._watch, self._inbox, self._stop, self._deliver = bus, watch, inbox, stop, deliver
        bus.listen(self._hear)

    def written(self, principal: str, thread_id: str, what: What) -> None:
        """Wake who waits for what was written here."""
        if what == "saved":
            self._wake(principal, thread_id, approvals=False)
        else:
            self.tell(principal, thread_id, approvals=what == "approvals")
            self._deliver()

    def tell(self, principal: str, thread_id: str, *, approvals: bool = True) -> None:
        """Wake who waits for a thread, and perhaps for approvals of it, on every replica."""
        self._wake(principal, thread_id, approvals)
        self._bus.tell(Signal("approvals" if approvals else "written", principal, thread_id))

    def ask_to_stop(self, principal: str, thread_id: str) -> None:
        """A `StopRequest` waits in the store for what works on that thread."""
        self._bus.tell(Signal("stop", principal, thread_id))

    def _hear(self, signal: Signal) -> None:
        if signal.kind == "stop":
            self._stop(signal.principal, signal.thread_id)
        else:
            self._wake(signal.principal, signal.thread_id, signal.kind == "approvals")

    def _wake(self, principal: str, thread_id: str, approvals: bool) -> None:
        self._watch.happened(principal, thread_id)
        if approvals:
            self._inbox.changed(principal)
