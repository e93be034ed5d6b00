"""Tombstones: what stays of a gated call when its thread is deleted.

A person may delete a conversation, and then nothing of it is kept. But that something was decided, or that it ran, is
no part of the conversation: it took effect. So of every such record a tombstone stays. It says who decided it, when and
which way, and has digests. By these, arguments and a result that somebody else kept can be recognised. There are no
arguments in it, no result and no reason.

A digest hides what nobody could guess. Of a short value, such as one amount, it can be found by trying.
"""

import msgspec

from agui_gate.core.answers import Way
from agui_gate.core.approvals import RAN, UNFINISHED, Approval, State
from agui_gate.core.audit import digest as digest

KEPT = (UNFINISHED - {State.PENDING}) | RAN | {State.REJECTED}
"""The states that leave a tombstone: it ran, may have run, or was decided by a person. Others came to nothing."""


LATE = frozenset({State.DONE, State.FAILED})
"""The states that an `unknown` tombstone may get, should its process have slept and come back with a result."""


class Tombstone(msgspec.Struct, frozen=True, kw_only=True):
    """A tombstone, of one gated call of a thread that was deleted. Times are those of `Approval`.

    ``state`` as it was; a call that was claimed when its thread was deleted is ``unknown``, as its process had died or
    slept. One that its provider was to run, and was not told of or has not acted on, is ``failed``.
    ``arguments_digest`` is of the canonical JSON of the arguments that ran or would have run, ``output_digest`` of the
    result's text. ``approved``, ``decided_by`` and ``way`` are None where no decision was recorded.
    """

    id: str
    principal: str
    thread_id: str
    agent: str
    tool: str
    source: str
    state: State
    arguments_digest: str
    output_digest: str | None
    approved: bool | None
    decided_by: str | None
    way: Way | None
    asked_at: int
    decided_at: int | None
    deleted_at: int


def tombstone(approval: Approval, now: int) -> Tombstone | None:
    """Returns what stays of ``approval`` when it is deleted at ``now``; None if nothing does."""
    if approval.state not in KEPT:
        return None
    decision = approval.decision
    return Tombstone(
        id=approval.id,
        principal=approval.principal,
        thread_id=approval.thread_id,
        agent=approval.agent,
        tool=approval.tool,
        source=approval.source,
        state=_state(approval),
        arguments_digest=digest(approval.effective_arguments),
        output_digest=digest(approval.output.content) if approval.output else None,
        approved=decision.approved if decision else None,
        decided_by=decision.by if decision else None,
        way=decision.way if decision else None,
        asked_at=approval.asked_at,
        decided_at=approval.decided_at,
        deleted_at=now,
    )


def _state(approval: Approval) -> State:
    if approval.is_agreed:  # nobody tells the provider any more
        return State.FAILED
    return State.UNKNOWN if approval.state in UNFINISHED else approval.state
