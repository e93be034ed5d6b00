"""A company of agents that pass work to each other at random, each with a model of a random provider and a shop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from agui_gate import Agent, Gate, create_app, parallel, pipeline
from agui_gate.core.approvals import Approval, State
from agui_gate.errors import LeaseLost
from agui_gate.stores.base import Change, Thread
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.conformance.ground import think
from tests.conformance.test_switching import PROVIDERS
from tests.product.kit import Product, client_of, running
from tests.product.shop import PICK, SEARCH, Shop, call, refund, say

Json = dict[str, Any]
NAMES = ("support", "clerk", "packer", "billing")

GATES: tuple[bool | Gate, ...] = (False, True, Gate(editable=["task"]), Gate(when=lambda arguments: len(arguments) > 1))
"""Before tasks. The last one lets all of them go free."""


class Mortal(SQLiteStore):
    """After ``writes`` more it saves nothing, as if its process had been killed. Never, as long as that is None."""

    writes: int | None = None

    async def commit(self, thread: Thread, change: Change, run_key: str) -> None:
        self._live_on()
        await super().commit(thread, change, run_key)

    async def move(self, approval_id: str, to: State, **more: Any) -> Approval:
        self._live_on()
        return await super().move(approval_id, to, **more)

    def _live_on(self) -> None:
        if self.writes == 0:
            raise LeaseLost
        self.writes = None if self.writes is None else self.writes - 1


class Company:
    """Two to four agents. Any of them may hand off to any other; each may delegate to those that come after it, perhaps
    behind a gate, and the
    first to a ``line`` of two of these.

    It can be served again and again, from the same file. ``ran`` are the ids of the refunds that were carried out.
    """

    def __init__(self, random: Random, file: Path) -> None:
        self.random, self.file = random, file
        self.names = NAMES[: random.randint(2, 4)]
        self.heirs = {name: self._some(other for other in self.names if other != name) for name in self.names}
        self.delegates = {name: self._some(self.names[i + 1 :]) for i, name in enumerate(self.names)}
        self.line = random.choice([None, pipeline, parallel]) if len(self.names) > 2 else None
        if self.line:
            self.delegates[NAMES[0]].append("line")
        self.gates = {(name, to): random.choice(GATES) for name, others in self.delegates.items() for to in others}
        self.providers = {name: random.choice(list(PROVIDERS)) for name in self.names}
        self.entry: Json = {
            "on_unanswered": random.choice(["supersede", "represent"]),
            "on_disconnect": random.choice(["cancel", "continue"]),
            "max_turns": 8,
        }
        self.emulator = Emulator(chat="kimi")
        self.shops = {name: Shop(editable=["amount"]) for name in self.names}

    def __repr__(self) -> str:
        return f"{self.providers} heirs={self.heirs} delegates={self.delegates} gates={self.gates} {self.entry}"

    def _some(self, names: Any) -> list[str]:
        return [name for name in names if self.random.random() < 0.7]

    @property
    def ran(self) -> list[str]:
        return [call_id for shop in self.shops.values() for call_id in shop.call_ids]

    @asynccontextmanager
    async def server(self) -> AsyncIterator[Product]:
        """It at work."""
        async with serve(self.emulator) as base_url:
            agents: dict[str, Agent] = {}
            for name in reversed(self.names):
                tasks = (agents[to].as_tool(gate=self.gates[name, to]) for to in self.delegates[name])
                tools = [*self.shops[name].tools, *tasks]
                model = PROVIDERS[self.providers[name]](base_url, name)
                more = self.entry if name == NAMES[0] else {}
                agents[name] = Agent(name=name, model=model, tools=tools, **more)
                if name == NAMES[1] and self.line:
                    agents["line"] = self.line("line", agents["clerk"], agents["packer"])
            for name, heirs in self.heirs.items():
                agents[name].handoffs.extend(agents[heir] for heir in heirs)
            self.store = Mortal(str(self.file))
            app = create_app(agents[NAMES[0]], store=self.store)
            async with running(app) as url, client_of() as client:
                yield Product(self.emulator, app, url, client)

    def says(self, **fault: Any) -> list[Json]:
        """What the models will say next: something at random, once or twice each, and then that they are done."""
        turns: list[Json] = []
        more = {"fault": fault} if fault else {}
        for name in self.names:
            said = [self._turn(name) for _ in range(self.random.randint(0, 2))]
            turns += [{"output": output, "when": {"model": name}, **more} for output in said]
        return turns + self.goodbyes()

    def asks(self) -> list[Json]:
        """Each of them asks for a refund, perhaps after it had others ask, too."""
        turns: list[Json] = []
        for name in self.names:
            tasks = [call(delegate, task="Refund it.") for delegate in self.delegates[name]]
            turns.append({"output": [refund(), *self.random.choice([[], tasks])], "when": {"model": name}})
        return turns + self.goodbyes()

    def goodbyes(self) -> list[Json]:
        """Each of them is done."""
        return [{"output": [say(f"{n} is done.")], "when": {"model": n}, "repeat": True} for n in self.names]

    def _turn(self, name: str) -> list[Json]:
        random = self.random
        transfers = [call(f"transfer_to_{heir}") for heir in self.heirs[name]]
        tasks = [call(delegate, task=f"Work for {name}.") for delegate in self.delegates[name]]
        own = [[refund()], [refund("A2"), SEARCH], [SEARCH], [refund(), refund("A3")], [PICK], [PICK, refund("A4")]]
        kinds: list[list[Json]] = [random.choice(own), [say("Well."), *random.choice(own)]]
        if transfers:
            kinds += [[random.choice(transfers)], [*transfers, *random.choice(own)]]
        if tasks:
            kinds += [[random.choice(tasks)], tasks, [*tasks, tasks[0]], [*random.choice(own), *tasks]]
        if tasks and transfers:
            kinds.append([tasks[0], transfers[0]])
        before = [think("Hm.")] if random.random() < 0.3 else []
        return before + random.choice(kinds)
