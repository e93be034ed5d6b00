"""A replica is killed while clients follow its run on another one, over PostgreSQL: they are told what stands."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from tests.crash.ground import on_postgres
from tests.crash.nursery import Nursery, Replica
from tests.crash.world import World, world
from tests.product.kit import TIMEOUT, Chat, Product
from tests.product.live import Following, connecting, resuming, starting
from tests.product.shop import say
from tests.requirements import shows

if TYPE_CHECKING:
    from tests.support.servers import Postgres

pytestmark = [pytest.mark.anyio, shows("B17", "B18")]

Json = dict[str, Any]
STREAMING: Json = {
    "output": [say("word " * 400)],
    "when": {"user": "talk"},
    "fault": {"kind": "hang", "after_events": 12},
}
DONE: Json = {"output": [say("Done.")], "repeat": True}
SAID = "TEXT_MESSAGE_CONTENT"


def product(w: World, replica: Replica) -> Product:
    return Product(w.emulator, None, replica.url, w.client)


async def cut(stream: Following) -> None:
    """The client of the replica that is killed."""
    with pytest.raises(httpx2.TransportError):
        await stream.end()


async def test_who_follows_a_run_whose_replica_is_killed_is_told_within_its_lease(
    replicas: Nursery, tmp_path: Path, postgres: "Postgres", database: str
) -> None:
    ground = on_postgres(postgres, database)
    async with world(replicas, tmp_path, ground, {}) as w, asyncio.timeout(6 * TIMEOUT):
        w.emulator.load([STREAMING, DONE])
        first, second = w.replica(machine="a"), w.replica(machine="b")
        dies, lives = product(w, first), product(w, second)
        chat = dies.chat(thread_id="t")
        async with starting(dies, chat, "talk") as own:
            await own.until(SAID)
            async with connecting(lives, chat) as page, resuming(lives, own.run_key) as reader:
                await page.until(SAID)
                await reader.until(SAID)
                await first.kill()
                await cut(own)
                assert await refused(lives, chat) == "thread_busy", "its lease holds"
                ground.lapse()
                told, events = await page.end(), await reader.end()
        assert told.types()[-5:] == ["TEXT_MESSAGE_END", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "CUSTOM", "RUN_ERROR"]
        assert (told[-2]["name"], told[-1]["code"]) == ("agui-gate:interrupted", "interrupted")
        assert [message["content"] for message in told[-4]["messages"]] == ["talk"]
        assert (events.types()[-1], events[-1]["code"]) == ("RUN_ERROR", "interrupted")
        again = lives.chat(thread_id="t")
        assert (await again.say("go on")).text == "Done."


async def refused(p: Product, chat: Chat) -> str:
    answer = await p.chat(thread_id=chat.thread_id).say("me too")
    code: str = answer[-1]["error"]["code"]
    return code
