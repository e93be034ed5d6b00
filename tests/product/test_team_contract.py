"""What clients of a team depend on, as the contract has it: addresses, transfers, ids, and who asks in which way."""

from typing import Any

import pytest

from agui_gate import Agent, parallel, pipeline
from tests.product.kit import CARD_TOOL, MODES, Json
from tests.product.shop import SEARCH, Shop, call, outputs, refund, say, status, users
from tests.product.test_bad_input_of_teams import Model, team
from tests.product.test_subagents import by, requests
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B14", "B15")]
every_mode = pytest.mark.parametrize("mode", MODES)
TASK = call("clerk", task="Do it.")


def line(model: Model) -> Agent:
    """A circle that is closed once both agents are there; the entry agent has the clerk do tasks, too."""
    clerk = Agent(name="clerk", model=model("clerk"), tools=Shop().tools)
    entry = Agent(name="entry", model=model("entry"), tools=[clerk.as_tool()])
    entry.handoffs.append(clerk)
    clerk.handoffs.append(entry)
    return entry


async def test_only_the_entry_agent_has_an_address() -> None:
    script = by("entry", call("transfer_to_clerk")), by("clerk", say("Here."), repeat=True)
    async with team(line, *script) as p:
        assert (await p.get("/agents/entry/capabilities"))["status_code"] == 200
        assert (await p.get("/agents/clerk/capabilities"))["status_code"] == 404
        chat = p.chat()
        await chat.say("hello")
        assert (await chat.say("still there?")).text == "Here.", "at the entry agent's address"
        chat.path = "/agents/clerk"
        assert (await chat.go()).status == 404
        p.assert_clean()


@every_mode
@pytest.mark.parametrize("arguments", [{}, {"reason": "It is theirs."}, {"deep": [{"a": None}]}])
async def test_a_transfer_is_streamed_and_has_a_result_whatever_arguments_a_model_adds(
    mode: str, arguments: Json
) -> None:
    script = by("entry", call("transfer_to_clerk", **arguments)), by("clerk", say("Here."), repeat=True)
    async with team(line, *script, mode=mode) as p:
        done = await p.chat().say("hello")
        ((call_id, name),) = done.calls.items()
        kinds = [event["type"] for event in done if event.get("toolCallId") == call_id]
        assert (name, kinds[0], kinds[-2:]) == (
            "transfer_to_clerk",
            "TOOL_CALL_START",
            ["TOOL_CALL_END", "TOOL_CALL_RESULT"],
        )
        assert (status(done.results[call_id]), done.text) == ("transferred", "Here.")
        tool = next(one for one in p.inputs()[0]["tools"] if one["name"] == name)
        assert not tool["parameters"].get("required")
        p.assert_clean()


@every_mode
async def test_ids_are_unique_in_the_thread_whatever_providers_call_theirs(mode: str) -> None:
    """Two tasks at once, and the one who delegates, all with the same id."""
    same = SEARCH | {"call_id": "call_same"}
    script = (
        by("entry", TASK | {"call_id": "call_same"}, TASK | {"call_id": "call_other"}),
        by("clerk", same),
        by("clerk", same),
        by("clerk", say("Found."), repeat=True),
        by("entry", TASK | {"call_id": "call_same"}),
        by("entry", say("Done."), repeat=True),
    )
    async with team(line, *script, mode=mode) as p:
        chat = p.chat()
        first, second = await chat.say("look"), await chat.say("and again")
        ids = [*first.calls, *second.calls]
        assert len(ids) == len(set(ids)) == 5
        assert len(first.results | second.results) == 5
        shown = (await p.get(f"/threads/{chat.thread_id}"))["messages"]
        assert len({message["id"] for message in shown}) == len(shown)
        p.assert_clean()


@pytest.mark.parametrize(("hitl", "inner"), [("card", "interrupt"), ("interrupt", "card"), ("auto", "interrupt")])
@pytest.mark.parametrize("offered", [True, False])
async def test_the_entry_agents_way_to_ask_holds_for_everything_inside(hitl: Any, inner: Any, offered: bool) -> None:
    """For what an heir asks and for what a task asks; who asks is named either way."""

    def make(model: Model) -> Agent:
        clerk = Agent(name="clerk", model=model("clerk"), tools=Shop().tools, hitl=inner)
        entry = Agent(name="entry", model=model("entry"), tools=[clerk.as_tool()], hitl=hitl)
        entry.handoffs.append(clerk)
        return entry

    script = by("entry", TASK, call("transfer_to_clerk")), by("clerk", refund("A1")), by("clerk", refund("A2"))
    async with team(make, *script, by("clerk", say("Done."), repeat=True)) as p:
        chat = p.chat(tools=[CARD_TOOL] if offered else [])
        asked = await chat.say("refund")
        by_card = hitl == "card" or (hitl == "auto" and offered)
        for _ in range(2):
            assert (len(asked.cards), len(asked.interrupts)) == ((1, 0) if by_card else (0, 1))
            if by_card:
                assert next(iter(asked.cards.values()))["steps"][0]["description"].startswith("clerk asks:")
            else:
                assert asked.interrupts[0]["metadata"]["agent"] == "clerk"
            asked = await chat.decide(asked, approved=True)
        assert not asked.cards
        assert not asked.interrupts
        p.assert_clean()


@every_mode
async def test_workflows_nest_and_the_next_step_is_told_what_came_before(mode: str) -> None:
    def make(model: Model) -> Agent:
        a, b, c, d = (Agent(name=name, model=model(name)) for name in "abcd")
        return pipeline("all", parallel("both", a, pipeline("line", b, c)), d)

    script = [by(name, say(f"{name} says so."), repeat=True) for name in "abcd"]
    async with team(make, *script, mode=mode) as p:
        chat = p.chat()
        done = await chat.say("go")
        assert sorted(done.text.split(".")[:4]) == ["a says so", "b says so", "c says so", "d says so"]
        assert users(requests(p, "c")[0]) == ["go\n\nb said:\nb says so."]
        (told,) = users(requests(p, "d")[0])
        assert told.startswith("go\n\nboth said:\n")
        assert "a says so." in told
        assert "c says so." in told
        assert (await chat.say("again")).error is None
        assert [len(requests(p, name)) for name in "abcd"] == [2, 2, 2, 2]
        p.assert_clean()


@every_mode
async def test_what_an_heir_is_told_are_the_results_of_both(mode: str) -> None:
    """A task and a transfer in one turn: the heir, who did the task as well, hears of it as anybody does."""
    script = by("entry", TASK, call("transfer_to_clerk")), by("clerk", say("Did it.")), by("clerk", say("Here."))
    async with team(line, *script, by("clerk", say("Yes."), repeat=True), mode=mode) as p:
        chat = p.chat()
        assert (await chat.say("hello")).text == "Did it.Here."
        heard = outputs(requests(p, "clerk")[-1])
        assert (heard[0], status(heard[1])) == ("Did it.", "transferred")
        assert (await chat.say("well?")).text == "Yes."
        p.assert_clean()
