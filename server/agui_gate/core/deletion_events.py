"""Events of the audit trail about calls whose thread was deleted, or that were in a backup which was restored."""

from typing import cast

from agui_gate.core.approvals import Approval, State
from agui_gate.core.audit import Event, Happened, Kind, about, digest
from agui_gate.core.json_text import canonical
from agui_gate.core.transcript import Output


def deleted(approval: Approval, run_key: str) -> Happened:
    """Returns the event of a thread's deletion, for an approval that was in that state then."""
    return about(approval, "deleted", run_key=run_key, body={"state": approval.state.value})


def late(gone: Event, to: State, output: Output) -> Happened:
    """Returns the outcome of a call whose thread was ``deleted`` meanwhile, by that event."""
    return Happened(
        kind=cast(Kind, to.value),
        principal=gone.principal,
        thread_id=gone.thread_id,
        approval_id=gone.approval_id,
        body=canonical({"output": digest(output.content)}),
    )


def restored(approval: Approval, epoch: int, again: str | None = None) -> Happened:
    """Returns the event that a backup was restored in which it was in that state. ``epoch``: of the store, from then
    on. ``again``: the id under which it is asked again.
    """
    more = {} if again is None else {"again": again}
    return about(approval, "restored", body={"epoch": epoch, "state": approval.state.value, **more})
