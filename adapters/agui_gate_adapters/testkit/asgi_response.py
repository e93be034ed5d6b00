"""The ASGI side of an answer: sends the steps of a delivery, waits where they say so, notices a client that leaves."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
from starlette.types import Receive, Scope, Send

from agui_gate_adapters.testkit.api import Answer
from agui_gate_adapters.testkit.delivery import Cut, Hang, Pause, Step, deliver
from agui_gate_adapters.testkit.host import Host

__all__ = ["AnswerResponse"]


class AnswerResponse:
    """An ASGI response that tells one answer; whatever happens, the answer is closed at the end.

    A cut returns without finishing the body, which makes the server drop the connection. A client that leaves
    cancels the telling, so a foreground response stores nothing and its conversation is free again.
    """

    def __init__(self, host: Host, answer: Answer) -> None:
        self._host = host
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; returns early when the client leaves."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._watch, receive, group.cancel_scope)
                await self._send_all(send)
                group.cancel_scope.cancel()
        finally:
            self._answer.close()

    async def _watch(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    def _steps(self) -> Iterator[Step]:
        chunking = self._host.chunking(self._answer)
        return deliver(self._answer, chunking, self._host.pace, self._host.rng)

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self._headers()})
        for step in self._steps():
            match step:
                case bytes():
                    await send({"type": "http.response.body", "body": step, "more_body": True})
                case Pause():
                    await anyio.sleep(step.seconds)
                case Hang():
                    await anyio.sleep_forever()
                case Cut():
                    if not step.clean:
                        return
                    break
        await send({"type": "http.response.body", "body": b""})

    def _headers(self) -> list[tuple[bytes, bytes]]:
        media = "text/event-stream; charset=utf-8" if self._answer.streamed else "application/json"
        named = {"content-type": media, **dict(self._answer.headers)}
        fault = self._answer.fault
        if fault is not None and fault.kind == "content_type":
            named["content-type"] = "text/plain; charset=utf-8"
        return [(name.encode(), value.encode()) for name, value in named.items()]
