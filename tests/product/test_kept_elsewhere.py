"""The same as in `test_kept_results` where the store is a PostgreSQL: its disk is full, or it is away for a while."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from agui_gate.threads import lease
from tests.product.kit import TIMEOUT, Chat, Product, product
from tests.product.shop import call, outputs, script
from tests.product.test_kept_results import RECEIPT, YES, Shop, ask, at_work, tried, until
from tests.requirements import shows
from tests.support.servers import Postgres

pytestmark = [pytest.mark.anyio, shows("T8")]

Release = Callable[[], Awaitable[None]]
Trouble = Callable[[Postgres, str], Any]

WRITTEN = ("threads", "journal", "approvals", "checks")
REFUSED = (
    "CREATE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE 'no room' USING ERRCODE = '53100'; END $$"
)


@contextmanager
def full(postgres: Postgres, name: str) -> Iterator[Release]:
    """PostgreSQL has no room left on its disk for what is written, until somebody makes some."""
    postgres.execute(REFUSED, name)
    for table in WRITTEN:
        postgres.execute(f"CREATE TRIGGER refused BEFORE INSERT OR UPDATE ON {table} EXECUTE FUNCTION refused()", name)

    async def release() -> None:
        postgres.execute("DROP FUNCTION refused CASCADE", name)

    yield release


@contextmanager
def away(postgres: Postgres, name: str) -> Iterator[Release]:
    """PostgreSQL is stopped, and started again."""
    postgres.stop()

    async def release() -> None:
        postgres.start()

    yield release


TROUBLES = {full: "the disk of the database is full", away: "nothing listens there"}


@pytest.fixture(params=TROUBLES, ids=["full", "away"])
def trouble(request: pytest.FixtureRequest) -> Trouble:
    found: Trouble = request.param
    return found


@asynccontextmanager
async def paying(url: str, *, gate: bool = True) -> AsyncIterator[tuple[Product, Chat, Shop]]:
    shop = Shop(url)
    tools = [shop.tool(gate=gate)]
    async with product(tools, script(call("pay", order_id="A1")), store=url, bus="memory://") as p:
        yield p, p.chat(), shop


def name_of(url: str) -> str:
    return url.rpartition("/")[2]


@pytest.mark.parametrize("gate", [True, False])
async def test_a_result_is_saved_once_that_is_possible_and_the_run_goes_on(
    postgres: Postgres, database: str, trouble: Trouble, gate: bool
) -> None:
    async with paying(database, gate=gate) as (p, chat, shop):
        saying = chat.resume((await ask(chat, shop), YES)) if gate else chat.say("pay")
        running = await at_work(shop, saying)
        with trouble(postgres, name_of(database)) as release:
            shop.go.set()
            await tried()
            assert not running.done()
            await release()
            async with asyncio.timeout(TIMEOUT):
                stream = await running
        assert stream.text == "Done."
        assert outputs(p.inputs()[-1]) == [RECEIPT]
        assert shop.ran == ["A1"]


async def test_a_run_that_could_not_wait_says_so_and_the_next_one_tells_the_result(
    postgres: Postgres, database: str, trouble: Trouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "KEEP_SECONDS", 0.5)
    async with paying(database) as (p, chat, shop):
        asked = await ask(chat, shop)
        running = await at_work(shop, chat.resume((asked, YES)))
        with trouble(postgres, name_of(database)) as release:
            shop.go.set()
            async with asyncio.timeout(TIMEOUT):
                stream = await running
            assert (stream[-1]["type"], stream[-1]["code"]) == ("RUN_ERROR", "unavailable")
            assert stream[-1]["message"].startswith("pay ran, but its result could not be saved.")
            await release()
            await until(p, f"/threads/{chat.thread_id}", "failed")
        assert (await p.get(f"/approvals/{asked}"))["state"] == "done"
        assert list((await chat.go()).results.values()) == [RECEIPT]
        assert shop.ran == ["A1"]


async def test_nothing_starts_meanwhile_and_what_is_wrong_is_said(
    postgres: Postgres, database: str, trouble: Trouble
) -> None:
    async with paying(database) as (p, chat, shop):
        asked = await ask(chat, shop)
        with trouble(postgres, name_of(database)) as release:
            ready = await p.client.get(f"{p.url}/readyz")
            assert (ready.status_code, ready.json()["error"]["code"]) == (503, "unavailable")
            assert f"The store is not available: {TROUBLES[trouble]}." in ready.text
            refused = await p.client.post(f"{p.url}/approvals/{asked}", json=YES)
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "unavailable")
            await release()
        assert (await p.client.get(f"{p.url}/readyz")).status_code == 200
        assert shop.ran == []
        shop.go.set()
        assert (await chat.resume((asked, YES))).text == "Done."
        assert shop.ran == ["A1"]
