"""What clients may send and what they get: dialects, context, state, media, usage, snapshots, numbering."""

import asyncio
import json

import pytest
from ag_ui.core import AgentCapabilities, RunAgentInput

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from tests.conforming import conforms
from tests.product.inprocess import Parrot, request, run, run_body, started, user
from tests.product.kit import CARD_TOOL, MODES, TIMEOUT, product
from tests.product.shop import SEARCH, Shop, call, refund, say, script
from tests.requirements import shows

pytestmark = pytest.mark.anyio

PAINT = {
    "name": "paint",
    "description": "Paint.",
    "parameters": {"type": "object", "properties": {"c": {"type": "string"}}},
}


@shows("S12", "B14")
@pytest.mark.parametrize("mode", MODES)
@conforms("LIFE-1")
async def test_run_started_comes_before_the_provider_says_anything(mode: str) -> None:
    turns = [{"output": [say("never")], "fault": {"kind": "hang", "after_events": 0}}]
    async with product([], turns, mode=mode) as p:
        body = p.chat(thread_id="the client's own").body(
            messages=[{"id": "u", "role": "user", "content": "hi"}], runId="run of the client"
        )
        async with asyncio.timeout(TIMEOUT), p.client.stream("POST", p.url, json=body) as response:
            raw = await anext(response.aiter_text())
        first = json.loads(raw.split("\n\n")[0].split("data: ")[1])
        assert first == {
            "type": "RUN_STARTED",
            "threadId": "the client's own",
            "runId": "run of the client",
            "protocolVersion": "1.0",
        }


@shows("B14", "B17")
@conforms("EVT-5")
async def test_frames_are_numbered_under_the_servers_own_run_key() -> None:
    async with product([], [{"output": [say("Hi.")], "repeat": True}]) as p:
        keys = set()
        for _ in range(2):
            stream = await p.chat(thread_id="t", messages=[]).say("hi", runId="twice the same")
            ids = [line[4:] for line in stream.raw.split("\n") if line.startswith("id: ")]
            assert ids == [f"{stream.run_key}:{n}" for n in range(len(stream))]
            keys.add(stream.run_key)
        assert len(keys) == 2


@shows("B14")
@pytest.mark.parametrize(
    ("deployment", "asked", "expected"),
    [
        ("auto", "1.0", None),
        ("auto", "newer", None),
        ("compat", "1.0", None),
        ("compat", None, None),
        ("1.0", None, None),
        ("1.0", "0.9", None),
        ("1.0", "1.0", "pendingToolCallIds"),
        ("1.0", "2.7", "pendingToolCallIds"),
        ("1.0", "newer", "pendingToolCallIds"),
    ],
)
@conforms("TOOL-6", "LIFE-4", "VER-5")
async def test_the_optional_extras_need_the_deployment_and_the_client(
    deployment: str, asked: str | None, expected: str | None
) -> None:
    settings = Settings(dialect=deployment)
    async with product([], script(call("paint", c="red")), settings=settings) as p:
        chat = p.chat(tools=[PAINT])
        stream = await chat.say("paint", **({} if asked is None else {"protocolVersion": asked}))
        outcome = stream[-1].get("outcome") or {}
        assert (expected in outcome) if expected else ("pendingToolCallIds" not in outcome)
        if expected:
            assert outcome == {"type": "success", expected: list(stream.calls)}


@shows("B14", "B15")
@pytest.mark.parametrize("mode", MODES)
@conforms("IN-5")
async def test_client_tools_and_context_reach_the_model_and_cards_do_not(mode: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(), mode=mode, instructions="Be kind.") as p:
        p.emulator.load([{"output": [say("Ok.")], "repeat": True}])
        chat = p.chat(tools=[PAINT, CARD_TOOL, {"name": "search", "description": "not ours", "parameters": {}}])
        context = [{"description": "page", "value": "cart"}, {"description": "user", "value": '{"vip": true}'}]
        await chat.say("hi", context=context)
        (body,) = p.inputs()
        assert sorted(t["name"] for t in body["tools"]) == ["paint", "refund", "search", "ship"]
        by_name = {t["name"]: t for t in body["tools"]}
        assert by_name["paint"]["parameters"]["properties"] == PAINT["parameters"]["properties"]
        assert by_name["search"]["description"] == "Search the shop."
        assert body["instructions"].startswith("Be kind.")
        assert "- page: cart" in body["instructions"]
        assert '- user: {"vip": true}' in body["instructions"]
        p.assert_clean()


NO_ARGUMENTS = [{}, None, "", {"type": "object"}, {"type": None}, {"additionalProperties": False}]


@shows("T10")
@pytest.mark.parametrize("parameters", NO_ARGUMENTS, ids=str)
async def test_a_client_tool_without_arguments_is_no_reason_to_refuse_the_run(parameters) -> None:
    """`{}` is how frontends write it. Providers refuse each request that has such a tool."""
    async with product([], [{"output": [say("Ok.")], "repeat": True}]) as p:
        stream = await p.chat(tools=[{"name": "beep", "description": "Beep.", "parameters": parameters}]).say("hi")
        assert stream[-1]["type"] == "RUN_FINISHED"
        (sent,) = p.inputs()[-1]["tools"]
        assert (sent["parameters"]["type"], sent["parameters"]["properties"]) == ("object", {})
        p.assert_clean()


@shows("B12")
@pytest.mark.parametrize("mode", MODES)
@conforms("IN-3")
async def test_media_go_to_the_model(mode: str) -> None:
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "source": {"type": "data", "value": png, "mimeType": "image/png"}},
        {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}},
        {"type": "document", "source": {"type": "data", "value": "JVBERi0=", "mimeType": "application/pdf"}},
        {"type": "binary", "mimeType": "image/png", "data": png},
    ]
    async with product([], [{"output": [say("A picture.")], "repeat": True}], mode=mode) as p:
        chat = p.chat(messages=[{"id": "u1", "role": "user", "content": content}])
        assert (await chat.go()).text == "A picture."
        (message,) = [item for item in p.inputs()[0]["input"] if item.get("role") == "user"]
        kinds = [part["type"] for part in message["content"]]
        assert kinds == ["input_text", "input_image", "input_image", "input_file", "input_image"]
        assert message["content"][1]["image_url"] == f"data:image/png;base64,{png}"
        thread = await p.get(f"/threads/{chat.thread_id}")
        assert thread["messages"][0]["content"][:4] == content[:4]
        assert thread["title"] == "What is this?"
        assert (await chat.say("and now?")).text == "A picture."
        p.assert_clean()


@shows("B14")
@pytest.mark.parametrize("mode", MODES)
async def test_usage_is_summed_over_the_turns_of_a_run(mode: str) -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": 4,
        "total_tokens": 14,
        "input_tokens_details": {"cached_tokens": 3},
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    turns = [{"output": [SEARCH], "usage": usage}, {"output": [say("Done.")], "usage": usage}]
    async with product(Shop().tools, turns, mode=mode) as p:
        stream = await p.chat().say("find")
        (entry,) = stream[-1]["usage"]
        assert entry["model"] == "gpt-5.4-mini"
        assert [
            entry[k] for k in ("inputTokens", "outputTokens", "totalTokens", "cachedInputTokens", "reasoningTokens")
        ] == [
            20,
            8,
            28,
            6,
            4,
        ]


@shows("B21")
@pytest.mark.parametrize("mode", MODES)
async def test_snapshots_only_where_they_are_needed(mode: str) -> None:
    shop = Shop()
    turns = [
        {"output": [SEARCH]},
        {"output": [say("Found.")]},
        {"output": [refund()]},
        {"output": [say("Ok.")], "repeat": True},
    ]
    async with product(shop.tools, turns, mode=mode) as p:
        chat = p.chat()
        plain = await chat.say("find")
        assert not plain.of("MESSAGES_SNAPSHOT")
        assert not plain.of("STATE_SNAPSHOT")
        asked = await chat.say("refund")
        assert asked.types()[-3:] == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
        before = [m["id"] for m in chat.messages]
        answered = await chat.resume((asked.interrupts[0]["id"], {"approved": True}))
        (snapshot,) = answered.of("MESSAGES_SNAPSHOT")
        ids = [m["id"] for m in snapshot["messages"]]
        assert [i for i in ids if i in before] == before
        assert not (await chat.say("bye")).of("MESSAGES_SNAPSHOT")
        stored = [m["id"] for m in (await p.get(f"/threads/{chat.thread_id}"))["messages"]]
        assert stored == [m["id"] for m in chat.messages]


@shows("B14")
@pytest.mark.parametrize("mode", MODES)
async def test_events_that_nobody_knows_are_tolerated(mode: str) -> None:
    unknown = {"type": "event", "event": {"type": "response.brand_new.delta", "delta": {"x": 1}}}
    async with product([], [{"output": [unknown, say("Hi."), unknown], "repeat": True}], mode=mode) as p:
        chat = p.chat()
        assert (await chat.say("hi")).text == "Hi."
        assert (await chat.say("again")).text == "Hi."
        p.assert_clean()


@shows("B14")
@pytest.mark.parametrize("chunk", [1, 7, "random", "whole"])
async def test_the_providers_bytes_may_be_cut_anywhere(chunk: int | str) -> None:
    turns = [
        {"output": [say("Grüße 😀 \u2028 ok"), call("search", q="Grüße 😀")]},
        {"output": [say("Done.")], "repeat": True},
    ]
    shop = Shop()
    async with product(shop.tools, {"turns": turns, "chunk": chunk}) as p:
        stream = await p.chat().say("go")
        assert stream.text == "Grüße 😀 \u2028 okDone."
        assert shop.searches == ["Grüße 😀"]
        p.assert_clean()


@shows("B14")
async def test_inputs_of_every_official_shape_are_taken() -> None:
    """What the protocol package's own model writes, with everything optional in it, and fields nobody has heard of."""
    agent = Agent(name="support", model=Parrot())
    app = create_app(agent, store="memory://", settings=Settings())
    official = RunAgentInput.model_validate(
        {
            "threadId": "t",
            "runId": "r",
            "parentRunId": "r0",
            "protocolVersion": "1.0",
            "state": {"a": [1, None]},
            "messages": [
                {"id": "1", "role": "system", "content": "s"},
                {"id": "2", "role": "developer", "content": "d", "name": "dev"},
                {"id": "3", "role": "user", "content": [{"type": "text", "text": "hi"}], "name": "ada"},
                {"id": "4", "role": "assistant", "content": None, "toolCalls": None},
                {"id": "5", "role": "reasoning", "content": "hm", "encryptedValue": "x"},
                {"id": "6", "role": "activity", "activityType": "PLAN", "content": {"steps": []}},
                {"id": "7", "role": "user", "content": "hello"},
            ],
            "tools": [{"name": "paint", "description": "d", "parameters": {"type": "object"}}],
            "context": [{"description": "d", "value": "v"}],
            "forwardedProps": {"x": 1},
            "resume": [],
        }
    )
    async with started(app):
        for exclude_none in (False, True):
            body = json.loads(official.model_dump_json(by_alias=True, exclude_none=exclude_none))
            body |= {"threadId": f"t-{exclude_none}", "fromTheFuture": {"deep": [1]}}
            body["messages"][-1]["fromTheFuture"] = 1
            answer = await run(app, body)
            assert answer.status == 200, answer.body
            assert answer.events()[-1]["type"] == "RUN_FINISHED"


@shows("B14")
async def test_an_incomplete_answer_says_why() -> None:
    turns = [
        {"output": [say("Half of it")], "status": "incomplete", "reason": "max_output_tokens"},
        {"output": [say("Rest.")]},
    ]
    async with product([], turns) as p:
        chat = p.chat()
        stream = await chat.say("talk")
        assert stream[-1]["type"] == "RUN_FINISHED"
        assert "max_output_tokens" in json.dumps(stream[-1].get("result"))
        assert (await chat.say("go on")).text == "Rest."
        p.assert_clean()


@shows("B14")
@pytest.mark.parametrize("hitl", ["auto", "card", "interrupt"])
@conforms("CAP-1", "CAP-2")
async def test_capabilities_are_what_the_protocol_package_reads(hitl: str) -> None:
    shop = Shop(editable=["amount"])
    agent = Agent(name="support", model=Parrot(), tools=shop.tools, hitl=hitl, description="Helps.", max_turns=7)
    app = create_app(agent, Agent(name="plain", model=Parrot()), store="memory://", settings=Settings())
    async with started(app):
        found = (await request(app, "GET", "/agents/support/capabilities")).json()
        read = AgentCapabilities.model_validate(found)
        assert json.loads(read.model_dump_json(by_alias=True, exclude_none=True)) == found, (
            "nothing that the model drops"
        )
        assert read.human_in_the_loop.approve_with_edits is (None if hitl == "card" else True)
        assert read.human_in_the_loop.interrupts is (hitl != "card")
        assert read.execution.max_iterations == 7
        assert [t.name for t in read.tools.items] == ["refund", "ship", "search"]
        plain = AgentCapabilities.model_validate((await request(app, "GET", "/agents/plain/capabilities")).json())
        assert not plain.human_in_the_loop.supported
        listed = (await request(app, "GET", "/agents")).json()["agents"]
        assert [a["name"] for a in listed] == ["support", "plain"]
        assert (await request(app, "GET", "/agents/nobody/capabilities")).status == 404
        assert (await run(app, run_body("t", user("hi")), path="/agents/nobody")).status == 404
        assert (await run(app, run_body("t", user("hi")), path="/agents/plain")).status == 200


@shows("B21")
@pytest.mark.parametrize("text", ["  a  long\n\ntitle " + "x" * 100, "short", "\x00\x1b", "😀" * 200])
async def test_titles(text: str) -> None:
    app = create_app(Agent(name="a", model=Parrot()), store="memory://", settings=Settings())
    async with started(app):
        await run(app, run_body("t", user(text)))
        await run(app, run_body("t", user("another")))
        title = (await request(app, "GET", "/threads/t")).json()["title"]
        assert title is not None
        assert len(title) <= 80
        assert title.split()[:1] == text.split()[:1] or len(text.split()[0]) > 80


@shows("S12", "B14")
@pytest.mark.parametrize("messages", [[], [{"id": "s", "role": "system", "content": "x"}], [user("")]])
async def test_a_run_with_nothing_to_say_ends_well(messages) -> None:
    app = create_app(Agent(name="a", model=Parrot()), store="memory://", settings=Settings())
    async with started(app):
        events = (await run(app, run_body("t", *messages))).events()
        assert events[0]["type"] == "RUN_STARTED"
        assert events[-1]["type"] == "RUN_FINISHED"
