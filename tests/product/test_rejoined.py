"""A client that comes back to a run of a client of another generation reads the run's end in its own words."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from agui_gate import tool
from agui_gate.config.settings import Settings
from tests.conforming import conforms
from tests.product.kit import TIMEOUT, Chat, Product, product
from tests.product.live import cancel, connecting, starting
from tests.product.shop import COLOR, PICK, Shop, call, refund, say
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17"), conforms("LIFE-4", "VER-6")]

Json = dict[str, Any]
CUT = {"output": [say("Half")], "status": "incomplete", "reason": "content_filter"}
PAIRS = pytest.mark.parametrize(("begins", "reads"), [(None, "1.0"), ("1.0", None), ("1.0", "1.0"), (None, None)])


def says(version: str | None) -> Json:
    return {} if version is None else {"protocolVersion": version}


@asynccontextmanager
async def waiting(
    *after: Json, begins: str | None, dialect: Any = "auto", **agent: Any
) -> AsyncIterator[tuple[Product, Chat, asyncio.Event]]:
    """A run whose tool waits to be let go, with its reader."""
    begun, go = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await go.wait()
        return "waited"

    turns = [{"output": [call("wait")]}, *after]
    async with product([wait], turns, settings=Settings(dialect=dialect), **agent) as p:
        chat = p.chat(tools=[COLOR])
        async with starting(p, chat, "go", **says(begins)) as reader:
            await reader.until("TOOL_CALL_END")
            async with asyncio.timeout(TIMEOUT):
                await begun.wait()
            yield p, chat, go
            await reader.end()


def in_words(end: Json) -> Any:
    """What is told of the end, without its ids."""
    if end["type"] == "RUN_ERROR":
        return end["code"], end["message"]
    assert end["outcome"] == {"type": "cancelled"}
    return end.get("metadata")


@PAIRS
async def test_a_stop(begins: str | None, reads: str | None) -> None:
    with capture_logs() as lines:
        async with waiting(begins=begins) as (p, chat, _), connecting(p, chat, **says(reads)) as joined:
            await joined.until("RUN_STARTED")
            assert (await cancel(p, chat))["cancelled"] is True
            stream = await joined.end()
    assert in_words(stream[-1]) == (None if reads else ("abort", "The run was stopped."))
    if reads:
        assert (stream[-1]["threadId"], stream[-1]["runId"]) == (chat.thread_id, stream[0]["runId"])
    told = [line for line in lines if line["event"] == "told_less"]
    assert len(told) == (0 if begins == reads == "1.0" else 1), "once an owner"


@PAIRS
async def test_a_limit(begins: str | None, reads: str | None) -> None:
    async with waiting(begins=begins, max_turns=1) as (p, chat, go), connecting(p, chat, **says(reads)) as joined:
        await joined.until("RUN_STARTED")
        go.set()
        end = (await joined.end())[-1]
    message = "The agent stopped after 1 turns. Send a message to continue."
    new = {"agui-gate": {"code": "limit_reached", "message": message}}
    assert in_words(end) == (new if reads else ("limit_reached", message))
    assert end["usage"][0]["totalTokens"] > 0


@PAIRS
async def test_a_filter_of_the_provider(begins: str | None, reads: str | None) -> None:
    async with waiting(CUT, begins=begins) as (p, chat, go), connecting(p, chat, **says(reads)) as joined:
        await joined.until("RUN_STARTED")
        go.set()
        end = (await joined.end())[-1]
    if reads:
        assert in_words(end)["agui-gate"]["reason"] == "content_filter"
    else:
        assert (end["type"], end["result"]) == ("RUN_FINISHED", {"reason": "content_filter"})
        assert "metadata" not in end


@pytest.mark.parametrize("reads", [None, "1.0"])
async def test_the_extras_are_for_who_declares_1_0(reads: str | None) -> None:
    after = {"output": [PICK]}
    async with (
        waiting(after, begins="1.0", dialect="1.0") as (p, chat, go),
        connecting(p, chat, **says(reads)) as joined,
    ):
        await joined.until("RUN_STARTED")
        go.set()
        end = (await joined.end())[-1]
    assert end["type"] == "RUN_FINISHED"
    assert ("pendingToolCallIds" in end.get("outcome", {})) is (reads is not None)


@conforms("VER-7")
async def test_a_snapshot_in_mid_run_is_in_the_shapes_of_who_reads_it() -> None:
    """A schema of 0.x refuses the whole snapshot for one file handle."""
    begun, go = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await go.wait()
        return "waited"

    turns = [{"output": [call("wait")]}, {"output": [refund()]}]
    source = {"type": "file", "value": "file-1", "provider": "acme", "mimeType": "image/png"}
    look = {"id": "look", "role": "user", "content": [{"type": "image", "source": source}]}
    with capture_logs() as lines:
        async with product([wait, *Shop().tools], turns) as p:
            chat = p.chat(messages=[look])
            async with starting(p, chat, **says("1.0")) as reader:
                async with asyncio.timeout(TIMEOUT):
                    await begun.wait()
                async with connecting(p, chat) as old, connecting(p, chat, **says("1.0")) as new:
                    for joined in (old, new):
                        await joined.until("RUN_STARTED")
                    go.set()
                    streams = [await one.end() for one in (reader, new, old)]
    told = [
        [m["content"] for event in stream.of("MESSAGES_SNAPSHOT") for m in event["messages"] if m["id"] == "look"]
        for stream in streams
    ]
    assert told == [[look["content"]], [look["content"]] * 2, ["", ""]]
    assert [line["event"] for line in lines].count("told_less") == 1
