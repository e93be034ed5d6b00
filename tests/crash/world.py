"""What outlives replicas: a store, a provider, and a file of what tools did. And what has to be true in the end."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from agui_gate_adapters.testkit import Emulator, serve
from tests.crash.customer import Customer
from tests.crash.ground import Ground
from tests.crash.nursery import Nursery, Replica
from tests.crash.replica import Start
from tests.product.kit import Product, client_of
from tests.product.shop import Item, call, say

Json = dict[str, Any]

HELD = "P0"
"""The order of a call that the provider runs."""
PAY = {
    "type": "mcp_approval_request",
    "server_label": "crm",
    "name": "pay",
    "arguments": json.dumps({"order_id": HELD}),
}
PAID = [{"type": "mcp_call", "output": "ok"}, say("Paid.")]


class Effect(msgspec.Struct, frozen=True):
    """One execution of a tool. ``key``: its idempotency key."""

    tool: str
    order: str
    key: str
    pid: int


def crowd_script(orders: dict[str, list[Item]]) -> list[Json]:
    """As `script`, for many users who each ask once: what was asked is not looked through again."""
    names = dict.fromkeys(item["name"] for items in orders.values() for item in items)
    done = {"output": [say("Done.")], "repeat": True}
    over = [{"when": {"has_output_for": name}, **done} for name in names]
    return [*over, *({"when": {"user": text}, "output": items} for text, items in orders.items()), done]


def script(orders: dict[str, list[Item]]) -> list[Json]:
    """What the model does when a user says one of these things, as often as it is asked; then, or else, "Done."."""
    turns: list[Json] = []
    for text, items in orders.items():
        names = dict.fromkeys(item["name"] for item in items)
        done = {"output": [say("Done.")], "repeat": True}
        turns += [{"when": {"user": text, "has_output_for": name}, **done} for name in names]
        turns.append({"when": {"user": text}, "output": items, "repeat": True})
    held = [
        {"when": {"user": "pay", "approves": True}, "output": PAID, "repeat": True},
        {"when": {"user": "pay", "approves": False}, "output": [say("Done.")], "repeat": True},
        {"when": {"user": "pay"}, "output": [PAY], "repeat": True},
    ]
    return [*turns, *held, {"output": [say("Done.")], "repeat": True}]


class World:
    """``after_a_death`` is what time has to do before the others may take over."""

    def __init__(self, start: Start, home: Nursery, emulator: Emulator, client: httpx2.AsyncClient) -> None:
        self._start, self.home, self.emulator, self.client = start, home, emulator, client
        self.effects = Path(start.effects)

    def of(self, home: Nursery) -> "World":
        """The same world, with replicas from elsewhere."""
        return World(self._start, home, self.emulator, self.client)

    def replica(self, **more: Any) -> Replica:
        """One more process."""
        return self.home.start(msgspec.structs.replace(self._start, **more))

    def customer(self, at: Replica, elsewhere: Callable[[], Awaitable[str]], **more: Any) -> Customer:
        """A new customer on a new thread."""
        product = Product(self.emulator, None, at.url, self.client)
        return Customer(self.client, at.url, product=product, elsewhere=elsewhere, **more)

    def ran(self) -> list[Effect]:
        """What ran so far, in order."""
        lines = self.effects.read_text().splitlines() if self.effects.exists() else []
        return [msgspec.json.decode(line, type=Effect) for line in lines]

    def log(self) -> str:
        """What the replicas said."""
        return self.home.log.read_text()

    # --- what has to be true

    def twice(self) -> list[str]:
        """The orders that took effect twice."""
        ran = self.ran()
        counts = Counter((effect.tool, effect.order) for effect in ran if effect.tool != "ship")
        keys = Counter((effect.tool, effect.order) for effect in {_by_key(e): e for e in ran}.values())
        return [f"{tool} {order}" for (tool, order), number in (*counts.items(), *keys.items()) if number > 1]

    def passed_on(self) -> int:
        """How many requests told the provider to run what it held back."""
        bodies = [entry.body or {} for entry in self.emulator.journal.entries]
        return sum(
            item.get("type") == "mcp_approval_response" and item["approve"]
            for body in bodies
            for item in body.get("input", ())
            if isinstance(item, dict)
        )

    async def broken(self, customers: Iterable[Customer]) -> list[str]:
        """Every promise that was broken to somebody, in words."""
        ran = {effect.order for effect in self.ran()}
        found = [f"{order} took effect twice" for order in self.twice()]
        for customer in customers:
            found += [
                f"{customer.thread_id}: {problem}"
                for record in await customer.records()
                for problem in judged(record, customer, ran)
            ]
            found += await contradicted(customer)
        return found + [f"the provider refused {entry.rule}: {entry.error}" for entry in self.emulator.refusals]


def _by_key(effect: Effect) -> tuple[str, str]:
    return effect.tool, effect.key


def judged(record: Json, customer: Customer, ran: set[str]) -> list[str]:
    """What is wrong with a record, after everything was recovered."""
    state, order = record["state"], record["arguments"]["order_id"]
    told = customer.told.decided.get(record["id"], state)
    here = order != HELD
    wrong = {
        f"{order} is still {state}": state in ("pending", "claimed"),
        f"{order} is done and did not run": state == "done" and here and order not in ran,
        f"{order} ran and is {state}": order in ran and state not in ("done", "unknown"),
        f"{order} ran against the plan": order in ran and not customer.plan.get(order, True),
        f"{order} was {told} and is {state}": told not in ("claimed", state),
    }
    return [words for words, is_wrong in wrong.items() if is_wrong]


async def contradicted(customer: Customer) -> list[str]:
    """The results that the customer was told, and that are not what the thread says now."""
    thread = await customer.get(f"/threads/{customer.thread_id}")
    now = {m["toolCallId"]: m["content"] for m in thread["messages"] if m["role"] == "tool"}
    return [
        f"{customer.thread_id}: {call_id} was told as {content!r} and is {now.get(call_id)!r}"
        for call_id, content in customer.told.results.items()
        if now.get(call_id) != content
    ]


@asynccontextmanager
async def world(home: Nursery, folder: Path, ground: Ground, orders: dict[str, list[Item]]) -> AsyncIterator[World]:
    """A world without a replica."""
    emulator = Emulator(script=script(orders))
    async with serve(emulator) as provider, client_of() as client:
        start = Start(store=ground.url, provider=provider, effects=str(folder / "effects"))
        try:
            yield World(start, home, emulator, client)
        finally:
            await home.empty()


def orders_of(*pairs: tuple[str, str]) -> list[Item]:
    """Calls of these tools for these orders."""
    return [call(tool, order_id=order) for tool, order in pairs]


def dumped(found: list[str], world: World) -> str:
    """For a failed assertion: what was broken, what ran, and what the replicas said last."""
    ran = "\n".join(json.dumps(msgspec.to_builtins(effect)) for effect in world.ran()[-20:])
    return "\n".join([*found, "--- ran", ran, "--- log", world.log()[-3000:]])
