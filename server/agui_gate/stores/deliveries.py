"""Deliveries: notices on their way to an endpoint, and the steps that are due while a call waits for a person.

A delivery is added before its notice leaves the outbox (`stores/outbox.py`), and removed when its endpoint has it. One
worker at a time delivers to an endpoint, whichever replica's. So each notice is delivered at least once, and those
about one approval in their order: while one of them waits for its next attempt, those behind it do too.
See docs/adr/0031-notices-are-delivered-from-the-store.md.
"""

from collections.abc import Collection, Sequence
from typing import Literal, Protocol

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.stores.base import Named

WORK_MS = 30_000
"""Milliseconds, by the store's clock, for which an endpoint is left to the worker that took deliveries. More than an
attempt may take.
"""
GIVE_UP_MS = 24 * 3_600_000
"""Milliseconds after which a delivery that goes on failing is a dead letter."""
FORGET_MS = 30 * 24 * 3_600_000
"""Milliseconds after that after which it is forgotten."""
TOLD_MS = 24 * 3_600_000
"""Milliseconds for which it is known that an orphan was told."""

StepKind = Literal["reminder", "escalated"]


class Delivery(msgspec.Struct, frozen=True):
    """A delivery before it has its place. ``notice``: the notice's id; ``body``: the notice as JSON."""

    endpoint: str
    notice: str
    approval_id: str
    body: str


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery as a store keeps it. ``id`` grows. Times are ms, by the store's clock. ``error``: why the last attempt
    failed. ``dead``: it is tried no more.
    """

    id: int
    endpoint: str
    notice: str
    approval_id: str
    body: str
    attempts: int
    created_at: int
    due_at: int
    gives_up_at: int
    dead: bool
    error: str


class Taken(msgspec.Struct, frozen=True):
    """Deliveries that are due, those that are due first first. ``wait_ms``: until another one is due; None: none is."""

    deliveries: Sequence[Waiting]
    wait_ms: int | None = None


class Step(msgspec.Struct, frozen=True):
    """A step of an approval, ``after`` so many ms since it was asked. ``who``: to whom it is escalated."""

    approval_id: str
    kind: str
    after: int
    who: str | tuple[str, ...] = ""


class Stepped(msgspec.Struct, frozen=True):
    """The thread of an approval of which a step was done."""

    principal: str
    thread_id: str


class DeliveryStore(Protocol):
    """The deliveries and the steps of a store."""

    async def add(self, deliveries: Sequence[Delivery]) -> None:
        """Adds deliveries. One that waits already, of the same notice to the same endpoint, is not added again."""
        ...

    async def take(self, endpoint: str, worker: str, limit: int) -> Taken:
        """Gives what is due for an endpoint, up to ``limit``: to one worker, for `WORK_MS`; the others get none.

        It writes nothing where nothing is due.
        """
        ...

    async def leave(self, endpoint: str, worker: str) -> None:
        """Lets another worker take deliveries at once."""
        ...

    async def delivered(self, delivery: Waiting) -> None:
        """Removes a delivery."""
        ...

    async def failed(self, delivery: Waiting, error: str, again_ms: int | None) -> None:
        """Says why an attempt failed, and in how many ms the next one is due; None: it is a dead letter."""
        ...

    async def listed(self, *, after: int = 0, limit: int, dead: bool = False) -> Sequence[Waiting]:
        """Returns deliveries behind the id ``after``, by their ids: all of them, or dead letters."""
        ...

    async def retry(self, ids: Collection[int]) -> int:
        """Makes dead letters of these ids due at once, as if they were new. Returns how many there were."""
        ...

    async def approval(self, approval_id: str) -> Approval | None:
        """Returns the record of that id, whosever it is by now: its thread may have been handed on."""
        ...

    async def plan(self, steps: Sequence[Step], asked_at: int) -> None:
        """Keeps the steps of an approval that was asked at that time. What is kept already is not changed."""
        ...

    async def due_steps(self, limit: int) -> tuple[Sequence[Step], int | None]:
        """Returns the steps that are due, and in how many ms the next one is (0: more are; None: there is none)."""
        ...

    async def take_step(self, step: Step, *, tell: bool) -> Stepped | None:
        """Does a step if its call still waits, and removes it. An escalation adds who is named to those who may decide;
        it is in the trail. ``tell``: writes a notice; of an escalation there always is one. All of it is one
        transaction. Returns None if nothing was done: of two who do it at once, one does.
        """
        ...

    async def hand_to(self, approval_id: str, to: str, by: str, way: str = "http") -> Stepped | None:
        """Says in the record, in the trail and in a notice that ``by`` has handed a call to a colleague. All of it is
        one transaction. Returns None if it waits no more.
        """
        ...

    async def report_orphan(self, orphan: Named) -> Stepped | None:
        """Writes a notice that nobody is at work on a call that was let go, once. None if that isn't so, or is told."""
        ...


class DeliveringStore(Protocol):
    """Keeps deliveries. Without it there are no webhooks, reminders or escalations, and no ``on_notice``."""

    def deliveries(self) -> DeliveryStore:
        """Returns the deliveries of this store, which has to be open while they are used."""
        ...
