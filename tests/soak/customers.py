"""Who uses the servers of a soak: people who talk, approve, refuse, stop, leave and read, at a steady rate.

Whatever is answered they do something else next; what a killed replica left in the way is removed later.
"""

import asyncio
import random
from collections import Counter, deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from agui_gate_adapters.testkit.agui import AGUIClient, Stream
from tests.soak.fleet import PEOPLE, Fleet, token

WATCHERS = 4
"""Inbox streams that are always open."""
STAY_SECONDS = (20.0, 90.0)
"""For how long one of them stays."""
LEFT = 2_000
"""Threads that wait to be deleted, at most."""
DOWN = (httpx2.HTTPError, KeyError, ValueError)
"""What happens to a client whose server is killed: no answer, or half a one."""


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
    """Do ``work`` meanwhile, and wait for it. What it raises is raised as it is, not in a group."""
    task = asyncio.ensure_future(work)
    try:
        yield
        await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Customers:
    """``rate``: conversations that begin each second. ``done`` counts what was done, and what it met."""

    def __init__(self, fleet: Fleet, client: httpx2.AsyncClient, rate: float, chance: random.Random) -> None:
        self._fleet, self._client, self._rate, self._chance = fleet, client, rate, chance
        self.done: Counter[str] = Counter()
        self.left: deque[AGUIClient] = deque(maxlen=LEFT)
        self._talks: set[asyncio.Task[None]] = set()

    async def come(self) -> None:
        """Begin conversations until this is cancelled."""
        acts = (self._chat, self._approve, self._approve_outside, self._refuse, self._stop, self._leave, self._watch)
        async with asyncio.TaskGroup() as group:
            for _ in range(WATCHERS):
                group.create_task(self._follow())
            group.create_task(self._tidy())
            while True:
                if len(self._talks) < 40:
                    act = self._chance.choices(acts, weights=(6, 3, 3, 1, 1, 1, 2))[0]
                    talk = group.create_task(self._talk(act))
                    self._talks.add(talk)
                    talk.add_done_callback(self._talks.discard)
                await asyncio.sleep(self._chance.expovariate(self._rate))

    async def _talk(self, act: Any) -> None:
        """One conversation on a thread of its own, which is deleted in the end."""
        number = self._chance.getrandbits(64)
        headers = token(self._chance.choice(PEOPLE))
        client = AGUIClient(self._client, self._fleet.url, thread_id=f"soak-{number:x}", headers=headers)
        name = act.__name__.strip("_")
        try:
            async with asyncio.timeout(60):
                await act(client)
                self.done[name] += 1
        except (*DOWN, TimeoutError) as error:
            self.done[f"{name}: {type(error).__name__}"] += 1
        if not await self._delete(client):
            self.left.append(client)

    async def _delete(self, client: AGUIClient) -> bool:
        try:
            url = f"{self._fleet.url}/threads/{client.thread_id}"
            return (await self._client.delete(url, headers=client.headers)).status_code in (200, 204, 404)
        except DOWN:
            return False

    async def _tidy(self) -> None:
        """Delete what could not be deleted before, as a killed replica still held it."""
        while True:
            await asyncio.sleep(5)
            for _ in range(len(self.left)):
                client = self.left.popleft()
                if not await self._delete(client):
                    self.left.append(client)

    async def _said(self, client: AGUIClient, text: str) -> Stream:
        stream = await client.say(text)
        self.done["runs"] += 1
        if stream.status != 200:
            self.done[f"HTTP {stream.status}"] += 1
            raise ValueError(stream.status)
        return stream

    async def _chat(self, client: AGUIClient) -> None:
        """A few messages, and the thread as a page reads it."""
        for text in ("hello", "#see order A1", "and now?"):
            await self._said(client, text)
        for path in (f"/threads/{client.thread_id}", f"/threads/{client.thread_id}?view=calls", "/threads"):
            await self._client.get(self._fleet.url + path, headers=client.headers)

    async def _approve(self, client: AGUIClient) -> None:
        """Agree in a run."""
        asked = await self._said(client, "#pay order A1")
        answers = [(ask["id"], {"approved": True}) for ask in asked.interrupts]
        await client.resume(*answers)
        self.done["runs"] += 1

    async def _approve_outside(self, client: AGUIClient) -> None:
        """Agree from elsewhere, and let the conversation go on."""
        asked = await self._said(client, self._chance.choice(("#pay order A1", "#send order A1")))
        await self._decide(client, asked, {"approved": True, "continue": True})
        await self._said(client, "thanks")

    async def _refuse(self, client: AGUIClient) -> None:
        """Say no; or nothing at all, and go on."""
        asked = await self._said(client, "#pay order A1")
        if self._chance.random() < 0.5:
            await self._decide(client, asked, {"approved": False, "reason": "not today"})
        await self._said(client, "never mind")

    async def _decide(self, client: AGUIClient, asked: Stream, payload: dict[str, Any]) -> None:
        for ask in asked.interrupts:
            url = f"{self._fleet.url}/approvals/{ask['id']}"
            response = await self._client.post(url, json=payload, headers=client.headers)
            self.done[f"decided {response.status_code}"] += 1

    async def _stop(self, client: AGUIClient) -> None:
        """Stop an answer in its middle."""
        async with _beside(self._said(client, "#slow, please")):
            await asyncio.sleep(1)
            url = f"{self._fleet.url}/threads/{client.thread_id}/cancel"
            await self._client.post(url, headers=client.headers)

    async def _leave(self, client: AGUIClient) -> None:
        """Close a stream in its middle, and connect to it again."""
        client.messages.append({"id": "u1", "role": "user", "content": "#slow, please"})
        head = {**client.headers, "agui-gate-leaving": "continue"}
        await self._glance("POST", client, "/", 10, json=client.body(), headers=head)
        self.done["runs"] += 1
        await self._glance("POST", client, "/agents/support/connect", 10, json=client.body(), headers=client.headers)

    async def _watch(self, client: AGUIClient) -> None:
        """Follow somebody's own run from a second page."""
        async with _beside(self._said(client, "#slow, please")):
            await asyncio.sleep(0.5)
            body = client.body()
            await self._glance("POST", client, "/agents/support/connect", 500, json=body, headers=client.headers)

    async def _glance(self, method: str, client: AGUIClient, path: str, most: int, **request: Any) -> None:
        """Read so many pieces of a stream, or to its end."""
        async with self._client.stream(method, client.url + path, **request) as response:
            async for _ in response.aiter_raw():
                most -= 1
                if most <= 0:
                    return

    async def _follow(self) -> None:
        """An inbox that is open all the time: it connects again when it is cut off, and now and then by itself."""
        while True:
            try:
                async with asyncio.timeout(self._chance.uniform(*STAY_SECONDS)):
                    url = f"{self._fleet.url}/approvals/events"
                    async with self._client.stream("GET", url, headers=token(self._chance.choice(PEOPLE))) as response:
                        async for _ in response.aiter_raw():
                            self.done["inbox pieces"] += 1
            except (*DOWN, TimeoutError):
                self.done["inbox streams"] += 1
            await asyncio.sleep(0.5)
