"""A yes names the arguments that were shown: in every way an answer comes, one to others decides nothing."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from starlette.requests import Request

from agui_gate import Agent, Principal, create_app
from agui_gate import errors as er
from agui_gate.cli.program import program
from agui_gate.cli.remote_server import RemoteServer
from agui_gate.cli.terminal.prompts import Asker
from agui_gate.client import CARD as ASKS_BY_CARD
from agui_gate.client import Client
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.remote_agui import RemoteAgent
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import CARD_TOOL, AGUIClient, connecting, serving
from tests.people.desk import Desk, Json
from tests.product.inprocess import request, run_body
from tests.product.shop import Shop, refund
from tests.product.shop import say as says

pytestmark = pytest.mark.anyio

TEAM = {name: Principal(name, "acme", acts_for="desk") for name in ("ada", "ben", "cat", "dan", "eve")}
GATE: Json = {"needs": 2, "editable": ["amount"]}
STALE = "The arguments are not those that you were shown. Look at them again, then decide."
CARD = {"name": "confirm_changes", "description": "Ask.", "parameters": {"type": "object"}}

Told = tuple[str, list[Json]]
"""Why an answer was refused ("": it wasn't), and what was asked with it, as arguments."""
Way = Callable[[Desk, str, Json, Json], Awaitable[Told]]


def told(events: list[Json]) -> Told:
    """What a run says of the answer that began it."""
    refused = [one["value"]["message"] for one in events if one.get("name") == "agui-gate:answer_refused"]
    outcome = events[-1].get("outcome") or {}
    asked = [one["metadata"] for one in outcome.get("interrupts", [])]
    asked += [json.loads(one["delta"]) for one in events if "function_call_id" in one.get("delta", "")]
    shown = [one.get("arguments") or one["function_arguments"] for one in asked]
    assert all(one.get("refused") == (refused or [None])[0] for one in asked), "where it is asked again"
    return "".join(refused), shown


async def by_http(desk: Desk, who: str, asked: Json, payload: Json) -> Told:
    answer = await desk.post(who, f"/approvals/{asked['id']}", payload)
    if answer.status == 200:
        return "", []
    error = answer.json()["error"]
    assert (answer.status, error["code"], "record" in error) == (422, "approval_refused", error["message"] == STALE)
    record = (await desk.get(who, f"/approvals/{asked['id']}")).json()
    assert (record["state"], error.get("record", record)) == ("pending", record)
    return error["message"], [record["effective_arguments"]]


async def by_resume(desk: Desk, who: str, asked: Json, payload: Json) -> Told:
    entry = {"interruptId": asked["id"], "status": "resolved", "payload": payload}
    return told(await desk.say(who, "", resume=[entry]))


async def by_command(desk: Desk, who: str, asked: Json, payload: Json) -> Told:
    command = {"resume": payload, "interruptEvent": {"id": asked["id"]}}
    return told(await desk.say(who, "", forwardedProps={"command": command}))


async def by_copilotkit(desk: Desk, who: str, asked: Json, payload: Json) -> Told:
    entry = {"interruptId": asked["id"], "status": "resolved", "payload": payload}
    body = json.dumps(run_body("t", resume=[entry])).encode()
    answer = await request(desk.app, "POST", "/copilotkit/agent/support/run", body, {"authorization": who})
    return told(answer.events())


async def by_card(desk: Desk, who: str, asked: Json, payload: Json) -> Told:
    thread = (await desk.get(who, "/threads/t")).json()
    answered = {one.get("toolCallId") for one in thread["messages"]}
    calls = [call for one in thread["messages"] for call in one.get("toolCalls", [])]
    (card,) = [call for call in calls if call["function"]["name"] == "confirm_changes" and call["id"] not in answered]
    answer = {"id": f"m{len(calls)}", "role": "tool", "toolCallId": card["id"], "content": json.dumps(payload)}
    return told(await say(desk, who, answer))


async def by_tool_message(desk: Desk, who: str, asked: Json, payload: Json) -> Told:
    answer = {"id": "m", "role": "tool", "toolCallId": asked["call_id"], "content": json.dumps(payload)}
    return told(await say(desk, who, answer))


async def by_function_approval(desk: Desk, who: str, asked: Json, payload: Json) -> Told:
    item = {"id": asked["id"], "call_id": asked["call_id"], **payload}
    return told(await say(desk, who, {"id": "m2", "role": "user", "content": "", "function_approvals": [item]}))


async def by_code(desk: Desk, who: str, asked: Json, payload: Json) -> Told:
    async with desk.app.state.engine.agent(None).session(app=desk.app, principal=TEAM[who]) as session:
        thread = session.thread("t")
        try:
            await thread.decide(asked["id"], payload)
        except er.ApprovalRefused as refused:
            (waiting,) = (await thread.read()).pending
            return refused.message, [json.loads(waiting.effective_arguments)]
    return "", []


async def say(desk: Desk, who: str, message: Json) -> list[Json]:
    body = json.dumps(run_body("t", message, tools=[CARD])).encode()
    return (await request(desk.app, "POST", "/", body, {"authorization": who})).events()


WAYS: dict[str, Way] = {
    "http": by_http,
    "resume": by_resume,
    "command": by_command,
    "copilotkit": by_copilotkit,
    "card": by_card,
    "tool message": by_tool_message,
    "function approval": by_function_approval,
    "code": by_code,
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_yes_is_to_what_was_shown_whatever_way_it_comes(way: str, tmp_path: Path) -> None:
    """Somebody edits what ben has before him. His yes, and his own edit, are refused, and he is told what it is now."""
    answer, word = WAYS[way], "accepted" if way == "card" else "approved"
    before, edit = {"order_id": "A1", "amount": 20}, {"order_id": "A1", "amount": 5}
    async with Desk(TEAM, **GATE).open(SQLiteStore(str(tmp_path / "store.db"))) as desk:
        await desk.say("ada", "refund", tools=[CARD] if way == "card" else [])
        (asked,) = (await desk.get("ben", "/approvals")).json()["approvals"]
        await desk.decide("cat", asked["id"], edited_arguments=edit)
        if way == "card":
            await desk.say("ben", "", tools=[CARD])  # the card as it was answered before is closed
        for more in ({}, {"edited_arguments": {**before, "amount": 25}}):
            why, shown = await answer(desk, "ben", asked, {word: True, "effective_arguments": before, **more})
            assert (why, shown) == (STALE, [edit])
            record = (await desk.get("ben", f"/approvals/{asked['id']}")).json()
            assert ([one["by"] for one in record["approvals"]], record["effective_arguments"]) == (["cat"], edit)
        assert (await answer(desk, "ben", asked, {word: True, "effective_arguments": edit}))[0] == ""
        assert desk.amounts == [], "who edited isn't one of the two"
        assert (await answer(desk, "dan", asked, {word: True}))[0] == "", "who names nothing agrees to the newest edit"
        assert desk.amounts == [5]


@pytest.mark.parametrize("way", WAYS)
async def test_an_edit_that_nobody_reads_is_no_yes_whatever_way_it_comes(way: str) -> None:
    """It would run what was asked. What can't be an edit is the page's own, and so is a record that is sent back."""
    answer, word = WAYS[way], "accepted" if way == "card" else "approved"
    edit = {"order_id": "A1", "amount": 5}
    misspelt: Json = {"edited": edit, "Edit": "5", "args": edit, "changes": [5], "amount": 5, "arguments": edit}
    async with Desk(TEAM, needs=1, editable=["amount"]).open() as desk:
        await desk.say("ada", "refund", tools=[CARD] if way == "card" else [])
        (asked,) = (await desk.get("ben", "/approvals", "view=card")).json()["approvals"]
        for name, value in misspelt.items():
            why, _ = await answer(desk, "ben", asked, {word: True, name: value})
            if (name, way) == ("arguments", "function approval"):
                assert why == "The answer is about different arguments than the question."
            else:
                assert why == f"The edit was refused: '{name}' is no edit. Edited arguments are 'edited_arguments'."
        assert desk.amounts == []
        whole = asked | {"at": "2026-11-28", "comment": "fine", "edited_by": None}
        assert (await answer(desk, "ben", asked, {**whole, word: True}))[0] == ""
        assert desk.amounts == [20]


async def test_a_no_names_nothing(store: FullStore) -> None:
    """What somebody made of it meanwhile doesn't matter to who doesn't want it."""
    async with Desk(TEAM, **GATE).open(store) as desk:
        approval_id = await desk.ask("ada")
        await desk.decide("cat", approval_id, edited_arguments={"order_id": "A1", "amount": 5})
        refused = await desk.decide("ben", approval_id, approved=False, effective_arguments={"order_id": "A1"})
        assert (refused.status, refused.json()["state"], desk.ran) == (200, "rejected", [])


@pytest.mark.parametrize("shown", ["x", [], {}, {"order_id": "A1"}, {"order_id": "A1", "amount": True}, 1])
async def test_what_names_no_arguments_of_the_call_is_no_yes_to_them(shown: Any) -> None:
    async with Desk(TEAM, **{**GATE, "needs": 1}).open() as desk:
        approval_id = await desk.ask("ada")
        refused = await desk.decide("ben", approval_id, effective_arguments=shown)
        assert (refused.status, refused.json()["error"]["code"], desk.ran) == (422, "approval_refused", [])


# --- clients of ours, which name what they showed


async def test_the_shell_prints_and_names_what_would_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody edits it once more between what is printed and the answer."""
    async with served() as (desk, url):

        async def shell(*arguments: str) -> tuple[int, str]:
            command = ["approvals", *arguments, "--url", url, "--token", "ben"]
            done = await asyncio.to_thread(CliRunner().invoke, program, command)
            return done.exit_code, done.output

        approval_id = await desk.ask("Bearer ada")
        await edit(desk, 5)
        assert 'refund(order_id="A1", amount=5)' in (await shell("ls"))[1]
        loop, decide = asyncio.get_running_loop(), RemoteServer.decide

        def too_late(self: RemoteServer, *given: Any) -> Json:
            asyncio.run_coroutine_threadsafe(edit(desk, 9), loop).result(60)
            return decide(self, *given)

        with monkeypatch.context() as patched:
            patched.setattr(RemoteServer, "decide", too_late)
            code, said = await shell("approve", approval_id)
        assert (code, "amount: 5" in said, STALE in said) == (1, True, True)
        code, said = await shell("approve", approval_id)
        assert ("amount: 9" in said, "pending" in said) == (True, True)
        record = (await desk.get("Bearer ben", f"/approvals/{approval_id}")).json()
        assert [one["by"] for one in record["approvals"]] == ["cat", "ben"]


@pytest.mark.parametrize("way", ["interrupt", "card"])
async def test_so_does_the_client(way: str) -> None:
    async with served() as (desk, url), Client(url, headers={"authorization": "Bearer ben"}) as client:
        await desk.say("Bearer ada", "refund")
        thread = client.thread("t", advertised=[ASKS_BY_CARD] if way == "card" else [])
        await thread.say("")
        (stale,) = thread.questions
        await edit(desk, 5)
        await thread.answer(stale.approve())
        (again,) = thread.questions
        assert (STALE in again.message, again.arguments["amount"], desk.ran) == (True, 5, [])
        await thread.answer(again.approve())
        assert [one["by"] for one in await agreed(desk)] == ["cat", "ben"]


@pytest.mark.parametrize("style", ["card", "interrupt"])
async def test_so_does_a_server_in_front(style: str) -> None:
    """Its page shows what the far server asks; there somebody edits it. The page's yes is to what it has shown."""
    shop = Shop(**GATE, self_approval=True)
    far = Emulator([{"output": [refund()]}, {"output": [says("Done.")], "repeat": True}])
    async with serve(far) as base_url, connecting() as http:
        model = OpenAIResponses("gpt", mode="stateless", base_url=base_url, api_key="k")
        expert = Agent(name="expert", model=model, tools=shop.tools)
        async with serving(create_app(expert, store="memory://", auth=by_bearer)) as back:
            desk = RemoteAgent(f"{back}/agents/expert", name="desk", headers={"authorization": "Bearer ada"})
            async with serving(create_app(desk, store="memory://")) as front:

                async def ask(method: str, url: str, who: str = "cat", **body: Any) -> Any:
                    answer = await http.request(method, url, json=body, headers={"authorization": f"Bearer {who}"})
                    return answer.json()

                page = AGUIClient(http, front, tools=[CARD_TOOL] if style == "card" else [])
                asked = await page.say("Refund A1.")
                (waiting,) = (await ask("GET", f"{back}/approvals"))["approvals"]
                theirs = f"{back}/approvals/{waiting['id']}"
                await ask("POST", theirs, approved=True, edited_arguments={"order_id": "A1", "amount": 5})
                asked = await page.decide(asked, approved=True)
                assert [one["by"] for one in (await ask("GET", theirs))["approvals"]] == ["cat"]
                (shown,) = (await ask("GET", f"{front}/approvals"))["approvals"]
                assert (shown["effective_arguments"]["amount"], STALE in shown["message"]) == (5, True)
                asked = await page.decide(asked, approved=True)
                assert [one["by"] for one in (await ask("GET", theirs))["approvals"]] == ["cat", "ada"]
                assert (await ask("POST", theirs, "ben", approved=True))["state"] == "done"
                assert shop.refunds == [("A1", 5)]


async def test_so_does_a_run_from_the_shell(store: FullStore) -> None:
    async with Desk(TEAM, **GATE).open(store) as desk:
        approval_id = await desk.ask("ada")
        await desk.decide("cat", approval_id, edited_arguments={"order_id": "A1", "amount": 5})
        asked = await store.approval("acme\x1fdesk", approval_id)
        assert asked is not None
        (said,) = Asker("yes", {}, "support").ask([asked])
        assert said.payload == {"approved": True, "effective_arguments": {"order_id": "A1", "amount": 5}}
        (said,) = Asker("no", {}, "support").ask([asked])
        assert said.payload == {"approved": False}


def by_bearer(asked: Request) -> Principal | None:
    return TEAM.get(asked.headers.get("authorization", "").removeprefix("Bearer "))


@asynccontextmanager
async def served() -> AsyncIterator[tuple[Desk, str]]:
    desk = Desk({f"Bearer {name}": who for name, who in TEAM.items()}, **GATE)
    async with desk.open(), serving(desk.app) as url:
        yield desk, url


async def edit(desk: Desk, amount: int) -> None:
    (waiting,) = (await desk.get("Bearer cat", "/approvals")).json()["approvals"]
    edited = {"order_id": "A1", "amount": amount}
    assert (await desk.decide("Bearer cat", waiting["id"], edited_arguments=edited)).status == 200


async def agreed(desk: Desk) -> list[Json]:
    (waiting,) = (await desk.get("Bearer cat", "/approvals")).json()["approvals"]
    found: list[Json] = waiting["approvals"]
    return found
