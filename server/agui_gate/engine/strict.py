"""`Agent(on_unanswered="refuse")`: a run that doesn't answer all that waits is refused before it begins (INT-5).

It is refused before the lease, so that nothing of the thread changes, and looked at once more under it: something may
have been asked in between. Either way there is no stream yet, and the refusal is an HTTP error.
"""

from collections.abc import Awaitable, Callable

from agui_gate.core.journal import Journal
from agui_gate.engine.budget import Reservation
from agui_gate.engine.intake import take
from agui_gate.errors import ApprovalPending
from agui_gate.off_loop import if_large
from agui_gate.protocol.inbound import RunInput
from agui_gate.stores.base import Store, Thread
from agui_gate.team import Team

ReadThread = Callable[[str, str], Awaitable[tuple[Thread, Reservation] | None]]


async def refuse_early(store: Store, read: ReadThread, team: Team, run: RunInput, principal: str) -> None:
    """Raise `ApprovalPending` if the run would be refused. Leaves a thread to its lease on which something is at work.

    Costs one cheap read where nothing waits.
    """
    if team.entry.on_unanswered != "refuse":
        return
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
    """Raise `ApprovalPending` if something waits on ``thread`` that the run doesn't answer."""
    if team.entry.on_unanswered != "refuse":
        return
    pending = {approval.id for approval in thread.approvals if approval.waits_at(thread.now)}
    if not pending:
        return
    size = len(run.messages) + len(thread.entries)
    if left := pending - await if_large(size, _answered, team, run, thread):
        raise ApprovalPending(f"{len(left)} call(s) wait for an answer; answer them all in one run.")


def _answered(team: Team, run: RunInput, thread: Thread) -> set[str]:
    no_id = str  # what is looked at here is not kept
    intake = take(run, Journal(thread.entries, thread.approvals), no_id, ours=team.tool_names)
    return {answer.id for answer in intake.answers}
