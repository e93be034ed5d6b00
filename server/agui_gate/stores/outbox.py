"""What others are to be told: notices, written in the same transaction as what they tell.

So none is lost, and none tells of what did not happen. One process at a time takes them, the oldest first, and says
when it has told them. If it dies in between, another one takes them again after `TAKE_MS`. So each is told at least
once, and those of a thread in their order.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, Protocol

import msgspec

from agui_gate.core.audit import Happened
from agui_gate.core.jsontext import canonical

TAKE_MS = 10_000
"""How long notices are their taker's alone, by the store's clock."""

NoticeKind = Literal["approval_pending", "approval_decided", "run_ended"]
"""``approval_decided``: it waits no more, or its call has come to something. Several may be about one approval."""

_KINDS: dict[str, NoticeKind] = {
    "asked": "approval_pending",
    **dict.fromkeys(
        ("claimed", "rejected", "superseded", "cancelled", "expired", "done", "failed", "unknown", "deleted"),
        "approval_decided",
    ),
}


class Telling(msgspec.Struct, frozen=True):
    """A notice before it has its place. ``about``: the approval's id, or the run's key. ``body``: a JSON object with
    what the kind says: the ``state`` of the approval, or the ``status`` of the run.
    """

    kind: NoticeKind
    principal: str
    thread_id: str
    about: str
    body: str


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody is to be told, as a store keeps it. ``id`` grows. ``created_at``: by the store's clock."""

    id: int
    kind: NoticeKind
    principal: str
    thread_id: str
    about: str
    body: str
    created_at: int


class OutboxStore(Protocol):
    """The notices that are not told yet."""

    async def take_notices(self, taker: str, *, limit: int) -> Sequence[Notice]:
        """The oldest, for ``taker`` alone until `TAKE_MS` have passed. None while they are somebody else's."""
        ...

    async def told(self, taker: str, up_to: int) -> None:
        """Remove the notices up to this id, if they are the taker's still: they were told. Others may take the rest."""
        ...


def tellings(happened: Iterable[Happened]) -> Iterator[Telling]:
    """What is told of what happened to approvals."""
    for one in happened:
        if (kind := _KINDS.get(one.kind)) is not None:
            state = "pending" if one.kind == "asked" else one.kind
            yield Telling(kind, one.principal, one.thread_id, one.approval_id, canonical({"state": state}))


def run_ended(principal: str, thread_id: str, run_key: str, status: str) -> Telling:
    """What is told of a run, or of a decision, that gave its lease back."""
    return Telling("run_ended", principal, thread_id, run_key, canonical({"status": status}))
