"""Customers at their business while replicas are killed at random moments.

In the end everybody got what they were promised."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx2
import msgspec

from tests.crash.customer import Customer, Died
from tests.crash.ground import Ground
from tests.crash.nursery import Replica
from tests.crash.world import World, orders_of

CUSTOMERS = 12
"""Who are at it at a time."""
THREADS_A_KILL = 12
"""Threads that are begun at most, for each kill."""
LONGEST = 0.4
"""Seconds between two kills at most."""
WORK_MS = 20
"""How long a tool is at work before it takes effect, and after it: most kills are to hit some."""
PATIENCE = 120.0
"""Seconds for which a customer tries again and again, before it says that it can't get what it wants."""
TOOLS = ("look", "refund", "refund", "ship")

Asks = dict[str, list[tuple[str, str]]]
"""Calls by what is said: of which tool, for which order."""
Say = Callable[[str], None]
Json = dict[str, Any]


class Came(msgspec.Struct, frozen=True):
    """What came of a storm. ``states``: of all approvals that have a record. ``broken``: in words."""

    kills: int
    threads: int
    runs: int
    deaths_met: int
    executions: int
    passed_on: int
    states: dict[str, int]
    told_results: int
    acknowledged: int
    broken: list[str]


def business(threads: int, chance: random.Random) -> Asks:
    """What is asked for in so many threads: one to four calls, for orders that nobody else has."""
    return {
        f"#{n:05};": [(chance.choice(TOOLS), f"O{n:05}{letter}") for letter in "abcd"[: chance.randint(1, 4)]]
        for n in range(threads)
    }


class Storm:
    """``chance`` decides everything that can be decided; when a kill hits is for the machine to say."""

    def __init__(
        self,
        world: World,
        ground: Ground,
        asks: Asks,
        chance: random.Random,
        **replica: Any,
    ) -> None:
        self._world, self._ground, self._asks, self._chance = world, ground, list(asks), chance
        self._replica = {"work_ms": WORK_MS, **replica}
        self._plan = {order: chance.random() < 0.8 for calls in asks.values() for _, order in calls}
        self._over = False
        self.replicas: list[Replica] = []
        self.customers: list[Customer] = []
        self.states: dict[str, str] = {}
        self.kills = self.deaths = self._started = 0

    def start(self) -> None:
        """One more replica."""
        self._started += 1
        machine = f"machine {self._started}" * self._ground.apart
        self.replicas.append(self._world.replica(machine=machine, **self._replica))

    async def rage(self, kills: int, say: Say) -> None:
        """Kill so many, one after another, while customers are served; then let them finish."""
        async with asyncio.TaskGroup() as group:
            for _ in range(CUSTOMERS):
                group.create_task(self._come())
            while self.kills < kills:
                await asyncio.sleep(self._chance.uniform(0, LONGEST))  # the random moment
                await self._kill()
                if not self.kills % 10:
                    say(f"{self.kills} kills, {len(self.customers)} threads, {len(self._world.ran())} executions")
            self._over = True

    async def _kill(self) -> None:
        victim = self.replicas.pop(self._chance.randrange(len(self.replicas)))
        self.start()
        self.kills += 1
        await victim.kill()
        self._ground.lapse()

    async def _elsewhere(self) -> str:
        self.deaths += 1
        return self._chance.choice(self.replicas).url

    async def _come(self) -> None:
        """Customers, one after another."""
        while self._asks and not self._over:
            text = self._asks.pop()
            customer = self._world.customer(self._chance.choice(self.replicas), self._elsewhere, plan=self._plan)
            self.customers.append(customer)
            await self._serve(customer, text)

    async def _serve(self, customer: Customer, text: str) -> None:
        """One conversation: a question, answers every way, at times a stop or another word in between, and the end."""
        customer.messages.append({"id": f"u{text}", "role": "user", "content": f"please {text}"})
        acts = [self._answer_in_a_run, self._answer_from_outside, self._answer_twice, self._stop, self._go_on]
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                stream = await customer.go()
                while waiting := await customer.pending():
                    await self._chance.choices(acts, weights=(4, 4, 3, 1, 1))[0](customer, waiting)
                if stream[-1]["type"] == "RUN_FINISHED" and not stream.interrupts:
                    return
            except (Died, httpx2.HTTPError):
                customer.url = await self._elsewhere()
        raise AssertionError(f"{customer.thread_id} gave up after {PATIENCE:g} seconds")

    def _answers(self, waiting: list[Json]) -> list[tuple[str, Json]]:
        return [(record["id"], {"approved": self._plan[record["arguments"]["order_id"]]}) for record in waiting]

    async def _answer_in_a_run(self, customer: Customer, waiting: list[Json]) -> None:
        await customer.resume(*self._answers(waiting))

    async def _answer_from_outside(self, customer: Customer, waiting: list[Json]) -> None:
        for approval_id, payload in self._answers(waiting):
            await customer.decide_one(approval_id, payload)

    async def _answer_twice(self, customer: Customer, waiting: list[Json]) -> None:
        """At two replicas at once."""
        other = self._world.customer(self._chance.choice(self.replicas), self._elsewhere)
        other.told = customer.told
        approval_id, payload = self._answers(waiting)[0]
        both = (customer.decide_one(approval_id, payload), other.decide_one(approval_id, payload))
        for came in await asyncio.gather(*both, return_exceptions=True):
            if isinstance(came, BaseException):
                raise came

    async def _stop(self, customer: Customer, waiting: list[Json]) -> None:
        await customer.cancelled(customer.thread_id)

    async def _go_on(self, customer: Customer, waiting: list[Json]) -> None:
        """Say something else, which leaves the question unanswered."""
        customer.messages.append({"id": f"n{len(customer.messages)}", "role": "user", "content": "never mind"})
        await customer.go()

    # --- afterwards
    async def calm(self) -> Came:
        """When all is over: one word more in each thread, and what is true then."""
        broken = []
        for customer in self.customers:
            customer.url = self.replicas[0].url
            await customer.settled()
            done = await customer.orders("thanks")
            if (done[-1]["type"], done.text) != ("RUN_FINISHED", "Done."):
                broken.append(f"{customer.thread_id} can't go on: {done[-1]}")
            self.states |= {record["id"]: record["state"] for record in await customer.records()}
        broken += await self._world.broken(self.customers)
        return Came(
            kills=self.kills,
            threads=len(self.customers),
            runs=sum(len(customer.streams) for customer in self.customers),
            deaths_met=self.deaths,
            executions=len(self._world.ran()),
            passed_on=self._world.passed_on(),
            states=dict(Counter(self.states.values())),
            told_results=sum(len(customer.told.results) for customer in self.customers),
            acknowledged=sum(len(customer.told.decided) for customer in self.customers),
            broken=broken,
        )


def items(asks: Asks) -> dict[str, Any]:
    """The script's part of it."""
    return {text: orders_of(*calls) for text, calls in asks.items()}
