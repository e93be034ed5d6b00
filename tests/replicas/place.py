"""A small product over replicas, for tests that say which replica they speak to."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from agui_gate import Agent
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.product.kit import Chat, Product, client_of
from tests.replicas.fleet import Fleet, app_of
from tests.replicas.stage import Stage


@dataclass
class Place:
    """A fleet, its provider and an HTTP client. ``p`` is the product behind the balancer."""

    stage: Stage
    fleet: Fleet
    emulator: Emulator
    client: httpx2.AsyncClient

    @property
    def p(self) -> Product:
        return Product(self.emulator, None, self.fleet.url, self.client)

    def at(self, number: int) -> Product:
        """The product as one replica alone has it."""
        return Product(self.emulator, None, self.fleet.replicas[number].url, self.client)

    @property
    def everywhere(self) -> list[Product]:
        return [self.at(number) for number in range(len(self.fleet.replicas))]


def moved(chat: Chat, p: Product) -> Chat:
    """The same client, with another replica."""
    return Chat(
        p.client, p.url, product=p, thread_id=chat.thread_id, tools=chat.tools, messages=[*chat.messages],
        headers=chat.headers, streams=[*chat.streams],
    )  # fmt: skip


@asynccontextmanager
async def place(stage: Stage, tools: Sequence[Any] = (), script: Any = None, **agent: Any) -> AsyncIterator[Place]:
    """Replicas with one agent called ``support``."""
    emulator = Emulator(script=script)
    async with serve(emulator) as provider, client_of() as client:
        model = OpenAIResponses("gpt-5.4-mini", mode="chain", base_url=provider, api_key="k")
        app = app_of(Agent(name="support", model=model, tools=tools, **agent), settings=Settings())
        async with stage.fleet(app) as fleet:
            yield Place(stage, fleet, emulator, client)
