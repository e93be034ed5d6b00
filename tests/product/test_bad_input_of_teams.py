"""What models, pages, tools and agents far away do wrong in a team: a clear result or a stable code, and no more.

Each test ends with the same thread at work again. What an agent far away does wrong is in tests/remote.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from ag_ui.core import StateDeltaEvent
from pydantic import BaseModel

from agui_gate import Agent, ToolContext, create_app, tool
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.product.kit import MODES, Json, Product, Stream, client_of, running
from tests.product.shop import SEARCH, Shop, call, outputs, say, status
from tests.product.test_emit import add
from tests.product.test_subagents import by, requests, told
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("S23", "B14")]
every_mode = pytest.mark.parametrize("mode", MODES)
Model = Callable[[str], OpenAIResponses]


class Cart(BaseModel):
    items: list[str] = []


@asynccontextmanager
async def team(make: Callable[[Model], Agent], *script: Json, mode: str = "chain") -> AsyncIterator[Product]:
    """The agent that ``make`` makes, with models by their names."""
    emulator = Emulator(script=list(script))
    async with serve(emulator) as url, client_of() as client:

        def model(name: str) -> OpenAIResponses:
            return OpenAIResponses(name, mode=mode, base_url=url, api_key="k")  # type: ignore[arg-type]  # parametrized

        async with running(create_app(make(model), store="memory://")) as at:
            yield Product(emulator, None, at, client)


def pair(model: Model, **entry: Any) -> Agent:
    """An entry agent and a clerk who hand off to each other; the entry agent may have the clerk do tasks, too."""
    clerk = Agent(name="clerk", model=model("clerk"), tools=Shop().tools)
    first = Agent(name="entry", model=model("entry"), tools=[clerk.as_tool()], handoffs=[clerk], **entry)
    clerk.handoffs.append(first)
    return first


def results(stream: Stream) -> list[str]:
    return list(stream.results.values())


# --- hand-offs --------------------------------------------------------------------------------------------------------
@every_mode
async def test_a_hand_off_to_nobody(mode: str) -> None:
    script = by("entry", call("transfer_to_nobody")), by("entry", say("Still me."), repeat=True)
    async with team(pair, *script, mode=mode) as p:
        chat = p.chat()
        done = await chat.say("hello")
        (result,) = map(json.loads, results(done))
        assert (result["status"], done.text, done.error) == ("error", "Still me.", None)
        assert result["error"] == (
            "There is no agent to transfer to by transfer_to_nobody. There is: transfer_to_clerk."
        )
        assert (await chat.say("well?")).text == "Still me."
        p.assert_clean()


@every_mode
async def test_a_hand_off_to_nobody_inside_a_task(mode: str) -> None:
    script = (
        by("entry", call("clerk", task="Do it.")),
        by("clerk", call("transfer_to_nobody")),
        by("clerk", say("I can't."), repeat=True),
        by("entry", say("Done."), repeat=True),
    )
    async with team(pair, *script, mode=mode) as p:
        chat = p.chat()
        done = await chat.say("hello")
        assert (done.text, done.error) == ("I can't.Done.", None)
        assert "There is: transfer_to_entry." in outputs(requests(p, "clerk")[-1])[0]
        assert (await chat.say("well?")).text == "Done."
        p.assert_clean()


@every_mode
async def test_a_loop_of_hand_offs(mode: str) -> None:
    loop = [by("entry", call("transfer_to_clerk")), by("clerk", call("transfer_to_entry"))] * 2
    script = *loop, by("entry", say("Here."), repeat=True), by("clerk", say("Here."), repeat=True)
    async with team(lambda model: pair(model, max_turns=4), *script, mode=mode) as p:
        chat = p.chat()
        stopped = await chat.say("hello")
        assert stopped.error == "limit_reached"
        assert [status(result) for result in results(stopped)] == ["transferred"] * 4
        assert (await chat.say("well?")).text == "Here."
        p.assert_clean()


@every_mode
async def test_a_loop_of_hand_offs_inside_a_task(mode: str) -> None:
    """The task ends with its own agent's limit, and the run goes on."""

    def make(model: Model) -> Agent:
        packer = Agent(name="packer", model=model("packer"))
        clerk = Agent(name="clerk", model=model("clerk"), handoffs=[packer], max_turns=4)
        packer.handoffs.append(clerk)
        return Agent(name="entry", model=model("entry"), tools=[clerk.as_tool()])

    script = (
        by("entry", call("clerk", task="Do it.")),
        by("clerk", call("transfer_to_packer"), repeat=True),
        by("packer", call("transfer_to_clerk"), repeat=True),
        by("entry", say("Too much."), repeat=True),
    )
    async with team(make, *script, mode=mode) as p:
        chat = p.chat()
        done = await chat.say("hello")
        assert (done.text, done.error, told(done)[-1]) == ("Too much.", None, ("ERROR", "clerk"))
        assert done.of("SUBAGENT_ERROR")[0]["code"] == "limit_reached"
        assert "It stopped after 4 turns." in outputs(requests(p, "entry")[-1])[0]
        assert (await chat.say("well?")).text == "Too much."
        p.assert_clean()


@every_mode
async def test_tasks_that_are_too_deep(mode: str) -> None:
    """The ninth is not begun, and who delegated it is told so; the others go on."""
    names = [f"a{number}" for number in range(10)]

    def make(model: Model) -> Agent:
        agent = Agent(name=names[-1], model=model(names[-1]))
        for name in reversed(names[:-1]):
            agent = Agent(name=name, model=model(name), tools=[agent.as_tool()])
        return agent

    delegate = [by(name, call(inner, task="Go on.")) for name, inner in pairwise(names)]
    ends = [by(name, say("Back."), repeat=True) for name in names]
    async with team(make, *delegate, *ends, mode=mode) as p:
        chat = p.chat()
        done = await chat.say("hello")
        assert (len(done.of("SUBAGENT_STARTED")), done.error) == (8, None)
        assert (requests(p, "a9"), done.text) == ([], "Back." * 9)
        assert "Not delegated: tasks can be 8 deep." in outputs(requests(p, "a8")[-1])[0]
        assert (await chat.say("well?")).text == "Back."
        p.assert_clean()


# --- state ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("wrong", [{"items": "none"}, [1], "text", 5])
async def test_a_state_that_does_not_fit(wrong: Any) -> None:
    """Refused before the run, also where another agent answers by now. What is kept stays."""
    script = by("entry", call("transfer_to_clerk")), by("clerk", say("Here."), repeat=True)
    async with team(lambda model: pair(model, state=Cart), *script) as p:
        chat = p.chat(state={"items": ["pen"]})
        await chat.say("hello")
        asked = len(p.inputs())
        refused = await chat.say("more", state=wrong)
        assert (refused.status, refused[0]["error"]["code"], len(p.inputs())) == (422, "invalid_request", asked)
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == {"items": ["pen"]}
        assert (await chat.go()).text == "Here."
        p.assert_clean()


@pytest.mark.parametrize("inside", [False, True])
async def test_a_patch_of_a_tool_that_does_not_apply(inside: bool) -> None:
    """It is the tool's own error: nothing of the patch is made, and nobody is told why but the log."""

    @tool
    async def break_it(ctx: ToolContext) -> str:
        """Changes what isn't there."""
        ctx.emit(StateDeltaEvent(delta=[add("/good", 1), add("/cart/of/nobody", 1)]))
        return "changed"

    def make(model: Model) -> Agent:
        clerk = Agent(name="clerk", model=model("clerk"), tools=[break_it])
        return Agent(name="entry", model=model("entry"), tools=[clerk.as_tool()]) if inside else clerk

    script = (
        by("entry", call("clerk", task="Do it.")),
        by("clerk", call("break_it")),
        by("clerk", say("It broke."), repeat=True),
        by("entry", say("Done."), repeat=True),
    )
    async with team(make, *script) as p:
        chat = p.chat(state={"mine": 1})
        done = await chat.say("go")
        assert (done.error, "It broke." in done.text) == (None, True)
        assert "error" in results(done)[0]
        assert not [*done.of("STATE_DELTA"), *done.of("STATE_SNAPSHOT")]
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == {"mine": 1}
        assert (await chat.say("well?")).error is None
        p.assert_clean()


@pytest.mark.parametrize("inside", [False, True])
async def test_changes_of_a_page_that_can_not_be_made_to_what_is_kept(inside: bool) -> None:
    """A tool has taken away what the page changes, which did not see it."""

    @tool(gate=True)
    async def clear(ctx: ToolContext) -> str:
        """Empties the cart."""
        del ctx.state["cart"]
        return "empty"

    def make(model: Model) -> Agent:
        clerk = Agent(name="clerk", model=model("clerk"), tools=[clear])
        return Agent(name="entry", model=model("entry"), tools=[clerk.as_tool()]) if inside else clerk

    script = (
        by("entry", call("clerk", task="Do it.")),
        by("clerk", call("clear")),
        by("clerk", say("Empty."), repeat=True),
        by("entry", say("Done."), repeat=True),
    )
    async with team(make, *script) as p:
        chat = p.chat(state={"cart": {"pens": 1}})
        await chat.say("empty it")
        (waiting,) = (await p.get("/approvals"))["approvals"]
        assert (await p.decide(waiting["id"], {"approved": True}))["state"] == "done"
        done = await chat.go(state={"cart": {"pens": 2}})
        assert (done.error, done[1]) == (None, {"type": "STATE_SNAPSHOT", "snapshot": {}})
        assert "Empty." in done.text
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == {}
        assert (await chat.say("well?")).error is None
        p.assert_clean()


# --- what models get wrong about others -------------------------------------------------------------------------------
@every_mode
async def test_a_tool_of_another_member_is_not_ones_own(mode: str) -> None:
    """The entry agent calls what only the clerk has, and the clerk what nobody has."""
    script = (
        by("entry", SEARCH, call("clerk", task="Look.")),
        by("clerk", call("no_such_tool")),
        by("clerk", say("Nothing."), repeat=True),
        by("entry", say("Done."), repeat=True),
    )
    async with team(pair, *script, mode=mode) as p:
        chat = p.chat()
        done = await chat.say("look")
        assert (done.text, done.error) == ("Nothing.Done.", None)
        assert "There is no tool called" in outputs(requests(p, "entry")[-1])[0]
        assert "There is no tool called" in outputs(requests(p, "clerk")[-1])[0]
        assert (await chat.say("well?")).text == "Done."
        p.assert_clean()
