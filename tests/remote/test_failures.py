"""A remote agent that is away, answers rubbish, never ends, or asks for what isn't there."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_gate import tool
from agui_gate.adapter import Text, TurnRequest, UserTurn
from agui_gate.client import Limits
from agui_gate.errors import ConfigurationError
from agui_gate_adapters.remote_agui import RemoteAgent, RemoteAgui
from agui_gate_adapters.testkit.agui import AGUIClient, connecting
from tests.client.servers import refusal, run_of, scripted
from tests.interop.streams import FINISHED, INTERRUPTED, STARTED, Event, call, sse, text
from tests.remote.kit import chatting, in_front, told

pytestmark = pytest.mark.anyio

SECRET = "sk-secret of theirs"
REFUND = {"name": "refund", "arguments": '{"amount":5}'}
ERROR: Event = {"type": "RUN_ERROR", "message": SECRET, "code": SECRET}


async def silent() -> AsyncIterator[bytes]:
    yield sse(STARTED).encode()
    await asyncio.Event().wait()


FAILURES: dict[str, tuple[Any, str]] = {
    "401": (lambda: refusal(401, error=SECRET), "provider_auth"),
    "404": (lambda: refusal(404, error=SECRET), "provider_rejected"),
    "409": (lambda: refusal(409, error=SECRET), "rate_limited"),
    "422": (lambda: refusal(422, error=SECRET), "provider_rejected"),
    "429": (lambda: refusal(429, error=SECRET), "rate_limited"),
    "500": (lambda: refusal(500, error=SECRET), "provider_unavailable"),
    "a page": (lambda: refusal(200, page=SECRET), "provider_unavailable"),
    "rubbish": (lambda: f"data: {SECRET}\n\n", "provider_unavailable"),
    "rubbish in the middle": (lambda: sse(STARTED, *text("Hel")[:2]) + f"data: {SECRET}\n\n", "provider_unavailable"),
    "an error": (lambda: sse(STARTED, ERROR), "provider_unavailable"),
    "an error at once": (lambda: sse(ERROR), "provider_unavailable"),
    "half a stream": (lambda: sse(STARTED, *text("Hel")[:2]), "provider_unavailable"),
    "nothing": (lambda: "", "provider_unavailable"),
    "silence": (silent, "provider_unavailable"),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_a_failure_has_a_code_and_none_of_their_words(name: str) -> None:
    reply, code = FAILURES[name]
    limits = Limits(idle=0.5 if name == "silence" else 60.0)
    async with (
        scripted(reply, run_of(*text("Well again.", "m-2"))) as server,
        in_front(server.url, limits=limits) as url,
        connecting() as http,
    ):
        chat = AGUIClient(http, url)
        failed = await chat.say("go")
        assert failed.error == code
        assert SECRET not in failed.raw
        again = await chat.say("again")
        assert again.text == "Well again." or name == "silence"


async def test_it_is_away() -> None:
    async with in_front("http://127.0.0.1:9/") as url, connecting() as http:
        chat = AGUIClient(http, url)
        assert (await chat.say("go")).error == "provider_unavailable"
        assert (await chat.say("again")).error == "provider_unavailable"


async def test_a_tool_that_nobody_has() -> None:
    unknown = [{**event, "toolCallId": "c-9"} for event in call("{}")]
    async with chatting(run_of(*unknown), run_of(*text("Fine."))) as (server, chat):
        stream = await chat.say("go")
        (result,) = told(stream, "refund")
        assert "without a result, and asked nothing about it" in result
        assert (await chat.say("again")).text == "Fine."
        sent = server.asked[1]["messages"]
        assert [m["role"] for m in sent] == ["user", "assistant", "tool", "user"]
        assert sent[2]["toolCallId"] == "c-9"


async def test_a_tool_of_theirs_that_is_called_like_one_of_ours_is_not_run_here() -> None:
    ran: list[str] = []

    @tool
    def refund(amount: int) -> str:
        """Ours."""
        ran.append("ours")
        return "ours"

    result = {"type": "TOOL_CALL_RESULT", "toolCallId": "c-1", "messageId": "m", "content": "theirs"}
    async with (
        scripted(run_of(*call(), result)) as server,
        in_front(server.url, [refund]) as url,
        connecting() as http,
    ):
        stream = await AGUIClient(http, url).say("go")
        assert (told(stream, "refund"), ran) == (["theirs"], [])


async def test_what_it_said_comes_back_to_it_as_it_said_it() -> None:
    thought: list[Event] = [
        {"type": "REASONING_MESSAGE_START", "messageId": "r-1", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r-1", "delta": "hm"},
        {"type": "REASONING_MESSAGE_END", "messageId": "r-1"},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "r-1", "encryptedValue": "sealed"},
    ]
    begun = {**call()[0], "parentMessageId": "m-1"}
    result = {"type": "TOOL_CALL_RESULT", "toolCallId": "c-1", "messageId": "m-r", "content": "ok"}
    first = run_of(*thought, *text("Look:", "m-1"), begun, *call()[1:], result, *text("Done.", "m-2"))
    async with (
        scripted(first, run_of(*text("Bye.", "m-3"))) as server,
        in_front(server.url, instructions="Be kind.") as url,
        connecting() as http,
    ):
        chat = AGUIClient(http, url, thread_id="t1")
        stream = await chat.say("go")
        assert stream.text == "Look:Done."
        await chat.say("again")
        body = server.asked[1]
        assert [(m["id"], m["role"]) for m in body["messages"]][1:-1] == [
            ("r-1", "reasoning"),
            ("m-1", "assistant"),
            ("m-r", "tool"),
            ("m-2", "assistant"),
        ]
        assert body["messages"][1]["encryptedValue"] == "sealed"
        assert body["messages"][2]["toolCalls"][0]["id"] == "c-1"
        assert body["threadId"] == server.asked[0]["threadId"] != "t1"
        assert body["context"] == [{"description": "Instructions of the application", "value": "Be kind."}]


async def test_words_that_are_only_in_a_snapshot() -> None:
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m-1", "role": "assistant", "content": "Said."}]}
    async with scripted(run_of(snapshot)) as server, in_front(server.url) as url, connecting() as http:
        assert (await AGUIClient(http, url).say("go")).text == "Said."


async def test_a_question_about_no_call() -> None:
    asks = {"id": "i", "reason": "langgraph:interrupt", "message": "Refund A1?"}
    asked = sse(STARTED, FINISHED | {"outcome": {"type": "interrupt", "interrupts": [asks]}})
    async with chatting(asked, run_of(*text("Done."))) as (server, chat):
        stream = await chat.say("go")
        (interrupt,) = stream.interrupts
        assert interrupt["message"] == "Refund A1?"
        assert (await chat.decide(stream, approved=True)).text == "Done."
        answer = server.asked[1]["resume"]
        assert answer == [{"interruptId": "i", "status": "resolved", "payload": {"approved": True}}]
        assert not any("toolCalls" in m for m in server.asked[1]["messages"])


async def test_results_that_are_only_in_snapshots() -> None:
    """As LangGraph tells those of its nodes; and what a call waits for that was begun before the question."""
    made = {"id": "c-1", "role": "assistant", "toolCalls": [{"id": "c-1", "type": "function", "function": REFUND}]}
    result = {"id": "m-r", "role": "tool", "toolCallId": "c-1", "content": "ok"}
    asks = {"id": "i", "reason": "langgraph:interrupt", "metadata": {"langgraph": {"raw": {"question": "Sure?"}}}}
    asked = sse(STARTED, *call(), FINISHED | {"outcome": {"type": "interrupt", "interrupts": [asks]}})
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [made, result]}
    async with chatting(asked, run_of(snapshot, *text("Done.")), run_of(*text("Bye.", "m-2"))) as (server, chat):
        stream = await chat.say("go")
        assert stream.interrupts[0]["message"] == "Sure?"
        assert told(stream, "refund") == ["It has no result yet: the remote agent asked something first."]
        done = await chat.decide(stream, approved=True)
        assert (told(done, "refund"), done.text) == (["ok"], "Done.")
        assert [m["role"] for m in server.asked[1]["messages"]] == ["user", "assistant"]
        await chat.say("bye")
        assert [m["role"] for m in server.asked[2]["messages"]] == ["user", "assistant", "tool", "assistant", "user"]


async def test_a_card_beside_the_interrupt_that_asks_the_same() -> None:
    card = [{**call("{}")[0], "toolCallId": "k", "toolCallName": "confirm_changes"}, {**call()[2], "toolCallId": "k"}]
    async with chatting(sse(STARTED, *call(), *card, INTERRUPTED), run_of(*card)) as (_, chat):
        stream = await chat.say("go")
        assert list(stream.calls.values()) == ["refund"]
        done = await chat.decide(stream, approved=False)
        assert "confirm_changes" not in done.calls.values()


@pytest.mark.parametrize("url", ["x", "ftp://a/"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ConfigurationError):
        RemoteAgent(url)


def test_names() -> None:
    assert RemoteAgent("http://127.0.0.1:9/agents/support/").name == "support"
    assert RemoteAgent("https://example.org").name == "example.org"


async def test_the_doctor_asks_nothing_that_begins_a_run() -> None:
    async with scripted() as server:
        model = RemoteAgui(server.url)
        (finding,) = await model.check()
        assert (finding.ok, server.asked) == (True, [])
        await model.aclose()
        (gone,) = await RemoteAgui("http://127.0.0.1:9/").check()
        assert gone.ok is False


async def test_without_a_conversation_each_turn_is_one_of_its_own() -> None:
    async with scripted(run_of(), run_of()) as server:
        model = RemoteAgui(server.url)
        for _ in range(2):
            async for _batch in model.stream(TurnRequest((UserTurn("u", (Text("hi"),)),))):
                pass
        assert server.asked[0]["threadId"] != server.asked[1]["threadId"]
        await model.aclose()
