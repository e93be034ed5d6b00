"""Hosted MCP calls that need approval: the provider would run them, and a person decides, as about any gated call.

What runs such a call is the request that says so. At most one request ever does.
"""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agui_gate import Agent, create_app, tool
from agui_gate.core.approvals import LOCAL, State
from agui_gate.core.transcript import PassedEntry
from agui_gate.stores import open_store
from agui_gate_adapters.openai_responses import OpenAIResponses, retries
from agui_gate_adapters.testkit import Emulator, serve
from tests.conforming import conforms
from tests.product.kit import CARD_TOOL, MODES, TIMEOUT, Chat, Product, Stream, client_of, parse, product, running
from tests.product.poison import CUT_PNG
from tests.product.shop import SEARCH, Shop, items, outputs, refund, say, status, users
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B1")]
every_mode = pytest.mark.parametrize("mode", MODES)
styles = pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])

YES, NO = {"approved": True}, {"approved": False}
SERVER = {"type": "mcp", "server_label": "crm", "server_url": "https://crm.example/mcp", "require_approval": "always"}
LISTED = {
    "type": "mcp_list_tools",
    "server_label": "crm",
    "tools": [{"name": "pay", "input_schema": {"type": "object"}, "annotations": None}],
}
LOST = [{"kind": "cut", "after_events": 1}, {"kind": "status", "status": 502}, {"kind": "cut", "after_bytes": 0}]
"""Faults that leave open whether the provider acted."""
RAN = {"type": "mcp_call", "output": "paid"}


def asks(name: str = "pay", **arguments: Any) -> dict[str, Any]:
    """The provider asks whether it may run a tool of its server."""
    told = json.dumps(arguments or {"to": "ada"})
    return {"type": "mcp_approval_request", "server_label": "crm", "name": name, "arguments": told}


def turns(*first: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """The provider lists its tools and asks; runs what it may; and goes on talking."""
    return [
        {"output": [LISTED, *(first or (asks(),))]},
        {"when": {"approves": True}, "output": [RAN, say("Paid.")], **more},
        {"output": [say("Done.")], "repeat": True},
    ]


@asynccontextmanager
async def hosted(script: Any = None, *, mode: str = "chain", **more: Any) -> AsyncIterator[Product]:
    """The product with a hosted MCP server."""
    model = {"hosted_tools": [SERVER], **more.pop("model", {})}
    async with product(more.pop("tools", ()), script, mode=mode, model=model, **more) as p:
        yield p


@asynccontextmanager
async def lives(script: Any, mode: str, store: str) -> AsyncIterator[Any]:
    """One provider and one store; each call is another server in front of them."""
    emulator = Emulator(script=script)
    async with serve(emulator) as base_url:

        @asynccontextmanager
        async def life(*servers: dict[str, Any]) -> AsyncIterator[Product]:
            there = servers or (SERVER,)
            model = OpenAIResponses("gpt-5.4-mini", mode=mode, base_url=base_url, api_key="k", hosted_tools=there)
            app = create_app(Agent(name="support", model=model), store=store)
            async with running(app) as url, client_of() as client:
                yield Product(emulator, app, url, client)

        yield life


def store_url(path: Path) -> str:
    return f"sqlite:///{path}/agui-gate.db"


async def decide(chat: Chat, asked: Stream, *answers: Any) -> Stream:
    """Answer everything that was asked, in the style in which it was."""
    if asked.interrupts:
        asks = zip(asked.interrupts, answers, strict=True)
        return await chat.resume(*((ask["id"], answer) for ask, answer in asks))
    return await chat.answer(*zip(asked.cards, answers, strict=True))


def consents(p: Product) -> list[tuple[str, bool]]:
    """What the provider was told about its calls, over all requests that it took."""
    told = [i for body in p.inputs() for i in items(body, "mcp_approval_response")]
    return [(item["approval_request_id"], item["approve"]) for item in told]


def tried(p: Product) -> int:
    """How many requests said yes, whether or not they came to anything."""
    bodies = [entry.body or {} for entry in p.emulator.journal.entries]
    return sum(any(item["approve"] for item in items(body, "mcp_approval_response")) for body in bodies)


def held(stream: Stream) -> str:
    """The id of the call that is asked about."""
    (call_id,) = [i for i, name in stream.calls.items() if name == "crm__pay"]
    return call_id


@every_mode
@styles
@shows("B1", "S9")
async def test_approving_lets_the_provider_run_its_call(mode: str, tools: list[dict[str, Any]]) -> None:
    async with hosted(turns(), mode=mode) as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("pay ada")
        call_id = held(asked)
        shown = next(iter(asked.cards.values()), None)
        if shown is None:
            (ask,) = asked.interrupts
            assert (ask["toolCallId"], ask["message"]) == (call_id, "Let crm run pay?")
            ours = {"tool": "crm__pay", "arguments": {"to": "ada"}}
            assert ask["metadata"] == {**ours, "agui-gate": ours}
            assert "editedArgs" not in ask["responseSchema"]["properties"]
        else:
            assert (shown["function_call_id"], shown["function_arguments"]) == (call_id, {"to": "ada"})
            assert "editable" not in shown
        done = await decide(chat, asked, YES)
        assert done.text == "Paid."
        assert status(done.results[call_id]) == "approved"
        (ran,) = [i for i, name in done.calls.items() if name == "crm__pay"]
        assert (done.results[ran], done.arguments(ran)) == ("paid", '{"to": "ada"}')
        assert consents(p) == [(call_id, True)]
        assert "MESSAGES_SNAPSHOT" in done.types()
        again = await decide(chat, asked, YES) if asked.interrupts else await chat.go()
        assert again[-1]["type"] == "RUN_FINISHED"
        await chat.say("thanks")
        assert consents(p) == [(call_id, True)]
        assert "confirm_changes" not in json.dumps(p.inputs())
        p.assert_clean()


@every_mode
async def test_what_the_provider_is_sent(mode: str) -> None:
    async with hosted(turns(), mode=mode) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        await decide(chat, asked, YES)
        body = p.inputs()[-1]
        kinds = [item["type"] for item in body["input"]]
        if mode == "stateless":
            assert kinds == ["message", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"]
            assert items(body, "mcp_list_tools")[0]["tools"] == [{"name": "pay", "input_schema": {"type": "object"}}]
        else:
            assert kinds == ["mcp_approval_response"]
        assert body["tools"] == [SERVER]
        assert items(body, "mcp_approval_response") == [
            {"type": "mcp_approval_response", "approval_request_id": held(asked), "approve": True}
        ]
        await chat.say("and now?")
        later = [item["type"] for item in p.inputs()[-1]["input"]]
        assert set(later) == {"message"}, "what was answered, and what ran, is history"
        p.assert_clean()


@every_mode
@styles
async def test_rejecting_tells_the_provider_no_and_why(mode: str, tools: list[dict[str, Any]]) -> None:
    async with hosted(turns(), mode=mode) as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("pay ada")
        done = await decide(chat, asked, NO | {"reason": "not her"})
        assert (status(done.results[held(asked)]), done.text) == ("rejected", "Done.")
        (response,) = items(p.inputs()[-1], "mcp_approval_response")
        assert (response["approve"], response["reason"]) == (False, "not her")
        await chat.say("fine")
        assert consents(p) == [(held(asked), False)]
        p.assert_clean()


@every_mode
@styles
async def test_going_on_without_an_answer_is_a_no(mode: str, tools: list[dict[str, Any]]) -> None:
    """R19 can't happen: nothing of the provider's stays unanswered."""
    async with hosted(turns(), mode=mode, on_unanswered="supersede") as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("pay ada")
        done = await chat.say("never mind")
        assert (status(done.results[held(asked)]), done.text) == ("superseded", "Done.")
        assert consents(p) == [(held(asked), False)]
        assert users(p.inputs()[-1])[-1] == "never mind"
        late = await decide(chat, asked, YES) if asked.interrupts else await chat.answer((next(iter(asked.cards)), YES))
        assert late.text == ""
        assert tried(p) == 0
        p.assert_clean()


@every_mode
async def test_an_expired_request_is_a_no(mode: str) -> None:
    async with hosted(turns(), mode=mode, model={"approval_expires_after": 0.02}) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        (ask,) = asked.interrupts
        assert "expires_at" in ask["metadata"]
        async for _ in until_expired(p, ask["id"]):
            pass
        done = await chat.resume((ask["id"], YES))
        assert (status(done.results[held(asked)]), done.text) == ("expired", "Done.")
        assert consents(p) == [(held(asked), False)]
        p.assert_clean()


async def until_expired(p: Product, approval_id: str) -> AsyncIterator[None]:
    """Ask until the record is no longer pending."""
    for _ in range(1000):
        found = await p.get("/approvals")
        if approval_id not in [approval["id"] for approval in found["approvals"]]:
            return
        yield
    raise AssertionError("it never expired")


@every_mode
async def test_a_cancelled_answer_is_a_no(mode: str) -> None:
    async with hosted(turns(), mode=mode) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        entry = {"interruptId": asked.interrupts[0]["id"], "status": "cancelled"}
        done = await chat.go(resume=[entry])
        assert status(done.results[held(asked)]) == "cancelled"
        assert consents(p) == [(held(asked), False)]
        p.assert_clean()


@every_mode
@styles
@shows("B2", "B3")
async def test_one_yes_one_no_and_one_nothing(mode: str, tools: list[dict[str, Any]]) -> None:
    three = [asks(to="ada"), asks(to="bob"), asks(to="cy")]
    async with hosted(turns(*three), mode=mode, on_unanswered="supersede") as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("pay all")
        ids = list(asked.calls)[:3]
        keys = [ask["id"] for ask in asked.interrupts] or list(asked.cards)
        answer = chat.resume if asked.interrupts else chat.answer
        half = await answer((keys[0], YES))
        assert half.text == ""
        assert tried(p) == 0, "the provider is told everything at once"
        rest = [ask["toolCallId"] for ask in half.interrupts] or [c["function_call_id"] for c in half.cards.values()]
        assert rest == ids[1:]
        chat.messages.append({"id": "u-more", "role": "user", "content": "and hurry"})
        second = half.interrupts[0]["id"] if half.interrupts else next(iter(half.cards))
        done = await answer((second, NO))
        assert done.text == "Paid."
        assert consents(p) == [(ids[0], True), (ids[1], False), (ids[2], False)]
        assert [status(done.results[i]) for i in ids] == ["approved", "rejected", "superseded"]
        assert users(p.inputs()[-1])[-1] == "and hurry"
        p.assert_clean()


@every_mode
@shows("B15", "B4")
async def test_beside_gated_and_free_calls_of_ours(mode: str) -> None:
    """Never mixed up: each is answered in its own way, in one request."""
    shop = Shop()
    async with hosted(turns(asks(), refund(), SEARCH), mode=mode, tools=shop.tools) as p:
        chat = p.chat()
        asked = await chat.say("pay and refund")
        assert shop.searches == ["ada"]
        done = await decide(chat, asked, *(YES for _ in asked.interrupts))
        assert done.text == "Paid."
        assert shop.orders == ["A1"]
        body = p.inputs()[-1]
        assert len(outputs(body)) == 2
        assert consents(p) == [(held(asked), True)]
        p.assert_clean()


@every_mode
async def test_a_tool_of_ours_with_the_same_name_is_something_else(mode: str) -> None:
    ran: list[str] = []

    @tool(name="crm__pay", idempotent=True)
    def pay(to: str) -> str:
        """Pay somebody."""
        ran.append(to)
        return "paid here"

    async with hosted(turns(), mode=mode, tools=[pay]) as p:
        chat = p.chat()
        done = await decide(chat, await chat.say("pay ada"), YES)
        assert (done.text, ran) == ("Paid.", [])
        p.assert_clean()


@every_mode
@shows("B1", "B5")
async def test_a_decision_out_of_band_reaches_the_provider_with_the_next_run(mode: str, tmp_path: Path) -> None:
    async with lives(turns(), mode, store_url(tmp_path)) as life, life() as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        decided = await p.decide(asked.interrupts[0]["id"], YES)
        assert (decided["status_code"], decided["state"], decided.get("result")) == (200, "claimed", None)
        again = await p.decide(asked.interrupts[0]["id"], NO)
        assert again["status_code"] == 409
        assert tried(p) == 0
        async with life() as q:
            chat.product = q
            done = await chat.go()
            assert (done.text, status(done.results[held(asked)])) == ("Paid.", "approved")
            await chat.say("thanks")
            assert consents(q) == [(held(asked), True)]
            q.assert_clean()


@every_mode
@shows("B1", "S29")
async def test_a_stop_before_the_request_leaves_the_yes_for_the_next_run(mode: str) -> None:
    """The agent's instructions take their time, and no request was made yet."""
    entered, doors = asyncio.Event(), [asyncio.Event() for _ in range(3)]
    doors[0].set()
    doors[2].set()
    left = iter(doors)

    async def instructions(ctx: Any) -> str:
        door = next(left)
        if not door.is_set():
            entered.set()
        await door.wait()
        return "Be kind."

    async with hosted(turns(), mode=mode, instructions=instructions) as p, asyncio.timeout(TIMEOUT):
        chat = p.chat()
        asked = await chat.say("pay ada")
        answering = asyncio.ensure_future(decide(chat, asked, YES))
        await entered.wait()
        cancelled = await p.client.post(f"{p.url}/threads/{chat.thread_id}/cancel")
        assert cancelled.status_code == 200
        stopped = await answering
        assert held(asked) not in stopped.results
        assert tried(p) == 0
        assert (await p.get(f"/approvals/{asked.interrupts[0]['id']}"))["state"] == "claimed"
        done = await chat.go()
        assert (done.text, status(done.results[held(asked)])) == ("Paid.", "approved")
        assert consents(p) == [(held(asked), True)]
        p.assert_clean()


OTHERS = {
    "elsewhere": {**SERVER, "server_url": "https://other.example/mcp"},
    "gone": {"type": "web_search"},
    "by tunnel": {"tunnel_id": "t-2", **{name: value for name, value in SERVER.items() if name != "server_url"}},
    "renamed": {**SERVER, "server_label": "crm2"},
}


@every_mode
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("decided", ["before", "after"])
async def test_what_was_approved_for_a_server_is_for_no_other(
    mode: str, other: str, decided: str, tmp_path: Path
) -> None:
    """It has another address on this replica, or there is none of that name."""
    async with lives(turns(), mode, store_url(tmp_path)) as life, life() as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        async with life(OTHERS[other]) as q:
            await (p if decided == "before" else q).decide(asked.interrupts[0]["id"], YES)
            chat.product = q
            done = await chat.go()
            assert (done.text, status(done.results[held(asked)])) == ("Done.", "cancelled")
            await chat.say("thanks")
            assert True not in [yes for _, yes in consents(q)]
            q.assert_clean()


@every_mode
async def test_what_else_changes_of_a_server_is_no_matter(mode: str, tmp_path: Path) -> None:
    """A new key, say."""
    async with lives(turns(), mode, store_url(tmp_path)) as life, life() as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        await p.decide(asked.interrupts[0]["id"], YES)
        async with life({**SERVER, "authorization": "new", "allowed_tools": ["pay"]}) as q:
            chat.product = q
            assert (await chat.go()).text == "Paid."
            assert consents(q) == [(held(asked), True)]


@every_mode
async def test_one_after_the_other(mode: str) -> None:
    """The server's tools are listed once; a later request refers to that list still."""
    script = [
        {"output": [LISTED, asks()]},
        {"when": {"approves": True}, "output": [RAN, asks(to="bob")]},
        {"when": {"approves": True}, "output": [RAN, say("Both paid.")]},
    ]
    async with hosted(script, mode=mode) as p:
        chat = p.chat()
        first = await chat.say("pay both")
        second = await decide(chat, first, YES)
        assert [ask["metadata"]["arguments"] for ask in second.interrupts] == [{"to": "bob"}]
        done = await decide(chat, second, YES)
        assert done.text == "Both paid."
        assert [approve for _, approve in consents(p)] == [True, True]
        if mode == "stateless":
            assert len(items(p.inputs()[-1], "mcp_list_tools")) == 1
        p.assert_clean()


async def test_out_of_band_edits_are_refused() -> None:
    async with hosted(turns()) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        ask = asked.interrupts[0]["id"]
        refused = await p.decide(ask, YES | {"edited_arguments": {"to": "mallory"}})
        assert refused["status_code"] == 422
        listed = (await p.get("/approvals"))["approvals"]
        assert [(a["tool"], a["arguments"], a["editable"]) for a in listed] == [("crm__pay", {"to": "ada"}, [])]
        forged = await chat.resume((ask, YES | {"editedArgs": {"to": "mallory"}}))
        assert forged.interrupts
        assert tried(p) == 0
        p.assert_clean()


@every_mode
@shows("B6")
async def test_a_hundred_clicks_say_yes_once(mode: str) -> None:
    async with hosted(turns(), mode=mode) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        ask = asked.interrupts[0]["id"]
        clicks = await asyncio.gather(*(p.decide(ask, YES) for _ in range(30)))
        assert [click["status_code"] for click in clicks].count(200) == 1
        await chat.resume((ask, YES))
        await chat.resume((ask, YES))
        assert tried(p) == 1
        p.assert_clean()


# --- what goes wrong on the way -----------------------------------------------------------------------------------


@every_mode
@pytest.mark.parametrize("fault", LOST, ids=["cut", "502", "no reply"])
async def test_a_yes_that_may_have_arrived_is_not_said_again(mode: str, fault: dict[str, Any]) -> None:
    async with hosted(turns(fault=fault), mode=mode) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        failed = await decide(chat, asked, YES)
        assert (failed[-1]["type"], failed[-1]["code"]) == ("RUN_ERROR", "provider_unavailable")
        assert status(failed.results[held(asked)]) == "unknown"
        done = await chat.say("well?")
        assert done.text == "Done."
        told = json.dumps(p.inputs()[-1]["input"])
        assert "crm__pay" in told
        assert "not known" in told
        await decide(chat, asked, YES)
        assert tried(p) == 1
        p.assert_clean()


@every_mode
async def test_a_yes_is_said_again_after_a_rate_limit(mode: str) -> None:
    """429 says that nothing was done, so no second click is needed."""
    fault = {"kind": "status", "status": 429, "retry_after": 60}
    async with hosted(turns(fault=fault), mode=mode) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        failed = await decide(chat, asked, YES)
        assert failed[-1]["code"] == "rate_limited"
        assert held(asked) not in failed.results
        (record,) = (await p.get(f"/threads/{chat.thread_id}"))["calls"]
        assert record["state"] == (await p.get(f"/approvals/{record['id']}"))["state"] == "claimed"
        done = await chat.go()
        assert (done.text, status(done.results[held(asked)])) == ("Paid.", "approved")
        assert consents(p)[-1] == (held(asked), True)
        await chat.say("thanks")
        assert tried(p) == 2
        p.assert_clean()


@every_mode
@shows("B1", "B6")
async def test_a_yes_is_not_said_again_after_a_sleep(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process slept for longer than a lease lasts, while it waited to say it again."""
    now = [0.0]

    async def oversleep(_: float) -> None:
        now[0] += 60

    monkeypatch.setattr(retries, "boot_seconds", lambda: now[0])
    fault = {"kind": "status", "status": 429, "retry_after": 1}
    async with hosted(turns(fault=fault), mode=mode) as p:
        monkeypatch.setattr(p.app.state.engine.members["support"].adapter, "_sleep", oversleep)
        chat = p.chat()
        asked = await chat.say("pay ada")
        failed = await decide(chat, asked, YES)
        assert (failed[-1]["type"], failed[-1]["code"]) == ("RUN_ERROR", "provider_unavailable")
        assert tried(p) == 1
        assert (await p.get(f"/approvals/{asked.interrupts[0]['id']}"))["state"] == "claimed"
        done = await chat.go()
        assert (done.text, tried(p)) == ("Paid.", 2)
        p.assert_clean()


@pytest.mark.parametrize("mode", ["chain", "conversation"])
@shows("B27")
async def test_the_provider_has_forgotten_what_it_asked(mode: str) -> None:
    script = [
        {"output": [LISTED, asks()]},
        {"output": [say("Shall I ask again?")], "fault": {"kind": "forget"}},
        {"output": [say("Done.")], "repeat": True},
    ]
    async with hosted(script, mode=mode) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        done = await decide(chat, asked, YES)
        assert done.text == "Shall I ask again?"
        result = json.loads(done.results[held(asked)])
        assert result["status"] == "cancelled"
        assert "no longer knows" in result["message"]
        body = p.inputs()[-1]
        assert "no longer knows" in json.dumps(body["input"])
        assert not items(body, "mcp_approval_response")
        assert [entry.rule for entry in p.emulator.refusals] in (["R6"], ["R7"])
        await chat.say("yes")
        assert consents(p) == []


@every_mode
@shows("B9")
async def test_cut_after_it_was_taken(mode: str) -> None:
    """The provider took the yes and ran its call; what came after that is lost. Nothing is said twice."""
    async with hosted(turns(fault={"kind": "cut", "after_events": 9}), mode=mode) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        failed = await decide(chat, asked, YES)
        assert failed[-1]["type"] == "RUN_ERROR"
        assert status(failed.results[held(asked)]) == "approved"
        done = await chat.say("well?")
        assert done.text == "Done."
        assert "paid" in json.dumps(p.inputs()[-1]["input"]), "the model hears what took effect"
        assert tried(p) == 1
        p.assert_clean()


@every_mode
async def test_going_back_before_it_gives_up_what_was_approved(mode: str) -> None:
    script = [{"output": [say("Hello.")]}, *turns()]
    async with hosted(script, mode=mode) as p:
        chat = p.chat()
        await chat.say("hello")
        kept = [dict(message) for message in chat.messages]
        asked = await chat.say("pay ada")
        await p.decide(asked.interrupts[0]["id"], YES)
        chat.messages = [*kept, {"id": kept[0]["id"], "role": "user", "content": "bye"}]
        done = await chat.go()
        assert done.text == "Done."
        assert tried(p) == 0
        p.assert_clean()


def by_the_version_before(url: str, call_id: str, notes: list[PassedEntry]) -> None:
    """Make the store what it was with schema 4: no record says who runs its call, and the journal has the notes."""
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    for table in (
        "approval_events",
        "outbox",
        "outbox_taker",
        "outbox_kinds",
        "epoch",
        "counted_calls",
        "freezes",
        "grants",
        "deputies",
        "deliveries",
        "delivery_workers",
        "approval_steps",
        "model_requests",
        "usage_days",
        "budgets",
        "person_keys",
    ):
        connection.execute(f"DROP TABLE {table}")
    connection.execute("ALTER TABLE approvals DROP COLUMN trace")
    connection.execute("ALTER TABLE approvals DROP COLUMN runner")
    connection.execute("ALTER TABLE approvals DROP COLUMN protocol_version")
    (thread, entries) = connection.execute("SELECT key, entries FROM threads").fetchone()
    if notes:
        row = (thread, entries, len(notes), msgspec.json.encode(notes))
        connection.execute("INSERT INTO journal (thread, seq, count, body) VALUES (?, ?, ?, ?)", row)
        connection.execute("UPDATE threads SET entries = entries + ?", (len(notes),))
    assert connection.execute("SELECT call_id, state FROM approvals").fetchall() == [(call_id, "claimed")]
    connection.execute("PRAGMA user_version = 4")
    connection.commit()
    connection.close()


@every_mode
@pytest.mark.parametrize(
    ("notes", "told", "text"),
    [([], "approved", "Paid."), ([False], "unknown", "Done."), ([False, True], "approved", "Paid.")],
    ids=["agreed", "passed on", "given back"],
)
@shows("B5", "B9")
async def test_a_thread_of_the_version_before_goes_on_with_what_was_agreed(
    mode: str, notes: list[bool], told: str, text: str, tmp_path: Path
) -> None:
    """What was approved is passed on once, and what may have been passed on is not said again."""
    url = store_url(tmp_path)
    async with lives(turns(), mode, url) as life:
        async with life() as p:
            chat = p.chat()
            asked = await chat.say("pay ada")
            await p.decide(asked.interrupts[0]["id"], YES)
        call_id = held(asked)
        by_the_version_before(url, call_id, [PassedEntry(call_id, back) for back in notes])
        async with life() as p:
            chat.product = p
            done = await chat.go()
            assert (done.text, status(done.results[call_id])) == (text, told)
            await chat.say("thanks")
            assert tried(p) == (told == "approved")
            p.assert_clean()


@every_mode
@pytest.mark.parametrize("policy", ["represent", "refuse"])
async def test_other_policies(mode: str, policy: str) -> None:
    async with hosted(turns(), mode=mode, on_unanswered=policy) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        shown = await chat.say("hello?")
        if policy == "refuse":
            assert (shown.status, shown[-1]["error"]["code"]) == (409, "approval_pending")
        else:
            assert [ask["id"] for ask in shown.interrupts] == [asked.interrupts[0]["id"]]
        assert consents(p) == []
        done = await decide(chat, asked, YES)
        assert (done.text, tried(p)) == ("Paid.", 1)
        p.assert_clean()


async def test_arguments_that_are_no_object_are_nobodys_to_approve() -> None:
    broken = asks() | {"arguments": '{"to": '}
    async with hosted(turns(broken)) as p:
        chat = p.chat()
        done = await chat.say("pay ada")
        assert (done.interrupts, done.text) == ([], "Done.")
        assert status(done.results[held(done)]) == "error"
        assert [approve for _, approve in consents(p)] == [False]
        p.assert_clean()


# --- processes that die -------------------------------------------------------------------------------------------


async def die(url: str, chat: Chat, approval_id: str) -> None:
    """Leave behind what a process leaves that died after it had saved that it would pass a consent on."""
    store = open_store(url)
    await store.start()
    await store.lease_thread(LOCAL, chat.thread_id, "support", "dead")
    await store.move(approval_id, State.PASSED, run_key="dead")
    await store.aclose()


@every_mode
@styles
@shows("B5", "B9")
async def test_a_process_that_died_with_a_yes_on_its_way(
    mode: str, tools: list[dict[str, Any]], tmp_path: Path
) -> None:
    """Nobody knows whether the provider got it: the person and the model are told so, and it is not said again."""
    url = store_url(tmp_path)
    async with lives(turns(), mode, url) as life:
        async with life() as p:
            chat = p.chat(tools=tools)
            asked = await chat.say("pay ada")
            (approval,) = (await p.get("/approvals"))["approvals"]
            assert (await p.decide(approval["id"], YES))["state"] == "claimed"
        await die(url, chat, approval["id"])
        async with life() as p:
            chat.product = p
            done = await chat.go()
            assert (done.text, status(done.results[held(asked)])) == ("Done.", "unknown")
            assert "not known" in json.dumps(p.inputs()[-1]["input"])
            for card in asked.cards:
                assert card in done.results
            await chat.say("thanks")
            assert tried(p) == 0
            p.assert_clean()


@every_mode
@shows("B17", "S29", "S30")
async def test_stopped_while_a_yes_is_on_its_way(mode: str) -> None:
    async with hosted(turns(fault={"kind": "hang", "after_events": 0}), mode=mode) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        answering = asyncio.create_task(chat.resume((asked.interrupts[0]["id"], YES)))
        async with asyncio.timeout(60):
            while not tried(p):
                await p.get("/healthz")
            await p.client.post(f"{p.url}/threads/{chat.thread_id}/cancel")
            stopped = await answering
        assert (stopped[-1]["type"], stopped[-1]["code"]) == ("RUN_ERROR", "abort")
        assert status(stopped.results[held(asked)]) == "unknown"
        assert (await chat.say("well?")).text == "Done."
        assert tried(p) == 1
        p.assert_clean()


@every_mode
async def test_another_model_is_not_told_to_run_it(mode: str, tmp_path: Path) -> None:
    """The agent got another model between the question and the answer: that one never asked."""
    url = store_url(tmp_path)
    async with hosted(turns(), mode=mode, store=url) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
    async with product(script=[{"output": [say("Other.")], "repeat": True}], mode=mode, store=url) as q:
        chat.product = q
        done = await decide(chat, asked, YES)
        assert (done.text, status(done.results[held(asked)])) == ("Other.", "cancelled")
        assert "crm__pay" in json.dumps(q.inputs()[-1]["input"])
        assert tried(q) == 0
        q.assert_clean()


@every_mode
async def test_another_agent_does_not_pass_on_what_was_approved(mode: str) -> None:
    """Decided out of band, and then the client goes to another agent of the same model."""
    emulator = Emulator(script=turns())
    async with serve(emulator) as base_url:

        def agent(name: str, **more: Any) -> Agent:
            return Agent(name=name, model=OpenAIResponses("m", mode=mode, base_url=base_url, api_key="k", **more))  # type: ignore[arg-type]

        app = create_app(agent("one", hosted_tools=[SERVER]), agent("two"), store="memory://")
        async with running(app) as url, client_of() as client:
            p = Product(emulator, app, url, client)
            chat = p.chat()
            asked = await chat.say("pay ada")
            await p.decide(asked.interrupts[0]["id"], YES)
            chat.path = "/agents/two"
            done = await chat.go()
            assert status(done.results[held(asked)]) == "cancelled"
            assert (done.text, tried(p)) == ("Done.", 0)
            p.assert_clean()


async def test_a_page_that_comes_back_is_asked_again() -> None:
    async with hosted(turns()) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        response = await p.client.post(f"{p.url}/agents/support/connect", json=chat.body())
        shown = parse(response.text)
        assert shown.interrupts == asked.interrupts
        (approval,) = (await p.get(f"/threads/{chat.thread_id}"))["approvals"]
        assert (approval["tool"], approval["message"]) == ("crm__pay", "Let crm run pay?")


@shows("T10", "B1")
@every_mode
async def test_a_refused_picture_beside_a_consent_costs_neither(mode: str) -> None:
    """The provider refused that request, so it did not act: the consent goes with the next one, and counts once."""
    async with hosted(turns(), mode=mode) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        picture = {"type": "image", "source": {"type": "data", "value": CUT_PNG, "mimeType": "image/png"}}
        chat.messages.append({"id": "picture", "role": "user", "content": [picture]})
        done = await decide(chat, asked, YES)
        assert done.text.startswith("Paid."), done[-1]
        assert [approve for _, approve in consents(p)] == [True]
        assert {entry.rule for entry in p.emulator.refusals} == {"media"}


@every_mode
@pytest.mark.parametrize("answer", [YES, NO], ids=["yes", "no"])
@shows("T6")
async def test_a_decision_out_of_band_that_goes_on_tells_the_provider_at_once(
    mode: str, answer: dict[str, bool]
) -> None:
    async with hosted(turns(), mode=mode) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        decided = await p.decide(asked.interrupts[0]["id"], {**answer, "continue": True})
        assert decided["state"] == ("claimed" if answer["approved"] else "rejected")
        response = await p.client.get(f"{p.url}/runs/{decided['run']['key']}/events")
        assert '"RUN_FINISHED"' in response.text
        view = await p.get(f"/threads/{chat.thread_id}")
        assert view["messages"][-1]["content"] == ("Paid." if answer["approved"] else "Done.")
        assert view["calls"][0]["state"] == ("done" if answer["approved"] else "rejected")
        assert [approve for _, approve in consents(p)] == [answer["approved"]]
        p.assert_clean()


@every_mode
@conforms("TOOL-6")
async def test_a_held_call_that_is_asked_about_by_card_is_shown_when_it_is_decided(mode: str) -> None:
    async with hosted(turns(), mode=mode) as p:
        chat = p.chat(tools=[CARD_TOOL], extra={"protocolVersion": "1.0"})
        asked = await chat.say("pay")
        assert list(asked.calls.values()) == ["confirm_changes"]
        done = await chat.decide(asked, approved=True)
        told = [name for i, name in done.calls.items() if i in done.results]
        assert (sorted(told), done.text) == (sorted(done.calls.values()), "Paid.")
        assert len(told) == 2, "what was approved, and what the provider ran"
        p.assert_clean()
