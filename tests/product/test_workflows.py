"""Agents made of agents: their order, what each is told, gates inside, and what a restart does not do twice."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agui_gate import Agent, ConfigurationError, create_app, parallel, pipeline
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.product.kit import CARD_TOOL, Json, Product, client_of, running
from tests.product.shop import Shop, refund, say, status, users
from tests.product.test_subagents import by, requests, told
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B15")]
styles = pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])
dialects = pytest.mark.parametrize("version", [{}, {"protocolVersion": "1.0"}], ids=["0.x", "1.x"])
Make = Callable[[Callable[[str], Agent]], Agent]


class Line:
    """A workflow of agents called by their models' names, each with a shop's tools."""

    def __init__(self, make: Make, *script: Json, store: str = "memory://") -> None:
        self.make, self.store = make, store
        self.emulator = Emulator(script=list(script))
        self.shops: dict[str, Shop] = {}

    @asynccontextmanager
    async def server(self) -> AsyncIterator[Product]:
        async with serve(self.emulator) as url:

            def member(name: str) -> Agent:
                shop = self.shops.setdefault(name, Shop())
                return Agent(name=name, model=OpenAIResponses(name, base_url=url, api_key="k"), tools=shop.tools)

            app = create_app(self.make(member), store=self.store, settings=Settings())
            async with running(app) as at, client_of() as client:
                yield Product(self.emulator, app, at, client)


def in_line(member: Callable[[str], Agent]) -> Agent:
    return pipeline("line", member("one"), member("two"), member("three"))


def at_once(member: Callable[[str], Agent]) -> Agent:
    return parallel("both", member("one"), member("two"))


def nested(member: Callable[[str], Agent]) -> Agent:
    both = parallel("both", member("one"), member("two"))
    return pipeline("line", both, member("three"))


async def test_each_is_told_what_those_before_it_said() -> None:
    line = Line(in_line, by("one", say("First.")), by("two", say("Second.")), by("three", say("Third."), repeat=True))
    async with line.server() as p:
        done = await p.chat().say("go")
        assert done.text == "First.Second.Third."
        assert told(done) == [(what, who) for who in ("one", "two", "three") for what in ("STARTED", "FINISHED")]
        assert users(requests(p, "three")[0]) == ["go\n\none said:\nFirst.\n\ntwo said:\nSecond."]
        assert len(p.inputs()) == 3
        p.assert_clean()


async def test_the_next_message_goes_through_all_of_them_again() -> None:
    line = Line(at_once, by("one", say("1"), repeat=True), by("two", say("2"), repeat=True))
    async with line.server() as p:
        chat = p.chat()
        await chat.say("go")
        await chat.say("again")
        assert [users(body) for body in requests(p, "one")] == [["go"], ["again"]]
        assert len(requests(p, "two")) == 2
        p.assert_clean()


@styles
@dialects
async def test_a_member_that_is_done_does_not_run_again_after_a_restart(
    tmp_path: Path, tools: list[Json], version: Json
) -> None:
    script = [
        by("one", say("First.")),
        by("two", refund()),
        by("two", say("Refunded.")),
        by("three", say("Third."), repeat=True),
    ]
    line = Line(in_line, *script, store=f"sqlite:///{tmp_path}/line.db")
    async with line.server() as p:
        chat = p.chat(tools=tools, extra=version)
        asked = await chat.say("go")
        assert told(asked)[:2] == [("STARTED", "one"), ("FINISHED", "one")]
    async with line.server() as p:
        again = p.chat(tools=tools, extra=version, thread_id=chat.thread_id, messages=chat.messages)
        done = await again.decide(asked, approved=True)
        assert done.text == "Refunded.Third."
        assert line.shops["two"].orders == ["A1"]
        assert [len(requests(p, name)) for name in ("one", "two", "three")] == [1, 2, 1]
        p.assert_clean()


@dialects
async def test_they_nest(version: Json) -> None:
    line = Line(
        nested,
        by("one", refund("A1")),
        by("two", say("2")),
        by("one", say("1")),
        by("three", say("3"), repeat=True),
    )
    async with line.server() as p:
        chat = p.chat(extra=version)
        asked = await chat.say("go")
        assert len(asked.interrupts) == 1
        done = await chat.decide(asked, approved=True)
        assert done.text == "13"
        assert users(requests(p, "three")[0]) == ["go\n\nboth said:\n1\n\n2"]
        assert len(requests(p, "two")) == 1
        p.assert_clean()


async def test_one_that_fails_ends_the_line_and_not_the_thread() -> None:
    broken = {"output": [], "when": {"model": "one"}, "fault": {"kind": "status", "status": 401}}
    line = Line(in_line, broken, by("one", say("1")), by("two", say("2")), by("three", say("3"), repeat=True))
    async with line.server() as p:
        chat = p.chat()
        failed = await chat.say("go")
        assert told(failed) == [("STARTED", "one"), ("ERROR", "one")]
        assert [status(result) for result in failed.results.values()] == ["error"]
        assert (await chat.say("once more")).text == "123"


async def test_what_is_said_meanwhile_goes_to_those_that_follow() -> None:
    line = Line(
        in_line, by("one", refund()), by("one", say("1")), by("two", say("2")), by("three", say("3"), repeat=True)
    )
    async with line.server() as p:
        chat = p.chat()
        await chat.say("go")
        asked = await chat.say("quickly")
        done = await chat.decide(asked, approved=True)
        assert done.text == "123"
        assert users(requests(p, "two")[0]) == ["go\n\nquickly\n\none said:\n1"]


def test_nobody_and_twice_the_same_make_no_workflow() -> None:
    one = Agent(name="one", model=OpenAIResponses("m", base_url="http://localhost:1", api_key="k"))
    with pytest.raises(ConfigurationError, match="at least one"):
        pipeline("line")
    with pytest.raises(ConfigurationError, match="same name"):
        parallel("both", one, one)
