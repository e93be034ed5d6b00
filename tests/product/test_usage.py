"""What runs say of the tokens they took: however they end, and whatever the provider counts."""

import asyncio
from typing import Any

import pytest

from agui_gate import ToolContext, tool
from agui_gate_adapters.testkit import Emulator
from tests.conforming import conforms
from tests.interop.replay import Case, Run, assert_accepted, replay
from tests.product.kit import TIMEOUT, Stream, product
from tests.product.shop import SEARCH, Shop, call, refund, say
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B14")]

VERSIONS = pytest.mark.parametrize("says", [{}, {"protocolVersion": "1.0"}], ids=["0.x", "1.0"])
COUNTS = {
    "input_tokens": 10,
    "output_tokens": 4,
    "total_tokens": 999,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 6},
    "output_tokens_details": {"reasoning_tokens": 0},
}
TOLD = {
    "provider": "openai",
    "model": "gpt-5.4-mini",
    "inputTokens": 10,
    "outputTokens": 4,
    "totalTokens": 14,
    "cachedInputTokens": 0,
    "reasoningTokens": 0,
    "cacheWriteInputTokens": 6,
}
FAILS = {"output": [say("Well.")], "fault": {"kind": "failed", "after_events": 4, "code": "server_error"}}


def answered(*, again: bool = False) -> list[dict[str, Any]]:
    return [{"output": [say("Hello.")], "usage": COUNTS, "repeat": again}]


@conforms("USE-1", "USE-2", "USE-3")
@VERSIONS
async def test_zero_is_told_and_a_total_that_counts_otherwise_is_not(says: dict[str, Any]) -> None:
    async with product([], answered()) as p:
        stream = await p.chat().say("hello", **says)
        assert stream[-1]["usage"] == [TOLD]


@conforms("USE-3")
async def test_a_provider_that_reports_nothing_is_not_said_to_have_taken_zero() -> None:
    async with product([], [{"output": [say("Hello.")], "usage": {"input_tokens": "many"}}]) as p:
        assert "usage" not in (await p.chat().say("hello"))[-1]


@conforms("USE-4", "INT-8")
async def test_a_resumed_run_counts_its_own_calls_alone() -> None:
    asks = {"output": [refund()], "usage": {**COUNTS, "input_tokens": 500}}
    async with product(Shop().tools, [asks, *answered()]) as p:
        chat = p.chat()
        asked = await chat.say("refund")
        assert asked[-1]["usage"][0]["inputTokens"] == 500
        resumed = await chat.resume((asked.interrupts[0]["id"], {"approved": True}))
        assert resumed[-1]["usage"] == [TOLD]


@conforms("LIFE-6", "USE-4")
@VERSIONS
async def test_a_run_that_fails_says_what_it_took_before(says: dict[str, Any]) -> None:
    async with product(Shop().tools, [{"output": [SEARCH], "usage": COUNTS}, FAILS]) as p:
        stream = await p.chat().say("find", **says)
        assert (stream[-1]["type"], stream[-1]["usage"]) == ("RUN_ERROR", [TOLD])


async def test_a_run_whose_only_turn_fails_reports_nothing() -> None:
    async with product([], [FAILS]) as p:
        end = (await p.chat().say("hello"))[-1]
        assert end["type"] == "RUN_ERROR"
        assert "usage" not in end


@conforms("LIFE-5", "USE-4")
@VERSIONS
async def test_a_stopped_run_says_what_it_took_before(says: dict[str, Any]) -> None:
    begun = asyncio.Event()

    @tool
    async def slow(ctx: ToolContext) -> str:
        """Takes for ever."""
        begun.set()
        await asyncio.Event().wait()
        return ctx.call_id

    async with product([slow], [{"output": [call("slow")], "usage": COUNTS}]) as p:
        chat = p.chat()
        running = asyncio.ensure_future(chat.say("work", **says))
        async with asyncio.timeout(TIMEOUT):
            await begun.wait()
            await p.client.post(f"{p.url}/threads/{chat.thread_id}/cancel")
            end = (await running)[-1]
        assert end["usage"] == [TOLD]
        assert end.get("code") == (None if says else "abort")
        assert end.get("outcome") == ({"type": "cancelled"} if says else None)


async def spoken(says: dict[str, Any]) -> list[Stream]:
    emulator = Emulator(script=[*answered(), FAILS | {"usage": COUNTS}])
    async with product(Shop().tools, emulator=emulator) as p:
        chat = p.chat()
        return [await chat.say(text, **says) for text in ("hello", "and?")]


@pytest.mark.interop
@conforms("USE-1", "USE-3")
def test_both_clients_take_it() -> None:
    """0.0.59 does not know `cacheWriteInputTokens`; its schema leaves it out without a word."""
    cases = []
    for name, says in (("0.x", {}), ("1.0", {"protocolVersion": "1.0"})):
        streams = asyncio.run(spoken(says))
        assert "cacheWriteInputTokens" in streams[0].raw
        cases.append(Case(name, [Run(s.raw, s.input) for s in streams]))
    results = replay(cases)
    assert_accepted(results)
    assert not any(run.warnings for result in results for run in result.runs)
