"""Every example runs and shows what it teaches: what runs, what waits, and what the provider got."""

import ast
import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agui_gate import create_app
from agui_gate.approvals import outbox
from agui_gate.cli.target import load_target
from tests.examples import files_server
from tests.examples.conftest import EXAMPLES, Teach
from tests.product.kit import TIMEOUT, Product, Stream, activities, client_of, running
from tests.product.shop import call, calls, items, outputs, say, script, status
from tests.requirements import shows

pytestmark = pytest.mark.anyio

NAMES = sorted(file.stem for file in EXAMPLES.glob("*.py"))
LONGER = {"adapter_in_an_afternoon": 160, "adapter_with_rooms": 210}
"""Lessons that take longer than a minute."""
YES, NO = {"approved": True}, {"approved": False, "reason": "not now"}


def asked_for(stream: Stream) -> list[dict[str, Any]]:
    """The arguments that the run's questions are about."""
    return [interrupt["metadata"]["arguments"] for interrupt in stream.interrupts]


def tools_of(body: dict[str, Any]) -> list[str]:
    """The names of the tools that a model request offers."""
    return [tool["name"] for tool in body["tools"]]


# --- all of them


@pytest.mark.parametrize("name", NAMES)
def test_an_example_says_how_it_is_run_and_that_is_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    source = (EXAMPLES / f"{name}.py").read_text()
    (target,) = re.findall(r"agui-gate serve (\S+)", ast.get_docstring(ast.parse(source)) or "")
    assert target.startswith(f"{name}:")
    try:
        assert load_target(target).agents
    finally:
        sys.modules.pop(name, None)
    assert 20 <= len(source.splitlines()) <= LONGER.get(name, 60)


def test_the_readme_has_a_line_for_each() -> None:
    listed = re.findall(r"^\| \[`(\w+)\.py`\]\(\1\.py\) \|", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == NAMES


# --- tools and gates


async def test_first_agent(teach: Teach) -> None:
    turn = script(call("local_time", city="Tokyo"), call("local_time", city="Atlantis"), after="It is late.")
    async with teach("first_agent", turn) as lesson:
        stream = await lesson.product.chat().say("Is it late in Tokyo?")
        assert stream.text == "It is late."
        assert stream.interrupts == []
        tokyo, atlantis = outputs(lesson.product.inputs()[-1])
        assert json.loads(tokyo)["city"] == "Tokyo"
        assert "Only these cities are known: Lagos" in atlantis
        (offered,) = lesson.product.inputs()[0]["tools"]
        assert (offered["name"], offered["description"]) == ("local_time", "The time and the weekday in a city.")


@shows("S1")
async def test_gated_tool(teach: Teach) -> None:
    turn = script(call("list_files"), call("delete_file", file="taxes.pdf"), call("delete_file", file="cat.jpg"))
    async with teach("gated_tool", turn) as lesson:
        files = lesson.module.FILES
        chat = lesson.product.chat()
        asked = await chat.say("Delete the taxes and the cat")
        assert [i["message"] for i in asked.interrupts] == ["Delete taxes.pdf for good?", "Delete cat.jpg for good?"]
        assert len(asked.results) == 1
        assert len(files) == 3
        taxes, cat = (i["id"] for i in asked.interrupts)
        done = await chat.resume((taxes, YES), (cat, NO))
        assert (done.text, files) == ("Done.", {"notes-2019.txt", "cat.jpg"})
        _, deleted, kept = outputs(lesson.product.inputs()[-1])
        assert deleted == "taxes.pdf was deleted, as local wished."
        assert json.loads(kept)["status"] == "rejected"
        again = await chat.resume((taxes, YES))
        assert again[-1]["type"] == "RUN_FINISHED"
        assert len(files) == 2


@shows("B11")
async def test_edit_policy(teach: Teach) -> None:
    async with teach("edit_policy", script(call("send_money", to="Ada", amount=500))) as lesson:
        chat = lesson.product.chat()
        asked = await chat.say("Send Ada 500 € for the flight")
        (question,) = asked.interrupts
        assert question["message"] == "Send 500 € to Ada?"
        for edited in ({"to": "Eve", "amount": 500}, {"to": "Ada", "amount": 5000}):
            await chat.resume((question["id"], {**YES, "editedArgs": edited}))
            assert lesson.module.SENT == []
        assert len((await lesson.product.get("/approvals"))["approvals"]) == 1
        done = await chat.resume(
            (question["id"], {**YES, "editedArgs": {"to": "Ada", "amount": 450, "note": "flight"}})
        )
        assert (done.text, lesson.module.SENT) == ("Done.", [("Ada", 450, "flight")])
        told = calls(lesson.product.inputs()[-1])  # all of it is sent, to a server that isn't known to keep anything
        assert told == [("send_money", {"to": "Ada", "amount": 450, "note": "flight"})]


async def test_conditional_gate(teach: Teach) -> None:
    turns = [
        {"output": [call("refund", order_id="A1", amount=20), call("refund", order_id="A2", amount=80)]},
        {"output": [call("refund", order_id="A1", amount=5)]},
        {"output": [say("Done.")]},
    ]
    async with teach("conditional_gate", turns) as lesson:
        chat = lesson.product.chat()
        large = await chat.say("Refund 20 of A1 and 80 of A2")
        assert asked_for(large) == [{"order_id": "A2", "amount": 80}]
        assert lesson.module.REFUNDED == {"A1": 20}
        second_time = await chat.resume((large.interrupts[0]["id"], YES))
        assert asked_for(second_time) == [{"order_id": "A1", "amount": 5}]
        assert lesson.module.REFUNDED == {"A1": 20, "A2": 80}
        done = await chat.resume((second_time.interrupts[0]["id"], NO))
        assert (done.text, lesson.module.REFUNDED) == ("Done.", {"A1": 20, "A2": 80})


async def test_policy(teach: Teach, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[dict[str, Any]] = []

    async def judge(request: Request) -> Response:
        heard.append((await request.json())["input"])
        amount = heard[-1]["arguments"]["amount"]
        says = {"says": "deny", "reason": "Too much."} if amount > 500 else {"says": "allow" if amount < 50 else "ask"}
        return JSONResponse({} if amount == 49 else {"result": says})  # {}: it has no answer

    amounts = (20, 49, 80, 600)
    turns = [
        {"output": [call("refund", order_id=f"A{amount}", amount=amount) for amount in amounts]},
        {"output": [say("Done.")]},
    ]
    async with running(Starlette(routes=[Route("/v1/data/refunds/ruling", judge, methods=["POST"])])) as engine:
        monkeypatch.setenv("OPA_URL", f"{engine}/v1/data/refunds/ruling")
        async with teach("policy", turns) as lesson:
            chat = lesson.product.chat()
            asked = await chat.say("Refund them all")
            assert sorted(one["amount"] for one in asked_for(asked)) == [49, 80]
            assert lesson.module.REFUNDED == [("A20", 20)]
            done = await chat.resume(*((question["id"], YES) for question in asked.interrupts))
            assert (done.text, sorted(lesson.module.REFUNDED)) == ("Done.", [("A20", 20), ("A49", 49), ("A80", 80)])
            assert max(one["spent"] for one in heard) >= 20


async def test_nightly(teach: Teach, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job asks, a server on the same store decides, and goes on; the small one needs nobody."""
    monkeypatch.setenv("AGUI_GATE_STORE", "sqlite:///desk.db")
    turns = [
        {"output": [call("refund", order_id="A2", amount=480.0)]},
        {"output": [say("A2 is refunded.")]},
        {"output": [call("refund", order_id="A1", amount=12.5)]},
        {"output": [say("A1 is refunded.")]},
    ]
    async with teach("nightly", turns) as lesson:
        app = create_app(lesson.module.agent)
        async with running(app) as url, client_of() as client:
            server = Product(lesson.product.emulator, app, url, client)
            monkeypatch.setattr(lesson.module, "OVERDUE", {"A2": 480.0})
            assert await lesson.module.main(0) == ["A2: nobody has decided yet"]
            (asked,) = (await server.get("/approvals"))["approvals"]
            assert asked["arguments"] == {"order_id": "A2", "amount": 480.0}
            await server.decide(asked["id"], YES)
            assert lesson.module.REFUNDED == {"A2": 480.0}
            session = lesson.module.agent.session()
            assert (await session.thread(asked["thread_id"]).wait(TIMEOUT)).text == "A2 is refunded."
            monkeypatch.setattr(lesson.module, "OVERDUE", {"A1": 12.5})
            assert await lesson.module.main(0) == ["A1: A1 is refunded."]
            assert (await server.get("/approvals"))["approvals"] == []


@shows("S22")
async def test_handoffs(teach: Teach) -> None:
    over, back = call("transfer_to_billing"), call("transfer_to_support")
    turns = [
        {"output": [over]},
        {"output": [call("credit", invoice="77", euros=5)]},
        {"output": [say("Credited.")]},
        {"output": [back]},
        {"output": [say("In Lagos.")]},
    ]
    async with teach("handoffs", turns) as lesson:
        chat = lesson.product.chat()
        asked = await chat.say("My invoice 77 is wrong")
        assert asked_for(asked) == [{"invoice": "77", "euros": 5}]
        assert (await chat.resume((asked.interrupts[0]["id"], YES))).text == "Credited."
        assert (await chat.say("Thanks, where is my parcel?")).text == "In Lagos."
        assert lesson.module.CREDITED == ["77"]
        told = [(body["instructions"][:15], tools_of(body)) for body in lesson.product.inputs()]
        support, billing = ["parcel", "transfer_to_billing"], ["credit", "transfer_to_support"]
        assert [tools for _, tools in told] == [support, billing, billing, billing, support]


async def test_team(teach: Teach) -> None:
    played = json.loads((EXAMPLES / "team.json").read_text())["turns"]  # as the emulator plays it for who has no key
    async with teach("team", played) as lesson:
        chat = lesson.product.chat()
        asked = await chat.say("Refund order 1003, and tell Anna when her parcel comes")
        (question,) = asked.interrupts
        assert (question["message"], asked_for(asked)) == ("clerk asks: Run refund?", [{"order": "1003", "euros": 20}])
        assert activities(asked)
        done = await chat.resume((question["id"], YES))
        assert done.text.endswith("I have written to Anna.")
        letter = {"to": "Anna", "text": "Dear Anna, your parcel comes on Friday, and 20 € are on their way to you."}
        assert (await lesson.product.get(f"/threads/{chat.thread_id}"))["state"] == {
            "refunded": ["1003"],
            "letter": letter,
        }


@shows("B15")
async def test_client_tool(teach: Teach) -> None:
    turns = [{"output": [call("set_colour", css="navy"), call("set_colour", css="teal")]}, {"output": [say("Done.")]}]
    async with teach("client_tool", turns) as lesson:
        assert await lesson.module.page(lesson.product.url, "Like the sea.") == ["navy", "teal"]
        first, second = lesson.product.inputs()
        assert tools_of(first) == ["set_colour"]
        assert outputs(second) == ["It is set.", "It is set."]


@shows("S1", "S10")
async def test_docs_search(teach: Teach) -> None:
    pages = [call("search_pages", query=q) for q in ("signing keys", "vault", "releases", "nothing")]
    runbooks = [call("search_runbooks", query=q) for q in ("rotate", "signing", "back")]
    calls = [pages[0], runbooks[0], pages[1], runbooks[1], pages[2], runbooks[2], pages[3]]
    turn = script(say("I'll look everywhere."), *calls, after="Run vaultctl rotate.")
    async with teach("docs_search", turn) as lesson:
        chat = lesson.product.chat(thread_id="the-pages-own-id")
        asked = await chat.say("How do I rotate the signing keys?")
        assert asked.text == "I'll look everywhere."
        assert (len(asked.calls), len(asked.results), len(asked.interrupts)) == (7, 4, 3)
        done = await chat.resume(*((i["id"], YES) for i in asked.interrupts))
        assert {e["threadId"] for e in asked + done if e["type"] == "RUN_STARTED"} == {"the-pages-own-id"}
        assert done.text == "Run vaultctl rotate."
        assert asked.results.keys() | done.results.keys() == asked.calls.keys()
        found = items(lesson.product.inputs()[-1], "function_call_output")
        assert len({item["call_id"] for item in found}) == 7
        assert [len(json.loads(item["output"])) for item in found] == [1, 1, 2, 2, 1, 1, 0]


async def test_long_running(teach: Teach, monkeypatch: pytest.MonkeyPatch) -> None:
    async with teach("long_running", script(call("index_document", title="handbook"))) as lesson:
        monkeypatch.setattr(lesson.module, "SECONDS_A_PAGE", 0)
        stream = await lesson.product.chat().say("Index the handbook")
        shown = activities(stream)
        assert shown[2][2] == {"title": "handbook", "done": 3, "total": 10}
        assert [content["done"] for *_, content in shown] == list(range(1, 11))
        assert len({name for name, *_ in shown}) == 1  # one bar that moves
        assert (stream.text, lesson.module.INDEX) == ("Done.", {"handbook": 10})
        assert outputs(lesson.product.inputs()[-1]) == ['{"title":"handbook","pages":10}']


async def test_mcp_tools(teach: Teach, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    npx = tmp_path / "bin" / "npx"
    npx.parent.mkdir()
    npx.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{files_server.__file__}" "$@"\n')
    npx.chmod(0o700)
    monkeypatch.setenv("PATH", f"{npx.parent}:{os.environ['PATH']}")
    turns = [
        {"output": [call("files_write_file", path="haiku.txt", content="five")]},
        {"output": [call("files_read_text_file", path="haiku.txt")]},
        {"output": [say("Seven.")]},
    ]
    async with teach("mcp_tools", turns) as lesson:
        chat = lesson.product.chat()
        asked = await chat.say("Put a haiku into haiku.txt")
        assert [i["message"] for i in asked.interrupts] == ["Write haiku.txt?"]
        assert not (tmp_path / "haiku.txt").exists()
        edited = {"approved": True, "edited_arguments": {"path": "haiku.txt", "content": "five seven"}}
        done = await chat.resume((asked.interrupts[0]["id"], edited))
        assert done.text == "Seven."
        assert outputs(lesson.product.inputs()[-1])[-1] == "five seven"
        assert tools_of(lesson.product.inputs()[0]) == ["files_read_text_file", "files_write_file"]


async def test_hosted_tools(teach: Teach) -> None:
    note = {"type": "mcp_approval_request", "server_label": "crm", "name": "add_note", "arguments": '{"customer":7}'}
    listed = {"type": "mcp_list_tools", "server_label": "crm", "tools": [{"name": "add_note", "input_schema": {}}]}
    search = {"type": "web_search_call", "action": {"type": "search", "query": "EU VAT 2026"}}
    turns = [{"output": [listed, search, note]}, {"output": [{"type": "mcp_call", "output": "noted"}, say("Noted.")]}]
    async with teach("hosted_tools", turns) as lesson:
        chat = lesson.product.chat()
        asked = await chat.say("What changed in EU VAT this year? Put a note into the file of customer 7.")
        assert list(asked.calls.values()) == ["web_search", "crm__add_note"]
        assert list(asked.results) == [next(iter(asked.calls))], "the search is done, the note waits"
        assert asked_for(asked) == [{"customer": 7}]
        done = await chat.resume((asked.interrupts[0]["id"], YES))
        assert (done.text, "noted" in done.results.values()) == ("Noted.", True)
        assert [item["approve"] for item in items(lesson.product.inputs()[-1], "mcp_approval_response")] == [True]


# --- around the agents


async def test_fastapi_mount(teach: Teach) -> None:
    async with teach("fastapi_mount", script(call("add_todo", text="buy soil"))) as lesson:
        url, client = lesson.product.url, lesson.product.client
        chat = lesson.product.chat(path="/agent/")
        asked = await chat.say("I need soil")
        assert (await client.get(f"{url}/todos")).json() == ["water the plants"]
        listed = await lesson.product.get("/agent/approvals")
        assert [a["arguments"] for a in listed["approvals"]] == [{"text": "buy soil"}]
        assert (await chat.resume((asked.interrupts[0]["id"], YES))).text == "Done."
        assert (await client.get(f"{url}/todos")).json() == ["water the plants", "buy soil"]


async def test_starlette_mount(teach: Teach) -> None:
    turns = [{"output": [say("It has no verb.")]}, {"output": [say("Roses are red.")]}]
    async with teach("starlette_mount", turns) as lesson:
        url, client = lesson.product.url, lesson.product.client
        assert (await client.get(url)).text == "The assistants are at /assistants/."
        agents = (await lesson.product.get("/assistants/agents"))["agents"]
        assert [agent["name"] for agent in agents] == ["critic", "writer"]
        assert (await lesson.product.chat(path="/assistants/").say("Roses")).text == "It has no verb."
        assert (await lesson.product.chat(path="/assistants/agents/writer").say("Roses")).text == "Roses are red."
        instructions = [body["instructions"] for body in lesson.product.inputs()]
        assert instructions == ["You say kindly what is wrong with a text.", "You write short texts."]


async def test_auth_hook(teach: Teach) -> None:
    turn = [{"output": [call("my_orders")]}, {"output": [say("One.")]}]
    async with teach("auth_hook", turn) as lesson:
        alice, bob = ({"Cookie": f"session={lesson.module.session_of(user)}"} for user in ("alice", "bob"))
        forged = {"Cookie": alice["Cookie"].replace("alice", "bob")}
        for wrong in ({}, forged, {"Cookie": "session="}, {"Cookie": "session=alice"}):
            refused = await lesson.product.chat(headers=wrong).say("My orders?")
            assert (refused.status, refused[0]["error"]["code"]) == (401, "unauthorized")
        assert lesson.product.inputs() == []
        chat = lesson.product.chat(headers=alice)
        assert (await chat.say("My orders?")).text == "One."
        assert outputs(lesson.product.inputs()[-1]) == ['["A1"]']
        assert (await lesson.product.get(f"/threads/{chat.thread_id}", alice))["status_code"] == 200
        assert (await lesson.product.get(f"/threads/{chat.thread_id}", bob))["status_code"] == 404


async def test_second_person(teach: Teach) -> None:
    async with teach("second_person", script(call("refund", order_id="A1", amount=20), after="Done.")) as lesson:
        ada, cat, eve, nobody = ({"Authorization": f"Bearer {token}"} for token in "ACEX")
        assert (await lesson.product.chat(headers=nobody).say("Refund")).status == 401
        (asked,) = (await lesson.product.chat(headers=ada).say("Refund A1")).interrupts
        path, yes = f"{lesson.product.url}/approvals/{asked['id']}", {"approved": True}
        answers = [await lesson.product.client.post(path, json=yes, headers=who) for who in (ada, eve, cat)]
        assert [answer.status_code for answer in answers] == [403, 404, 200]
        assert answers[-1].json()["result"] == "20.0 € refunded"


async def test_custom_store(teach: Teach, tmp_path: Path) -> None:
    turns = [{"output": [call("open_garage"), call("open_garage")]}, {"output": [say("Done.")]}]
    async with teach("custom_store", turns) as lesson:
        chat = lesson.product.chat()
        asked = await chat.say("Open the garage")
        assert not (tmp_path / "decisions.jsonl").exists()
        first, second = (interrupt["id"] for interrupt in asked.interrupts)
        assert (await chat.resume((first, YES), (second, NO))).text == "Done."
        await chat.resume((second, YES))  # too late: it is neither done nor written down
        lines = [json.loads(line) for line in (tmp_path / "decisions.jsonl").read_text().splitlines()]
        kept = [(line["by"], line["approved"], line["reason"], line["tool"]) for line in lines]
        assert sorted(kept, key=str) == [
            ("local", False, "not now", "open_garage"),
            ("local", True, None, "open_garage"),
        ]
        assert (tmp_path / "house.db").exists()


async def test_approval_webhook(teach: Teach, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "GATHER_SECONDS", 0.001)
    heard: asyncio.Queue[str] = asyncio.Queue()
    answers = [503]

    async def hear(request: Request) -> Response:
        status = answers.pop() if answers else 200
        if status == 200:
            heard.put_nowait((await request.json())["text"])
        return Response(status_code=status)

    async with running(Starlette(routes=[Route("/hook", hear, methods=["POST"])])) as room:
        monkeypatch.setenv("CHAT_WEBHOOK", f"{room}/hook")
        async with teach("approval_webhook", script(call("open_garage"))) as lesson, asyncio.timeout(TIMEOUT):
            chat = lesson.product.chat()
            (asked,) = (await chat.say("Open the garage")).interrupts
            link = f"/room/{asked['id']}"
            assert await heard.get() == f"open_garage for local: pending. See {link}", "also if the room was away"
            record = await lesson.product.get(link)
            assert (record["tool"], record["state"]) == ("open_garage", "pending")
            await chat.resume((asked["id"], YES))
            while (told := await heard.get()) != f"open_garage for local: done. See {link}":
                assert told.startswith("open_garage for local: "), "a batch that failed comes again"


@shows("B11")
async def test_support(teach: Teach) -> None:
    turns = [
        {"output": [call("search_orders", customer="Anna")]},
        {"output": [call("refund", order_id="A1", amount=49)]},
        {"output": [say("Done.")]},
    ]
    async with teach("support", turns) as lesson:
        chat = lesson.product.chat()
        asked = await chat.say("Refund order A1 of Anna")
        assert asked_for(asked) == [{"order_id": "A1", "amount": 49}]
        edited = {"order_id": "A1", "amount": 40}
        assert (await chat.resume((asked.interrupts[0]["id"], {**YES, "editedArgs": edited}))).text == "Done."
        assert list(lesson.module.ORDERS["A1"]["refunds"].values()) == [40]


async def test_a_decision_that_cannot_be_written_down_opens_nothing(teach: Teach, tmp_path: Path) -> None:
    (tmp_path / "decisions.jsonl").mkdir()
    async with teach("custom_store", script(call("open_garage"))) as lesson:
        chat = lesson.product.chat()
        asked = await chat.say("Open the garage")
        ended = await chat.resume((asked.interrupts[0]["id"], YES))
        assert (ended[-1]["type"], ended.results) == ("RUN_ERROR", {})
        assert (await chat.say("Is it open?")).text == "Done."
        assert [status(output) for output in outputs(lesson.product.inputs()[-1])] == ["unknown"]
