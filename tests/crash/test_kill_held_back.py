"""`kill -9` around a question, by the rules of 1.x: a call that is held back, its card, a page's own call beside it.

Every whole stream is judged (`record`), as all streams of these clients are.
"""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from agui_gate_adapters.testkit.agui.stream import apply
from tests.conforming import conforms
from tests.crash.processes import Machine, Server, machine
from tests.product.kit import CARD_TOOL, Chat, Stream
from tests.product.live import connect, starting
from tests.product.shop import COLOR, PICK, call, outputs, script, status
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B5", "B9", "B15"), conforms("TOOL-4", "TOOL-6", "INT-1")]

V1 = {"protocolVersion": "1.0"}
YES = {"approved": True}
REFUND = call("refund", order_id="A0")
LINGER = call("linger", order_id="A0")
styles = pytest.mark.parametrize("card", [True, False], ids=["card", "interrupt"])
pages = pytest.mark.parametrize("reloads", [True, False], ids=["reloaded", "left open"])


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path / "agui-gate.db", script(), "chain") as found:
        yield found


def page(server: Server, *, card: bool) -> Chat:
    """A page that declares 1.0, with a tool of its own."""
    return server.chat(tools=[COLOR, CARD_TOOL] if card else [COLOR], extra=V1)


async def killed(server: Server, chat: Chat, *, when: str | None) -> Stream:
    """What a page read of a run until its server was killed: when this was streamed, or when its tool lingered."""
    with contextlib.suppress(httpx2.HTTPError):
        async with starting(server.product, chat, "do it") as reader:
            if when is None:
                assert await server.line() == "ran linger A0"
                seen = await reader.until("TOOL_CALL_END")
            else:
                seen = await reader.until(when)
            await server.kill()
    return seen


def named(chat: Chat, tool: str) -> list[str]:
    """The calls of a tool that the page holds without a result."""
    over = {m["toolCallId"] for m in chat.messages if m["role"] == "tool"}
    calls = [c for m in chat.messages for c in m.get("toolCalls", ())]
    return [c["id"] for c in calls if c["function"]["name"] == tool and c["id"] not in over]


async def answered(chat: Chat, asked: Stream) -> Stream:
    """All that waits, at once: the question, and a call of the page's own."""
    entries = [{"interruptId": ask["id"], "status": "resolved", "payload": YES} for ask in asked.interrupts]
    given = [*((i, "green") for i in named(chat, "pick_color")), *((i, YES) for i in named(chat, "confirm_changes"))]
    return await chat.answer(*given, **({"resume": entries} if entries else {}))


def ran(box: Machine) -> list[str]:
    """What the newest model request says of the calls."""
    return outputs(box.emulator.accepted[-1].body or {})


def assert_done(chat: Chat, done: Stream, before: set[str]) -> None:
    """The gated call is shown once, here or before, with one result, and nothing waits."""
    (refunded,) = (i for i, content in done.results.items() if content == "refunded A0")
    assert (done.calls.get(refunded) == "refund") is not (refunded in before)
    assert [m["content"] for m in chat.messages if m.get("toolCallId") == refunded] == ["refunded A0"]
    assert [named(chat, tool) for tool in ("refund", "confirm_changes", "pick_color")] == [[], [], []]
    assert done.text == "Done."


def held(chat: Chat) -> set[str]:
    """The calls that the page has."""
    return {c["id"] for m in chat.messages for c in m.get("toolCalls", ())}


@styles
@pages
async def test_killed_right_after_the_question_was_shown(box: Machine, card: bool, reloads: bool) -> None:
    box.emulator.load(script(PICK, REFUND))
    async with box.server() as first:
        chat = page(first, card=card)
        asked = await killed(first, chat, when="confirm_changes" if card else "interrupts")
        assert ("refund" in asked.calls.values()) is not card
        assert await first.rest() == []
    async with box.server() as second:
        chat = second.chat(chat)
        if reloads:
            chat.messages = apply([], asked := await connect(second.product, chat))
        else:
            apply(chat.messages, asked)
        before = held(chat)
        done = await answered(chat, asked)
        assert_done(chat, done, before)
        assert ran(box) == ["green", "refunded A0"]
        await chat.go()
        await second.kill()
        assert await second.rest() == ["ran refund A0"]
    assert box.emulator.refusals == []


@styles
@pages
async def test_killed_while_the_call_is_held_back(box: Machine, card: bool, reloads: bool) -> None:
    """A free tool of the turn is at work; what comes of it can't be known. The question is asked after the restart."""
    box.emulator.load(script(PICK, REFUND, LINGER))
    async with box.server() as first:
        chat = page(first, card=card)
        seen = await killed(first, chat, when=None)
        assert "confirm_changes" not in seen.calls.values()
        assert await first.rest() == []
    async with box.server() as second:
        chat = second.chat(chat)
        if reloads:
            chat.messages = apply([], asked := await connect(second.product, chat))
        else:
            apply(chat.messages, seen)
            asked = await chat.go()
        before = held(chat)
        done = await answered(chat, asked)
        assert_done(chat, done, before)
        color, refunded, lingered = ran(box)
        assert (color, refunded, status(lingered)) == ("green", "refunded A0", "unknown")
        await second.kill()
        assert await second.rest() == ["ran refund A0"]
    assert box.emulator.refusals == []
