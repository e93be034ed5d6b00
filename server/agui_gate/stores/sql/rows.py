"""Rows of SQL tables, as they are read, and what they become."""

from typing import cast, get_args

import msgspec

from agui_gate.core.transcript import ConversationRef
from agui_gate.stores.base import RunStatus, Thread, ThreadHead
from agui_gate.stores.lease import lapsed

_decode_ref = msgspec.json.Decoder(ConversationRef).decode
_STATUSES: frozenset[str] = frozenset(get_args(RunStatus))


def read_status(written: str | None) -> RunStatus | None:
    """How a run is, or was. What another version calls otherwise is over, in a way that nobody here knows."""
    return cast(RunStatus, written) if written is None or written in _STATUSES else "interrupted"


def read_ref(written: str | None) -> ConversationRef | None:
    """What a provider remembers. What can't be read is as good as forgotten: the whole conversation is sent then."""
    try:
        return None if written is None else _decode_ref(written)
    except msgspec.ValidationError:
        return None


class ThreadRow(msgspec.Struct, array_like=True):
    """A row of ``threads``: its fields are the columns to read, in this order, and the clock when it was read."""

    key: int
    principal: str
    id: str
    agent: str
    created_at: int
    updated_at: int
    title: str | None
    archived: int | bool
    state: str | None
    ref: str | None
    run_key: str | None
    run_status: str | None
    lease_owner: str | None
    lease_until: int
    entries: int
    bytes: int
    now: int
    ticks: int

    def lapsed(self) -> bool:
        """Whether a run was under way whose lease counts no more."""
        return lapsed(self.run_status, self.lease_owner, self.lease_until, self.ticks)

    def head(self) -> Thread:
        """The thread without its journal, approvals and state."""
        return Thread(
            key=str(self.key),
            principal=self.principal,
            id=self.id,
            agent=self.agent,
            created_at=self.created_at,
            updated_at=self.updated_at,
            now=self.now,
            title=self.title,
            archived=bool(self.archived),
            ref=read_ref(self.ref),
            run_key=self.run_key,
            run_status="interrupted" if self.lapsed() else read_status(self.run_status),
            bytes=self.bytes,
        )


class HeadRow(msgspec.Struct, array_like=True):
    """What a list reads of a thread: its fields are the columns, in this order; ``pending`` is counted."""

    id: str
    agent: str
    title: str | None
    archived: int | bool
    created_at: int
    updated_at: int
    key: int
    run_key: str | None
    run_status: str | None
    lease_owner: str | None
    lease_until: int
    pending: int

    def head(self, ticks: int) -> ThreadHead:
        """The thread as a list shows it."""
        return ThreadHead(
            id=self.id,
            agent=self.agent,
            title=self.title,
            archived=bool(self.archived),
            created_at=self.created_at,
            updated_at=self.updated_at,
            run_key=self.run_key,
            run_status="interrupted"
            if lapsed(self.run_status, self.lease_owner, self.lease_until, ticks)
            else read_status(self.run_status),
            pending=self.pending,
        )


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which threads a list shows; None means any."""

    principal: str
    archived: bool | None
    agent: str | None

    def values(self) -> dict[str, str | bool]:
        """What must be equal, by column."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
