"""Calls that a provider holds until a person approves them, and that it runs itself (docs/design.md#held-calls).

Such a call has a record in the ledger like any gated one. What tells the provider of the answers is an extra
(`extras/provider_approvals.py`): it is loaded for a run on a thread that has such a record unfinished. A call that is
held in the run itself is decided in a later one.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agui_gate.agents.agent import Agent
from agui_gate.core.approvals import Approval
from agui_gate.extra_loader import load

if TYPE_CHECKING:
    from agui_gate.approvals.execution import GatedCalls
    from agui_gate.threads.leased_thread import LeasedThread

EXTRA = "provider_approvals"


class HeldCalls:
    """Keeps track of held calls in one run, under the thread's lease. This base class is for a run that has none."""

    def of_task(self, task: str) -> "HeldCalls":
        """Returns those that were made in this task ("": the conversation)."""
        return self

    @property
    def passing(self) -> bool:
        """True while a request is under way that approves some."""
        return False

    async def recover(self) -> None:
        """Closes those that a process which died had told the provider about."""

    async def branched(self, dropped: Sequence[Approval]) -> None:
        """Closes those of ``dropped``, which a branch has dropped, that were approved and not sent yet."""

    async def pass_on(self, agent: Agent) -> None:
        """Has the next request, to the model of ``agent``, say what was approved, and saves that it will."""

    async def begin(self) -> None:
        """Checks, right before that request is made, that it may be. Raises `LeaseLost`, and what the store raises."""

    async def accepted(self) -> None:
        """Records that the provider took the request."""

    async def lost(self) -> None:
        """Closes those that the provider can't be told about any more."""

    async def gave_up(self) -> None:
        """Closes those of a task that ends here."""

    async def ended(self) -> None:
        """Closes those of all tasks that have ended."""

    async def failed(self, error: BaseException | None) -> None:
        """Records that the request failed with ``error``, or was stopped, before the provider's first event."""


NONE = HeldCalls()


def held_calls_of(thread: "LeasedThread", gated_calls: "GatedCalls", on_shown: Callable[[], None]) -> HeldCalls:
    """Returns the held calls of a run that begins on ``thread``. ``on_shown`` is called when outcomes were shown.

    Raises `ExtraMissing` if there are some and the extra is not installed: they go on waiting.
    """
    if not any(approval.is_held for approval in thread.journal.unfinished()):
        return NONE
    held_calls = load(EXTRA).ProviderApprovals(thread, gated_calls, on_shown)
    assert isinstance(held_calls, HeldCalls)
    return held_calls
