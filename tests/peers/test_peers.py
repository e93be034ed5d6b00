"""Agents of other frameworks, each with a deterministic model, as agents of ours: the real servers, over real sockets.

What a remote runs, asks and calls is asserted, and that the thread goes on. `make peers` installs what this needs.
"""

import asyncio
import os
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from pydantic import BaseModel

from agui_gate import tool
from agui_gate.client import Client
from agui_gate_adapters.testkit.agui import AGUIClient, connecting
from tests.remote.kit import in_front, told

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".peers/bin/python"
START_SECONDS = 120.0
every = pytest.mark.parametrize("peer", ["pydantic_ai", "langgraph", "agent_framework"])
ASKED = {"pydantic_ai": "refund", "langgraph": "langgraph_interrupt", "agent_framework": "refund"}
"""Under which name each asks. LangGraph's question is about no call."""
CAME = {"pydantic_ai": "refunded A1", "langgraph": "answered {'approved': True}", "agent_framework": "refunded A1"}


def started(peer: str, port: int) -> "subprocess.Popen[bytes]":
    """Its process."""
    command = [PYTHON, ROOT / f"tools/peers/{peer}_server.py"]
    environment = {**os.environ, "PORT": str(port)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@asynccontextmanager
async def serving_peer(peer: str) -> AsyncIterator[str]:
    """The server of ``tools/peers``, as a process."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    process = started(peer, port)
    try:
        url = f"http://127.0.0.1:{port}/"
        await answers(url, process)
        yield url
    finally:
        process.kill()
        process.wait(30)


async def answers(url: str, process: "subprocess.Popen[bytes]") -> None:
    """Wait until anybody answers there."""
    async with asyncio.timeout(START_SECONDS), httpx2.AsyncClient(trust_env=False) as http:
        while process.poll() is None:
            try:
                await http.get(url)
                return
            except httpx2.HTTPError:
                await asyncio.sleep(0.2)
    raise AssertionError("it ended before it answered")


@every
async def test_it_is_an_agent_of_ours(peer: str) -> None:
    ran: list[str] = []

    @tool(gate=True)
    def agui_check_colour(colour: str) -> str:
        """Paint it."""
        ran.append(colour)
        return f"painted {colour}"

    async with serving_peer(peer) as remote, in_front(remote, [agui_check_colour]) as url, connecting() as http:
        chat = AGUIClient(http, url)
        assert (await chat.say("hello")).text.split() == ["word"] * 3

        used = await chat.say("use your own tools")
        (result,) = told(used, "search")
        assert "found" in result

        asked = await chat.say("do what has to be approved")
        (question,) = asked.interrupts
        assert question["metadata"]["tool"] == ASKED[peer]
        assert (await chat.say("still there?")).interrupts == asked.interrupts
        done = await chat.decide(asked, approved=True)
        assert CAME[peer] in told(done, "refund")

        asked = await chat.say("and once more, approved")
        done = await chat.decide(asked, {"approved": False, "reason": "not today"})
        assert done[-1]["type"] == "RUN_FINISHED"
        assert "refunded A1" not in told(done, "refund")

        asked = await chat.say("call agui_check_colour")
        assert [q["metadata"]["tool"] for q in asked.interrupts] == ["agui_check_colour"]
        assert ran == []
        done = await chat.decide(asked, approved=True)
        assert (ran, list(done.results.values())) == (["blue"], ["painted blue"])
        assert (await chat.say("thanks")).text.split() == ["word"] * 3


@every
async def test_our_client_talks_to_it(peer: str) -> None:
    async with serving_peer(peer) as remote, Client(remote) as client:
        thread = client.thread()
        await thread.say("do what has to be approved")
        (question,) = thread.questions
        await thread.answer(question.approve() if question.approval else question.reply({"approved": True}))
        assert thread.questions == []
        assert any(m["role"] == "tool" and m["content"] == CAME[peer] for m in thread.messages)
        assert (await thread.say("thanks")).kind == "success"


async def test_a_graph_that_wants_a_name_is_told_one() -> None:
    async with serving_peer("langgraph") as remote, in_front(remote) as url, connecting() as http:
        chat = AGUIClient(http, url)
        asked = await chat.say("ask whose it is")
        (question,) = asked.interrupts
        assert (question["message"], question["responseSchema"]["required"]) == ("Whose is A1?", ["name"])
        refused = await chat.decide(asked, approved=True)
        assert [one["id"] for one in refused.interrupts] == [question["id"]]
        done = await chat.resume((question["id"], {"name": "Ada"}))
        assert "answered {'name': 'Ada'}" in told(done, "owner")
        assert (await chat.say("thanks")).text.split() == ["word"] * 3


async def test_a_graph_that_asks_by_a_custom_event() -> None:
    async with serving_peer("langgraph") as remote, in_front(f"{remote}older") as url, connecting() as http:
        chat = AGUIClient(http, url)
        asked = await chat.say("do what has to be approved")
        (question,) = asked.interrupts
        assert question["message"] == "Refund A1?"
        done = await chat.decide(asked, approved=True)
        assert "answered {'approved': True}" in told(done, "refund")
        asked = await chat.say("and ask whose it is")
        done = await chat.resume((asked.interrupts[0]["id"], "Ada"))
        assert "answered Ada" in told(done, "owner")
        assert (await chat.say("thanks")).text.split() == ["word"] * 3


class Turns(BaseModel):
    turns: int = 0


async def test_a_graph_shares_its_state() -> None:
    async with serving_peer("langgraph") as remote, in_front(remote, state=Turns) as url, connecting() as http:
        chat = AGUIClient(http, url, thread_id="t1")
        await chat.say("hello")
        await chat.say("hello again")
        assert (await http.get(f"{url}/threads/t1")).json()["state"] == {"turns": 2}


async def test_arguments_that_pydantic_ai_lets_people_edit() -> None:
    async with serving_peer("pydantic_ai") as remote, in_front(remote) as url, connecting() as http:
        chat = AGUIClient(http, url)
        asked = await chat.say("do what has to be approved")
        (question,) = asked.interrupts
        done = await chat.resume((question["id"], {"approved": True, "editedArgs": {"order": "B2"}}))
        assert "refunded B2" in told(done, "refund")
