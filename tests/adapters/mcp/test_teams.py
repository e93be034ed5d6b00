"""A real MCP server as the source of tools of an heir, and of a sub-agent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agui_gate import Agent, create_app
from agui_gate.stores import open_store
from agui_gate_adapters.mcp import MCPTools
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.adapters.mcp.server import Wiki
from tests.adapters.mcp.test_http import NO, YES, port_of, served
from tests.product.kit import CARD_TOOL, Json, Product, client_of, running
from tests.product.shop import call, outputs, say
from tests.product.test_subagents import by
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B1", "B15")]
styles = pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])
ways = pytest.mark.parametrize("way", ["heir", "task"])
FRONT, LIBRARIAN = "gpt-a", "gpt-b"
LOOKS = call("search", q="ho", limit=3), call("delete_page", title="home")


def begins(way: str) -> Json:
    """The front passes the work on, and what it says when it has it back."""
    return by(FRONT, call("transfer_to_librarian") if way == "heir" else call("librarian", task="Tidy up."))


SCRIPT = [by(LIBRARIAN, *LOOKS), by(LIBRARIAN, say("Tidied."), repeat=True), by(FRONT, say("Done."), repeat=True)]


@asynccontextmanager
async def library(emulator: Emulator, url: str, way: str, wiki: str, store: Any) -> AsyncIterator[Product]:
    """A front, and a librarian who has the wiki's tools: the front's heir, or at work on its tasks."""
    common: Json = {"base_url": url, "api_key": "k"}
    tools = [MCPTools.http(wiki, name="wiki")]
    librarian = Agent(name="librarian", model=OpenAIResponses(LIBRARIAN, **common), tools=tools)
    entry = Agent(
        name="front",
        model=OpenAIResponses(FRONT, **common),
        handoffs=[librarian] if way == "heir" else [],
        tools=[librarian.as_tool()] if way == "task" else [],
    )
    async with running(create_app(entry, store=store)) as at, client_of() as client:
        yield Product(emulator, None, at, client)


def heard(p: Product) -> list[str]:
    """What the librarian's calls came to, as its model was told last."""
    return outputs([body for body in p.inputs() if body["model"] == LIBRARIAN][-1])


@ways
@styles
@pytest.mark.parametrize("approved", [True, False])
async def test_free_and_gated_tools_of_a_server(way: str, tools: list[Json], approved: bool) -> None:
    wiki, emulator = Wiki(), Emulator(script=[begins(way), *SCRIPT])
    async with (
        served(wiki.app()) as at,
        serve(emulator) as url,
        library(emulator, url, way, at, "memory://") as p,
    ):
        chat = p.chat(tools=tools)
        asked = await chat.say("tidy up")
        (waiting,) = (await p.get("/approvals"))["approvals"]
        assert (waiting["tool"], waiting["agent"], wiki.pages) == ("delete_page", "librarian", ["home"])
        done = await chat.decide(asked, approved=approved)
        assert wiki.pages == ([] if approved else ["home"])
        assert wiki.heard.count("delete_page") == int(approved)
        assert done.text == ("Tidied." if way == "heir" else "Tidied.Done.")
        assert heard(p)[-2:][0].startswith("1 found") or heard(p)[0].startswith("deleted")
        assert (await chat.say("thanks")).error is None
        p.assert_clean()


@ways
async def test_the_question_waits_while_the_server_is_away(way: str) -> None:
    store, emulator = open_store("memory://"), Emulator(script=[begins(way), *SCRIPT])
    async with serve(emulator) as url:
        async with served(Wiki().app()) as at, library(emulator, url, way, at, store) as p:
            chat = p.chat()
            asked = await chat.say("tidy up")
        approval = asked.interrupts[0]["id"]
        async with library(emulator, url, way, at, store) as p:
            chat.product = p
            away = await chat.resume((approval, YES))
            assert [ask["id"] for ask in away.interrupts] == [approval]
            assert "wiki can't be reached. Nothing was run; it still waits" in away.interrupts[0]["message"]
            assert (await p.decide(approval, YES))["status_code"] == 503
        wiki = Wiki()
        async with served(wiki.app(), port_of(at)), library(emulator, url, way, at, store) as p:
            chat.product = p
            done = await chat.resume((approval, YES))
            assert (done.text[:7], wiki.pages) == ("Tidied.", [])
            p.assert_clean()


@ways
async def test_without_its_server_the_model_knows_and_the_thread_goes_on(way: str) -> None:
    alone = [by(LIBRARIAN, say("The wiki is away."), repeat=True), by(FRONT, say("Well."), repeat=True)]
    emulator = Emulator(script=[begins(way), *alone])
    async with serve(emulator) as url, library(emulator, url, way, "http://127.0.0.1:9/mcp", "memory://") as p:
        chat = p.chat()
        done = await chat.say("tidy up")
        assert (done.error, done.text[:17]) == (None, "The wiki is away.")
        (first, *_) = [body for body in p.inputs() if body["model"] == LIBRARIAN]
        assert "wiki" in first["instructions"]
        assert (await chat.say("well?")).error is None
        p.assert_clean()


@ways
async def test_rejected_it_is_told_so(way: str) -> None:
    wiki, emulator = Wiki(), Emulator(script=[begins(way), *SCRIPT])
    async with (
        served(wiki.app()) as at,
        serve(emulator) as url,
        library(emulator, url, way, at, "memory://") as p,
    ):
        chat = p.chat()
        asked = await chat.say("tidy up")
        await chat.resume((asked.interrupts[0]["id"], NO | {"reason": "keep it"}))
        assert "keep it" in heard(p)[-1]
        assert wiki.pages == ["home"]
