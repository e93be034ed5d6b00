"""Connections to the provider: shared by turns, never waited on without end, closed at once, not led elsewhere."""

from contextlib import aclosing
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest

from agui_gate.errors import ProviderRejected, ProviderUnavailable
from agui_gate_adapters.testkit import Emulator, serve
from tests.support.pairwise import turns

from .subject import Subject, Way
from .subjects import EVERY_WAY, every_adapter, every_subject
from .support import ANSWER, asked, waits

pytestmark = pytest.mark.anyio


@every_adapter
@pytest.mark.parametrize("events", [0, 1, 2])
async def test_silence_is_bounded(way: Way, events: int) -> None:
    script = [{"fault": {"kind": "hang", "after_events": events, "times": 0}, **ANSWER}]
    async with way.talking(script, timeout=0.5) as (_, thread):
        waits(thread.model)
        thread.say("hi")
        with pytest.raises(ProviderUnavailable, match="silent"):
            await thread.turn()


@every_adapter
@pytest.mark.parametrize("how", ["close", "cancel"])
async def test_leaving_closes_the_provider_s_stream_at_once(way: Way, how: str) -> None:
    slow = {"output": [{"type": "message", "deltas": ["a"] * 50}], "fault": {"kind": "hang", "after_events": 6}}
    async with way.talking([slow]) as (emulator, thread):
        thread.say("hi")
        with anyio.fail_after(60), anyio.CancelScope() as scope:
            async with aclosing(thread.model.stream(thread.request())) as batches:
                async for _ in batches:
                    if how == "close":
                        break
                    scope.cancel()
        with anyio.fail_after(60):
            while emulator.accepted[0].ended is None:
                await anyio.lowlevel.checkpoint()
    assert emulator.accepted[0].ended == "aborted"


@every_subject
async def test_turns_share_connections(subject: Subject) -> None:
    connections = set()

    async def record(scope: Any, receive: Any, send: Any) -> None:
        connections.add(scope["client"])
        await real(scope, receive, send)

    emulator = Emulator(script=[ANSWER] * 5)
    real = emulator.app
    emulator.__dict__["app"] = record
    async with serve(emulator) as base_url:
        model = subject.make("m", base_url=base_url, api_key="k")
        for _ in range(5):
            await asked(model)
        await model.aclose()
    assert len(connections) == 1


@every_subject
async def test_nobody_listens(subject: Subject) -> None:
    async with serve(Emulator()) as base_url:
        pass
    model = subject.make("m", base_url=base_url, api_key="k")
    slept = waits(model)
    with pytest.raises(ProviderUnavailable, match="reached"):
        await asked(model)
    assert len(slept) == 1
    (finding,) = await model.check()
    assert not finding.ok
    assert f"base_url ({subject.address})" in finding.fix
    await model.aclose()
    await model.aclose()


@pytest.mark.parametrize(("way", "status"), turns(EVERY_WAY, [302, 307, 308]), ids=str)
async def test_a_redirect_is_not_followed(way: Way, status: int) -> None:
    """Keys and conversations are for the address that was named, also where a caller's client would follow."""
    hosts = set()

    def handler(request: httpx2.Request) -> httpx2.Response:
        hosts.add(request.url.host)
        return httpx2.Response(status, headers={"location": "http://elsewhere/v1/x"})

    model = way.subject.answering(handler, follow_redirects=True, **way.options)
    with pytest.raises(ProviderRejected):
        await asked(model)
    (finding,) = await model.check()
    assert not finding.ok
    assert hosts == {"127.0.0.1"}
