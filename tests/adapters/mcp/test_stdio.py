"""A server that is a process, through the whole product: started when it is needed, started again when it died."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from agui_gate_adapters.mcp import MCPTools
from tests.adapters.mcp import rude, server
from tests.product.kit import product
from tests.product.shop import call, outputs, say

pytestmark = pytest.mark.anyio


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def gone(pid: int) -> None:
    """Wait until the process has ended and was collected, so that its pipes are known to be closed."""
    async with asyncio.timeout(60):
        while True:
            if not is_there(pid):
                return
            await asyncio.sleep(0)


async def test_a_process_lives_dies_and_comes_back(tmp_path: Path) -> None:
    """Killed between two calls, then dead in the middle of one that may be run again: each time it is started anew."""
    tools = MCPTools.stdio(sys.executable, [server.__file__, str(tmp_path / "memory")], name="wiki")
    turns = [
        {"output": [call("pid")]},
        {"output": [say("One.")]},
        {"output": [call("die_once")]},
        {"output": [say("2")]},
    ]
    async with product([tools], turns) as p:
        chat = p.chat()
        await chat.say("go")
        (first,) = outputs(p.inputs()[-1])
        os.kill(int(first), signal.SIGKILL)
        await gone(int(first))
        await chat.say("go on")
        again = outputs(p.inputs()[-1])[-1].removeprefix("alive again as ")
        assert (tmp_path / "memory").read_text() not in (first, again)  # one died between the two
        assert is_there(int(again))
    assert not is_there(int(again))  # it ended with the app


async def test_a_server_that_does_not_answer_holds_nobody_up() -> None:
    """It reads and says nothing: the app starts, the run goes on without it, and the next ones don't wait again."""
    tools = MCPTools.stdio(sys.executable, ["-c", "import sys; sys.stdin.read()"], name="mute", start_timeout=0.3)
    async with product([tools], [{"output": [say("Hello.")], "repeat": True}]) as p:
        assert (await p.chat().say("hi")).text == "Hello."
        assert (await p.chat().say("hi")).text == "Hello."
        assert p.inputs()[0]["instructions"].startswith("The tools of mute can't be used right now.")
        (finding,) = await tools.check()
    assert (finding.ok, finding.detail) == (False, "did not answer within 0.3 seconds.")


@pytest.mark.parametrize(
    ("command", "args", "says"),
    [
        ("no-such-command", ["--key=s3cret"], "can't be started: there is no such command"),
        ("/dev/null", [], "can't be started: its command may not be run"),
        (sys.executable, ["-c", "'s3cret'"], "ended before it answered: its standard error says why"),
    ],
)
async def test_a_command_that_does_not_start_is_named(command: str, args: list[str], says: str) -> None:
    tools = MCPTools.stdio(command, args, env={"KEY": "s3cret"})
    async with asyncio.timeout(60):
        (finding,) = await tools.check()
        await tools.aclose()
    assert says in finding.detail
    assert "s3cret" not in finding.detail + repr(tools) + repr(vars(tools))
    assert not finding.ok


async def test_an_error_of_the_server_is_its_answer() -> None:
    """Many servers use the number that the SDK uses for a closed connection. It is told once, and nothing is lost."""
    tools = MCPTools.stdio(sys.executable, [rude.__file__, "says no"], name="index")
    turns = [{"output": [call("look"), call("look")]}, {"output": [say("I see.")]}]
    async with product([tools], turns) as p:
        before = await tools._link.connection()
        await p.chat().say("look")
        told = '{"status":"error","error":"look: index answered with an error: The index is being built."}'
        assert outputs(p.inputs()[-1]) == [told, told]
        assert await tools._link.connection() is before


async def test_a_tool_that_asks_a_person_says_what_is_not_supported() -> None:
    tools = MCPTools.stdio(sys.executable, [rude.__file__, "asks"], name="index")
    async with product([tools], [{"output": [call("look")]}, {"output": [say("I see.")]}]) as p:
        await p.chat().say("look")
        (told,) = outputs(p.inputs()[-1])
        assert "This tool asks a person something while it runs (MCP elicitation)." in told


async def test_a_listing_that_can_not_be_read_is_named() -> None:
    """In the log, and by the doctor; and the next runs don't ask again at once."""
    tools = MCPTools.stdio(sys.executable, [rude.__file__, "lists badly"], name="index")
    turns = [{"output": [say("Without.")]}, {"output": [say("Still.")]}]
    with capture_logs() as logs:  # not `caplog`: another test of this process may have configured the log
        async with product([tools], turns) as p:
            chat = p.chat()
            assert (await chat.say("go")).text == "Without."
            assert (await chat.say("go on")).text == "Still."
            (finding,) = await tools.check()
            assert "lists tools that are not as the protocol has them" in finding.detail
    (reported,) = [line for line in logs if line["event"] == "mcp_server_unavailable"]
    assert reported["source"] == "index"
