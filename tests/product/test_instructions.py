"""Instructions that a function makes: of the situation, for each request to the model, and never stored."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from agui_gate import Agent, ConfigurationError, Situation, ToolContext, adapter, create_app, tool
from agui_gate.config.settings import Settings
from agui_gate.extras import instructions
from tests.product.inprocess import Parrot, calls, request, run, run_body, says, started, user
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("H1")]
DONE = adapter.TurnDone()
FAILED = "The agent's instructions could not be built. The server's log has the details."


class Counter(BaseModel):
    count: int = 0


@tool
async def count(ctx: ToolContext) -> str:
    """Counts."""
    if isinstance(ctx.state, Counter):
        ctx.state.count += 1
    else:
        ctx.state["count"] = ctx.state.get("count", 0) + 1
    return "counted"


def served(instructions: Any, **more: Any) -> tuple[Any, Parrot]:
    model = Parrot([[*calls("count", {}), DONE], [*says("ok"), DONE]])
    agent = Agent(name="a", model=model, tools=[count], instructions=instructions, **more)
    return create_app(agent, store="memory://", settings=Settings()), model


def sync(situation: Situation) -> str:
    """All that there is to know."""
    about = {entry.description: entry.value for entry in situation.context}
    return f"{situation.principal} {situation.thread_id} {about} {situation.forwarded_props} {situation.state}"


async def slow(situation: Situation) -> str:
    """The same after a while."""
    await asyncio.sleep(0)
    return sync(situation)


def returns_a_coroutine(situation: Situation) -> Any:
    """The same, by a function that doesn't look async."""
    return slow(situation)


@pytest.mark.parametrize("function", [sync, slow, returns_a_coroutine])
async def test_it_is_told_the_situation_before_each_request(function: Any) -> None:
    app, model = served(function)
    async with started(app):
        more = {"context": [{"description": "locale", "value": "de"}], "forwardedProps": {"plan": [1, None]}}
        answer = await run(app, run_body("t", user("go", "u1"), state={"count": 1}, **more))
        assert answer.events()[-1]["type"] == "RUN_FINISHED"
        first, second = (asked.instructions.splitlines()[0] for asked in model.requests)
        assert first == "local t {'locale': 'de'} {'plan': [1, None]} {'count': 1}"
        assert second == first.replace("1}", "2}"), "what the tool has changed is known to the next request"
        assert "locale" not in str((await request(app, "GET", "/threads/t")).json()["messages"])


async def test_the_state_is_a_copy_in_the_form_that_tools_have() -> None:
    seen: list[Any] = []

    def instruct(situation: Situation) -> str:
        seen.append(situation.state)
        situation.state.count += 100
        situation.forwarded_props["mine"] = 1
        return f"{situation.state.count}"

    app, model = served(instruct, state=Counter)
    async with started(app):
        await run(app, run_body("t", user("go", "u1")))
        assert [type(state) for state in seen] == [Counter, Counter]
        assert [asked.instructions for asked in model.requests] == ["100", "101"]
        assert (await request(app, "GET", "/threads/t")).json()["state"] == {"count": 1}


def raises(situation: Situation) -> str:
    """Fails."""
    raise RuntimeError("a secret")


async def leaves(situation: Situation) -> str:
    """Wants to end the process."""
    raise SystemExit


async def cancels(situation: Situation) -> str:
    """Looks as if it were stopped."""
    raise asyncio.CancelledError


async def hangs(situation: Situation) -> str:
    """Never ends."""
    return await asyncio.Event().wait()  # type: ignore[return-value]  # it never does


def returns_nothing(situation: Situation) -> Any:
    """Returns no text."""


def returns_too_much(situation: Situation) -> str:
    """Returns more than a model can read."""
    return "x" * (instructions.MOST_CHARACTERS + 1)


@pytest.mark.parametrize("function", [raises, leaves, cancels, hangs, returns_nothing, returns_too_much])
async def test_one_that_fails_ends_the_run_and_the_thread_can_be_used(function: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(instructions, "SECONDS", 0.2 if function is hangs else 30.0)
    fails = [True]

    def instruct(situation: Situation) -> Any:
        return function(situation) if fails[0] else "now it works"

    app, model = served(instruct)
    async with started(app):
        last = (await run(app, run_body("t", user("go", "u1")))).events()[-1]
        assert (last["type"], last["code"], last["message"]) == ("RUN_ERROR", "internal", FAILED)
        assert model.requests == []
        fails[0] = False
        again = await run(app, run_body("t", user("go", "u1"), user("now?", "u2")))
        assert again.events()[-1]["type"] == "RUN_FINISHED"
        assert model.requests[0].instructions == "now it works"


async def test_a_stop_ends_it() -> None:
    begun = asyncio.Event()

    async def instruct(situation: Situation) -> str:
        begun.set()
        return await asyncio.Event().wait()  # type: ignore[return-value]  # it never does

    app, _ = served(instruct)
    async with started(app), asyncio.timeout(60):
        running = asyncio.ensure_future(run(app, run_body("t", user("go", "u1"))))
        await begun.wait()
        await request(app, "POST", "/threads/t/cancel")
        assert (await running).events()[-1]["code"] == "abort"


def test_anything_else_is_refused_when_the_agent_is_made() -> None:
    with pytest.raises(ConfigurationError, match="a string, or a function"):
        Agent(name="a", model=Parrot(), instructions=5)  # type: ignore[arg-type]
