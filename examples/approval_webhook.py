"""Lesson 12: an extension of your own, which tells a chat room what waits for approval and what was decided.

    export OPENAI_API_KEY=… CHAT_WEBHOOK=https://chat.example.com/hooks/…
    cd examples
    agui-gate serve approval_webhook:app     # "Open the garage": the room is told, and told again when you decide

A notice says which approval has changed; what is true of it now is in the store. What `notices` raises is tried again,
so a room that is away misses nothing. docs/extensions.md has all hooks.
"""

import os
from collections.abc import Sequence

import httpx2
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from agui_gate import Agent, create_app, tool
from agui_gate.errors import NotFound
from agui_gate.extension import Extension, Notice, Server
from agui_gate_adapters.openai_responses import OpenAIResponses


class ApprovalWebhook(Extension):
    def __init__(self, url: str) -> None:
        self._url = url

    def routes(self, server: Server) -> Sequence[Route]:
        async def show(request: Request) -> JSONResponse:
            principal = await server.principal(request)  # first of all: it refuses who may not ask
            if (approval := await server.store.approval(principal, request.path_params["id"])) is None:
                raise NotFound("There is no such approval.")
            return JSONResponse(server.record(approval))

        return [Route("/room/{id}", show)]

    async def start(self, server: Server) -> None:
        self._server, self._client = server, httpx2.AsyncClient(timeout=4)

    async def stop(self) -> None:
        await self._client.aclose()

    async def notices(self, batch: Sequence[Notice]) -> None:
        for notice in batch:
            approval = await self._server.store.approval(notice.principal, notice.about)
            if approval is not None:  # None: it is about a run, or its thread was deleted
                text = f"{approval.tool} for {approval.principal}: {approval.state.public}. See /room/{approval.id}"
                (await self._client.post(self._url, json={"text": text})).raise_for_status()


@tool(gate=True)
def open_garage() -> str:
    """Open the garage door."""
    return "The garage is open."


agent = Agent(name="house", model=OpenAIResponses("gpt-5.4-mini"), instructions="Help.", tools=[open_garage])
app = create_app(agent, extensions=[ApprovalWebhook(os.environ.get("CHAT_WEBHOOK", "http://127.0.0.1:9999"))])
