"""A file that is migrated while a server of this version uses it: nothing of it is touched (T9)."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import State
from agui_gate.errors import Unavailable
from agui_gate.stores.base import Change
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.product.inprocess import Parrot, request, started
from tests.requirements import shows
from tests.stores.support import ask, gated, pending, said

pytestmark = [pytest.mark.anyio, shows("T9")]


def migrate(path: str) -> None:
    """What a newer version does to it."""
    connection = sqlite3.connect(path)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.execute("ALTER TABLE approvals ADD COLUMN novelty TEXT")
    connection.execute(f"PRAGMA user_version = {version + 1}")
    connection.commit()
    connection.close()


def dump(path: str) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


ATTEMPTS: dict[str, Callable[[FullStore], Awaitable[object]]] = {
    "open": lambda store: store.lease_thread("alice", "new", "support", "r9"),
    "read": lambda store: store.read_thread("alice", "t"),
    "move": lambda store: store.move("a1", State.CLAIMED),
    "pending": lambda store: pending(store, "alice"),
    "threads": lambda store: store.list_threads("alice", limit=10),
    "tombstones": lambda store: store.tombstones("alice"),
    "approval": lambda store: store.approval("alice", "a1"),
    "title": lambda store: store.update_thread("alice", "t", title="x"),
    "renew": lambda store: store.renew(["r2"]),
    "check": lambda store: store.check(),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
async def test_nothing_is_read_or_written_any_more(path: str, attempt: str) -> None:
    store = SQLiteStore(path)
    await store.start()
    await ask(store, gated())
    thread = await store.lease_thread("alice", "t", "support", "r2")
    migrate(path)
    before = await asyncio.to_thread(dump, path)
    with pytest.raises(Unavailable, match="upgraded by another version"):
        await ATTEMPTS[attempt](store)
    with pytest.raises(Unavailable, match="start the new version"):
        await store.commit(thread, Change(entries=said("lost"), status="finished"), "r2")
    await store.aclose()
    assert await asyncio.to_thread(dump, path) == before


async def test_a_server_says_so_and_is_not_ready(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    app = create_app(Agent(name="a", model=Parrot()), store=f"sqlite:////{path}", settings=Settings())
    async with started(app):
        assert (await request(app, "GET", "/readyz")).status == 200
        migrate(str(path))
        answer = await request(app, "GET", "/readyz")
        assert answer.status == 503
        assert answer.json()["error"]["code"] == "unavailable"
        assert "upgraded" in answer.json()["error"]["message"]
