"""A store of somebody's own needs fifteen methods. What else a store can do is looked up, and absent where it can't."""

from typing import Any

import pytest

from agui_gate.config.limits import Limits
from agui_gate.core.approvals import Approval
from agui_gate.errors import ConfigurationError
from agui_gate.runs.engine import Engine
from agui_gate.stores.base import ApprovalStore, StopRequest, StoreLifecycle, Thread, ThreadStore
from agui_gate.stores.capabilities import FullStore, WorkingStore
from agui_gate.stores.lookup import Capabilities, capabilities
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.outbox import ChoosyOutbox
from tests.product.kit import product
from tests.product.shop import Shop, refund, script
from tests.stores.support import Clock, ask, gated

pytestmark = pytest.mark.anyio

METHODS = {
    name for part in (ThreadStore, ApprovalStore, StoreLifecycle) for name in vars(part) if not name.startswith("_")
}
FLAGS = {name for name, kind in Capabilities.__annotations__.items() if kind is bool}
"""What is no part of a store: whether one of its methods can do more."""
PARTS = set(Capabilities.__struct_fields__) - FLAGS
SPARING = (WorkingStore, ChoosyOutbox)
"""Capabilities that are looked up where they are used: they spare work, and change nothing else."""


class Plain:
    """A store that can do what every store can, and nothing else. It was written before threads were kept in memory."""

    def __init__(self, store: FullStore) -> None:
        for name in METHODS - {"lease_thread"}:
            setattr(self, name, getattr(store, name))
        self._lease = store.lease_thread

    async def lease_thread(
        self, principal: str, thread_id: str, agent: str, run_key: str, *, whole: bool = True, create: bool = True
    ) -> Thread:
        return await self._lease(principal, thread_id, agent, run_key, whole=whole, create=create)


async def plain(clock: Clock) -> Any:
    store = Plain(MemoryStore(clock=clock))
    await store.start()  # type: ignore[attr-defined]  # it has all methods of the fixture's store
    return store


def test_every_store_does_fifteen_things() -> None:
    assert len(METHODS) == 15


async def test_ours_have_every_capability(store: FullStore) -> None:
    offers = capabilities(store)
    for name in PARTS:
        assert getattr(offers, name) is store
    assert {name: getattr(offers, name) for name in FLAGS} == {"takes_known": True}
    assert [isinstance(store, capability) for capability in SPARING] == [True, True]


async def test_a_plain_store_has_none(clock: Clock) -> None:
    store = await plain(clock)
    offers = capabilities(store)
    assert {name for name in PARTS if getattr(offers, name) is not None} == {"shared", "inbox"}
    assert not any(getattr(offers, name) for name in FLAGS)
    assert [isinstance(store, capability) for capability in SPARING] == [False, False]


async def test_without_shared_use_one_process_is_the_only_one(clock: Clock) -> None:
    store = await plain(clock)
    shared = capabilities(store).shared
    assert (shared.bus_url, list(shared.neighbours)) == ("", [])
    await store.lease_thread("alice", "t", "support", "r1")
    assert {
        place: work.run_key for place, work in (await shared.at_work([("alice", "t"), ("alice", "u")])).items()
    } == {("alice", "t"): "r1"}
    assert await shared.ask_to_stop("alice", "t", StopRequest()) is None
    assert await shared.take_stops({"r1"}) == {}


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
async def test_without_an_inbox_lists_are_followed(clock: Clock, limit: int) -> None:
    store = MemoryStore(clock=clock)
    await store.start()
    await ask(store, *(gated(f"a{number}") for number in range(3)))
    listed = capabilities(Plain(store)).inbox  # type: ignore[arg-type]  # it passes on the fifteen methods
    assert await listed.waiting_ids(["alice", "bob"], limit) == await store.waiting_ids(["alice", "bob"], limit)
    found: list[Approval] = []
    left = ["a2", "gone", "a0"]
    while left:
        some, rest = await listed.read_approvals("alice", left)
        assert len(rest) < len(left)
        found, left = [*found, *some], list(rest)
    assert [approval.id for approval in found] == ["a2", "a0"]


async def test_an_engine_starts_no_job_for_what_a_store_can_not_do(clock: Clock) -> None:
    engine = Engine([], await plain(clock))
    await engine.start()
    try:
        assert {task.get_name() for task in engine._tasks} == {"agui-gate heart", "agui-gate tools"}
        await engine._tidy()
    finally:
        await engine.aclose()


async def test_who_wants_things_forgotten_is_told_that_the_store_can_not(clock: Clock) -> None:
    store = await plain(clock)
    with pytest.raises(ConfigurationError, match="forget"):
        Engine([], store, limits=Limits(retention_threads_days=1))


async def test_a_gated_call_is_asked_about_decided_and_run_on_a_plain_store(clock: Clock) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), store=await plain(clock)) as p:
        chat = p.chat()
        (asked,) = (await chat.say("refund A1")).interrupts
        assert (await p.decide(asked["id"], {"approved": True}))["state"] == "done"
        assert shop.orders == ["A1"]
        assert (await chat.go()).text == "Done."
        assert (await p.client.delete(f"{p.url}/threads/{chat.thread_id}")).is_success
        gone = await p.decide(asked["id"], {"approved": True})
        assert gone["status_code"] == 404
