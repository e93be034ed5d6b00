"""A token that leaked is revoked while two replicas are at work for it: its streams end, and nothing else does.

What a person had approved with it is carried out to its end: its outcome is known.
"""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agui_gate import Agent, create_app, tool
from agui_gate import adapter as ad
from agui_gate.bus.replicas.bus import SharedBus
from agui_gate.config.settings import Settings
from agui_gate.http.auth import Admission
from agui_gate_adapters.testkit.agui import AGUIClient, connecting, serving
from tests.bus.wire_in_memory import Place, WireInMemory
from tests.people.issuer import AUDIENCE, ISSUER, every_key, token, write
from tests.product.inprocess import Parrot

pytestmark = pytest.mark.anyio

TIMEOUT = 30.0
EACH = 6
"""Runs of each of the two, on each replica."""


class Clockwork(Parrot):
    """A model that says a word now and then until it is told to end, or calls `refund`."""

    def __init__(self, over: asyncio.Event) -> None:
        super().__init__()
        self._over = over

    async def stream(self, request: ad.TurnRequest) -> Any:
        """One turn."""
        if "talk" not in str(request.transcript[-1]):
            async for batch in super().stream(request):
                yield batch
            return
        yield [ad.TextStart("0")]
        while not self._over.is_set():
            yield [ad.TextDelta("0", "tick ")]
            await asyncio.sleep(0.01)  # the model's pace
        yield [ad.TextEnd("0"), ad.TurnDone()]


class Stream:
    """One stream that is read in a task: what came, and how it ended."""

    def __init__(self, client: httpx2.AsyncClient, method: str, url: str, **request: Any) -> None:
        self.text, self.is_whole = "", False
        self.came = asyncio.Event()
        self.task = asyncio.create_task(self._read(client, method, url, request))

    async def _read(self, client: httpx2.AsyncClient, method: str, url: str, request: Any) -> None:
        try:
            async with client.stream(method, url, **request) as response:
                assert response.status_code == 200, await response.aread()
                async for piece in response.aiter_text():
                    self.text += piece
                    self.came.set()
            self.is_whole = True
        except httpx2.HTTPError:
            pass


def bearer(jti: str, sub: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token(jti=jti, sub=sub)}", "content-type": "application/json"}


async def test_only_what_the_token_reads_ends_and_what_was_approved_is_carried_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Admission.AGAIN_SECONDS + Admission.FRESH_SECONDS <= 5.0
    monkeypatch.setattr(Admission, "AGAIN_SECONDS", 0.2)
    write(tmp_path / "keys.json", *every_key())
    revoked = tmp_path / "revoked"
    revoked.write_text("# nobody yet\n")
    over, at_work, go, place = asyncio.Event(), asyncio.Event(), asyncio.Event(), Place()

    @tool(gate=True)
    async def refund(order_id: str) -> str:
        """Refund."""
        at_work.set()
        await go.wait()
        return "refunded"

    settings = Settings(
        jwt_issuer=ISSUER,
        jwt_audience=(AUDIENCE,),
        jwt_jwks=str(tmp_path / "keys.json"),
        jwt_revoked=str(revoked),
        disconnect_grace=0.0,
    )
    leaked, other = bearer("leaked", "ada"), bearer("other", "ben")
    async with AsyncExitStack() as up:
        agent = Agent(name="support", model=Clockwork(over), tools=[refund])
        apps = [
            create_app(agent, store=f"sqlite:///{tmp_path}/s.db", bus=SharedBus(WireInMemory(place)), settings=settings)
            for _ in range(2)
        ]
        urls = [await up.enter_async_context(serving(app)) for app in apps]
        client = await up.enter_async_context(connecting())
        asked = AGUIClient(client, urls[0], thread_id="paying", headers=leaked)
        (ask,) = (await asked.say("refund")).interrupts
        body = asked.body(resume=[{"interruptId": ask["id"], "status": "resolved", "payload": {"approved": True}}])
        paying = Stream(client, "POST", urls[0], content=json.dumps(body), headers=leaked)
        await at_work.wait()

        def streams(name: str, head: dict[str, str]) -> list[Stream]:
            found = [Stream(client, "GET", f"{url}/approvals/events", headers=head) for url in urls]
            for number in range(EACH):
                here = AGUIClient(client, urls[number % 2], thread_id=f"{name}-{number}", headers=head)
                here.messages.append({"id": "u", "role": "user", "content": "talk"})
                found.append(Stream(client, "POST", here.url, content=json.dumps(here.body()), headers=head))
            return found

        theirs, ours = streams("ada", leaked), streams("ben", other)
        async with asyncio.timeout(TIMEOUT):
            await asyncio.gather(*(one.came.wait() for one in (*theirs[2:], *ours[2:])))
            revoked.write_text("leaked\n")
            await asyncio.gather(paying.task, *(one.task for one in theirs))
            assert not any(one.is_whole and "RUN_FINISHED" in one.text for one in (paying, *theirs))
            statuses = [(await client.get(f"{url}/threads", headers=leaked)).status_code for url in urls]
            assert statuses == [401, 401]
            go.set()
            for one in ours[2:]:
                one.came.clear()
            await asyncio.gather(*(one.came.wait() for one in ours[2:]))
            assert not any(one.task.done() for one in ours), "the others read on"
            over.set()
            await asyncio.gather(*(one.task for one in ours[2:]))
            assert all('"RUN_FINISHED"' in one.text for one in ours[2:])
            again = bearer("new", "ada")
            while (paid := await state(client, urls[1], ask["id"], again)) == "claimed":
                pass
            assert paid == "done"
        for one in ours[:2]:
            one.task.cancel()


async def state(client: httpx2.AsyncClient, url: str, approval_id: str, head: dict[str, str]) -> str:
    found: str = (await client.get(f"{url}/approvals/{approval_id}", headers=head)).json()["state"]
    return found
