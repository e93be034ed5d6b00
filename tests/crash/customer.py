"""A customer of servers that die: says things, answers, and does it again at another server until it is done.

It remembers what it was told. What was told must be true in the end, whatever died in between.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx2

from agui_gate_adapters.testkit.agui.stream import apply
from tests.product.kit import TIMEOUT, Chat, Stream, parse

T = TypeVar("T")
Json = dict[str, Any]

TRIES = 30
"""How often something is done again before it is given up: each time a server died, or was busy with a dead one's."""


class Died(Exception):
    """The server went away in the middle of it."""


class Away(Died):
    """The server says that its store is away."""


@dataclass
class Told:
    """What a customer was told of one thread. ``results``: by call. ``decided``: the states of approvals, by id."""

    results: dict[str, str] = field(default_factory=dict)
    decided: dict[str, str] = field(default_factory=dict)


Elsewhere = Callable[[], Awaitable[str]]
"""Gives the address of a server that lives, when one was found dead."""


@dataclass
class Customer(Chat):
    """One thread. ``plan``: which orders are agreed to; others are refused."""

    elsewhere: Elsewhere = field(kw_only=True)
    plan: dict[str, bool] = field(default_factory=dict)
    told: Told = field(default_factory=Told)

    async def post(self, body: Any) -> Stream:
        """One run. What came of it before its server died is kept, as a page keeps it."""
        raw, status = "", 0
        try:
            async with self.http.stream("POST", self.url + self.path, json=body, headers=self.headers) as response:
                status = response.status_code
                async for chunk in response.aiter_text():
                    raw += chunk
        except httpx2.HTTPError as error:
            seen = parse(raw[: raw.rfind("\n\n") + 2])
            self.told.results |= seen.results
            apply(self.messages, seen)
            raise Died from error
        stream = parse(raw) if status == 200 else Stream([{"type": "HTTP", **json.loads(raw)}])
        stream.status = status
        self.told.results |= stream.results
        return stream

    async def surely(self, act: Callable[[], Awaitable[T]]) -> T:
        """Do it, and again elsewhere when the server dies."""
        for _ in range(TRIES):
            try:
                return await act()
            except (Died, httpx2.HTTPError):
                self.url = await self.elsewhere()
        raise AssertionError("every server died")

    async def orders(self, text: str) -> Stream:
        """Say it, once, and see to it that it was heard."""
        self.messages.append({"id": f"u{len(self.messages)}-{text}", "role": "user", "content": text})
        return await self.surely(self.go)

    async def settled(self) -> Stream:
        """Answer by `resume[]` what waits, as planned, until the agent has nothing to do any more."""
        with suppress(TimeoutError):
            async with asyncio.timeout(TIMEOUT):  # a thread may be busy for as long as the machine is
                while True:
                    stream = await self.surely(self._answer)
                    if stream[-1]["type"] == "RUN_FINISHED" and not stream.interrupts:
                        return stream
        raise AssertionError(f"{self.thread_id} is never done")

    async def _answer(self) -> Stream:
        waiting = await self.pending()
        answers = [(record["id"], {"approved": self.plan[record["arguments"]["order_id"]]}) for record in waiting]
        return await (self.resume(*answers) if answers else self.go())

    async def resumed(self, approval_id: str) -> None:
        """Agree to one call in a run, and read that to its end."""
        await self.resume((approval_id, {"approved": True}))

    async def decided(self) -> None:
        """Answer by `POST /approvals/{id}` what waits, as planned."""
        for record in await self.surely(self.pending):
            payload = {"approved": self.plan[record["arguments"]["order_id"]]}
            await self.surely(lambda i=record["id"], p=payload: self.decide_one(i, p))  # type: ignore[misc]  # a default binds

    async def decide_one(self, approval_id: str, payload: Json) -> Json:
        """`POST /approvals/{id}`; what it says was decided is remembered."""
        response = await self.http.post(f"{self.url}/approvals/{approval_id}", json=payload, headers=self.headers)
        said: Json = response.json()
        if response.status_code == 503:
            raise Away
        assert response.status_code in (200, 409), said
        if response.status_code == 200:
            self.told.decided[approval_id] = said["state"]
        return said

    async def cancelled(self, thread_id: str) -> None:
        """`POST /threads/{id}/cancel`."""
        response = await self.http.post(f"{self.url}/threads/{thread_id}/cancel", headers=self.headers)
        assert response.status_code == 200, response.text

    async def renamed(self, title: str) -> None:
        """`PATCH /threads/{id}`."""
        url = f"{self.url}/threads/{self.thread_id}"
        response = await self.http.patch(url, json={"title": title}, headers=self.headers)
        assert response.status_code == 200, response.text

    async def deleted(self) -> None:
        """`DELETE /threads/{id}`."""
        response = await self.http.delete(f"{self.url}/threads/{self.thread_id}", headers=self.headers)
        assert response.status_code in (200, 404), response.text

    async def alive(self) -> None:
        """Its server answers, whatever its store does."""
        assert (await self.http.get(f"{self.url}/healthz")).status_code == 200

    async def until_ready(self) -> str:
        """Wait until its server can use its store again; its address."""
        async with asyncio.timeout(TIMEOUT):
            while (await self.http.get(f"{self.url}/readyz")).status_code != 200:
                pass
        return self.url

    async def get(self, path: str) -> Json:
        """A JSON route."""
        response = await self.http.get(self.url + path, headers=self.headers)
        found: Json = response.json()
        assert response.status_code == 200, found
        return found

    async def records(self) -> list[Json]:
        """The thread's records of gated calls."""
        found: list[Json] = (await self.get(f"/threads/{self.thread_id}?view=calls"))["calls"]
        return found

    async def pending(self) -> list[Json]:
        """Those that wait. None if the thread isn't there."""
        response = await self.http.get(f"{self.url}/threads/{self.thread_id}?view=calls", headers=self.headers)
        if response.status_code == 503:
            raise Away
        calls = response.json()["calls"] if response.status_code == 200 else []
        return [call for call in calls if call["state"] == "pending"]
