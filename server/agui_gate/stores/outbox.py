"""The outbox: notices to others, written in the same transaction as what they tell.

So none is lost, and none tells of what did not happen. One process at a time takes them, the oldest first, and says
when it has told them. If it dies in between, another one takes them again after `TAKE_MS`. So each is told at least
once, and those of a thread in their order. Their ids grow with that: they are written under the thread's lease, or its
row's lock. Those of different threads may come to light in another order.
See docs/adr/0021-notices-in-an-outbox.md.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, Protocol, get_args, runtime_checkable

import msgspec

from agui_gate.core.audit import Happened
from agui_gate.core.json_text import canonical
from agui_gate.stores.lease import DECIDES, DELETES

TAKE_MS = 10_000
"""Milliseconds, by the store's clock, for which notices are left to who takes them."""

NoticeKind = Literal["approval_pending", "approval_decided", "approval_notice", "run_ended"]
"""``approval_decided``: it waits no more, or its call has come to something. Several may be about one approval.
``approval_notice``: a reminder of it, an escalation, that it was handed to a colleague, that nobody is at work on it
(`stores/deliveries.py`); that it was decided in an emergency; or about a deputy, who was named or whose time was ended.
"""

KINDS: tuple[str, ...] = get_args(NoticeKind)

_BY_EVENT: dict[str, NoticeKind] = {
    "asked": "approval_pending",
    "break_glass": "approval_notice",
    **dict.fromkeys(
        ("claimed", "rejected", "superseded", "cancelled", "expired", "done", "failed", "unknown", "deleted"),
        "approval_decided",
    ),
}


class Telling(msgspec.Struct, frozen=True):
    """A notice before it has its place. ``about``: the approval's id, or the run's key. ``body``: a JSON object with
    what the kind says: the ``state`` of the approval, or what the notice is; or the ``status`` of the run.
    """

    kind: NoticeKind
    principal: str
    thread_id: str
    about: str
    body: str


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A notice to somebody, as a store keeps it. ``id`` grows. ``created_at``: by the store's clock."""

    id: int
    kind: NoticeKind
    principal: str
    thread_id: str
    about: str
    body: str
    created_at: int


class OutboxStore(Protocol):
    """The notices that are not told yet."""

    async def take_notices(self, taker: str, *, told: Collection[int] = (), limit: int) -> Sequence[Notice]:
        """Removes those that were ``told``, and gives the oldest that are left, by their ids: up to ``limit``.

        Only to one ``taker``: who was given some last, for `TAKE_MS` after that; then to whoever asks first. The others
        get none. ``limit`` 0: it takes no more, and another one may at once. Removing what is not there is no error. It
        writes nothing where there is nothing. Of a kind that only another version knows, notices are left for that one.
        """
        ...


@runtime_checkable
class ChoosyOutbox(OutboxStore, Protocol):
    """An outbox that leaves out what nobody reads."""

    async def want_runs(self, wanted: bool) -> None:
        """Says whether a process reads ``run_ended``. It is written until one says that it doesn't, and again, for all,
        from the time on that another one says that it does. It writes nothing where that is known.
        """
        ...


def tellings(happened: Iterable[Happened]) -> Iterator[Telling]:
    """Yields what is told of what happened to approvals."""
    for one in happened:
        if (kind := _BY_EVENT.get(one.kind)) is not None:
            state = "pending" if one.kind == "asked" else one.kind
            yield Telling(kind, one.principal, one.thread_id, one.approval_id, f'{{"state":"{state}"}}')


def is_run(run_key: str) -> bool:
    """Returns whether a lease of that key is a run's. Others are taken to decide, or to delete: nobody is told of their
    end.
    """
    return not run_key.startswith((DECIDES, DELETES))


def run_ended(principal: str, thread_id: str, run_key: str, status: str) -> Telling:
    """Returns what is told of a run that gave its lease back, or whose lease another one took over."""
    return Telling("run_ended", principal, thread_id, run_key, canonical({"status": status}))
