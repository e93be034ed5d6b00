"""The server that routes share: the engine, who asks, and what they sent. Extensions see the part that is promised."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from agui_gate.agents.agent import Agent
from agui_gate.core.approvals import Approval
from agui_gate.http.auth import Guard
from agui_gate.http.request_body import json_body
from agui_gate.runs.engine import Engine
from agui_gate.stores.base import Store


class HttpServer:
    """One engine over HTTP: see `agui_gate.extension.Server`."""

    def __init__(self, engine: Engine, guard: Guard, max_body: int) -> None:
        self.engine, self.guard, self.max_body = engine, guard, max_body

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents that are served, by name."""
        return self.engine.agents

    @property
    def store(self) -> Store:
        """The engine's store."""
        return self.engine.store

    async def principal(self, request: Request) -> str:
        """Returns who asks, and starts the engine if need be. Raises as `Guard.principal` and `Engine.start`."""
        principal = await self.guard.principal(request)
        await self.engine.start()
        return principal

    async def body(self, request: Request) -> bytes:
        """Returns the body's bytes: see `json_body`."""
        return await json_body(request, self.max_body)

    async def sent(self, request: Request) -> tuple[str, bytes]:
        """Returns who asks, and what they sent, before anything is started for it."""
        return await self.guard.principal(request), await self.body(request)

    def record(self, approval: Approval) -> dict[str, Any]:
        """Returns an approval as JSON."""
        from agui_gate.http.views import approval_view  # what only extensions and later routes show

        return approval_view(approval, self.engine.members)
