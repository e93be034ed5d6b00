"""Agents as tools of other agents: who says what, a gate inside, and what each provider is told."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, Gate, LastTokens, create_app
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.conforming import conforms
from tests.product.kit import CARD_TOOL, MODES, Chat, Json, Product, Stream, client_of, parse, running, streamed
from tests.product.shop import COLOR, PICK, SEARCH, Shop, call, outputs, refund, say, status, users
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B14", "B15"), conforms("SUB-1", "SUB-2", "SUB-3", "SUB-4")]
every_mode = pytest.mark.parametrize("mode", MODES)
styles = pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])
dialects = pytest.mark.parametrize("version", [{}, {"protocolVersion": "1.0"}], ids=["0.x", "1.x"])
TASK = call("clerk", task="Refund A1.")
SECOND = call("packer", task="Refund B2.")
BOSS, CLERK, PACKER = "gpt-a", "gpt-b", "gpt-c"


def by(model: str, *output: Json, **more: Any) -> Json:
    return {"output": list(output), "when": {"model": model}, **more}


class Office:
    """`boss`, whom clients post to, and `clerk` and `packer`, to whom it delegates. Each of them has a shop's tools.

    ``nested``: the clerk delegates to the packer, and the boss to the clerk alone. ``gates``: before their tasks.
    """

    def __init__(self, *script: Json, mode: str = "chain", store: str = "memory://", nested: bool = False) -> None:
        self.mode, self.store, self.nested = mode, store, nested
        self.emulator = Emulator(script=list(script))
        self.clerk, self.packer, self.boss = Shop(), Shop(), Shop()
        self.history: LastTokens | None = None
        self.gates: dict[str, bool | Gate] = {}

    @asynccontextmanager
    async def server(self, **boss: Any) -> AsyncIterator[Product]:
        async with serve(self.emulator) as url:

            def model(name: str) -> OpenAIResponses:
                return OpenAIResponses(name, mode=self.mode, base_url=url, api_key="k")  # type: ignore[arg-type]  # parametrized

            packer = Agent(name="packer", model=model(PACKER), instructions="P.", tools=self.packer.tools)
            packing = packer.as_tool(gate=self.gates.get("packer", False))
            inner = [packing] if self.nested else []
            tools = [*self.clerk.tools, *inner]
            clerk = Agent(
                name="clerk",
                model=model(CLERK),
                instructions="C.",
                tools=tools,
                description="Clerks.",
                history=self.history,
            )
            clerking = clerk.as_tool(gate=self.gates.get("clerk", False))
            delegates = [clerking] if self.nested else [clerking, packing]
            own = [*delegates, *self.boss.tools]
            entry = Agent(name="support", model=model(BOSS), instructions="B.", tools=own, **boss)
            app = create_app(entry, store=self.store, settings=Settings())
            async with running(app) as at, client_of() as client:
                yield Product(self.emulator, app, at, client)


def told(stream: Stream) -> list[tuple[str, str]]:
    """The sub-agents' events, with names of agents for ids."""
    names = {event["subagentRunId"]: event["name"] for event in stream.of("SUBAGENT_STARTED")}
    return [
        (event["type"].removeprefix("SUBAGENT_"), names[event["subagentRunId"]])
        for event in stream
        if event["type"].startswith("SUBAGENT_")
    ]


def requests(p: Product, model: str) -> list[Json]:
    return [body for body in p.inputs() if body["model"] == model]


async def shown(p: Product, chat: Chat) -> list[Json]:
    return streamed((await p.get(f"/threads/{chat.thread_id}"))["messages"])


@every_mode
@dialects
@shows("S18")
async def test_a_sub_agent_does_its_task(mode: str, version: Json) -> None:
    office = Office(
        by(BOSS, say("I'll ask."), TASK),
        by(CLERK, say("Looking."), SEARCH),
        by(CLERK, say("Found ada.")),
        by(BOSS, say("It is ada."), repeat=True),
        mode=mode,
    )
    async with office.server() as p:
        chat = p.chat(extra=version)
        done = await chat.say("who?")
        assert done.text == "I'll ask.Looking.Found ada.It is ada."
        assert told(done) == [("STARTED", "clerk"), ("FINISHED", "clerk")]
        (task,) = [call_id for call_id, name in done.calls.items() if name == "clerk"]
        assert done.results[task] == "Found ada."
        started = done.of("SUBAGENT_STARTED")[0]
        assert (started["subagentRunId"], started["parentToolCallId"], started["description"]) == (
            task,
            task,
            "Clerks.",
        )
        assert [e.get("subagentRunId") for e in done.of("TEXT_MESSAGE_START")] == [None, task, task, None]
        assert [e["outcome"] for e in done.of("SUBAGENT_FINISHED")] == [{"type": "success"}]
        inner = requests(p, CLERK)
        assert users(inner[0]) == ["Refund A1."]
        assert not any("previous_response_id" in body for body in inner[:1])
        if mode == "chain":
            assert inner[1]["previous_response_id"] == p.emulator.accepted[1].response_id
        assert outputs(requests(p, BOSS)[1]) == ["Found ada."]
        assert done[-1]["usage"][0].get("inputTokens"), "their tokens are the run's"
        assert {m.get("subagentRunId") for m in await shown(p, chat)} == {None, task}
        assert [m["id"] for m in await shown(p, chat)] == [m["id"] for m in chat.messages]
        await chat.say("thanks")
        p.assert_clean()


@styles
@dialects
@every_mode
@shows("B1", "S1")
async def test_a_gate_inside_stops_the_run_and_goes_on_there(mode: str, tools: list[Json], version: Json) -> None:
    office = Office(
        by(BOSS, TASK),
        by(CLERK, refund()),
        by(CLERK, say("Refunded.")),
        by(BOSS, say("All done."), repeat=True),
        mode=mode,
    )
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        asked = await chat.say("refund A1")
        assert office.clerk.orders == []
        assert told(asked) == [("STARTED", "clerk"), ("FINISHED", "clerk")]
        outcome = asked.of("SUBAGENT_FINISHED")[0]["outcome"]
        assert outcome["type"] == "suspended"
        if tools:
            (card,) = asked.cards.values()
            assert card["steps"][0]["description"].startswith("clerk asks:")
            assert card["agent"] == "clerk"
        else:
            (interrupt,) = asked.interrupts
            assert (interrupt["metadata"]["agent"], outcome["interruptIds"]) == ("clerk", [interrupt["id"]])
            assert interrupt["subagentRunId"] == asked.of("SUBAGENT_STARTED")[0]["subagentRunId"]
        done = await chat.decide(asked, approved=True)
        assert office.clerk.orders == ["A1"]
        assert done.text == "Refunded.All done."
        assert told(done) == [("STARTED", "clerk"), ("FINISHED", "clerk")]
        assert done.of("SUBAGENT_FINISHED")[0]["outcome"] == {"type": "success"}
        assert outputs(requests(p, BOSS)[1]) == ["Refunded."]
        assert len(requests(p, BOSS)) == 2
        p.assert_clean()


@styles
@dialects
@pytest.mark.parametrize("first", [0, 1])
async def test_two_at_once_both_wait_and_are_answered_in_either_order(
    first: int, tools: list[Json], version: Json
) -> None:
    office = Office(
        by(BOSS, TASK, SECOND),
        by(CLERK, refund("A1")),
        by(PACKER, refund("B2")),
        by(CLERK, say("A1 is refunded.")),
        by(PACKER, say("B2 is refunded.")),
        by(BOSS, say("Both."), repeat=True),
    )
    async with office.server() as p:
        chat = p.chat(tools=tools, extra=version)
        asked = await chat.say("refund both")
        assert sorted(told(asked)) == sorted([(w, a) for w in ("STARTED", "FINISHED") for a in ("clerk", "packer")])
        ids = list(asked.cards) if tools else [one["id"] for one in asked.interrupts]
        assert len(ids) == 2
        answer = chat.answer if tools else chat.resume
        half = await answer((ids[first], {"approved": True}))
        assert len(office.clerk.orders + office.packer.orders) == 1
        assert len(requests(p, BOSS)) == 1, "it waits for the other"
        left = list(half.cards) if tools else [one["id"] for one in half.interrupts]
        done = await answer((left[-1], {"approved": True}))
        assert (office.clerk.orders, office.packer.orders) == (["A1"], ["B2"])
        assert outputs(requests(p, BOSS)[1]) == ["A1 is refunded.", "B2 is refunded."]
        assert done.text.endswith("Both.")
        p.assert_clean()


@styles
@dialects
async def test_a_gate_two_deep_outlives_a_restart(tmp_path: Path, tools: list[Json], version: Json) -> None:
    office = Office(
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
        assert told(asked) == [
            ("STARTED", "clerk"),
            ("STARTED", "packer"),
            ("FINISHED", "packer"),
            ("FINISHED", "clerk"),
        ]
    async with office.server() as p:
        again = p.chat(**more, thread_id=chat.thread_id, messages=chat.messages)
        done = await again.decide(asked, approved=True)
        assert office.packer.orders == ["B2"]
        assert done.text == "Refunded B2.The packer has done it.Done."
        assert told(done) == [
            ("STARTED", "clerk"),
            ("STARTED", "packer"),
            ("FINISHED", "packer"),
            ("FINISHED", "clerk"),
        ]
        assert [m["id"] for m in await shown(p, again) if m["role"] == "assistant"] == [
            m["id"] for m in again.messages if m["role"] == "assistant" and CARD_TOOL["name"] not in json.dumps(m)
        ] or tools
        p.assert_clean()


async def test_decided_elsewhere_the_task_goes_on() -> None:
    office = Office(
        by(BOSS, TASK), by(CLERK, refund()), by(CLERK, say("Refunded.")), by(BOSS, say("All done."), repeat=True)
    )
    async with office.server() as p:
        chat = p.chat()
        await chat.say("refund A1")
        (waiting,) = (await p.get("/approvals"))["approvals"]
        assert waiting["agent"] == "clerk"
        assert (await p.decide(waiting["id"], {"approved": True}))["state"] == "done"
        done = await chat.go()
        assert done.text == "Refunded.All done."
        assert office.clerk.orders == ["A1"]
        p.assert_clean()


@dialects
async def test_a_page_that_connects_is_asked_by_whom(version: Json) -> None:
    office = Office(by(BOSS, TASK), by(CLERK, refund()))
    async with office.server() as p:
        chat = p.chat(extra=version)
        asked = await chat.say("refund A1")
        connected = parse((await p.client.post(f"{p.url}/agents/support/connect", json=chat.body())).text)
        assert connected.interrupts == asked.interrupts
        p.assert_clean()


async def test_going_on_with_something_else_ends_the_task() -> None:
    office = Office(by(BOSS, TASK), by(CLERK, refund()), by(BOSS, say("As you like."), repeat=True))
    async with office.server(on_unanswered="supersede") as p:
        chat = p.chat()
        await chat.say("refund A1")
        done = await chat.say("never mind")
        assert office.clerk.orders == []
        assert done.text == "As you like."
        assert [status(result) for result in done.results.values()] == ["superseded", "superseded"]
        assert len(requests(p, CLERK)) == 1
        p.assert_clean()


async def test_a_question_that_stays_open_keeps_its_task() -> None:
    office = Office(
        by(BOSS, TASK), by(CLERK, refund()), by(CLERK, say("Refunded.")), by(BOSS, say("All done."), repeat=True)
    )
    async with office.server(on_unanswered="represent") as p:
        chat = p.chat()
        await chat.say("refund A1")
        again = await chat.say("and then?")
        assert len(again.interrupts) == 1
        done = await chat.decide(again, approved=True)
        assert done.text == "Refunded.All done."
        assert users(requests(p, BOSS)[-1])[-1] == "and then?"
        p.assert_clean()


@dialects
async def test_a_frontend_tool_inside_is_the_clients(version: Json) -> None:
    office = Office(
        by(BOSS, TASK), by(CLERK, PICK), by(CLERK, say("Red it is.")), by(BOSS, say("Painted."), repeat=True)
    )
    async with office.server() as p:
        chat = p.chat(tools=[COLOR], extra=version)
        asked = await chat.say("paint it")
        (pick,) = [call_id for call_id, name in asked.calls.items() if name == "pick_color"]
        assert pick not in asked.results
        done = await chat.answer((pick, "red"))
        assert done.text == "Red it is.Painted."
        p.assert_clean()


async def test_what_goes_wrong_inside_is_told_to_who_delegated() -> None:
    broken = {"output": [], "when": {"model": CLERK}, "fault": {"kind": "status", "status": 401}, "repeat": True}
    office = Office(by(BOSS, TASK), broken, by(BOSS, say("It didn't work."), repeat=True))
    async with office.server() as p:
        done = await p.chat().say("refund A1")
        assert told(done) == [("STARTED", "clerk"), ("ERROR", "clerk")]
        (error,) = done.of("SUBAGENT_ERROR")
        assert error["code"] == "provider_auth"
        (result,) = done.results.values()
        assert json.loads(result)["error"].startswith("The agent clerk could not finish:")
        assert done.text == "It didn't work."
        assert done.error is None


async def test_a_task_has_its_own_limit_of_turns() -> None:
    office = Office(by(BOSS, TASK), by(CLERK, SEARCH, repeat=True), by(BOSS, say("Enough."), repeat=True))
    async with office.server() as p:
        done = await p.chat().say("search")
        assert told(done)[-1] == ("ERROR", "clerk")
        assert done.of("SUBAGENT_ERROR")[0]["code"] == "limit_reached"
        assert done.text == "Enough."
        p.assert_clean()


@pytest.mark.parametrize("arguments", [{}, {"task": 5}, {"task": " "}, {"task": "x", "more": []}])
async def test_arguments_that_make_no_task(arguments: Json) -> None:
    office = Office(
        by(BOSS, call("clerk", **arguments)), by(CLERK, say("?"), repeat=True), by(BOSS, say("Oh."), repeat=True)
    )
    async with office.server() as p:
        done = await p.chat().say("go")
        assert done.text in ("Oh.", "?Oh.")
        assert done.error is None
        p.assert_clean()


async def test_a_regenerated_answer_delegates_anew() -> None:
    office = Office(
        by(BOSS, TASK),
        by(CLERK, refund()),
        by(BOSS, TASK),
        by(CLERK, say("Nothing to do.")),
        by(BOSS, say("Fine."), repeat=True),
    )
    async with office.server(on_unanswered="supersede", hitl="card") as p:
        chat = p.chat(tools=[CARD_TOOL])
        await chat.say("refund A1")
        del chat.messages[1:]
        done = await chat.go()
        assert done.text == "Nothing to do.Fine."
        assert office.clerk.orders == []
        assert (await p.get("/approvals"))["approvals"] == []
        p.assert_clean()


async def test_a_history_that_another_server_began_keeps_what_its_sub_agents_said() -> None:
    """It is shown again as it came; the model is told the result of the call that delegated."""
    office = Office(by(BOSS, say("Yes."), repeat=True))
    calling = {"id": "c1", "type": "function", "function": {"name": "clerk", "arguments": '{"task":"x"}'}}
    inner = {"id": "c2", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    history: list[Json] = [
        {"id": "u1", "role": "user", "content": "who?"},
        {"id": "m1", "role": "assistant", "toolCalls": [calling]},
        {"id": "m2", "role": "assistant", "content": "Looking.", "toolCalls": [inner], "subagentRunId": "c1"},
        {"id": "r2", "role": "tool", "toolCallId": "c2", "content": "ada", "subagentRunId": "c1"},
        {"id": "r1", "role": "tool", "toolCallId": "c1", "content": "It is ada."},
    ]
    async with office.server() as p:
        chat = p.chat(messages=list(history))
        done = await chat.say("sure?")
        assert done.text == "Yes."
        (request,) = requests(p, BOSS)
        assert "Looking." not in json.dumps(request["input"])
        assert len(outputs(request)) == 1
        assert [m["id"] for m in await shown(p, chat)][:5] == ["u1", "m1", "r1", "m2", "r2"]
        assert [m.get("subagentRunId") for m in await shown(p, chat)][:5] == [None, None, None, "c1", "c1"]
        p.assert_clean()


async def test_what_it_can_delegate_is_declared() -> None:
    async with Office().server() as p:
        declared = await p.get("/agents/support/capabilities")
        assert declared["multiAgent"] == {
            "supported": True,
            "delegation": True,
            "subagents": [{"name": "clerk", "description": "Clerks."}, {"name": "packer"}],
        }


@every_mode
@shows("S28")
async def test_a_long_task_is_sent_in_part(mode: str) -> None:
    """The task itself stays, with the newest of what was done for it; so it does for the agent that delegated."""
    searches = [by(CLERK, call("search", q=f"{n}" * 300)) for n in range(8)]
    office = Office(
        by(BOSS, TASK), *searches, by(CLERK, say("All found.")), by(BOSS, say("Well."), repeat=True), mode=mode
    )
    office.history = LastTokens(700)
    async with office.server() as p:
        chat = p.chat()
        assert (await chat.say("go")).text.endswith("Well.")
        last = requests(p, CLERK)[-1]
        assert users(last) == ["Refund A1."]
        assert 0 < len(outputs(last)) < 8
        assert "previous_response_id" not in last
        assert (await p.get(f"/threads/{chat.thread_id}"))["window"] is None
        p.assert_clean()
