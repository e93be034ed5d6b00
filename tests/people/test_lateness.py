"""One endpoint is dead for ten minutes, one is slow, one gets everything twice: all others are told within 1 s.

By a clock that moves when nothing is to be done (`tests/support/virtual_time.py`), so the machine has no part in it.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from starlette.requests import Request

from agui_gate import Notice, Principal, create_app
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Approval
from agui_gate.extras.inbox.feed import inbox_of
from agui_gate.extras.notices.connection import ATTEMPT_SECONDS, Undelivered
from agui_gate.extras.notices.courier import Notices
from agui_gate.extras.notices.notice import KINDS
from agui_gate.stores.memory import MemoryStore
from tests.people.desk import Desk
from tests.product.inprocess import started
from tests.support.virtual_time import run

PEOPLE: dict[str, Any] = {"ada": Principal("ada", "acme")}
DEAD_SECONDS, EVERY, LATE = 600.0, 30.3, 1.0
"""How long one is dead; a call is asked about and decided every so often; how late may be told what happened."""
BEGAN = 1_700_000_000_000


def now() -> float:
    return asyncio.get_running_loop().time()


class Endpoint:
    """Keeps what it was told, and when."""

    kinds, with_arguments = frozenset(KINDS), False

    def __init__(self, name: str) -> None:
        self.name = name
        self.told: list[tuple[float, Notice]] = []

    async def send(self, notice: Notice) -> None:
        self.told.append((now(), notice))

    def close(self) -> None:
        """Holds nothing."""

    def kinds_of(self) -> dict[str, list[str]]:
        """What it was told of each call, in order; what it was told again is left out."""
        found, seen = defaultdict[str, list[str]](list), set[str]()
        for _, notice in self.told:
            if notice.id not in seen:
                seen.add(notice.id)
                found[notice.approval_id].append(notice.kind)
        return found


class Dead(Endpoint):
    """Refuses every connection for ten minutes."""

    async def send(self, notice: Notice) -> None:
        if now() < DEAD_SECONDS:
            raise Undelivered("unreachable", "no connection (Connection refused)")
        await super().send(notice)


class Slow(Endpoint):
    """Takes nearly all the time that an attempt has."""

    async def send(self, notice: Notice) -> None:
        await asyncio.sleep(ATTEMPT_SECONDS - 0.1)
        await super().send(notice)


class Twice(Endpoint):
    """Its answer to the first attempt is lost, so it gets each notice once more."""

    async def send(self, notice: Notice) -> None:
        is_first = all(notice.id != known.id for _, known in self.told)
        await super().send(notice)
        if is_first:
            raise Undelivered("no_answer", "it did not answer with HTTP")


class People(Desk):
    """Without a thread: the loop's clock would jump while it is at work."""

    async def auth(self, request: Request) -> Any:
        return self.people.get(request.headers.get("authorization", ""))


@asynccontextmanager
async def serving(*targets: Endpoint) -> AsyncIterator[People]:
    store = MemoryStore(clock=lambda: BEGAN + round(now() * 1000))
    desk = People(PEOPLE)
    app = create_app(desk.agent(), store=store, auth=desk.auth, settings=Settings(), extensions=[Notices(targets)])
    async with started(app) as desk.app:
        yield desk


async def follow(desk: People, heard: dict[tuple[str, str], float]) -> None:
    """Keeps when the feed first told each state of each call."""
    async for told in inbox_of(desk.app.state.engine).watch("acme\x1fada"):
        if isinstance(told, Approval):
            heard.setdefault((told.id, "asked" if told.is_pending else "decided"), now())


async def ten_minutes(targets: list[Endpoint], until: float) -> tuple[dict[tuple[str, str], float], dict[Any, float]]:
    """Returns when each thing happened, and when the feed told it."""
    happened: dict[tuple[str, str], float] = {}
    heard: dict[tuple[str, str], float] = {}
    async with serving(*targets) as desk:
        following = asyncio.create_task(follow(desk, heard))
        number = 0
        while now() < until:
            approval_id = await desk.ask("ada", thread=f"t{number}")
            happened[approval_id, "asked"] = now()
            await asyncio.sleep(EVERY / 2)
            assert (await desk.decide("ada", approval_id)).status == 200
            happened[approval_id, "decided"] = now()
            await asyncio.sleep(EVERY / 2)
            number += 1
        await asyncio.sleep(2 * DEAD_SECONDS)  # until who was dead has all of it
        following.cancel()
    return happened, heard


@pytest.mark.filterwarnings("error")
def test_who_is_dead_slow_or_told_twice_makes_nobody_late() -> None:
    healthy, dead, slow, twice = Endpoint("healthy"), Dead("dead"), Slow("slow"), Twice("twice")
    targets = [dead, slow, twice, healthy]
    happened, heard = run(ten_minutes(targets, DEAD_SECONDS))
    assert len(happened) == 40
    told = {(notice.approval_id, str(notice.kind)): at for at, notice in healthy.told}
    assert told.keys() == heard.keys() == happened.keys(), "each, and nothing else"
    for who in (told, heard):
        late = {key: who[key] - at for key, at in happened.items() if not 0 <= round(who[key] - at, 3) <= LATE}
        assert late == {}
    order = {approval_id: ["asked", "decided"] for approval_id, _ in happened}
    for endpoint in targets:
        assert endpoint.kinds_of() == order, endpoint.name
    assert all(at >= DEAD_SECONDS for at, _ in dead.told)
    ids = [notice.id for _, notice in twice.told]
    assert all(ids.count(one) == 2 for one in ids)
    times = [at for at, _ in healthy.told]
    assert all(one <= other for one, other in pairwise(times))
