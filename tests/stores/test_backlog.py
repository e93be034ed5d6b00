"""The backlog of every store: what waits, whosever it is, and since when."""

import pytest

from agui_gate.core.approvals import State
from agui_gate.stores.base import LEASE_MS
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.operators import Counted
from tests.stores.support import Clock, ask, gated

pytestmark = pytest.mark.anyio

LATER = LEASE_MS // 3


async def test_a_call_waits_is_at_work_loses_its_process_and_is_unknown(store: FullStore, clock: Clock) -> None:
    assert (await store.backlog()).pending == Counted()
    await ask(store, gated("a1"), gated("a2"), thread_id="t")
    await store.lease_thread("alice", "t", "support", "r1")
    clock.advance(LATER)
    await store.move("a1", State.CLAIMED)
    working = await store.backlog()
    assert (working.pending.number, working.claimed.number, working.orphaned.number) == (1, 1, 0)
    assert working.now - (working.pending.since or 0) >= LATER
    assert working.now - (working.claimed.since or 0) < LATER
    clock.advance(2 * LEASE_MS)
    left = await store.backlog()
    assert (left.claimed, left.orphaned.number) == (Counted(), 1)
    assert left.now - (left.orphaned.since or 0) >= 2 * LEASE_MS
    await store.move("a1", State.UNKNOWN)
    settled = await store.backlog()
    assert (settled.orphaned, settled.unknown.number) == (Counted(), 1)


async def test_notices_wait_until_they_are_told(store: FullStore, clock: Clock) -> None:
    await ask(store, gated("a1"), thread_id="t")
    clock.advance(LATER)
    waiting = await store.backlog()
    assert waiting.notices.number >= 1
    assert waiting.now - (waiting.notices.since or 0) >= LATER
    taken = await store.take_notices("somebody", limit=10)
    await store.take_notices("somebody", told=[one.id for one in taken], limit=0)
    assert (await store.backlog()).notices == Counted()
