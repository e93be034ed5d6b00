"""`/copilotkit`: every route and shape that CopilotKit's client depends on. The client itself is in tests/interop."""

import asyncio
import json
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any
from urllib.parse import quote

import pytest

from agui_gate import Agent, create_app, tool
from agui_gate.config.settings import Settings
from agui_gate.stores.memory import MemoryStore
from tests.interop.validate import assert_valid
from tests.product.inprocess import Parrot, request, run, run_body, started, user
from tests.product.kit import CARD_TOOL, TIMEOUT, Chat, Product, Stream, parse, product
from tests.product.live import Following, starting
from tests.product.shop import SEARCH, Shop, call, refund, say, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17", "B22")]

Json = dict[str, Any]
BASE = "/copilotkit"
RUN = f"{BASE}/agent/support/run"
ALICE = {"authorization": "Bearer secret-of-alice-0123456789"}
BOB = {"authorization": "Bearer secret-of-bob-0123456789"}
EMPTY = ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_FINISHED"]
"""What is told of a thread on which nothing is at work, however much was said."""
HELLO = [{"output": [say("Hello.")], "repeat": True}]
HANGING = {
    "output": [{"type": "message", "text": "word " * 200}],
    "when": {"user": "talk"},
    "fault": {"kind": "hang", "after_events": 12},
}
BACK = {"output": [say("Back.")], "repeat": True}
YES = {"approved": True}


def tokens(**more: Any) -> Settings:
    return Settings(tokens={"alice": ALICE["authorization"][7:], "bob": BOB["authorization"][7:]}, **more)


def page(p: Product, thread_id: str = "t", **more: Any) -> Chat:
    """A client of these routes."""
    return p.chat(thread_id=thread_id, path=RUN, **more)


async def send(p: Product, method: str, path: str, body: Any = None, headers: Json | None = None) -> tuple[int, Any]:
    """Status and JSON of any route."""
    content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    head = {"content-type": "application/json"} if content else {}
    response = await p.client.request(method, f"{p.url}{BASE}{path}", content=content, headers=head | (headers or {}))
    return response.status_code, response.json()


def connecting(p: Product, chat: Chat, **more: Any) -> AbstractAsyncContextManager[Following]:
    """`POST /agent/{id}/connect`, to be read by the caller."""
    body = chat.body(messages=[], **more)
    again = p.chat(thread_id=chat.thread_id, path=f"{BASE}/agent/support/connect", headers=chat.headers, extra=body)
    return starting(p, again)


async def connect(p: Product, chat: Chat, **more: Any) -> Stream:
    """The same, read to its end."""
    async with connecting(p, chat, **more) as reader:
        return await reader.end()


async def idle(p: Product, thread_id: str, headers: Json | None = None) -> Json:
    """The thread when its run is over."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            thread: Json = await p.get(f"/threads/{thread_id}", headers)
            if thread["run"]["status"] != "running":
                return thread


async def unread(p: Product, thread_id: str = "t") -> None:
    """Wait until nobody reads the thread's run."""
    async with asyncio.timeout(TIMEOUT):
        while (live := p.app.state.engine.following("local", thread_id)) and live._readers:
            await p.get("/healthz")  # gives everybody a turn


# --- info


async def test_info_is_what_the_client_wants_to_know() -> None:
    shop = Shop()
    async with product(shop.tools, description="You help with orders.") as p:
        status, info = await send(p, "GET", "/info")
        capabilities = (await p.get("/agents/support/capabilities")) | {}
        capabilities.pop("status_code")
        agent = {"description": "You help with orders.", "className": "AguiGateAgent", "capabilities": capabilities}
        assert status == 200
        assert info.pop("version")
        assert info == {
            "mode": "sse",
            "agents": {"support": {"name": "support", **agent}, "default": {"name": "default", **agent}},
            "threadEndpoints": {"list": True, "inspect": True, "mutations": True, "realtimeMetadata": False},
            "audioFileTranscriptionEnabled": False,
            "suggestions": True,
            "a2uiEnabled": False,
            "openGenerativeUIEnabled": False,
            "telemetryDisabled": True,
        }


@pytest.mark.parametrize(
    ("names", "described"),
    [(("a", "b"), {"a": "a", "b": "b", "default": "a"}), (("a", "default"), {"a": "a", "default": "default"})],
)
async def test_the_first_agent_is_the_default_unless_one_is_called_so(names: Any, described: Json) -> None:
    agents = [Agent(name=name, model=Parrot(), description=name) for name in names]
    async with started(create_app(*agents, store="memory://", settings=Settings())) as app:
        info = (await request(app, "GET", f"{BASE}/info")).json()
        assert {name: agent["description"] for name, agent in info["agents"].items()} == described


# --- run


@pytest.mark.parametrize("agent", ["support", "default"])
async def test_a_run_is_the_same_as_on_our_own_route(agent: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(SEARCH)) as p:
        theirs = await p.chat(path=f"{BASE}/agent/{agent}/run").say("find ada")
        p.emulator.load(script(SEARCH))
        ours = await p.chat().say("find ada")
        assert theirs.types() == ours.types()
        assert theirs.text == ours.text == "Done."
        p.assert_clean()


async def test_a_run_that_cannot_begin_is_an_error_with_a_message() -> None:
    async with product(script=HELLO) as p:
        body = page(p).body(messages=[{"id": "u", "role": "user", "content": "hi"}])
        status, error = await send(p, "POST", "/agent/nobody/run", body)
        assert (status, error["error"]["code"], error["message"]) == (404, "not_found", "There is no such agent.")
        assert (await send(p, "POST", "/agent/nobody/connect", body))[0] == 404
        status, error = await send(p, "POST", "/agent/support/run", b"{")
        assert (status, error["error"]["code"]) == (400, "invalid_request")
        status, error = await send(p, "POST", "/agent/support/run", body | {"threadId": ""})
        assert (status, error["message"]) == (422, error["error"]["message"])


async def test_a_second_run_of_a_thread_is_refused() -> None:
    async with product(script=[HANGING, BACK]) as p:
        chat = page(p)
        async with starting(p, chat, "talk") as reader:
            await reader.until("TEXT_MESSAGE_CONTENT")
            status, error = await send(p, "POST", "/agent/support/run", chat.body())
            assert (status, error["error"]["code"]) == (409, "thread_busy")
            await send(p, "POST", "/agent/support/stop/t")
            await reader.end()


# --- connect


async def test_connecting_to_nothing_is_a_run_without_words() -> None:
    async with product() as p:
        async with connecting(p, page(p)) as reader:
            assert (reader.status, reader.run_key) == (200, "")
            assert reader.response.headers["content-type"].startswith("text/event-stream")
            assert reader.response.headers["cache-control"].startswith("no-cache")
            assert (await reader.end()).types() == EMPTY
        assert (await p.get("/threads"))["threads"] == [], "and makes no thread"


async def test_connecting_gives_the_conversation_under_the_requests_run_id() -> None:
    async with product(script=HELLO) as p:
        chat = page(p, "with/slashes and ä")
        await chat.say("hi")
        stream = await connect(p, chat, runId="mine")
        assert stream.types() == EMPTY
        assert {event["runId"] for event in (stream[0], stream[-1])} == {"mine"}
        assert {event["threadId"] for event in (stream[0], stream[-1])} == {chat.thread_id}
        assert stream[1]["messages"] == chat.messages
        assert "outcome" not in stream[-1]


@shows("B5")
async def test_an_open_card_is_in_the_snapshot_and_not_asked_again() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = page(p, tools=[CARD_TOOL])
        asked = await chat.say("refund A1")
        stream = await connect(p, chat)
        (card,) = asked.cards
        calls = [c["id"] for m in stream[1]["messages"] for c in m.get("toolCalls", ())]
        answered = [m["toolCallId"] for m in stream[1]["messages"] if m["role"] == "tool"]
        assert card in calls
        assert card not in answered
        assert stream.interrupts == []
        await chat.answer((card, {"accepted": True}))
        assert shop.orders == ["A1"]


@shows("B5")
async def test_a_page_without_cards_is_asked_about_an_open_card_by_interrupt() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        await page(p, tools=[CARD_TOOL]).say("refund A1")
        other = page(p)
        stream = await connect(p, other)
        other.messages, (interrupt,) = stream[1]["messages"], stream.interrupts
        resumed = await other.resume((interrupt["id"], YES))
        assert (resumed.text, shop.orders) == ("Done.", ["A1"])
        closed = await connect(p, page(p, tools=[CARD_TOOL]))
        calls = [c["id"] for m in closed[1]["messages"] for c in m.get("toolCalls", ())]
        answered = [m["toolCallId"] for m in closed[1]["messages"] if m["role"] == "tool"]
        assert sorted(calls) == sorted(answered), "the card is over too"


@shows("B5")
async def test_an_open_interrupt_is_the_outcome() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund(), refund("B2"))) as p:
        chat = page(p)
        asked = await chat.say("refund both")
        stream = await connect(p, chat)
        assert stream.interrupts == asked.interrupts
        await chat.resume(*((i["id"], YES) for i in stream.interrupts), runId=stream[0]["runId"])
        assert shop.orders == ["A1", "B2"], "a run id that no run ever had means nothing"
        assert (await connect(p, chat)).interrupts == []


async def test_the_error_of_an_old_run_is_not_told_again() -> None:
    async with product(script=[{"fault": {"kind": "status", "status": 400}}, BACK]) as p:
        chat = page(p)
        assert (await chat.say("fail"))[-1]["type"] == "RUN_ERROR"
        stream = await connect(p, chat)
        assert stream[-1]["type"] == "RUN_FINISHED"
        assert (await chat.say("go on")).text == "Back."


# --- sockets


async def test_a_running_run_is_followed_and_a_stop_ends_every_stream() -> None:
    async with product(script=[HANGING, BACK]) as p:
        chat = page(p)
        async with starting(p, chat, "talk") as reader, connecting(p, chat) as watcher:
            await reader.until("TEXT_MESSAGE_CONTENT")
            seen = await watcher.until("TEXT_MESSAGE_CONTENT")
            assert seen.types()[:3] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"]
            assert [m["content"] for m in seen[1]["messages"]] == ["talk"]
            assert (await send(p, "POST", "/agent/support/stop/t"))[1]["stopped"] is True
            ours, theirs = await reader.end(), await watcher.end()
        assert theirs[3:] == ours[1:]
        assert ours.types()[-2:] == ["TEXT_MESSAGE_END", "RUN_ERROR"]
        assert ours[-1]["code"] == "abort"
        assert_valid(ours.raw)
        chat.messages = (await p.get("/threads/t"))["messages"]
        assert (await chat.say("go on")).text == "Back."
        p.assert_clean()


def digging(go_on: asyncio.Event) -> tuple[Any, asyncio.Event]:
    """A tool that begins, and ends when it is told."""
    begun = asyncio.Event()

    @tool
    async def dig() -> str:
        """Takes its time."""
        begun.set()
        await go_on.wait()
        return "dug"

    return dig, begun


async def test_leaving_is_no_stop_here_whatever_the_policy_says() -> None:
    go_on = asyncio.Event()
    dig, begun = digging(go_on)
    settings = Settings(disconnect_grace=0)
    async with product([dig], script(call("dig")), on_disconnect="cancel", settings=settings) as p:
        chat = page(p)
        async with starting(p, chat, "dig"), connecting(p, chat), asyncio.timeout(TIMEOUT):
            await begun.wait()
        await unread(p)
        async with connecting(p, chat) as reader:
            await reader.until("TOOL_CALL_END")
            go_on.set()
            assert (await reader.end()).text == "Done."
        assert (await idle(p, "t"))["run"]["status"] == "finished"


async def test_a_watcher_does_not_stop_a_run_that_was_begun_elsewhere() -> None:
    go_on = asyncio.Event()
    dig, begun = digging(go_on)
    async with product([dig], script(call("dig")), settings=Settings(disconnect_grace=0)) as p:
        chat = p.chat(thread_id="t")
        async with starting(p, chat, "dig") as reader:
            for _ in range(3):
                async with connecting(p, chat) as watcher:
                    await watcher.until("TOOL_CALL_END")
            async with asyncio.timeout(TIMEOUT):
                await begun.wait()
            go_on.set()
            assert (await reader.end()).text == "Done."


async def test_a_watcher_does_not_keep_a_run_going_that_was_begun_elsewhere() -> None:
    dig, begun = digging(asyncio.Event())
    async with product([dig], script(call("dig")), settings=Settings(disconnect_grace=0)) as p:
        chat = p.chat(thread_id="t")
        async with AsyncExitStack() as stack:
            async with starting(p, chat, "dig"), asyncio.timeout(TIMEOUT):
                await begun.wait()
                watcher = await stack.enter_async_context(connecting(p, chat))
                await watcher.until("TOOL_CALL_END")
            stream = await watcher.end()
        assert (stream[-1]["type"], stream[-1]["code"]) == ("RUN_ERROR", "abort")
        assert (await idle(p, "t"))["run"]["status"] == "cancelled"


# --- stop


async def test_what_a_stop_answers() -> None:
    async with product(script=[HANGING, BACK]) as p:
        chat = page(p, "t/1 ä")
        path = f"/agent/support/stop/{quote('t/1 ä', safe='')}"
        nothing = {"stopped": False, "message": "No active run for thread 't/1 ä'."}
        assert await send(p, "POST", path) == (200, nothing), "a thread that isn't there"
        async with starting(p, chat, "talk", runId="r-1") as reader:
            await reader.until("TEXT_MESSAGE_CONTENT")
            assert await send(p, "POST", path, {"runId": "r-0"}) == (200, nothing), "a run that is long over"
            for body in (b"[]", b"null", b"{", {"runId": 1}, {"runId": "r-1", "force": True}):
                status, error = await send(p, "POST", path, body)
                assert (status, error["error"]["code"]) == (400, "invalid_request")
            stopped = {
                "stopped": True,
                "interrupt": {"type": "RUN_ERROR", "message": "Run stopped by user", "code": "STOPPED"},
            }
            assert await send(p, "POST", path, {"runId": "r-1"}) == (200, stopped)
            assert (await reader.end())[-1]["code"] == "abort"
        assert await send(p, "POST", path) == (200, nothing), "a run that is over"
        status, error = await send(p, "POST", "/agent/no%20one/stop/t")
        assert (status, error) == (404, {"error": "Agent not found", "message": "Agent 'no one' does not exist"})
        assert (await send(p, "POST", f"/agent/support/stop/{'x' * 257}"))[0] == 422


async def test_nobody_stops_or_sees_anothers_run() -> None:
    async with product(script=[HANGING, BACK], settings=tokens()) as p:
        chat = page(p, headers=ALICE)
        async with starting(p, chat, "talk") as reader:
            await reader.until("TEXT_MESSAGE_CONTENT")
            assert (await send(p, "POST", "/agent/support/stop/t", headers=BOB))[1]["stopped"] is False
            assert (await connect(p, page(p, headers=BOB))).types() == EMPTY
            assert (await send(p, "POST", "/agent/support/stop/t", headers=ALICE))[1]["stopped"] is True
            await reader.end()


# --- threads


async def test_the_list_of_threads() -> None:
    async with product(script=HELLO) as p:
        for thread_id in ("a", "b", "c"):
            await page(p, thread_id).say(f"I am {thread_id}")
        status, listed = await send(p, "GET", "/threads?agentId=support&limit=2")
        assert status == 200
        head = (await p.get("/threads?limit=1"))["threads"][0]
        assert listed["threads"][0] == {
            "id": "c",
            "name": "I am c",
            "agentId": "support",
            "organizationId": "",
            "createdById": "",
            "archived": False,
            "createdAt": head["created_at"],
            "updatedAt": head["updated_at"],
        }
        _, rest = await send(p, "GET", f"/threads?agentId=default&limit=2&cursor={listed['nextCursor']}")
        assert ([row["id"] for row in rest["threads"]], rest["nextCursor"]) == (["a"], None)
        for query, ids in (("", "cba"), ("?agentId=other", ""), ("?limit=100000&cursor=", "cba"), ("?limit=", "cba")):
            assert "".join(row["id"] for row in (await send(p, "GET", f"/threads{query}"))[1]["threads"]) == ids
        for query in ("limit=0", "limit=x", "limit=-1", f"limit={'9' * 5000}", "cursor=x"):
            status, error = await send(p, "GET", f"/threads?{query}")
            assert (status, error["error"]["code"]) == (422, "invalid_request")


async def test_lists_are_of_one_agent() -> None:
    agents = [Agent(name=name, model=Parrot()) for name in ("one", "two")]
    async with started(create_app(*agents, store=MemoryStore(), settings=Settings())) as app:
        for name in ("one", "two"):
            ran = await run(app, run_body(name, user("hi", "u")), f"{BASE}/agent/{name}/run")
            assert ran.events()[-1]["type"] == "RUN_FINISHED"
        for asked, ids in (("one", ["one"]), ("two", ["two"]), ("default", ["one"]), ("three", [])):
            listed = (await request(app, "GET", f"{BASE}/threads", query=f"agentId={asked}")).json()
            assert [row["id"] for row in listed["threads"]] == ids


async def test_renaming_archiving_and_deleting() -> None:
    async with product(script=HELLO) as p:
        for thread_id in ("t/1", "u"):
            await page(p, thread_id).say("hi")
        path, agent = "/threads/t%2F1", {"agentId": "support"}
        status, row = await send(p, "PATCH", path, {**agent, "name": "  Ada's\n orders "})
        assert (status, row["id"], row["name"], row["archived"]) == (200, "t/1", "Ada's orders", False)
        assert await send(p, "POST", f"{path}/archive", agent) == (200, {"threadId": "t/1", "archived": True})

        async def listed(query: str) -> list[tuple[str, bool]]:
            return [(row["id"], row["archived"]) for row in (await send(p, "GET", f"/threads?{query}"))[1]["threads"]]

        assert await listed("agentId=support") == [("u", False)]
        assert await listed("agentId=support&includeArchived=true") == [("u", False), ("t/1", True)]
        assert (await send(p, "PATCH", path, {**agent, "archived": False}))[1]["archived"] is False
        assert await send(p, "DELETE", path, agent) == (200, {"threadId": "t/1", "deleted": True})
        assert await listed("includeArchived=true") == [("u", False)]
        for method, end, body in (("PATCH", "", agent), ("POST", "/archive", agent), ("DELETE", "", agent)):
            status, error = await send(p, method, path + end, body)
            assert (status, error["message"]) == (404, "There is no such thread.")
        for body in ({"name": ""}, {"name": 1}, {"archived": None}, {"archived": "no"}, [], {"name": "x" * 201}):
            assert (await send(p, "PATCH", "/threads/u", body))[0] == 422


async def test_what_the_inspector_asks_for() -> None:
    shop = Shop()
    async with product(shop.tools, script(SEARCH)) as p:
        chat = page(p, "t/1", state={"page": "orders"})
        await chat.say("find ada")
        _, found = await send(p, "GET", "/threads/t%2F1/messages")
        user, assistant, result, last = found["messages"]
        assert user == {"id": chat.messages[0]["id"], "role": "user", "content": "find ada"}
        ((name, args),) = [(call["name"], call["args"]) for call in assistant["toolCalls"]]
        assert (name, json.loads(args)) == ("search", {"q": "ada"})
        assert (result["toolCallId"], result["content"]) == (assistant["toolCalls"][0]["id"], '["found ada"]')
        assert last["content"] == "Done."
        assert await send(p, "GET", "/threads/t%2F1/state") == (200, {"state": {"page": "orders"}})
        assert await send(p, "GET", "/threads/t%2F1/events") == (200, {"events": []})
        for what in ("messages", "state", "events"):
            assert (await send(p, "GET", f"/threads/none/{what}"))[0] == 404


# --- one route


async def test_the_single_route() -> None:
    async with product(script=[HANGING, BACK]) as p:
        for path in ("", "/"):
            assert await send(p, "POST", path, {"method": "info"}) == await send(p, "GET", "/info")
        messages = [{"id": "u", "role": "user", "content": "talk"}]
        whom = {"agentId": "support"}
        run = {"method": "agent/run", "params": whom, "body": page(p).body(messages=messages, runId="r-1")}
        again = {"method": "agent/connect", "params": whom, "body": page(p).body()}
        stop = {"method": "agent/stop", "params": {**whom, "threadId": "t"}}
        assert (await send(p, "POST", "", stop))[1]["stopped"] is False
        async with p.client.stream("POST", p.url + BASE, json=run) as first:
            await Following(first).until("TEXT_MESSAGE_CONTENT")
            async with p.client.stream("POST", p.url + BASE, json=again) as second:
                watcher = Following(second)
                await watcher.until("TEXT_MESSAGE_CONTENT")
                assert (await send(p, "POST", "", {**stop, "body": {"runId": "r-1"}}))[1]["stopped"] is True
                assert (await watcher.end())[-1]["code"] == "abort"


BAD_CALLS = [
    (b"{", 400), (b"", 400), (b'{"method":"info","body":' + b"[" * 90_000, 400), ([], 422), ({}, 422),
    ({"method": 1}, 422), ({"method": "threads/list"}, 422),
    ({"method": "agent/run", "params": {"agentId": "nobody"}, "body": {}}, 404),
    ({"method": "agent/run", "params": {"agentId": 1}}, 422), ({"method": "agent/run"}, 400),
    ({"method": "agent/run", "body": {}}, 422), ({"method": "agent/connect", "body": []}, 422),
    ({"method": "agent/stop"}, 422), ({"method": "agent/stop", "params": {"threadId": "t"}, "body": 1}, 400),
]  # fmt: skip


@pytest.mark.parametrize(("body", "status"), BAD_CALLS)
async def test_the_single_route_refuses_what_it_does_not_know(body: Any, status: int) -> None:
    async with product() as p:
        found, error = await send(p, "POST", "", body)
        assert (found, error["message"]) == (status, error["error"]["message"])


# --- who, and from where

ROUTES = [
    ("GET", "/info"), ("POST", ""), ("POST", "/agent/support/run"), ("POST", "/agent/support/connect"),
    ("POST", "/agent/support/stop/t"), ("GET", "/threads"), ("PATCH", "/threads/t"), ("DELETE", "/threads/t"),
    ("POST", "/threads/t/archive"), ("GET", "/threads/t/messages"), ("GET", "/threads/t/state"),
    ("GET", "/threads/t/events"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_every_route_has_its_guard(method: str, path: str) -> None:
    async with product(settings=tokens()) as p:
        status, error = await send(p, method, path, {})
        assert (status, error["error"]["code"], error["message"]) == (
            401,
            "unauthorized",
            "Authentication is required.",
        )
        status, error = await send(p, method, path, {}, {**ALICE, "origin": "https://evil.example"})
        assert (status, error["error"]["code"]) == (403, "forbidden")


async def test_threads_are_their_principals_own() -> None:
    async with product(script=HELLO, settings=tokens()) as p:
        await page(p, headers=ALICE).say("hi")
        assert (await send(p, "GET", "/threads", headers=BOB))[1]["threads"] == []
        for method, path in ROUTES[6:]:
            theirs = await send(p, method, path, {"archived": True}, BOB)
            assert theirs == await send(p, method, path.replace("/t/", "/u/"), {"archived": True}, BOB)
            assert theirs[0] == 404
        assert [row["id"] for row in (await send(p, "GET", "/threads", headers=ALICE))[1]["threads"]] == ["t"]


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_a_preflight_mirrors_what_is_asked(method: str, path: str) -> None:
    origin = "https://app.example"
    async with product(settings=tokens(cors_origins=(origin,))) as p:
        asked = {
            "origin": origin,
            "access-control-request-method": method,
            "access-control-request-headers": "authorization,content-type,x-tenant",
        }
        answer = await p.client.options(p.url + BASE + path, headers=asked)
        allowed = {name.strip().lower() for name in answer.headers["access-control-allow-headers"].split(",")}
        assert answer.status_code == 200
        assert allowed >= {"authorization", "content-type", "x-tenant"}
        assert method in answer.headers["access-control-allow-methods"]
        assert answer.headers["access-control-allow-origin"] == origin
        assert answer.headers["access-control-allow-credentials"] == "true"


class Broken(MemoryStore):
    """A store with a bug."""

    async def list_threads(self, *args: Any, **more: Any) -> Any:
        """Fails."""
        raise RuntimeError("a bug")


async def test_streams_errors_and_bugs_can_be_read_on_another_origin() -> None:
    origin = {"origin": "http://localhost:5173"}
    async with product(script=HELLO, store=Broken()) as p:
        body = page(p).body(messages=[{"id": "u", "role": "user", "content": "hi"}])
        stream = await p.client.post(p.url + RUN, json=body, headers=origin)
        assert parse(stream.text).text == "Hello."
        missing = await p.client.get(f"{p.url}{BASE}/threads/none/state", headers=origin)
        bug = await p.client.get(f"{p.url}{BASE}/threads", headers=origin)
        assert [r.status_code for r in (stream, missing, bug)] == [200, 404, 500]
        for response in (stream, missing, bug):
            assert response.headers["access-control-allow-origin"] == origin["origin"]
            assert response.headers["access-control-allow-credentials"] == "true"
        foreign = await p.client.get(f"{p.url}{BASE}/threads", headers={"origin": "https://evil.example"})
        assert "access-control-allow-origin" not in foreign.headers
