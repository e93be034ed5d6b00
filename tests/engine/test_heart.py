"""What a process does for its runs while they run (T8)."""

import asyncio
from typing import Any

import pytest

from agui_gate.engine import heart
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T8")]


async def test_leases_are_kept_whatever_else_is_done_with_a_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heart, "STOP_MS", 1)
    third = asyncio.Event()

    class Beats:
        number = 0

        async def beat(self) -> None:
            self.number += 1
            if self.number == 3:
                third.set()

    async def also() -> None:
        raise KeyError("a log that is gone")

    beats: Any = Beats()
    task = asyncio.create_task(heart.beating(beats, also))
    try:
        async with asyncio.timeout(10):
            await third.wait()
    finally:
        task.cancel()
