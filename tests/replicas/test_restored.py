"""A backup is put back while one replica was left running, which `migrate --restored` can't see (K2, B6)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from psycopg import sql

from agui_gate import tool
from agui_gate_adapters.testkit.agui.stream import apply
from tests.product.drill import run
from tests.product.kit import TIMEOUT, Product
from tests.product.live import starting
from tests.product.shop import Shop, call, refund, say
from tests.replicas.place import Place, place
from tests.replicas.stage import Stage
from tests.requirements import shows
from tests.support.servers import Postgres

pytestmark = [pytest.mark.anyio, shows("K2", "B6")]

YES = {"approved": True}


@pytest.fixture
def stage(request: pytest.FixtureRequest) -> Stage:
    return Stage.called("2:postgres+valkey", request)


class Rounds:
    """A free tool that waits for the test, each time anew."""

    def __init__(self) -> None:
        self.begun: asyncio.Queue[asyncio.Event] = asyncio.Queue()

        @tool
        async def wait() -> str:
            """Wait."""
            go_on = asyncio.Event()
            self.begun.put_nowait(go_on)
            await go_on.wait()
            return "waited"

        self.wait = wait

    async def next(self) -> asyncio.Event:
        async with asyncio.timeout(TIMEOUT):
            return await self.begun.get()


async def at_rest(there: Place, work: Callable[[], Any]) -> Any:
    """Do that while no replica touches the database."""
    for one in there.fleet.replicas:
        one.pause()
    try:
        return await asyncio.to_thread(work)
    finally:
        for one in there.fleet.replicas:
            one.go_on()


async def ready(p: Product) -> None:
    """Wait until its connections are made anew."""
    async with asyncio.timeout(TIMEOUT):
        while (await p.client.get(f"{p.url}/readyz")).status_code != 200:
            pass


async def test_a_replica_that_was_left_running_writes_nothing_by_what_it_had(stage: Stage, postgres: Postgres) -> None:
    """Its run is told that it is over. Old answers are refused there, too, and what was answered ran once."""
    shop, rounds = Shop(), Rounds()
    asks = {"output": [refund()], "when": {"user": "refund A1"}}
    script = [asks, *[{"output": [call("wait")]}] * 2, {"output": [say("Done.")], "repeat": True}]
    async with place(stage, [*shop.tools, rounds.wait], script) as there:
        left, other = there.everywhere
        asker, worker = left.chat(), left.chat()
        (ask,) = (await asker.say("refund A1")).interrupts
        url = stage.stores["memory 0"]
        name = url.rpartition("/")[2]

        def put_back() -> str:
            postgres.drop(name)
            postgres.execute(
                sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(copy), sql.Identifier(name))
            )
            return run("migrate", "--restored", "--store", url)

        async with starting(left, worker, "go") as under_way:
            first = await rounds.next()
            copy = await at_rest(there, lambda: postgres.create(name))
            await ready(other)
            assert (await other.decide(ask["id"], YES))["state"] == "done"
            first.set()
            second = await rounds.next()
            await there.fleet.replicas[1].kill()
            assert "asked again: 1." in await at_rest(there, put_back)
            await ready(left)
            second.set()
            apply(worker.messages, over := await under_way.end())
        assert (over[-1]["type"], over[-1]["code"]) == ("RUN_ERROR", "lease_lost")
        thread = await left.get(f"/threads/{worker.thread_id}")
        assert (thread["run"]["status"], [m["role"] for m in thread["messages"]]) == (
            "interrupted",
            ["user", "assistant"],
        )
        assert (await worker.say("and?")).text == "Done."
        refused = await left.decide(ask["id"], YES)
        assert (refused["status_code"], refused["error"]["record"]["restored"], shop.orders) == (409, True, ["A1"])
        (again,) = (await asker.go()).interrupts
        assert (await asker.resume((again["id"], YES))).text == "Done."
        assert shop.orders == ["A1", "A1"]
        assert "whole" in await asyncio.to_thread(run, "audit", "verify", "--store", url)
        there.p.assert_clean()
