"""What a remote tells beside its answer: the shared state, activities and custom events."""

from typing import Any

import pytest
from pydantic import BaseModel

from agui_gate import Agent, ToolContext, create_app, tool
from agui_gate.client import Limits
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.remote_agui import RemoteAgent
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import AGUIClient, Stream, connecting, serving
from tests.client.servers import run_of, scripted
from tests.interop.streams import Event, text
from tests.product.shop import call, say
from tests.remote.kit import behind, chatting, in_front

pytestmark = pytest.mark.anyio

Json = dict[str, Any]


class Cart(BaseModel):
    items: list[str] = []
    total: int = 0


def snapshot(**state: Any) -> Event:
    return {"type": "STATE_SNAPSHOT", "snapshot": state}


def delta(*operations: Json) -> Event:
    return {"type": "STATE_DELTA", "delta": list(operations)}


def shown(content: Any, message_id: str = "a-1", kind: str = "plan") -> Event:
    return {"type": "ACTIVITY_SNAPSHOT", "messageId": message_id, "activityType": kind, "content": content}


def custom(name: str, value: Any) -> Event:
    return {"type": "CUSTOM", "name": name, "value": value}


def states(stream: Stream) -> list[Any]:
    """What its page has of the state, after each event about it."""
    kinds = ("STATE_SNAPSHOT", "STATE_DELTA")
    return [e.get("snapshot", e.get("delta")) for e in stream if e["type"] in kinds]


async def test_the_state_is_shared_where_the_agent_has_a_model_of_it() -> None:
    add = delta({"op": "add", "path": "/items/-", "value": "milk"}, {"op": "replace", "path": "/total", "value": 3})
    async with (
        scripted(
            run_of(*text("Bread is there."), add), run_of(snapshot(items=[], total=0), *text("Empty.", "m-2"))
        ) as server,
        in_front(server.url, state=Cart) as url,
        connecting() as http,
    ):
        chat = AGUIClient(http, url, thread_id="t1", state={"items": ["bread"]})
        first = await chat.say("milk")
        assert server.asked[0]["state"] == {"items": ["bread"], "total": 0}
        assert states(first)[-1] == {"items": ["bread", "milk"], "total": 3}
        thread = (await http.get(f"{url}/threads/t1")).json()
        assert thread["state"] == {"items": ["bread", "milk"], "total": 3}
        chat.extra = {"state": {}}
        await chat.say("empty it")
        assert server.asked[1]["state"] == {"items": ["bread", "milk"], "total": 3}
        assert (await http.get(f"{url}/threads/t1")).json()["state"] == {"items": [], "total": 0}


async def test_without_a_model_nothing_goes_either_way() -> None:
    async with (
        scripted(run_of(snapshot(mine="all"), *text("Hi."))) as server,
        in_front(server.url) as url,
        connecting() as http,
    ):
        stream = await AGUIClient(http, url, thread_id="t1", state={"secret": 1}).say("hello")
        assert server.asked[0]["state"] == {}
        assert (states(stream), stream.text) == ([], "Hi.")
        assert (await http.get(f"{url}/threads/t1")).json()["state"] == {"secret": 1}


UNFIT: dict[str, list[Event]] = {
    "of another type": [snapshot(items="milk")],
    "no object": [{"type": "STATE_SNAPSHOT", "snapshot": [1]}],
    "too large": [snapshot(items=["x" * 600_000])],
    "a change of nothing that is there": [delta({"op": "remove", "path": "/nothing"})],
}


@pytest.mark.parametrize("name", UNFIT)
async def test_a_state_that_does_not_fit_is_left_out(name: str) -> None:
    async with (
        scripted(run_of(*UNFIT[name], *text("Hi."))) as server,
        in_front(server.url, state=Cart) as url,
        connecting() as http,
    ):
        stream = await AGUIClient(http, url, thread_id="t1", state={"items": ["bread"], "total": 1}).say("hello")
        assert (stream.error, stream.text) == (None, "Hi.")
        assert (await http.get(f"{url}/threads/t1")).json()["state"] == {"items": ["bread"], "total": 1}


async def test_a_lent_tool_and_the_remote_change_it_in_turn() -> None:
    @tool
    def add(item: str, ctx: ToolContext) -> str:
        """Put into the cart."""
        ctx.state.items.append(item)
        return "ok"

    used: list[Event] = [
        {"type": "TOOL_CALL_START", "toolCallId": "c-1", "toolCallName": "add"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c-1", "delta": '{"item":"milk"}'},
        {"type": "TOOL_CALL_END", "toolCallId": "c-1"},
    ]
    total = delta({"op": "replace", "path": "/total", "value": 2})
    async with (
        scripted(run_of(*used), run_of(total, *text("Done."))) as server,
        in_front(server.url, [add], state=Cart) as url,
        connecting() as http,
    ):
        await AGUIClient(http, url, thread_id="t1").say("milk")
        assert server.asked[1]["state"]["items"] == ["milk"]
        assert (await http.get(f"{url}/threads/t1")).json()["state"] == {"items": ["milk"], "total": 2}


async def test_it_is_sent_no_more_than_its_part() -> None:
    """As a sub-agent: the thread's state is the entry agent's, and the remote sees what its own model has of it."""
    script = [{"output": [call("clerk", task="count")]}, {"output": [say("Counted.")]}]
    emulator = Emulator(script=script)
    change = delta({"op": "replace", "path": "/total", "value": 7})
    async with (
        scripted(run_of(change, shown({"step": 1}), *text("Seven."))) as server,
        serve(emulator) as base_url,
        connecting() as http,
    ):
        clerk = RemoteAgent(server.url, name="clerk", state=Cart, limits=Limits(idle=60.0, total=60.0))
        model = OpenAIResponses("gpt-5.4-mini", mode="stateless", base_url=base_url, api_key="k")
        async with serving(
            create_app(Agent(name="boss", model=model, tools=[clerk.as_tool()]), store="memory://")
        ) as url:
            chat = AGUIClient(http, url, thread_id="t1", state={"items": ["a"], "secret": "s"})
            stream = await chat.say("go")
            assert stream.text == "Seven.Counted."
            assert server.asked[0]["state"] == {"items": ["a"], "total": 0}
            thread = (await http.get(f"{url}/threads/t1")).json()
            assert thread["state"] == {"items": ["a"], "secret": "s", "total": 7}
            (activity,) = stream.of("ACTIVITY_SNAPSHOT")
            (kept,) = [m for m in thread["messages"] if m["role"] == "activity"]
            assert activity["subagentRunId"] == kept["subagentRunId"] == next(iter(stream.calls))
    assert not emulator.refusals


async def test_two_servers_share_it() -> None:
    """What a tool of the one behind does to the state and shows of its work reaches the page of the one in front."""

    @tool
    async def add(item: str, ctx: ToolContext) -> str:
        """Put into the cart."""
        await ctx.activity("adding", {"item": item})
        ctx.state.items.append(item)
        return "ok"

    emulator = Emulator(script=[{"output": [call("add", item="milk")]}, {"output": [say("Done.")], "repeat": True}])
    async with (
        behind(emulator, [add], state=Cart) as back,
        in_front(f"{back}/agents/expert", state=Cart) as front,
        connecting() as http,
    ):
        chat = AGUIClient(http, front, thread_id="t1", state={"items": ["bread"]})
        stream = await chat.say("milk")
        assert (stream.text, stream.of("ACTIVITY_SNAPSHOT")[0]["content"]) == ("Done.", {"item": "milk"})
        thread = (await http.get(f"{front}/threads/t1")).json()
        assert thread["state"] == {"items": ["bread", "milk"], "total": 0}
        chat.extra = {"state": {"items": []}}
        await chat.say("and empty it")
        (theirs,) = (await http.get(f"{back}/threads")).json()["threads"]
        assert (await http.get(f"{back}/threads/{theirs['id']}")).json()["state"]["items"] == []
    assert not emulator.refusals


async def test_activities_are_shown_and_stay() -> None:
    change = {"type": "ACTIVITY_DELTA", "messageId": "a-1", "activityType": "plan"}
    done = change | {"patch": [{"op": "replace", "path": "/step", "value": 2}]}
    first = run_of(shown({"step": 1, "of": "x" * 200}), *text("Half."), done)
    async with chatting(first, run_of(shown({"step": 9}), *text("Done.", "m-2")), thread_id="t1") as (server, chat):
        stream = await chat.say("go")
        (began,), (changed,) = stream.of("ACTIVITY_SNAPSHOT"), stream.of("ACTIVITY_DELTA")
        assert began["messageId"] == changed["messageId"] != "a-1"
        assert changed["patch"] == [{"op": "replace", "path": "/step", "value": 2}]
        again = await chat.say("again")
        assert again.of("ACTIVITY_SNAPSHOT")[0]["messageId"] != began["messageId"]
        assert "activity" not in {m["role"] for m in server.asked[1]["messages"]}
        kept = (await chat.http.get(f"{chat.url}/threads/t1")).json()["messages"]
        assert [m["content"]["step"] for m in kept if m["role"] == "activity"] == [2, 9]
        assert [m["role"] for m in kept] == ["user", "assistant", "activity"] * 2


@pytest.mark.parametrize("content", [{"a": "x" * 2_000_000}, {"a": [[[[]]]] * 10}], ids=["large", "fine"])
async def test_an_activity_has_its_limits(content: Json) -> None:
    async with (
        scripted(run_of(shown(content), *text("Hi."))) as server,
        in_front(server.url) as url,
        connecting() as http,
    ):
        stream = await AGUIClient(http, url).say("go")
        assert (stream.error, stream.text) == (None, "Hi.")
        assert len(stream.of("ACTIVITY_SNAPSHOT")) == (len(str(content)) < 1_000)


async def test_an_activity_of_a_broken_run_stays_too() -> None:
    body = run_of(shown({"step": 1}), {"type": "RUN_ERROR", "message": "x"})
    async with scripted(body, run_of(*text("Hi."))) as server, in_front(server.url) as url, connecting() as http:
        chat = AGUIClient(http, url, thread_id="t1")
        assert (await chat.say("go")).error == "provider_unavailable"
        assert (await chat.say("again")).text == "Hi."
        kept = (await http.get(f"{url}/threads/t1")).json()["messages"]
        assert [m["content"] for m in kept if m["role"] == "activity"] == [{"step": 1}]


async def test_custom_events_are_passed_on_but_for_those_that_mean_something_here() -> None:
    told = [
        custom("shop:progress", {"percent": 40}),
        custom("agui-gate:anything", 1),
        custom("PredictState", []),
        custom("n" * 300, 1),
        custom("large", "x" * 2_000_000),
        custom("shop:late", 2),
    ]
    async with chatting(run_of(*told[:4], *text("Hi."), *told[5:]), run_of(*told, *text("Hi.", "m-2"))) as (
        _,
        chat,
    ):
        stream = await chat.say("go")
        assert [(e["name"], e["value"]) for e in stream.of("CUSTOM")] == [
            ("shop:progress", {"percent": 40}),
            ("PredictState", []),
            ("shop:late", 2),
        ]
        assert [e["name"] for e in (await chat.say("again")).of("CUSTOM")] == ["shop:progress", "PredictState"]


async def test_an_activity_that_a_change_makes_no_object_of_is_left_out() -> None:
    change = {"type": "ACTIVITY_DELTA", "messageId": "a-1", "activityType": "plan"}
    spoil = change | {"patch": [{"op": "replace", "path": "", "value": [1]}]}
    async with chatting(
        run_of(shown({"step": 1}), spoil, *text("Half.")), run_of(*text("Done.", "m-2")), thread_id="t1"
    ) as (_, chat):
        stream = await chat.say("go")
        assert (stream.error, stream.text, stream.of("ACTIVITY_DELTA")) == (None, "Half.", [])
        assert (await chat.say("again")).text == "Done."
        kept = (await chat.http.get(f"{chat.url}/threads/t1")).json()["messages"]
        assert [m["content"] for m in kept if m["role"] == "activity"] == [{"step": 1}]
