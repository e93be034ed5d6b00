"""What a process does for its runs while they run (T8)."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from agui_gate.runs import heartbeat
from agui_gate.stores.base import StopRequest
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T8")]


async def test_leases_are_kept_whatever_else_is_done_with_a_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "STOP_MS", 1)
    third = asyncio.Event()

    class Beats:
        number = 0

        async def rest(self, until: float) -> None:
            await asyncio.sleep(0)

        async def beat(self) -> None:
            self.number += 1
            if self.number == 3:
                third.set()

    async def also() -> None:
        raise KeyError("a log that is gone")

    beats: Any = Beats()
    task = asyncio.create_task(heartbeat.beating(beats, also))
    try:
        async with asyncio.timeout(60):
            await third.wait()
    finally:
        task.cancel()


async def test_what_takes_too_long_with_a_beat_is_left_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a database takes no connections: no traceback with each beat."""
    monkeypatch.setattr(heartbeat, "STOP_MS", 1)
    store: Any = Asked()
    tries = 0
    enough = asyncio.Event()

    async def also() -> None:
        nonlocal tries
        tries += 1
        if tries == 3:
            enough.set()
        await asyncio.Event().wait()

    with capture_logs() as logs:
        task = asyncio.create_task(
            heartbeat.beating(heartbeat.Heartbeat(store, store, set, store.told, lambda _: None), also)
        )
        try:
            async with asyncio.timeout(60):
                await enough.wait()
        finally:
            task.cancel()
    assert [log["event"] for log in logs] == ["tidying_takes_long"]


@shows("B17")
async def test_a_hurry_is_a_beat_at_once_and_does_nothing_else_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "STOP_MS", 1_000_000)
    store: Any = Asked()
    beating = heartbeat.Heartbeat(store, store, lambda: {"run_1"}, store.told, lambda _: None)
    others: list[str] = []

    async def also() -> None:
        others.append("also")

    task = asyncio.create_task(heartbeat.beating(beating, also))
    try:
        async with asyncio.timeout(60):
            for run_id in ("first", "second"):
                store.asked = StopRequest(run_id=run_id)
                beating.hurry()
                await store.heard.wait()
                store.heard.clear()
    finally:
        task.cancel()
    assert (store.stops, others) == (["first", "second"], [])


class Asked:
    """A store in which somebody asks for stops."""

    def __init__(self) -> None:
        self.asked: StopRequest | None = None
        self.stops: list[str | None] = []
        self.heard = asyncio.Event()

    async def renew(self, run_keys: Any) -> list[str]:
        return []

    async def take_stops(self, run_keys: Any) -> dict[str, StopRequest]:
        asked, self.asked = self.asked, None
        return {} if asked is None else {"run_1": asked}

    def told(self, run_key: str, request: StopRequest) -> None:
        self.stops.append(request.run_id)
        self.heard.set()
