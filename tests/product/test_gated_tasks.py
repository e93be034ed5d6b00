"""Gates before tasks: people are asked whether a sub-agent may begin, and it begins once, after the yes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, ConfigurationError, Gate, create_app, pipeline
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Approval, State
from agui_gate.stores.memory import MemoryStore
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.conforming import conforms
from tests.product.kit import CARD_TOOL, TIMEOUT, Chat, Json, Product, Stream, client_of, parse, running
from tests.product.live import cancel, connect, quiet, starting
from tests.product.shop import COLOR, PICK, call, outputs, refund, say, status, users
from tests.product.test_connect import at_every_event, the_same
from tests.product.test_subagents import (
    BOSS,
    CLERK,
    PACKER,
    SECOND,
    TASK,
    Office,
    by,
    dialects,
    every_mode,
    requests,
    shown,
    styles,
    told,
)
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B14", "B15"), conforms("SUB-1", "SUB-2", "LIFE-3", "TOOL-5")]
YES = {"approved": True}
NO = {"approved": False, "reason": "Not today."}
PAGES = [[], [CARD_TOOL], [COLOR], [COLOR, CARD_TOOL]]
pages = pytest.mark.parametrize("tools", PAGES, ids=["interrupts", "cards", "interrupts+tools", "cards+tools"])


Model = Callable[[str], OpenAIResponses]


@asynccontextmanager
async def served(
    emulator: Emulator, team: Callable[[Model], Agent], store: Any = "memory://", settings: Settings | None = None
) -> AsyncIterator[Product]:
    """A team of its own, made of models by their names."""
    async with serve(emulator) as url:
        entry = team(lambda name: OpenAIResponses(name, base_url=url, api_key="k"))
        app = create_app(entry, store=store, settings=settings or Settings())
        async with running(app) as at, client_of() as client:
            yield Product(emulator, app, at, client)


def gated(*script: Json, **more: Any) -> Office:
    """An office in which both sub-agents have a gate before their tasks."""
    office = Office(*script, **more)
    office.gates = {"clerk": True, "packer": True}
    return office


def one_task() -> list[Json]:
    return [by(BOSS, say("I'll ask."), TASK), by(CLERK, say("Refunded.")), by(BOSS, say("All done."), repeat=True)]


def asks(stream: Stream) -> list[str]:
    """What can be answered: the ids of interrupts, or of cards."""
    return [one["id"] for one in stream.interrupts] or list(stream.cards)


def replying(chat: Chat, stream: Stream) -> Any:
    """How its questions are answered."""
    return chat.resume if stream.interrupts else chat.answer


async def record_of(p: Product, chat: Chat, tool: str = "clerk") -> Json:
    records: list[Json] = (await p.get(f"/threads/{chat.thread_id}"))["calls"]
    (found,) = [record for record in records if record["tool"] == tool]
    return found


async def settled(p: Product, chat: Chat) -> None:
    """Each call that is shown has one end, and the page shows what the server has."""
    messages = (await p.get(f"/threads/{chat.thread_id}"))["messages"]
    ended = [message["toolCallId"] for message in messages if message["role"] == "tool"]
    made = [one["id"] for message in messages for one in message.get("toolCalls", ())]
    assert sorted(made) == sorted(ended)
    mine = {m["toolCallId"]: m["content"] for m in chat.messages if m["role"] == "tool"}
    theirs = {m["toolCallId"]: m["content"] for m in messages if m["role"] == "tool"}
    assert {call_id: theirs[call_id] for call_id in mine} == mine
    p.assert_clean()


@every_mode
@pages
@dialects
@shows("B1")
async def test_a_task_begins_after_the_yes(mode: str, tools: list[Json], version: Json) -> None:
    office = gated(*one_task(), mode=mode)
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        asked = await chat.say("refund A1")
        assert told(asked) == []
        assert requests(p, CLERK) == []
        assert (await record_of(p, chat))["state"] == "pending"
        if asked.interrupts:
            assert asked.interrupts[0]["message"] == "May clerk begin this task?"
        done = await chat.decide(asked, YES)
        assert done.text == "Refunded.All done."
        assert told(done) == [("STARTED", "clerk"), ("FINISHED", "clerk")]
        assert users(requests(p, CLERK)[0]) == ["Refund A1."]
        assert outputs(requests(p, BOSS)[1]) == ["Refunded."]
        record = await record_of(p, chat)
        assert (record["state"], record["result"], record["task"]) == ("done", None, True)
        assert (await chat.say("thanks")).text == "All done."
        assert len(requests(p, CLERK)) == 1
        await settled(p, chat)


@pages
@dialects
@shows("B1")
async def test_a_task_that_is_rejected_never_begins(tools: list[Json], version: Json) -> None:
    office = gated(*one_task())
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        asked = await chat.say("refund A1")
        done = await chat.decide(asked, NO)
        assert done.text == "All done."
        assert told(done) == []
        assert requests(p, CLERK) == []
        (said,) = outputs(requests(p, BOSS)[1])
        assert (status(said), json.loads(said)["reason"]) == ("rejected", "Not today.")
        assert (await record_of(p, chat))["state"] == "rejected"
        await settled(p, chat)


@every_mode
@pages
@dialects
async def test_an_edited_task_is_what_is_worked_on(mode: str, tools: list[Json], version: Json) -> None:
    office = gated(*one_task(), mode=mode)
    office.gates["clerk"] = Gate(editable=["task"], message="Let the clerk do this: {task}")
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        asked = await chat.say("refund A1")
        edit = {"task": "Refund half of A1."}
        payload = {"approved": True, "editedArgs": edit} if asked.interrupts else {**YES, "edited_arguments": edit}
        done = await chat.decide(asked, payload)
        assert done.text == "Refunded.All done."
        assert users(requests(p, CLERK)[0]) == ["Refund half of A1."]
        assert "Refund half of A1." in json.dumps(requests(p, BOSS)[1]["input"])
        arguments = [
            json.loads(one["function"]["arguments"])
            for message in await shown(p, chat)
            for one in message.get("toolCalls", ())
            if one["function"]["name"] == "clerk"
        ]
        assert arguments == [edit]
        assert (await record_of(p, chat))["effective_arguments"] == edit
        await settled(p, chat)


@dialects
async def test_an_edit_to_no_task_at_all_is_refused(version: Json) -> None:
    office = gated(*one_task())
    office.gates["clerk"] = Gate(editable=["task"])
    async with office.server() as p:
        chat = p.chat(extra=version)
        asked = await chat.say("refund A1")
        refused = await chat.decide(asked, {"approved": True, "editedArgs": {"task": " "}})
        assert requests(p, CLERK) == []
        done = await chat.decide(refused, YES)
        assert done.text == "Refunded.All done."
        await settled(p, chat)


async def test_what_may_not_be_edited_is_refused() -> None:
    office = gated(*one_task())
    async with office.server() as p:
        chat = p.chat()
        (ask,) = (await chat.say("refund A1")).interrupts
        changed = await p.decide(ask["id"], {"approved": True, "edited_arguments": {"task": "Refund all."}})
        assert changed["error"]["code"] == "approval_refused"
        assert (await record_of(p, chat))["state"] == "pending"


@styles
@dialects
@pytest.mark.parametrize("arguments", [{}, {"task": 5}, {"task": " "}, {"task": "x", "more": []}])
async def test_nobody_is_asked_about_what_is_no_task(arguments: Json, tools: list[Json], version: Json) -> None:
    office = gated(by(BOSS, call("clerk", **arguments)), by(BOSS, say("Oh."), repeat=True))
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        done = await chat.say("go")
        assert done.text == "Oh."
        assert asks(done) == []
        assert requests(p, CLERK) == []
        await settled(p, chat)


@pages
@dialects
async def test_a_gate_that_lets_a_task_go_free(tools: list[Json], version: Json) -> None:
    office = gated(
        by(BOSS, TASK, call("clerk", task="Ask me.")), by(CLERK, say("Looked."), repeat=True), *one_task()[2:]
    )
    office.gates["clerk"] = Gate(when=lambda arguments: "Ask" in arguments["task"])
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        asked = await chat.say("go")
        assert told(asked) == [("STARTED", "clerk"), ("FINISHED", "clerk")]
        assert len(asks(asked)) == 1
        done = await chat.decide(asked, YES)
        assert outputs(requests(p, BOSS)[1]) == ["Looked.", "Looked."]
        assert told(done) == [("STARTED", "clerk"), ("FINISHED", "clerk")]
        await settled(p, chat)


@styles
@dialects
@shows("B9")
async def test_going_on_with_something_else_closes_it(tools: list[Json], version: Json) -> None:
    office = gated(*one_task())
    async with office.server(on_unanswered="supersede") as p:
        chat = p.chat(tools=tools, extra=version)
        await chat.say("refund A1")
        done = await chat.say("never mind")
        assert done.text == "All done."
        assert requests(p, CLERK) == []
        assert (await record_of(p, chat))["state"] == "superseded"
        assert status(outputs(requests(p, BOSS)[1])[0]) == "superseded"
        await settled(p, chat)


@styles
@dialects
async def test_a_question_that_stays_open_is_asked_again(tools: list[Json], version: Json) -> None:
    office = gated(*one_task())
    async with office.server(on_unanswered="represent") as p:
        chat = p.chat(tools=tools, extra=version)
        await chat.say("refund A1")
        again = await chat.say("and then?")
        assert requests(p, CLERK) == []
        done = await replying(chat, again)((asks(again)[-1], YES))
        assert done.text == "Refunded.All done."
        assert users(requests(p, BOSS)[-1])[-1] == "and then?"
        await settled(p, chat)


@dialects
async def test_cancelled_by_its_page_and_expired(version: Json) -> None:
    office = gated(by(BOSS, TASK), by(BOSS, SECOND), by(BOSS, say("All done."), repeat=True))
    office.gates["packer"] = Gate(expires_after=0.001)
    async with office.server() as p:
        chat = p.chat(extra=version)
        (ask,) = (await chat.say("refund A1")).interrupts
        left = await chat.go(resume=[{"interruptId": ask["id"], "status": "cancelled"}])
        assert (await record_of(p, chat))["state"] == "cancelled"
        late = await chat.resume(*((one, YES) for one in asks(left)))
        assert late.text == "All done."
        assert (await record_of(p, chat, "packer"))["state"] == "expired"
        assert requests(p, CLERK) == requests(p, PACKER) == []
        await settled(p, chat)


@styles
@dialects
async def test_decided_elsewhere_it_begins_with_the_next_run(tools: list[Json], version: Json) -> None:
    office = gated(*one_task())
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        await chat.say("refund A1")
        (waiting,) = (await p.get("/approvals"))["approvals"]
        decided = await p.decide(waiting["id"], YES)
        assert (decided["state"], "result" in decided) == ("done", False)
        assert "next run" in decided["message"]
        assert requests(p, CLERK) == []
        connected = parse((await p.client.post(f"{p.url}/agents/support/connect", json=chat.body())).text)
        assert asks(connected) == []
        done = await chat.go()
        assert done.text == "Refunded.All done."
        assert told(done) == [("STARTED", "clerk"), ("FINISHED", "clerk")]
        again = await p.decide(waiting["id"], {"approved": False})
        assert again["status_code"] == 409
        assert "The task was begun." in again["error"]["message"]
        await settled(p, chat)


async def test_decided_elsewhere_it_begins_before_what_is_said_next() -> None:
    office = gated(*one_task())
    async with office.server(on_unanswered="supersede") as p:
        chat = p.chat()
        (ask,) = (await chat.say("refund A1")).interrupts
        await p.decide(ask["id"], YES)
        done = await chat.say("and?")
        assert done.text == "Refunded.All done."
        assert outputs(requests(p, BOSS)[1]) == ["Refunded."]
        assert users(requests(p, BOSS)[1])[-1] == "and?"
        await settled(p, chat)


@styles
@dialects
async def test_decided_elsewhere_it_goes_on_by_itself(tools: list[Json], version: Json) -> None:
    office = gated(*one_task())
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        await chat.say("refund A1")
        (waiting,) = (await p.get("/approvals"))["approvals"]
        decided = await p.decide(waiting["id"], {**YES, "continue": True})
        assert "message" not in decided
        followed = parse((await p.client.get(f"{p.url}/runs/{decided['run']['key']}/events")).text)
        assert followed.text == "Refunded.All done."
        assert outputs(requests(p, BOSS)[1]) == ["Refunded."]
        chat.messages = await shown(p, chat)
        await chat.say("thanks")
        await settled(p, chat)


@styles
@dialects
async def test_gates_inside_ask_by_themselves(tools: list[Json], version: Json) -> None:
    office = gated(
        by(BOSS, TASK), by(CLERK, refund()), by(CLERK, say("Refunded.")), by(BOSS, say("All done."), repeat=True)
    )
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        asked = await chat.say("refund A1")
        inside = await chat.decide(asked, YES)
        assert office.clerk.orders == []
        assert told(inside) == [("STARTED", "clerk"), ("FINISHED", "clerk")]
        assert inside.of("SUBAGENT_FINISHED")[0]["outcome"]["type"] == "suspended"
        replayed = await chat.go()
        assert office.clerk.orders == []
        done = await replying(chat, replayed)((asks(replayed)[-1], YES))
        assert office.clerk.orders == ["A1"]
        assert done.text == "Refunded.All done."
        assert len(requests(p, BOSS)) == len(requests(p, CLERK)) == 2
        await settled(p, chat)


@styles
@dialects
async def test_two_deep_over_restarts(tmp_path: Path, tools: list[Json], version: Json) -> None:
    office = gated(
        by(BOSS, call("clerk", task="Do it.")),
        by(CLERK, call("packer", task="Refund B2.")),
        by(PACKER, refund("B2")),
        by(PACKER, say("Refunded B2.")),
        by(CLERK, say("The packer has done it.")),
        by(BOSS, say("Done."), repeat=True),
        store=f"sqlite:///{tmp_path}/office.db",
        nested=True,
    )
    more: Json = {"tools": tools, "extra": version}
    async with office.server() as p:
        chat = p.chat(**more)
        asked = await chat.say("refund B2")
        assert told(asked) == []
    for begun in ([("STARTED", "clerk"), ("FINISHED", "clerk")], None, None):
        async with office.server() as p:
            chat = p.chat(**more, thread_id=chat.thread_id, messages=chat.messages)
            asked = await chat.decide(asked, YES)
            assert begun in (None, told(asked))
            p.assert_clean()
    assert office.packer.orders == ["B2"]
    assert asked.text == "Refunded B2.The packer has done it.Done."
    assert (len(requests(p, BOSS)), len(requests(p, CLERK)), len(requests(p, PACKER))) == (2, 2, 2)


@pages
@dialects
@pytest.mark.parametrize("first", [0, 1])
async def test_two_at_once_in_either_order(first: int, tools: list[Json], version: Json) -> None:
    office = gated(
        by(BOSS, TASK, SECOND),
        by(CLERK, say("A1 is refunded.")),
        by(PACKER, say("B2 is refunded.")),
        by(BOSS, say("Both."), repeat=True),
    )
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        asked = await chat.say("refund both")
        assert len(asks(asked)) == 2
        half = await replying(chat, asked)((asks(asked)[first], YES))
        who = ("clerk", "packer")[first]
        assert told(half) == [("STARTED", who), ("FINISHED", who)]
        assert len(requests(p, BOSS)) == 1, "it waits for the other"
        done = await replying(chat, half)((asks(half)[-1], YES))
        assert outputs(requests(p, BOSS)[1]) == ["A1 is refunded.", "B2 is refunded."]
        assert done.text.endswith("Both.")
        assert len(requests(p, CLERK)) == len(requests(p, PACKER)) == 1
        await settled(p, chat)


@pages
@dialects
@pytest.mark.parametrize("yes", [0, 1])
async def test_next_to_a_gated_tool_and_a_free_task(yes: int, tools: list[Json], version: Json) -> None:
    office = gated(
        by(BOSS, TASK, refund("Z9"), SECOND),
        by(CLERK, say("A1 is refunded."), repeat=True),
        by(PACKER, say("B2 is refunded.")),
        by(BOSS, say("Both."), repeat=True),
    )
    del office.gates["packer"]
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        asked = await chat.say("refund both")
        assert told(asked) == [("STARTED", "packer"), ("FINISHED", "packer")]
        answers = [(one, YES if place == yes else NO) for place, one in enumerate(asks(asked))]
        done = await replying(chat, asked)(*answers)
        assert done.text.endswith("Both.")
        assert (office.boss.orders, len(requests(p, CLERK))) == ((["Z9"], 0) if yes else ([], 1))
        await settled(p, chat)


@dialects
@pytest.mark.parametrize("tools", [[COLOR], [COLOR, CARD_TOOL]], ids=["interrupts", "cards"])
async def test_a_pages_tool_inside(tools: list[Json], version: Json) -> None:
    office = gated(
        by(BOSS, TASK), by(CLERK, PICK), by(CLERK, say("Red it is.")), by(BOSS, say("Painted."), repeat=True)
    )
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        asked = await chat.say("paint it")
        inside = await chat.decide(asked, YES)
        (pick,) = [call_id for call_id, name in inside.calls.items() if name == "pick_color"]
        done = await chat.answer((pick, "red"))
        assert done.text == "Red it is.Painted."
        await settled(p, chat)


@styles
@dialects
async def test_the_same_yes_again_begins_nothing(tools: list[Json], version: Json) -> None:
    office = gated(*one_task())
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        asked = await chat.say("refund A1")
        before = list(chat.messages)
        await chat.decide(asked, YES)
        again = p.chat(tools=tools, extra=version, thread_id=chat.thread_id, messages=before)
        await again.decide(asked, YES)
        late = p.chat(tools=tools, extra=version, thread_id=chat.thread_id, messages=before)
        await late.decide(asked, NO)
        assert len(requests(p, CLERK)) == 1
        assert (await record_of(p, chat))["decision"]["approved"] is True
        await settled(p, again)


async def test_an_answer_on_the_call_itself() -> None:
    """As a tool message: the page shows it as the call's result until the task is done."""
    office = gated(
        by(BOSS, TASK), by(CLERK, refund()), by(CLERK, say("Refunded.")), by(BOSS, say("Done."), repeat=True)
    )
    async with office.server(on_unanswered="represent") as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        (task,) = asked.calls
        inside = await chat.answer((task, {"accepted": True}))
        assert [m for m in chat.messages if m.get("toolCallId") == task] == []
        done = await chat.decide(inside, YES)
        assert done.results[task] == "Refunded."
        assert done.text == "Refunded.Done."
        await settled(p, chat)


@dialects
async def test_an_answer_on_the_call_itself_by_1_0(version: Json) -> None:
    office = gated(*one_task())
    async with office.server() as p:
        chat = p.chat(extra=version)
        asked = await chat.say("refund A1")
        (task,) = asked.calls
        assert (await chat.answer((task, {"accepted": True}))).text == "Refunded.All done."
        await settled(p, chat)


@styles
@dialects
async def test_stopped_while_it_asks_and_while_it_works(tools: list[Json], version: Json) -> None:
    slow = by(CLERK, say("word " * 400), fault={"kind": "slow", "ms": 20})
    office = gated(by(BOSS, TASK), slow, by(BOSS, say("Yes?"), repeat=True))
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        await chat.say("refund A1")
        await cancel(p, chat)
        assert (await record_of(p, chat))["state"] == "pending"
        (waiting,) = (await p.get("/approvals"))["approvals"]
        await p.decide(waiting["id"], YES)
        async with starting(p, chat) as reader:
            await reader.until('"delta":"word')
            await cancel(p, chat)
            stopped = await reader.end()
        assert told(stopped)[-1][0] == "ERROR"
        chat.messages = await shown(p, chat)
        assert (await chat.say("hello?")).text == "Yes?"
        assert status(outputs(requests(p, BOSS)[-1])[0]) == "cancelled"
        assert len(requests(p, CLERK)) == 1
        await settled(p, chat)


@styles
@dialects
async def test_an_heirs_gated_task(tools: list[Json], version: Json) -> None:
    """The agent that the conversation was handed to asks; the approval names it."""
    emulator = Emulator(
        script=[
            by("gpt-a", call("transfer_to_heir")),
            by("gpt-b", TASK),
            by("gpt-c", say("Refunded.")),
            by("gpt-b", say("All done."), repeat=True),
        ]
    )

    def team(model: Model) -> Agent:
        clerk = Agent(name="clerk", model=model("gpt-c"))
        heir = Agent(name="heir", model=model("gpt-b"), tools=[clerk.as_tool(gate=True)])
        return Agent(name="support", model=model("gpt-a"), handoffs=[heir])

    async with served(emulator, team) as p:
        chat = p.chat(tools=tools, extra=version)
        asked = await chat.say("refund A1")
        assert (await record_of(p, chat))["agent"] == "heir"
        done = await chat.decide(asked, YES)
        assert done.text == "Refunded.All done."
        await settled(p, chat)


@styles
@dialects
async def test_regenerated_after_it_was_done(tools: list[Json], version: Json) -> None:
    office = gated(
        by(BOSS, TASK),
        by(CLERK, refund()),
        by(CLERK, say("Refunded.")),
        by(BOSS, say("All done.")),
        by(BOSS, TASK),
        by(BOSS, say("Fine."), repeat=True),
    )
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        asked = await chat.say("refund A1")
        done = await chat.decide(await chat.decide(asked, YES), YES)
        assert done.text == "Refunded.All done."
        del chat.messages[1:]
        again = await chat.go()
        assert len(asks(again)) == 1, "it is asked anew"
        assert "refund" in requests(p, BOSS)[2]["instructions"]
        done = await replying(chat, again)((asks(again)[0], NO))
        assert done.text == "Fine."
        assert office.clerk.orders == ["A1"]
        records = (await p.get(f"/threads/{chat.thread_id}"))["calls"]
        assert [(r["tool"], r["state"], r["replaced"]) for r in records] == [
            ("clerk", "done", True),
            ("refund", "done", True),
            ("clerk", "rejected", False),
        ]
        await settled(p, chat)


@styles
@dialects
async def test_agreed_to_and_edited_away_before_it_began(tools: list[Json], version: Json) -> None:
    office = gated(by(BOSS, TASK), by(BOSS, TASK), by(BOSS, say("Fine."), repeat=True))
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        await chat.say("refund A1")
        (waiting,) = (await p.get("/approvals"))["approvals"]
        await p.decide(waiting["id"], YES)
        del chat.messages[1:]
        chat.messages[0]["content"] = "refund A1, please"
        again = await chat.go()
        assert len(asks(again)) == 1, "it is asked anew"
        assert requests(p, CLERK) == []
        assert "have run already" not in requests(p, BOSS)[1]["instructions"]
        (asked,) = (await p.get("/approvals"))["approvals"]
        assert "lready ran" not in json.dumps([asked, *again.interrupts, *chat.messages])
        assert "already_ran" not in json.dumps([asked, *again.interrupts, *chat.messages])
        done = await replying(chat, again)((asks(again)[0], NO))
        assert done.text == "Fine."
        late = await p.decide(waiting["id"], YES)
        assert late["status_code"] == 409
        assert "in an answer that was replaced" in late["error"]["message"]
        assert "begun" not in late["error"]["message"]
        await settled(p, chat)


async def test_a_result_that_looks_like_an_answer_is_none() -> None:
    """A page that keeps nothing of sub-agents sends it back as the last message, where nobody said more."""
    office = gated(
        by(BOSS, TASK),
        by(CLERK, say('{"approved": false}')),
        {"output": [], "when": {"model": BOSS}, "fault": {"kind": "status", "status": 401}},
        by(BOSS, say("All done.")),
    )
    async with office.server() as p:
        chat = p.chat()
        failed = await chat.decide(await chat.say("refund A1"), YES)
        assert failed.error == "provider_auth"
        assert chat.messages.pop()["role"] == "assistant"
        assert chat.messages[-1]["content"] == '{"approved": false}'
        done = await chat.go()
        assert (done.of("CUSTOM"), done.text) == ([], "All done.")
        await settled(p, chat)


async def test_a_yes_is_good_for_no_other_agent_behind_the_tool(tmp_path: Path) -> None:
    emulator = Emulator(script=[by("gpt-a", call("helper", task="Do it.")), by("gpt-a", say("Oh."), repeat=True)])
    ask: Json = {}
    for name in ("kind", "evil"):

        def team(model: Model, name: str = name) -> Agent:
            helper = Agent(name=name, model=model("gpt-b"))
            return Agent(name="boss", model=model("gpt-a"), tools=[helper.as_tool(name="helper", gate=True)])

        async with served(emulator, team, f"sqlite:///{tmp_path}/a.db") as p:
            if not ask:
                (ask,) = (await p.chat().say("go")).interrupts
                continue
            refused = await p.decide(ask["id"], YES)
            assert "has changed" in refused["error"]["message"]
            assert (await p.decide(ask["id"], NO))["state"] == "rejected"


async def test_a_yes_of_before_begins_no_other_agent(tmp_path: Path) -> None:
    """Agreed to outside of a run; then the server is started with somebody else behind the tool."""
    emulator = Emulator(script=[by("gpt-a", call("helper", task="Do it.")), by("gpt-a", say("Oh."), repeat=True)])
    chat: Chat | None = None
    for name in ("kind", "evil"):

        def team(model: Model, name: str = name) -> Agent:
            helper = Agent(name=name, model=model("gpt-b"))
            return Agent(name="boss", model=model("gpt-a"), tools=[helper.as_tool(name="helper", gate=True)])

        async with served(emulator, team, f"sqlite:///{tmp_path}/a.db") as p:
            if chat is None:
                chat = p.chat()
                (ask,) = (await chat.say("go")).interrupts
                assert (await p.decide(ask["id"], YES))["state"] == "done"
                continue
            done = await p.chat(thread_id=chat.thread_id, messages=chat.messages).go()
            assert "has changed" in next(iter(done.results.values()))
            assert done.text == "Oh."
            assert {one.body["model"] for one in emulator.accepted if one.body} == {"gpt-a"}


async def test_a_whole_workflow_behind_a_gate() -> None:
    """And an agent that is reached behind a gate and without one."""
    emulator = Emulator(
        script=[
            by("gpt-a", call("line", task="Go."), call("clerk", task="Alone.")),
            by("gpt-b", say("Clerked."), repeat=True),
            by("gpt-c", say("Packed."), repeat=True),
            by("gpt-a", say("Done."), repeat=True),
        ]
    )

    def team(model: Model) -> Agent:
        clerk = Agent(name="clerk", model=model("gpt-b"))
        packer = Agent(name="packer", model=model("gpt-c"))
        line = pipeline("line", clerk, packer)
        return Agent(name="boss", model=model("gpt-a"), tools=[line.as_tool(gate=True), clerk.as_tool()])

    async with served(emulator, team) as p:
        chat = p.chat()
        asked = await chat.say("go")
        assert told(asked) == [("STARTED", "clerk"), ("FINISHED", "clerk")]
        done = await chat.decide(asked, YES)
        assert told(done) == [
            ("STARTED", "line"),
            ("STARTED", "clerk"),
            ("FINISHED", "clerk"),
            ("STARTED", "packer"),
            ("FINISHED", "packer"),
            ("FINISHED", "line"),
        ]
        assert done.text == "Clerked.Packed.Done."
        await settled(p, chat)


async def test_refused_while_it_waits() -> None:
    office = gated(*one_task())
    async with office.server(on_unanswered="refuse") as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        before = list(chat.messages)
        assert (await chat.say("and?")).status == 409
        chat.messages = before
        done = await chat.decide(asked, YES)
        assert done.text == "Refunded.All done."
        await settled(p, chat)


@dialects
async def test_who_connects_at_any_event_has_the_same(version: Json) -> None:
    office = gated(
        by(BOSS, TASK),
        by(CLERK, say("Looking. " * 8), refund()),
        by(CLERK, say("Refunded. " * 8)),
        by(BOSS, say("Done. " * 8), repeat=True),
    )
    async with office.server() as p:
        chat = p.chat(extra=version)
        (ask,) = (await chat.say("refund A1")).interrupts
        for _ in range(2):
            resume = [{"interruptId": ask["id"], "status": "resolved", "payload": YES}]
            stream, clients = await at_every_event(p, chat, every=4, resume=resume)
            the_same(chat, stream, clients)
            (ask,) = stream.interrupts or [ask]
        assert office.clerk.orders == ["A1"]
        await quiet(p)
        await settled(p, chat)


async def test_after_a_crash_who_connects_is_asked_nothing_and_the_task_goes_on(tmp_path: Path) -> None:
    """The process dies in the middle of the task: neither a question nor an end is made up."""
    office = gated(*one_task(), store=f"sqlite:///{tmp_path}/office.db")
    hang = by(CLERK, say("word " * 9), fault={"kind": "hang", "after_events": 4})
    async with office.server() as p:
        chat = p.chat()
        (ask,) = (await chat.say("refund A1")).interrupts
        p.emulator.load([hang])
        async with starting(p, chat, resume=[{"interruptId": ask["id"], "status": "resolved", "payload": YES}]) as run:
            await run.until("SUBAGENT_STARTED")
    async with office.server() as p:
        p.emulator.load(one_task()[1:])
        again = p.chat(thread_id=chat.thread_id, messages=chat.messages)
        back = await connect(p, again)
        assert asks(back) == []
        assert (await record_of(p, again))["state"] == "done"


async def test_a_run_that_fails_before_it_takes_no_yes_back() -> None:
    """The next one is refused, as what is said finds no room. The one after that begins the task."""
    emulator = Emulator(
        script=[by("gpt-a", TASK), by("gpt-b", say("Refunded.")), by("gpt-a", say("Well."), repeat=True)]
    )

    def team(model: Model) -> Agent:
        clerk = Agent(name="clerk", model=model("gpt-b"))
        return Agent(name="boss", model=model("gpt-a"), tools=[clerk.as_tool(gate=True)])

    async with served(emulator, team, settings=Settings(thread_bytes=20_000)) as p:
        chat = p.chat()
        (ask,) = (await chat.say("go")).interrupts
        await p.decide(ask["id"], YES)
        before = list(chat.messages)
        full = await chat.say("more " * 5_000)
        assert full.error == "limit_reached"
        chat.messages = before
        done = await chat.go()
        assert told(done) == [("STARTED", "clerk"), ("FINISHED", "clerk")]
        assert done.text == "Refunded.Well."
        await settled(p, chat)


class Slow(MemoryStore):
    """Takes as long as a test wants to save that a task may begin."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    async def move(self, approval_id: str, to: State, **more: Any) -> Approval:
        if to is State.DONE:
            self.reached.set()
            await self.go_on.wait()
        return await super().move(approval_id, to, **more)


@dialects
async def test_stopped_in_the_middle_of_the_yes(version: Json) -> None:
    """The yes is saved as a whole, and the task is ended before it began: it does not begin later."""
    store = Slow()
    emulator = Emulator(script=[by("gpt-a", TASK), by("gpt-b", say("?")), by("gpt-a", say("Well."), repeat=True)])

    def team(model: Model) -> Agent:
        clerk = Agent(name="clerk", model=model("gpt-b"))
        return Agent(name="boss", model=model("gpt-a"), tools=[clerk.as_tool(gate=True)])

    async with served(emulator, team, store) as p:
        chat = p.chat(extra=version)
        (ask,) = (await chat.say("go")).interrupts
        async with starting(p, chat, resume=[{"interruptId": ask["id"], "status": "resolved", "payload": YES}]) as run:
            async with asyncio.timeout(TIMEOUT):
                await store.reached.wait()
            stopping = asyncio.ensure_future(cancel(p, chat))
            (live,) = p.app.state.engine._runs.values()
            async with asyncio.timeout(TIMEOUT):
                while not live.task.cancelling():
                    await p.get("/healthz")
            store.go_on.set()
            await stopping
            await run.end()
        assert (await record_of(p, chat))["state"] == "done"
        chat.messages = await shown(p, chat)
        assert (await chat.say("hello?")).text == "Well."
        last = [one.body for one in emulator.accepted if one.body][-1]
        assert status(outputs(last)[0]) == "cancelled"
        assert last["model"] == "gpt-a"
        assert len(emulator.accepted) == 2
        await settled(p, chat)


@dialects
async def test_replicas_that_are_told_yes_at_once(tables: str, version: Json) -> None:
    """On PostgreSQL: by two pages and twice over HTTP. The task begins once, and what it asks for is done once."""
    rounds = 4
    office = gated(*[turn for _ in range(rounds) for turn in task_with_a_refund()], store=tables)
    async with office.server() as one, office.server() as two:
        for number in range(rounds):
            chat = one.chat(extra=version)
            (ask,) = (await chat.say("refund A1")).interrupts
            other = two.chat(extra=version, thread_id=chat.thread_id, messages=list(chat.messages))
            yes, go_on = (ask["id"], YES), (ask["id"], {**YES, "continue": True})
            await asyncio.gather(chat.resume(yes), other.resume(yes), one.decide(*go_on), two.decide(*go_on))
            inside = await waiting_in(two, chat.thread_id)
            assert len(requests(one, CLERK)) == 2 * number + 1
            late = two.chat(extra=version, thread_id=chat.thread_id, messages=await shown(two, chat))
            await asyncio.gather(late.resume((inside, YES)), one.decide(inside, YES), two.decide(inside, YES))
            await late.go()
            assert len(office.clerk.orders) == number + 1
            assert len(requests(one, CLERK)) == 2 * (number + 1)
            assert (await record_of(one, chat))["state"] == "done"
        one.assert_clean()


def task_with_a_refund() -> list[Json]:
    return [by(BOSS, TASK), by(CLERK, refund()), by(CLERK, say("Refunded.")), by(BOSS, say("Done."))]


async def waiting_in(p: Product, thread_id: str) -> str:
    """What waits on the thread, once whatever was at work there has ended."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            view = await p.get(f"/threads/{thread_id}")
            if view["run"]["status"] == "waiting" and view["approvals"]:
                return str(view["approvals"][0]["id"])
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    "gate", [Gate(editable=["tusk"]), Gate(message="May it do {what}?")], ids=["editable", "message"]
)
def test_a_gate_about_what_is_no_argument_is_refused(gate: Gate) -> None:
    agent = Agent(name="a", model=OpenAIResponses("m", base_url="http://localhost:1", api_key="k"))
    with pytest.raises(ConfigurationError):
        agent.as_tool(gate=gate)


def test_it_is_a_tool_with_a_gate() -> None:
    agent = Agent(name="a", model=OpenAIResponses("m", base_url="http://localhost:1", api_key="k"))
    assert agent.as_tool().gate is None
    assert agent.as_tool(gate=True).gate == Gate(message="May a begin this task?")
