"""Two replicas behind a balancer, restarted one after the other while people work: `python -m tests.crash.rolling`.

Each restart is a deployment: a new replica takes its place in the balancer, and the old one is told to stop. Customers
ask, approve (by POST and in runs) and read all the time. What a draining replica refuses they ask again.
"""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec

from tests.crash.ground import on_postgres
from tests.crash.nursery import Nursery, Replica, nursery
from tests.crash.world import World, orders_of, world
from tests.product.kit import Chat, Product, parse
from tests.replicas.balancer import Balancer, balancing
from tests.support.servers import Postgres

Json = dict[str, Any]
YES = {"approved": True}
REFUSED = (502, 503)
"""Of the balancer that reaches nobody, and of a replica that takes nothing new."""


class Rolling(msgspec.Struct, frozen=True):
    """What is done. ``tool_ms``: how long each approved call takes."""

    restarts: int
    tool_ms: float
    customers: int


class Report(msgspec.Struct):
    """What came of it. ``without_end``: streams that began and did not end; ``again``: requests that were refused."""

    done: int = 0
    streams: int = 0
    without_end: int = 0
    again: int = 0
    states: dict[str, int] = msgspec.field(default_factory=dict)
    broken: list[str] = msgspec.field(default_factory=list)


class Customers:
    """People who work until ``over``."""

    def __init__(self, found: World, balancer: Balancer, report: Report) -> None:
        self._product = Product(found.emulator, None, balancer.url, found.client)
        self._report, self._numbers = report, count()
        self.over = asyncio.Event()
        self.asked: list[str] = []

    async def work(self, in_run: bool) -> None:
        """One person: a new thread, a question, a yes; again and again."""
        while not self.over.is_set():
            chat = self._product.chat()
            chat.messages.append({"id": f"u{next(self._numbers)}", "role": "user", "content": "order X"})
            asked = await self._run(chat)
            (interrupt,) = asked["interrupts"]
            self.asked.append(interrupt)
            if in_run:
                await self._run(chat, resume=[{"interruptId": interrupt, "status": "resolved", "payload": YES}])
            else:
                await self._decide(interrupt)

    async def _run(self, chat: Chat, **more: Any) -> Json:
        """One run, asked for again while it is refused."""
        while True:
            raw, begun = "", False
            with suppress(httpx2.HTTPError):
                async with self._product.client.stream("POST", f"{self._product.url}/", json=chat.body(**more)) as got:
                    begun = got.status_code == 200
                    if not begun:
                        assert got.status_code in REFUSED, (got.status_code, await got.aread())
                    async for piece in got.aiter_text():
                        raw += piece
            if not begun:
                await self._again()
                continue
            self._report.streams += 1
            whole = parse(raw[: raw.rfind("\n\n") + 2])
            if not whole or whole[-1]["type"] != "RUN_FINISHED":
                self._report.without_end += not whole or whole[-1]["type"] != "RUN_ERROR"
                self._report.broken.append(f"a run ended with {whole[-1] if whole else 'nothing'}")
            return {"interrupts": [interrupt["id"] for interrupt in whole.interrupts]}

    async def _decide(self, approval_id: str) -> None:
        while True:
            with suppress(httpx2.HTTPError):
                answer = await self._product.client.post(f"{self._product.url}/approvals/{approval_id}", json=YES)
                if answer.status_code not in REFUSED:
                    if answer.json().get("state") != "done":
                        self._report.broken.append(f"a decision was answered {answer.status_code} {answer.text}")
                    return
            await self._again()

    async def _again(self) -> None:
        self._report.again += 1
        await asyncio.sleep(0.01)  # a customer's patience; nothing depends on it


async def rolling(home: Nursery, postgres: Postgres, database: str, folder: Path, plan: Rolling) -> Report:
    """Restart them that often."""
    report = Report()
    async with world(
        home, folder, on_postgres(postgres, database), {"order X": orders_of(("refund_slowly", "X"))}
    ) as found:
        found.client.timeout = httpx2.Timeout(120 + plan.tool_ms / 1000)

        def another() -> Replica:
            return found.replica(machine="here", work_ms=plan.tool_ms, drain=60 + plan.tool_ms / 1000)

        async with balancing([]) as balancer:
            serving = [another(), another()]
            balancer.ports = [_port(one) for one in serving]
            customers = Customers(found, balancer, report)
            async with asyncio.TaskGroup() as group:
                for number in range(plan.customers):
                    group.create_task(customers.work(in_run=number % 2 == 0))
                for _ in range(plan.restarts):
                    await _restart(found, serving, another, balancer)
                customers.over.set()
        await _judge(report, postgres, database, found)
    return report


async def _restart(found: World, serving: list[Replica], another: Any, balancer: Balancer) -> None:
    """A new replica comes, the oldest one goes, while it has approved calls in flight."""
    fresh = another()
    await _ready(found, fresh)
    oldest = serving.pop(0)
    serving.append(fresh)
    begun = len(found.ran())
    while len(found.ran()) == begun:  # noqa: ASYNC110 somebody works, which a file says
        await asyncio.sleep(0.01)
    oldest.signal(signal.SIGTERM)
    with suppress(httpx2.HTTPError):  # as a load balancer does, it sends requests there until it sees this
        while await _status(found, oldest) == 200:
            pass
    balancer.ports = [_port(one) for one in serving]
    await oldest.gone()


async def _ready(found: World, replica: Replica) -> None:
    while await _status(found, replica) != 200:
        pass


async def _status(found: World, replica: Replica) -> int:
    return (await found.client.get(f"{replica.url}/readyz", headers={"connection": "close"})).status_code


def _port(replica: Replica) -> int:
    return urlsplit(replica.url).port or 0


async def _judge(report: Report, postgres: Postgres, database: str, found: World) -> None:
    rows = postgres.execute("SELECT state, count(*) FROM approvals GROUP BY state", database.rpartition("/")[2])
    report.states = {str(state): int(number) for state, number in rows}
    report.done = report.states.get("done", 0)
    report.broken += [f"{number} calls are {state}" for state, number in report.states.items() if state != "done"]
    keys = Counter(effect.key for effect in found.ran())
    report.broken += [f"{key} ran {number} times" for key, number in keys.items() if number != 1]
    if len(keys) != report.done:
        report.broken.append(f"{len(keys)} calls ran and {report.done} are done")


def main() -> int:
    """All of it, from the shell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--restarts", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each approved call takes")
    parser.add_argument("--customers", type=int, default=10)
    options = parser.parse_args()
    postgres, begun = Postgres(), time.monotonic()
    plan = Rolling(options.restarts, options.seconds * 1000, options.customers)
    try:
        postgres.start()
        database = postgres.url(postgres.create())
        with tempfile.TemporaryDirectory() as folder, nursery(Path(folder) / "log") as home:
            report = asyncio.run(rolling(home, postgres, database, Path(folder), plan))
    finally:
        postgres.close()
    print(f"{time.monotonic() - begun:.0f} s", msgspec.json.encode(report).decode())
    return 1 if report.broken else 0


if __name__ == "__main__":
    sys.exit(main())
