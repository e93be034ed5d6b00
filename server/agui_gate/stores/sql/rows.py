"""Turns rows of SQL tables into threads and entries, and writes many rows in one statement."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast, get_args

import msgspec

from agui_gate.core.transcript import ConversationRef
from agui_gate.stores.base import RunStatus, Thread
from agui_gate.stores.lease import lapsed
from agui_gate.stores.sql.operations import Statement

_decode_ref = msgspec.json.Decoder(ConversationRef).decode
_STATUSES: frozenset[str] = frozenset(get_args(RunStatus))


def read_status(written: str | None) -> RunStatus | None:
    """Returns how a run is, or was. What another version calls otherwise is over, in a way that nobody here knows."""
    return cast(RunStatus, written) if written is None or written in _STATUSES else "interrupted"


def read_ref(written: str | None) -> ConversationRef | None:
    """Returns what a provider remembers. What can't be read is as good as forgotten: the whole conversation is sent
    then.
    """
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
        """Returns whether a run was under way whose lease counts no more."""
        return lapsed(self.run_status, self.lease_owner, self.lease_until, self.ticks)

    def head(self) -> Thread:
        """Returns the thread without its journal, approvals and state."""
        status = "interrupted" if self.lapsed() else read_status(self.run_status)
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
            run_status=status,
            lapses_at=self.now + self.lease_until - self.ticks if status == "running" else 0,
            bytes=self.bytes,
        )


AT_ONCE = 25
"""Rows of one statement at most."""


def many(text: str, rows: Sequence[Mapping[str, object]]) -> Iterator[Statement]:
    """Statements for all ``rows``, which have the same names: ``{rows}`` in ``text`` is the list that VALUES takes."""
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        listed = ", ".join(f"({', '.join(f':{name}{i}' for name in row)})" for i, row in enumerate(some))
        values = {f"{name}{i}": value for i, row in enumerate(some) for name, value in row.items()}
        yield Statement(text.format(rows=listed), values)
