"""A lease under which nothing was done is given back, whatever went wrong (T7, T8)."""

import asyncio
from typing import Any

import pytest

from agui_gate import Agent, create_app, tool
from agui_gate.errors import IllegalMove, Unavailable
from agui_gate.stores.memory import MemoryStore
from agui_gate.threads import leased_thread
from tests.product.inprocess import Parrot, request, run, run_body, started, user
from tests.requirements import shows
from tests.stores.support import pending

pytestmark = [pytest.mark.anyio, shows("T7", "T8")]


class Failing(MemoryStore):
    """A store whose methods fail as often as ``failing`` says, by their names."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: dict[str, int] = {}

    def _fail(self, name: str) -> None:
        if self.failing.get(name):
            self.failing[name] -= 1
            raise Unavailable("The store is not available: the disk is full.")

    async def delete_thread(self, *args: Any, **more: Any) -> None:
        self._fail("delete_thread")
        await super().delete_thread(*args, **more)

    async def commit(self, *args: Any, **more: Any) -> None:
        self._fail("commit")
        await super().commit(*args, **more)

    async def tombstones(self, *args: Any, **more: Any) -> Any:
        self._fail("tombstones")
        return await super().tombstones(*args, **more)

    async def approval(self, *args: Any, **more: Any) -> Any:
        self._fail("approval")
        return await super().approval(*args, **more)


@pytest.fixture
def store() -> Failing:
    return Failing()


@pytest.fixture
def app(store: Failing) -> Any:
    return create_app(Agent(name="a", model=Parrot()), store=store)


@pytest.mark.parametrize("commits", [0, 2])
async def test_a_thread_that_could_not_be_deleted_is_free_at_once(app: Any, store: Failing, commits: int) -> None:
    """Also where giving it back fails at first, for the same reason."""
    async with started(app), asyncio.timeout(60):
        assert (await run(app, run_body("t", user("hi")))).status == 200
        store.failing = {"delete_thread": 1, "commit": commits}
        assert (await request(app, "DELETE", "/threads/t")).status == 503
        assert (await run(app, run_body("t", user("again")))).status == 200
        assert (await request(app, "DELETE", "/threads/t")).status == 200


async def test_a_thread_that_is_deleted_is_said_to_be_even_if_its_log_line_fails(app: Any, store: Failing) -> None:
    async with started(app), asyncio.timeout(60):
        assert (await run(app, run_body("t", user("hi")))).status == 200
        store.failing = {"tombstones": 1}
        assert (await request(app, "DELETE", "/threads/t")).status == 200


async def test_a_run_that_can_not_begin_gives_its_lease_back(
    app: Any, store: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the reason, and also where the store is away for a moment."""

    def broken(*args: Any) -> None:
        raise RuntimeError("a bug")

    async with started(app), asyncio.timeout(60):
        store.failing = {"commit": 2}
        with monkeypatch.context() as patch:
            patch.setattr(leased_thread, "LeasedThread", broken)
            with pytest.raises(RuntimeError):
                await run(app, run_body("t", user("hi")))
        assert (await run(app, run_body("t", user("hi")))).status == 200


async def test_where_nobody_can_say_what_was_decided_that_is_said(
    store: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process was first, and just then its record can't be read (T4)."""

    @tool(gate=True)
    async def refund(order_id: str) -> str:
        """Refund."""
        return "refunded"

    async def too_late(*args: Any, **more: Any) -> None:
        store.failing = {"approval": 1}
        raise IllegalMove("somebody was first")

    app = create_app(Agent(name="a", model=Parrot(), tools=[refund]), store=store)
    async with started(app), asyncio.timeout(60):
        assert (await run(app, run_body("t", user("refund")))).status == 200
        (waiting,) = await pending(store, "local")
        with monkeypatch.context() as patch:
            patch.setattr(store, "move", too_late)
            answer = await request(app, "POST", f"/approvals/{waiting.id}", b'{"approved": true}')
        assert (answer.status, answer.json()["error"]["code"]) == (503, "unavailable")
