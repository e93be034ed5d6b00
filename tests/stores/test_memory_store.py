"""What a store in memory leaves behind: nothing."""

import gc

import pytest

from agui_gate.stores import lease
from agui_gate.stores.memory import MemoryStore

pytestmark = pytest.mark.anyio


async def test_a_store_that_is_dropped_leaves_no_owner_of_leases() -> None:
    """A run for suggestions has a store of its own, which nobody closes."""
    gc.collect()
    before = set(lease._live)
    for _ in range(3):
        await MemoryStore().start()
    gc.collect()
    assert set(lease._live) == before
