"""What the store tests share: a clock that moves by hand, and short ways to make records."""

from typing import Any

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.transcript import Text, UserEntry
from agui_gate.stores.base import Change, Store, Thread

OTHERS = {"clock", "processes", "epoch", "sqlite_sequence", "sqlite_stat1", "approval_events", "outbox", "outbox_kinds"}
OTHERS |= {"counted_calls", "freezes", "grants", "deputies", "deliveries", "delivery_workers", "approval_steps"}
OTHERS |= {"model_requests", "usage_days", "budgets", "person_keys"}
"""Tables of the SQLite store that are about no thread, or that outlive one."""


class Clock:
    """ms since the epoch, moved by the test."""

    def __init__(self, now: int = 1_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, ms: int) -> None:
        self.now += ms


def said(*texts: str) -> list[UserEntry]:
    return [UserEntry(text, (Text(text),)) for text in texts]


def ids(thread: Thread | None) -> list[str]:
    assert thread is not None
    return [entry.id for entry in thread.entries if isinstance(entry, UserEntry)]


def gated(approval_id: str = "a1", call_id: str | None = None, **changes: Any) -> Approval:
    approval = Approval(
        id=approval_id,
        principal="alice",
        thread_id="t",
        agent="support",
        run_key="r1",
        turn_id="turn",
        call_id=call_id or f"call-{approval_id}",
        tool="refund",
        arguments='{"amount":50}',
    )
    return msgspec.structs.replace(approval, **changes)


async def ask(store: Store, *approvals: Approval, principal: str = "alice", thread_id: str = "t") -> Thread:
    """Record approvals on a thread, in a run of their own, and return the thread as it is then."""
    run_key = f"ask-{approvals[0].id}"
    thread = await store.lease_thread(principal, thread_id, "support", run_key)
    await store.commit(thread, Change(approvals=approvals, status="waiting"), run_key)
    after = await store.read_thread(principal, thread_id)
    assert after is not None
    return after


async def pending(store: Store, principal: str) -> list[Approval]:
    """What waits for this principal, oldest first."""
    return (await store.list_approvals(principal, limit=1000)).approvals
