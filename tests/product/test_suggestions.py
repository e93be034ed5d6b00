"""T21: CopilotKit's suggestions leave nothing behind and call nothing; `forwardedProps.toolChoice` holds.

The requests are those of `@copilotkit/core` 1.74 (`generateSuggestions`): a copy of the conversation, a message that
asks for suggestions, one tool, and that tool forced.
"""

from typing import Any

import pytest

from agui_gate import tool
from tests.product.kit import Chat, Product, product
from tests.product.shop import say, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T21")]

Json = dict[str, Any]
NAME = "copilotkitSuggest"
FORCED = {"type": "function", "function": {"name": NAME}}
TOOL = {"name": NAME, "description": "Suggest what the user could say next", "parameters": {"type": "object"}}
ASKED = {"forwardedProps": {"toolChoice": FORCED}, "tools": [TOOL]}
SUGGESTED = {"type": "function_call", "name": NAME, "arguments": {"suggestions": [{"title": "a", "message": "b"}]}}
WAYS = ["/copilotkit/agent/support/suggest", "/copilotkit/agent/support/run", "/agents/support", "/"]

looked: list[str] = []


@tool
async def look(where: str) -> str:
    """Look somewhere."""
    looked.append(where)
    return "nothing there"


@tool(gate=True)
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


LOOK = {"type": "function_call", "name": "look", "arguments": {"where": "here"}}
PAY = {"type": "function_call", "name": "pay", "arguments": {"amount": 3}}


async def suggest(p: Product, of: Chat, path: str, **more: Any) -> Any:
    """What the client does for suggestions about a conversation."""
    mine = p.chat(thread_id="suggestion-1", path=path, messages=[dict(message) for message in of.messages])
    return await mine.say("Suggest what the user could say next.", **(ASKED | more))


@pytest.mark.parametrize("path", WAYS)
async def test_suggestions_leave_no_thread_and_are_offered_no_tool_of_the_server(path: str) -> None:
    async with product([look, pay], [{"output": [say("Hello.")]}, {"output": [SUGGESTED]}]) as p:
        chat = p.chat()
        await chat.say("hi")
        stream = await suggest(p, chat, path)
        assert list(stream.calls.values()) == [NAME]
        assert stream.types()[-1] == "RUN_FINISHED"
        sent = p.inputs()[-1]
        assert [one["name"] for one in sent["tools"]] == [NAME]
        assert sent["tool_choice"] == {"type": "function", "name": NAME}
        assert [thread["id"] for thread in (await p.get("/threads"))["threads"]] == [chat.thread_id]
        assert (await p.get("/threads/suggestion-1"))["status_code"] == 404
        p.assert_clean()


async def test_a_model_that_calls_a_tool_of_the_server_anyway_runs_nothing() -> None:
    looked.clear()
    async with product([look, pay], [{"output": [LOOK, PAY]}, {"output": [say("Sorry.")]}]) as p:
        chat = p.chat()
        stream = await suggest(p, chat, WAYS[0])
        assert looked == []
        assert stream.interrupts == []
        assert (await p.get("/approvals"))["approvals"] == []


async def test_suggestions_need_no_lease_and_touch_no_thread_of_the_same_name() -> None:
    """Not even one whose id they carry: what waits there goes on waiting."""
    async with product([pay], [{"output": [PAY]}, {"output": [SUGGESTED]}, {"output": [say("Paid.")]}]) as p:
        chat = p.chat(thread_id="suggestion-1")
        asked = await chat.say("pay")
        before = await p.get("/threads/suggestion-1")
        await suggest(p, chat, WAYS[0])
        assert await p.get("/threads/suggestion-1") == before
        assert (await chat.decide(asked, approved=True)).text == "Paid."


# --- toolChoice in conversations


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ({"type": "function", "function": {"name": "look"}}, {"type": "function", "name": "look"}),
        ({"type": "tool", "toolName": "look"}, {"type": "function", "name": "look"}),
        ("required", "required"),
    ],
)
async def test_a_forced_tool_is_forced_once(choice: Any, sent: Any) -> None:
    """Forced again after its result, it would be called for ever."""
    async with product([look, pay], script(LOOK)) as p:
        chat = p.chat(extra={"forwardedProps": {"toolChoice": choice}})
        assert (await chat.say("look")).text == "Done."
        assert [body.get("tool_choice") for body in p.inputs()] == [sent, None]
        p.assert_clean()


async def test_none_means_none_all_along() -> None:
    async with product([look], [{"output": [say("No.")]}]) as p:
        await p.chat(extra={"forwardedProps": {"toolChoice": "none"}}).say("look")
        assert p.inputs()[-1]["tool_choice"] == "none"


async def test_none_holds_for_what_follows_a_result_too() -> None:
    """Another tool is not forced there: that would never end. No tool at all is what the client still wants."""
    async with product([pay], [{"output": [PAY]}, {"output": [say("Paid.")]}]) as p:
        chat = p.chat()
        asked = await chat.say("pay")
        chat.extra = {"forwardedProps": {"toolChoice": "none"}}
        assert (await chat.decide(asked, approved=True)).text == "Paid."
        assert [body.get("tool_choice") for body in p.inputs()] == [None, "none"]


async def test_a_tool_that_is_none_of_the_run_is_an_error_that_says_so() -> None:
    async with product([look], [{"output": [say("No.")], "repeat": True}]) as p:
        choice = {"type": "function", "function": {"name": "gone"}}
        stream = await p.chat(extra={"forwardedProps": {"toolChoice": choice}}).say("look")
        assert (stream[-1]["type"], stream[-1]["code"]) == ("RUN_ERROR", "invalid_request")
        assert "'gone'" in stream[-1]["message"]
        assert p.inputs() == []


@pytest.mark.parametrize("choice", ["auto", None, "banana", 7, {"type": "function"}, {"type": "tool", "toolName": 3}])
async def test_what_is_no_choice_means_nothing(choice: Any) -> None:
    async with product([look], [{"output": [say("Yes.")]}]) as p:
        assert (await p.chat(extra={"forwardedProps": {"toolChoice": choice}}).say("look")).text == "Yes."
        assert "tool_choice" not in p.inputs()[-1]
