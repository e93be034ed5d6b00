"""Sub-agents at work: who joins while they speak, who stops them, and what comes after."""

import asyncio
from collections.abc import Sequence

import pytest

from agui_gate.agents.tool import Tool
from tests.conforming import conforms
from tests.interop.validate import assert_valid
from tests.product.kit import Json
from tests.product.live import cancel, connect, over, quiet, starting
from tests.product.shop import COLOR, PICK, SEARCH, call, refund, say, status
from tests.product.test_connect import at_every_event, note, the_same
from tests.product.test_handoffs import Ledger
from tests.product.test_subagents import BOSS, CLERK, PACKER, SECOND, TASK, Office, by, dialects, requests, shown, told
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B14", "B15"), conforms("SUB-2", "SUB-3", "LIFE-3")]


@dialects
async def test_who_connects_at_any_event_has_the_same(version: Json) -> None:
    office = Office(
        by(BOSS, say("I'll ask. " * 8), TASK, SECOND),
        by(CLERK, say("Looking. " * 8), SEARCH),
        by(PACKER, say("Packing. " * 8)),
        by(CLERK, say("Found. " * 8)),
        by(BOSS, say("Done. " * 8), repeat=True),
    )
    async with office.server() as p:
        chat = p.chat(extra=version)
        chat.messages.append({"id": "u1", "role": "user", "content": "go"})
        stream, clients = await at_every_event(p, chat, every=4)
        the_same(chat, stream, clients)
        await quiet(p)


@dialects
async def test_stopped_while_a_sub_agent_speaks(version: Json) -> None:
    slow = by(CLERK, say("word " * 400), fault={"kind": "slow", "ms": 20})
    office = Office(by(BOSS, TASK), slow, by(BOSS, say("Yes?"), repeat=True))
    async with office.server() as p:
        chat = p.chat(extra=version)
        async with starting(p, chat, "go") as reader:
            await reader.until('"delta":"word')
            await cancel(p, chat)
            stopped = await reader.end()
        assert_valid(stopped.raw)
        (result,) = stopped.results.values()
        assert status(result) == "cancelled"
        assert told(stopped)[-1][0] == "ERROR"
        await over(p, chat, "cancelled")
        chat.messages = await shown(p, chat)
        assert (await chat.say("hello?")).text == "Yes?"
        assert len(requests(p, CLERK)) == 1
        p.assert_clean()


async def test_a_stop_leaves_what_waits_inside() -> None:
    office = Office(
        by(BOSS, TASK, SECOND),
        by(CLERK, refund()),
        by(PACKER, say("Packed.")),
        by(CLERK, say("Refunded.")),
        by(BOSS, say("Both."), repeat=True),
    )
    async with office.server() as p:
        chat = p.chat()
        asked = await chat.say("go")
        assert len(asked.interrupts) == 1
        await cancel(p, chat)
        again = await connect(p, chat)
        assert again.interrupts == asked.interrupts
        done = await chat.decide(asked, approved=True)
        assert done.text == "Refunded.Both."
        assert office.clerk.orders == ["A1"]
        assert len(requests(p, PACKER)) == 1
        p.assert_clean()


async def test_rejected_inside_the_sub_agent_hears_of_it() -> None:
    office = Office(
        by(BOSS, TASK), by(CLERK, refund()), by(CLERK, say("Not refunded.")), by(BOSS, say("Sorry."), repeat=True)
    )
    async with office.server() as p:
        chat = p.chat()
        done = await chat.decide(await chat.say("go"), approved=False)
        assert done.text == "Not refunded.Sorry."
        assert office.clerk.orders == []
        p.assert_clean()


async def test_an_edit_of_the_message_before_a_delegation_drops_it() -> None:
    office = Office(
        by(BOSS, TASK), by(CLERK, say("Found.")), by(BOSS, say("Here.")), by(BOSS, say("Other."), repeat=True)
    )
    async with office.server() as p:
        chat = p.chat()
        await chat.say("go")
        del chat.messages[1:]
        chat.messages[0]["content"] = "stay"
        done = await chat.go()
        assert done.text == "Other."
        assert not [m for m in await shown(p, chat) if "subagentRunId" in m]
        p.assert_clean()


async def test_the_state_is_one_for_all() -> None:
    """What a tool inside tells is tagged with who wrote; the thread has it."""
    office = Office(by(BOSS, TASK), by(CLERK, call("note", text="x")), by(CLERK, say("Noted.")), by(BOSS, say("Ok.")))
    office.clerk.tools.append(note)
    async with office.server() as p:
        chat = p.chat()
        done = await chat.say("go")
        (told_state,) = [*done.of("STATE_SNAPSHOT"), *done.of("STATE_DELTA")]
        assert told_state["subagentRunId"] == next(iter(done.calls))
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == {"notes": ["x"]}


async def test_a_task_inside_one_that_is_given_up_ends_with_it() -> None:
    """The user answers what a task inside waits for, and says something new, which ends the task around it."""
    office = Office(
        by(BOSS, TASK),
        by(CLERK, PICK, call("packer", task="Refund B2.")),
        by(PACKER, PICK),
        by(BOSS, say("As you like."), repeat=True),
        nested=True,
    )
    async with office.server() as p:
        chat = p.chat(tools=[COLOR])
        asked = await chat.say("go")
        picks = [call_id for call_id, name in asked.calls.items() if name == "pick_color"]
        chat.messages.append({"id": "a", "role": "tool", "toolCallId": picks[-1], "content": "red"})
        done = await chat.say("never mind")
        assert done.text == "As you like."
        messages = await shown(p, chat)
        ended = {m["toolCallId"] for m in messages if m["role"] == "tool"}
        assert {c["id"] for m in messages for c in m.get("toolCalls", ())} == ended
        p.assert_clean()


class Counted(Ledger):
    """How often it was asked for its tools; each time they are others."""

    asked = 0

    async def tools(self) -> Sequence[Tool]:
        self.asked += 1
        await asyncio.sleep(0)
        return await super().tools()


async def test_two_tasks_at_once_ask_for_the_tools_of_their_agent_once() -> None:
    """A gate can't change under a call."""
    source = Counted()
    office = Office(
        by(BOSS, TASK, TASK),
        by(CLERK, call("pay")),
        by(CLERK, call("pay")),
        by(CLERK, say("Paid."), repeat=True),
        by(BOSS, say("Both."), repeat=True),
    )
    office.clerk.tools.append(source)
    async with office.server() as p:
        chat, before = p.chat(), source.asked
        asked = await chat.say("pay")
        assert (len(asked.interrupts), source.asked) == (2, before + 1)
        done = await chat.decide(asked, approved=True)
        assert (done.text, source.paid, source.asked) == ("Paid.Paid.Both.", 2, before + 2)
        p.assert_clean()
