"""Whether a run goes on when its client leaves: by the agent's `on_disconnect`, and by what the client says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from agui_gate.client import Client, events
from agui_gate.config.settings import Settings
from tests.product.kit import TIMEOUT, Chat, Product, product
from tests.product.live import cancel, connect, over, quiet, starting
from tests.product.shop import say
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17")]

SAYS = {"AGUI-Gate-Leaving": "continue"}
LONG = say("word " * 400)
SLOW: list[dict[str, Any]] = [{"output": [LONG], "fault": {"kind": "slow", "ms": 1}}]
HALF: list[dict[str, Any]] = [
    {
        "output": [say("go and **look up the rest")],
        "fault": {"kind": "hang", "after_events": 8},
        "when": {"user": "go"},
    },
    {"output": [say("Back.")], "repeat": True},
]


@asynccontextmanager
async def left(
    turns: list[dict[str, Any]], headers: dict[str, str], **agent: Any
) -> AsyncIterator[tuple[Product, Chat]]:
    """A chat whose client has left in the middle of an answer; a moment is nothing to the server."""
    async with product([], turns, settings=Settings(disconnect_grace=0), **agent) as p:
        chat = p.chat(headers=headers)
        async with starting(p, chat, "go") as reader:
            await reader.until("TEXT_MESSAGE_CONTENT")
        yield p, chat


@pytest.mark.parametrize("header", ["continue", "Continue"])
async def test_a_client_that_says_so_leaves_without_stopping_and_comes_back_by_connect(header: str) -> None:
    async with left(SLOW, {"AGUI-Gate-Leaving": header}) as (p, chat):
        back = await connect(p, chat)
        assert back[-1]["type"] == "RUN_FINISHED"
        thread = await over(p, chat, "finished")
        assert thread["messages"][-1]["content"] == LONG["text"]
        assert "metadata" not in thread["messages"][-1]
        await quiet(p)


@pytest.mark.parametrize(
    ("headers", "agent"),
    [
        ({}, {}),
        ({"AGUI-Gate-Leaving": "cancel"}, {}),
        ({"AGUI-Gate-Leaving": "yes"}, {}),
        (SAYS, {"on_disconnect": "cancel"}),
    ],
)
async def test_any_other_client_stops_by_leaving(headers: dict[str, str], agent: dict[str, Any]) -> None:
    async with left(HALF, headers, **agent) as (p, chat):
        await over(p, chat, "cancelled")
        await quiet(p)


async def test_what_was_left_is_stopped_by_the_cancel_route() -> None:
    async with left(HALF, SAYS) as (p, chat):
        assert (await cancel(p, chat))["cancelled"] is True
        await over(p, chat, "cancelled")
        await quiet(p)


async def test_an_answer_that_was_stopped_is_marked_in_the_thread_and_no_other_one_is() -> None:
    async with left(HALF, {}) as (p, chat):
        await over(p, chat, "cancelled")
        chat.messages = (await p.get(f"/threads/{chat.thread_id}"))["messages"]
        assert (await chat.say("more")).text == "Back."
        *_, half, _, whole = (await p.get(f"/threads/{chat.thread_id}"))["messages"]
        assert half["content"].startswith("go and")
        assert half["metadata"] == {"agui-gate": {"cut": True}}
        assert "metadata" not in whole
        (snapshot,) = [event["messages"] for event in await connect(p, chat) if event["type"] == "MESSAGES_SNAPSHOT"]
        assert [m.get("metadata") for m in snapshot] == [None, half["metadata"], None, None]


THINKING: list[dict[str, Any]] = [
    {
        "output": [{"type": "reasoning", "summary": ["I look up the order, and then"]}],
        "fault": {"kind": "hang", "after_events": 5},
        "when": {"user": "go"},
    },
    {"output": [say("Back.")], "repeat": True},
]


async def test_an_answer_that_was_stopped_while_it_was_thought_about_is_marked_too() -> None:
    async with product([], THINKING, settings=Settings(disconnect_grace=0)) as p:
        chat = p.chat()
        async with starting(p, chat, "go") as reader:
            await reader.until("REASONING_MESSAGE_CONTENT")
        await over(p, chat, "cancelled")
        chat.messages = (await p.get(f"/threads/{chat.thread_id}"))["messages"]
        assert (await chat.say("more")).text == "Back."
        messages = (await p.get(f"/threads/{chat.thread_id}"))["messages"]
        assert [m["role"] for m in messages] == ["user", "reasoning", "user", "assistant"]
        assert [m.get("metadata") for m in messages] == [None, {"agui-gate": {"cut": True}}, None, None]


async def test_the_client_library_leaves_without_stopping_and_comes_back() -> None:
    async with product([], SLOW, settings=Settings(disconnect_grace=0)) as p, Client(p.url) as client:
        thread = client.thread()
        async with thread.say("go") as run:
            async for event in run:
                if isinstance(event, events.TextMessageContent):
                    break
        outcome = await (await thread.attach())
        assert outcome.kind == "success"
        assert thread.text == LONG["text"]


@pytest.mark.parametrize("path", ["/", "/agents/support", "/copilotkit/agent/support/run"])
async def test_a_stop_of_our_own_pages_is_no_loss_to_be_logged(path: str) -> None:
    """It was logged with each Stop that they should be replaced by clients of AG-UI 1.0; nor for who watches."""
    async with product([], HALF, settings=Settings()) as p:
        chat = p.chat(path=path, headers={} if "copilotkit" in path else SAYS)
        watching = path.replace("/run", "/connect") if "copilotkit" in path else None
        with capture_logs() as lines:
            async with starting(p, chat, "go") as reader:
                await reader.until("TEXT_MESSAGE_CONTENT")
                other = p.chat(
                    path=watching or "/agents/support/connect", headers=chat.headers, thread_id=chat.thread_id
                )
                async with starting(p, other, "") as second:
                    await second.until("TEXT_MESSAGE_CONTENT")
                    assert (await cancel(p, chat))["cancelled"] is True
                    await second.until("RUN_ERROR")
            await over(p, chat, "cancelled")
        assert [line["event"] for line in lines if line["log_level"] == "warning"] == []


async def test_the_client_library_stops_a_run_that_has_no_name_yet() -> None:
    async with product([], HALF, settings=Settings(disconnect_grace=0)) as p, Client(p.url) as client:
        thread = client.thread()
        run = thread.say("go")
        reading = asyncio.ensure_future(run)
        await run.stop()  # its request is not even sent
        async with asyncio.timeout(TIMEOUT):
            assert (await reading).stopped
            while (found := await p.get(f"/threads/{thread.id}"))["status_code"] == 200:
                if found["run"]["status"] != "running":
                    assert found["run"]["status"] == "cancelled"
                    break
        await quiet(p)
