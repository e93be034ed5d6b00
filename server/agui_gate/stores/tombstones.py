"""Tombstones: what stays of a gated call when its thread is deleted.

A person may delete a conversation, and then nothing of it is kept. But that something was decided, or that it ran, is
no part of the conversation: it took effect. So of every such record a tombstone stays. It says who decided it, when and
which way, and has digests. By these, arguments and a result that somebody else kept can be recognised. There are no
arguments in it, no result and no reason.

A digest hides what nobody could guess. Of a short value, such as one amount, it can be found by trying.
"""

from typing import Protocol

import msgspec

from agui_gate.core.answers import Way
from agui_gate.core.approvals import State


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


class TombstoneStore(Protocol):
    """Keeps what is left of deleted threads. Without it, nothing is."""

    async def tombstones(
        self, principal: str, *, thread_id: str | None = None, approval_id: str | None = None, limit: int = 100
    ) -> list[Tombstone]:
        """Returns what is left of this principal's deleted threads, the latest deletion first.

        All of it, or that of one thread id or approval.
        """
        ...
