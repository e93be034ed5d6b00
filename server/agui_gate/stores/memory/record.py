"""A thread as the memory store keeps it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from agui_gate.core.transcript import ConversationRef, Entry
from agui_gate.stores.base import Change, RunStatus, StopRequest, Thread
from agui_gate.stores.clock import Moment
from agui_gate.stores.cursor import Place


class Record(msgspec.Struct):
    """A thread as kept. ``state`` is JSON, so that nobody can change it from outside."""

    key: str
    principal: str
    id: str
    agent: str
    created_at: int
    updated_at: int
    title: str | None = None
    archived: bool = False
    state: bytes | None = None
    ref: ConversationRef | None = None
    run_key: str | None = None
    run_status: RunStatus | None = None
    lease_until: int = 0
    stop: StopRequest | None = None
    bytes: int = 0
    awaits_since: int = -1
    """The `updated_at` at which a page was found to be awaited (`awaits_page`)."""
    entries: list[Entry] = msgspec.field(default_factory=list)
    approvals: list[str] = msgspec.field(default_factory=list)

    def lapsed(self, ticks: int) -> bool:
        """Whether a run was under way whose lease counts no more."""
        return self.run_status == "running" and self.lease_until <= ticks

    def status(self, ticks: int) -> RunStatus | None:
        """How its last run is, or was."""
        return "interrupted" if self.lapsed(ticks) else self.run_status

    @property
    def place(self) -> Place:
        """Where a list shows it."""
        return Place(self.updated_at, int(self.key))


def bare(record: Record, at: Moment) -> Thread:
    """The thread without its entries, approvals and state."""
    return Thread(
        key=record.key,
        principal=record.principal,
        id=record.id,
        agent=record.agent,
        created_at=record.created_at,
        updated_at=record.updated_at,
        now=at.now,
        title=record.title,
        archived=record.archived,
        ref=record.ref,
        run_key=record.run_key,
        run_status=record.status(at.ticks),
        bytes=record.bytes,
    )


def grown(record: Record, change: Change, fields: Mapping[str, Any]) -> int:
    """By how many bytes ``change`` makes the record larger."""
    size = len(msgspec.json.encode(change.entries)) if change.entries else 0
    if change.keep is not None:
        size -= len(msgspec.json.encode(record.entries[change.keep :]))
    if "state" in fields:
        size += len(fields["state"]) - len(record.state or b"")
    return size + sum(len(approval.arguments.encode()) for approval in change.approvals)


def changed_fields(change: Change) -> dict[str, Any]:
    """Return the thread's fields that ``change`` sets, except `ref`."""
    fields: dict[str, Any] = {}
    if change.state is not msgspec.UNSET:
        fields["state"] = msgspec.json.encode(change.state)
    if change.status is not None:
        fields |= {"run_status": change.status, "lease_until": 0}
    return fields
