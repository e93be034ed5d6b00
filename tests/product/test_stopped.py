"""Stopped is not failed: how a run that was stopped before its end is told, by what the client declares."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from agui_gate import tool
from agui_gate.config.settings import Settings
from tests.conforming import conforms
from tests.product.kit import TIMEOUT, Product, Stream, product
from tests.product.live import cancel, over, rest, starting
from tests.product.shop import SEARCH, Shop, call, say
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B14", "S30")]

HALF = {"output": [say("Half of it")], "status": "incomplete", "reason": "max_output_tokens"}
FILTERED = {"output": [say("Half of it")], "status": "incomplete", "reason": "content_filter"}
BACK = {"output": [say("Back.")], "repeat": True}
OLD = {"auto": (None, "0.9"), "compat": (None, "0.9", "1.0", "1.7", "2.0", "garbage", ""), "1.0": (None, "0.9")}
NEW = {"auto": ("1.0", "1.7", "2.0", "garbage", ""), "compat": (), "1.0": ("1.0", "1.7", "2.0", "garbage", "")}
CASES = [(d, v, False) for d, vs in OLD.items() for v in vs] + [(d, v, True) for d, vs in NEW.items() for v in vs]

by_version = pytest.mark.parametrize(("dialect", "version", "new"), CASES)


def asked(version: str | None) -> dict[str, Any]:
    """What declares the version. None is sent as null: that declares nothing."""
    return {"protocolVersion": version}


async def hangs(p: Product, chat: Any, **more: Any) -> Stream:
    """A run that is stopped in the middle of its text."""
    async with starting(p, chat, "go", **more) as reader:
        await reader.until("TEXT_MESSAGE_CONTENT")
        assert (await cancel(p, chat))["cancelled"] is True
        return await reader.end()


@by_version
@conforms("LIFE-4", "LIFE-5", "VER-1", "VER-2", "VER-3", "VER-4", "VER-5")
async def test_a_stop(dialect: Any, version: str | None, new: bool) -> None:
    turns = [{"output": [say("word " * 99)], "fault": {"kind": "hang", "after_events": 12}}, BACK]
    async with product([], turns, settings=Settings(dialect=dialect)) as p:
        chat = p.chat()
        stream = await hangs(p, chat, **asked(version))
        assert stream[0]["protocolVersion"] == "1.0", "ours, never an echo"
        assert stream[-2]["type"] == "TEXT_MESSAGE_END"
        end = dict(stream[-1])
        if new:
            assert (end.pop("threadId"), end.pop("runId")) == (chat.thread_id, stream[0]["runId"])
            assert end == {"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}}
        else:
            assert end == {"type": "RUN_ERROR", "message": "The run was stopped.", "code": "abort"}
        p.emulator.load([BACK])
        assert (await chat.say("go on", **asked(version))).text == "Back.", "an ordinary run"


@by_version
@conforms("LIFE-4", "LIFE-5", "META-2")
async def test_the_limit_of_turns(dialect: Any, version: str | None, new: bool) -> None:
    shop = Shop()
    async with product(shop.tools, [{"output": [SEARCH]}, BACK], max_turns=1, settings=Settings(dialect=dialect)) as p:
        chat = p.chat()
        stream = await chat.say("find", **asked(version))
        assert len(stream.results) == 1
        message = "The agent stopped after 1 turns. Send a message to continue."
        if new:
            assert stream[-1]["outcome"] == {"type": "cancelled"}
            assert stream[-1]["metadata"] == {"agui-gate": {"code": "limit_reached", "message": message}}
            assert "result" not in stream[-1]
        else:
            assert (stream[-1]["type"], stream[-1]["code"]) == ("RUN_ERROR", "limit_reached")
            assert stream[-1]["message"] == message
        assert stream[-1]["usage"][0]["inputTokens"] > 0
        await over(p, chat, "cancelled")
        assert (await chat.say("go on", **asked(version))).text == "Back."


@by_version
@conforms("LIFE-4", "LIFE-5", "META-2")
async def test_a_limit_of_the_provider(dialect: Any, version: str | None, new: bool) -> None:
    async with product([], [HALF, BACK], settings=Settings(dialect=dialect)) as p:
        chat = p.chat()
        stream = await chat.say("tell", **asked(version))
        assert stream.text == "Half of it"
        if new:
            assert stream[-1]["outcome"] == {"type": "cancelled"}
            told = stream[-1]["metadata"]["agui-gate"]
            assert (told["code"], told["reason"]) == ("limit_reached", "max_output_tokens")
            assert "reached a limit of the provider" in told["message"]
            assert "result" not in stream[-1]
        else:
            assert stream[-1]["result"] == {"reason": "max_output_tokens"}
            assert "outcome" not in stream[-1]
        assert stream[-1]["usage"][0]["outputTokens"] > 0
        await over(p, chat, "cancelled")
        assert (await chat.say("go on", **asked(version))).text == "Back."


@conforms("LIFE-4")
async def test_a_filter_of_the_provider() -> None:
    async with product([], [FILTERED, BACK]) as p:
        chat = p.chat()
        stream = await chat.say("tell", protocolVersion="1.0")
        assert stream[-1]["outcome"] == {"type": "cancelled"}
        assert stream[-1]["metadata"]["agui-gate"]["reason"] == "content_filter"
        assert "filter" in stream[-1]["metadata"]["agui-gate"]["message"]


@conforms("INT-1")
async def test_who_is_asked_something_is_asked_also_after_a_limit() -> None:
    """A call that was complete waits for a person, though a limit ended the answer behind it."""
    shop = Shop()
    turns = [{"output": [call("refund", order_id="A1", amount=1), call("search", q="x" * 9)], **_ended()}, BACK]
    async with product(shop.tools, turns) as p:
        stream = await p.chat().say("both", protocolVersion="1.0")
        assert stream[-1]["outcome"]["type"] == "interrupt"
        assert "metadata" not in stream[-1]


def _ended() -> dict[str, Any]:
    return {"status": "incomplete", "reason": "max_output_tokens"}


@pytest.mark.parametrize("version", [None, "1.0"])
@conforms("LIFE-4", "LIFE-6")
async def test_a_client_that_left_finds_its_run_stopped(version: str | None) -> None:
    begun = asyncio.Event()

    @tool
    async def slow() -> str:
        """Takes for ever."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async with product([slow], [{"output": [say("Wait."), call("slow")]}, BACK]) as p:
        chat = p.chat()
        async with starting(p, chat, "go", **asked(version)) as reader:
            await reader.until("TOOL_CALL_END")
            async with asyncio.timeout(TIMEOUT):
                await begun.wait()
        await over(p, chat, "cancelled")
        frames = await rest(p, reader.run_key)
        assert frames.count("TOOL_CALL_RESULT") == 1
        assert ('"outcome":{"type":"cancelled"}' in frames) is (version is not None)
        assert ("RUN_ERROR" in frames) is (version is None)


@conforms("VER-3", "VER-4")
@pytest.mark.parametrize("version", ["1.1", "2.0", "garbage\nx=y", "", "x" * 9999])
async def test_a_newer_version_is_served_with_one_warning_a_request(version: str) -> None:
    async with product([], [BACK]) as p:
        chat = p.chat()
        for _ in range(2):
            with capture_logs() as lines:
                assert (await chat.say("hello", protocolVersion=version)).text == "Back."
            (line,) = [line for line in lines if line["event"] == "newer_version"]
            assert (line["log_level"], line["asked"], line["ours"]) == ("warning", version[:40], "1.0")
            assert line["thread"] == chat.thread_id


@pytest.mark.parametrize("version", [None, "0.9", "1.0"])
async def test_a_version_that_is_known_is_no_news(version: str | None) -> None:
    async with product([], [BACK]) as p:
        with capture_logs() as lines:
            assert (await p.chat().say("hello", protocolVersion=version)).text == "Back."
        assert not [line for line in lines if line["log_level"] == "warning"]


@conforms("PROC-1", "IN-8")
@pytest.mark.parametrize("version", [1, 1.0, True, [], {}])
async def test_a_version_that_is_no_text_is_refused(version: Any) -> None:
    async with product([], [BACK]) as p:
        refused = await p.chat().say("hello", protocolVersion=version)
        assert (refused.status, refused[0]["error"]["code"]) == (422, "invalid_request")


@conforms("VER-6", "VER-7")
@pytest.mark.parametrize(("dialect", "version", "remedy"), [("auto", None, "1.0 or newer"), ("compat", "1.0", "auto")])
async def test_what_0_x_is_not_told_is_told_developers_once_an_owner(
    dialect: Any, version: str | None, remedy: str
) -> None:
    async with product([], [HALF, HALF, HALF], settings=Settings(dialect=dialect)) as p:
        chat, other = p.chat(), p.chat()
        with capture_logs() as lines:
            for talk in (chat, chat, other):
                await talk.say("tell", **asked(version))
        found = [line for line in lines if line["event"] == "told_less"]
        assert [line["thread"] for line in found] == [chat.thread_id]
        assert {line["log_level"] for line in found} == {"warning"}
        assert "cancelled" in found[0]["lost"]
        assert remedy in found[0]["upgrade"]


@conforms("VER-7")
async def test_who_is_told_everything_needs_no_warning() -> None:
    async with product([], [HALF]) as p:
        with capture_logs() as lines:
            await p.chat().say("tell", protocolVersion="1.0")
        assert not [line for line in lines if line["log_level"] == "warning"]
