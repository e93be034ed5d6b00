"""Refuses a run that doesn't answer all pending calls (INT-5): `Agent(on_unanswered="refuse")`.

It is refused before the lease, so that the thread doesn't change, and checked again under the lease: something may have
been asked in between. Either way there is no stream yet, and the refusal is an HTTP error.
"""

from collections.abc import Awaitable, Callable

from agui_gate.agents.team import Team
from agui_gate.concurrency import if_large
from agui_gate.core.journal import Journal
from agui_gate.errors import ApprovalPending
from agui_gate.protocol.run_input import RunInput
from agui_gate.stores.base import Store, Thread
from agui_gate.threads.budget import Reservation
from agui_gate.threads.reconciliation import take

ReadThread = Callable[[str, str], Awaitable[tuple[Thread, Reservation] | None]]


async def refuse_early(team: Team, store: Store, read: ReadThread, run: RunInput, principal: str) -> None:
    """Raises `ApprovalPending` if the run would be refused. Leaves a thread to its lease on which something is at work.

    Costs one cheap read where nothing waits.
    """
    calls = await store.read_calls(principal, run.thread_id)
    if calls is None or not any(approval.is_pending for approval in calls.approvals):
        return
    found = await read(principal, run.thread_id)
    if found is None:
        return
    thread, reservation = found
    try:
        if thread.run_status != "running":
            await refuse(team, run, thread)
    finally:
        reservation.release()


async def refuse(team: Team, run: RunInput, thread: Thread) -> None:
    """Raises `ApprovalPending` if something waits on ``thread`` that the run doesn't answer."""
    pending = {approval.id for approval in thread.approvals if approval.waits_at(thread.now)}
    if not pending:
        return
    size = len(run.messages) + len(thread.entries)
    if left := pending - await if_large(size, _answered, team, run, thread):
        raise ApprovalPending(f"{len(left)} call(s) are pending; answer them all in one run.")


def _answered(team: Team, run: RunInput, thread: Thread) -> set[str]:
    no_id = str  # what is looked at here is not kept
    intake = take(run, Journal(thread.entries, thread.approvals), no_id, ours=team.tool_names)
    return {answer.id for answer in intake.answers}
