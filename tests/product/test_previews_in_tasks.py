"""Arguments that a sub-agent's tool shows in the shared state while they arrive: tagged, and taken back as ever."""

import json
from typing import Any

import pytest

from tests.conforming import conforms
from tests.product.kit import CARD_TOOL, Chat, Json, Product, Stream
from tests.product.live import cancel, starting
from tests.product.shop import call, say
from tests.product.test_emit import state_of
from tests.product.test_previews import HELD, TEXT, fail, forget, publish, write
from tests.product.test_subagents import BOSS, CLERK, PACKER, Office, by, dialects
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, conforms("SNAP-2", "STATE-1", "SUB-2"), shows("H1")]
TASK, SECOND = call("clerk", task="Write it."), call("packer", task="Write it, too.")
LAST = by(BOSS, say("Done."), repeat=True)
KEPT: Json = {**HELD, "draft": {"title": "t", "text": TEXT.strip()}}


def writing(*script: Json, nested: bool = False) -> Office:
    office = Office(*script, LAST, nested=nested)
    for shop in (office.clerk, office.packer):
        shop.tools += [write, forget, fail, publish]
    return office


def shown(stream: Stream, held: Json) -> list[Any]:
    """What a page that held this had after each event."""
    begun = [{"type": "STATE_SNAPSHOT", "snapshot": held}]
    return [state_of([*begun, *stream[:number]]) for number in range(1, len(stream) + 1)]


def owners(stream: Stream) -> set[str | None]:
    return {event.get("subagentRunId") for event in [*stream.of("STATE_DELTA"), *stream.of("STATE_SNAPSHOT")]}


async def kept(p: Product, chat: Chat) -> Any:
    return (await p.get(f"/threads/{chat.thread_id}"))["state"]


@dialects
@pytest.mark.parametrize("nested", [False, True])
async def test_the_page_sees_them_grow_and_then_what_the_tool_did(version: Json, nested: bool) -> None:
    steps = [by(CLERK, call("write", text=TEXT)), by(CLERK, say("Written."))]
    if nested:
        steps = [by(CLERK, call("packer", task="Write it.")), by(PACKER, call("write", text=TEXT))]
        steps += [by(PACKER, say("Written.")), by(CLERK, say("It is."))]
    office = writing(by(BOSS, TASK), *steps, nested=nested)
    async with office.server() as p:
        chat = p.chat(state=HELD, extra=version)
        done = await chat.say("write")
        states = shown(done, HELD)
        assert len({state["draft"]["text"] for state in states}) > 4
        assert states[-1] == await kept(p, chat) == KEPT
        assert len(owners(done)) == 1, "all of it is one sub-agent's"
        assert None not in owners(done)
        p.assert_clean()


@pytest.mark.parametrize("name", ["forget", "fail"])
async def test_it_is_taken_back(name: str) -> None:
    office = writing(by(BOSS, TASK), by(CLERK, call(name, text=TEXT)), by(CLERK, say("Well.")))
    async with office.server() as p:
        chat = p.chat(state=HELD)
        done = await chat.say("write")
        states = shown(done, HELD)
        assert any(state != HELD for state in states)
        assert states[-1] == await kept(p, chat) == HELD
        p.assert_clean()


async def test_it_is_taken_back_where_the_task_fails() -> None:
    """The sub-agent's provider breaks off in the middle of the arguments. The run goes on."""
    letters = [json.dumps({"text": TEXT})[at : at + 40] for at in range(0, len(TEXT) + 12, 40)]
    item = {**call("write"), "arguments": "".join(letters), "deltas": letters}
    broken = by(CLERK, item, fault={"kind": "cut", "after_events": 30, "times": 2})
    async with writing(by(BOSS, TASK), broken).server() as p:
        chat = p.chat(state=HELD)
        done = await chat.say("write")
        states = shown(done, HELD)
        assert (done.error, done.text) == (None, "Done.")
        assert any(state != HELD for state in states)
        assert states[-1] == await kept(p, chat) == HELD
        assert (await chat.say("well?")).text == "Done."


@dialects
@pytest.mark.parametrize("card", [True, False])
@pytest.mark.parametrize("approved", [True, False])
async def test_it_stays_while_a_person_is_asked(card: bool, approved: bool, version: Json) -> None:
    office = writing(by(BOSS, TASK), by(CLERK, call("publish", text=TEXT)), by(CLERK, say("Well.")))
    async with office.server() as p:
        chat = p.chat(state=HELD, tools=[CARD_TOOL] if card else [], extra=version)
        asked = await chat.say("write")
        seen = shown(asked, HELD)[-1]
        assert seen == {**HELD, "draft": {"title": "t", "text": TEXT}}
        assert await kept(p, chat) == HELD
        chat.state = seen
        done = await chat.decide(asked, approved=approved)
        after = {**HELD, "draft": {"title": "t", "text": TEXT.strip(), "published": True}} if approved else HELD
        assert shown(done, seen)[-1] == await kept(p, chat) == after
        p.assert_clean()


async def test_two_at_once_at_one_place_each_take_back_their_own() -> None:
    """One is asked about and stays, the other has written."""
    other = "Another story. " * 40
    office = writing(
        by(BOSS, TASK, SECOND),
        by(CLERK, call("publish", text=TEXT)),
        by(PACKER, call("write", text=other)),
        by(PACKER, say("Written.")),
        by(CLERK, say("Not published.")),
    )
    async with office.server() as p:
        chat = p.chat(state=HELD)
        asked = await chat.say("write")
        assert (await kept(p, chat))["draft"]["text"] == other.strip()
        chat.state = shown(asked, HELD)[-1]
        assert chat.state["draft"]["text"] == TEXT
        done = await chat.decide(asked, approved=False)
        assert shown(done, chat.state)[-1] == await kept(p, chat)
        assert (await kept(p, chat))["draft"]["text"] == other.strip()
        p.assert_clean()


async def test_a_stop_takes_it_back() -> None:
    letters = [json.dumps({"text": TEXT})[at : at + 40] for at in range(0, len(TEXT) + 12, 40)]
    item = {**call("write"), "arguments": "".join(letters), "deltas": letters}
    hangs = by(CLERK, item, fault={"kind": "hang", "after_events": 20})
    async with writing(by(BOSS, TASK), hangs).server() as p:
        chat = p.chat(state=HELD)
        async with starting(p, chat, "write") as reader:
            await reader.until("STATE_DELTA")
            await cancel(p, chat)
            stopped = await reader.end()
        assert shown(stopped, HELD)[-1] == await kept(p, chat) == HELD
