"""What a remote asks that is no yes or no, or in the ways of older servers. The answer reaches it as it was given."""

import json
from typing import Any

import pytest

from agui_gate_adapters.testkit.agui import CARD_TOOL, AGUIClient, Stream, connecting
from tests.client.servers import Scripted, run_of, scripted
from tests.interop.streams import FINISHED, STARTED, Event, call, sse, text
from tests.product.shop import Shop, refund, script
from tests.remote.kit import chatting, in_front, row, told

pytestmark = pytest.mark.anyio

Json = dict[str, Any]

LEVEL: Json = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "level": {"enum": ["low", "high"]}},
    "required": ["approved", "level"],
}
NAME: Json = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
HIGH = {"approved": True, "level": "high"}


def asks(schema: Any = None, **more: Any) -> str:
    asked = {"id": "i", "reason": "langgraph:interrupt", "message": "Well?", **more}
    asked |= {"responseSchema": schema} if schema is not None else {}
    return sse(STARTED, FINISHED | {"outcome": {"type": "interrupt", "interrupts": [asked]}})


def answer(server: Scripted) -> Any:
    """What it was told about its question."""
    (entry,) = server.asked[-1]["resume"]
    return entry.get("payload", entry["status"])


async def resumed(chat: AGUIClient, stream: Stream, payload: Any) -> Stream:
    return await chat.resume((stream.interrupts[0]["id"], payload))


GIVEN: dict[str, tuple[Any, Any, Any]] = {
    "text": ({"type": "string"}, "blue", "blue"),
    "a number": ({"type": "integer", "minimum": 3}, 4, 4),
    "a choice and a yes": (LEVEL, HIGH, HIGH),
    "an object": (NAME, {"name": "Ada"}, {"name": "Ada"}),
    "anything": (None, {"colour": ["blue", 1]}, {"colour": ["blue", 1]}),
    "anything, and a yes will do": (None, {"approved": True}, {"approved": True}),
    "anything, as an edit": (None, {"approved": True, "editedArgs": {"answer": [1]}}, [1]),
    "text in an object": ({"type": "string"}, {"answer": "blue"}, "blue"),
    "an edit": (NAME, {"approved": True, "editedArgs": {"answer": {"name": "Ada"}}}, {"name": "Ada"}),
    "a no": (None, {"approved": False, "reason": "never"}, {"approved": False, "reason": "never"}),
    "a no where there is none": (NAME, {"approved": False}, "cancelled"),
    "a no that leaves out the rest": (LEVEL, {"approved": False}, "cancelled"),
}


@pytest.mark.parametrize("name", GIVEN)
async def test_an_answer_goes_on_as_it_was_given(name: str) -> None:
    schema, payload, goes_on = GIVEN[name]
    async with chatting(asks(schema), run_of(*text("Done."))) as (server, chat):
        asked = await chat.say("go")
        (interrupt,) = asked.interrupts
        assert interrupt["message"] == "Well?"
        assert schema is None or interrupt["responseSchema"] == schema
        assert interrupt["reason"] == ("tool_call" if schema is None else "input_required")
        assert (await resumed(chat, asked, payload)).text == "Done."
        assert answer(server) == goes_on
        late = await resumed(chat, asked, payload)
        assert (late.text, late.of("CUSTOM"), len(server.asked)) == ("", [], 2)


REFUSED: dict[str, tuple[Any, Any]] = {
    "a yes alone": (NAME, {"approved": True}),
    "a yes without the choice": (LEVEL, {"approved": True}),
    "another choice": (LEVEL, {"approved": True, "level": "medium"}),
    "another type": ({"type": "string"}, 7),
    "a number for a yes": (LEVEL, {"approved": 1, "level": "low"}),
    "nothing": (NAME, None),
    "null, which is no yes": ({"type": ["string", "null"]}, {"approved": True, "editedArgs": {"answer": None}}),
    "an edit of what is asked": (NAME, {"approved": True, "editedArgs": {"answer": {"name": "A"}, "asked": {"a": 1}}}),
    "a schema that nobody can check": ({"$ref": "#", "allOf": [{"$ref": "#"}]}, "x"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_an_answer_that_does_not_fit_is_refused_and_asked_again(name: str) -> None:
    schema, payload = REFUSED[name]
    async with chatting(asks(schema), run_of(*text("Done."))) as (server, chat):
        asked = await chat.say("go")
        again = await resumed(chat, asked, payload)
        assert [one["id"] for one in again.interrupts] == [one["id"] for one in asked.interrupts]
        assert len(server.asked) == 1
        (waiting,) = (await chat.http.get(f"{chat.url}/approvals")).json()["approvals"]
        assert waiting["id"] == asked.interrupts[0]["id"]


async def test_out_of_band_the_answer_is_an_edit() -> None:
    async with chatting(asks(NAME), run_of(*text("Done."))) as (server, chat):
        await chat.say("go")
        (waiting,) = (await chat.http.get(f"{chat.url}/approvals")).json()["approvals"]
        assert waiting["arguments"] == {"asked": {}, "schema": NAME, "answer": None}
        assert waiting["editable"] == ["answer"]
        decide = f"{chat.url}/approvals/{waiting['id']}"
        refused = await chat.http.post(decide, json={"approved": True})
        assert refused.status_code == 422
        assert refused.json()["error"]["code"] == "approval_refused"
        assert "name is missing" in refused.json()["error"]["message"]
        edited = waiting["arguments"] | {"answer": {"name": "Ada"}}
        decided = await chat.http.post(decide, json={"approved": True, "edited_arguments": edited})
        assert decided.json()["state"] == "claimed"
        assert (await chat.go()).text == "Done."
        assert answer(server) == {"name": "Ada"}
        record = (await chat.http.get(decide)).json()
        assert (record["state"], record["effective_arguments"]["answer"]) == ("done", {"name": "Ada"})


async def test_a_card_has_a_place_for_the_answer() -> None:
    async with chatting(asks(NAME), run_of(*text("Done.")), tools=[CARD_TOOL]) as (server, chat):
        asked = await chat.say("go")
        (card,) = asked.cards.values()
        assert card["editable"] == ["answer"]
        assert card["function_parameters"]["properties"]["answer"]["required"] == ["name"]
        again = await chat.decide(asked, approved=True)
        assert again.cards
        edited = {"approved": True, "edited_arguments": card["function_arguments"] | {"answer": {"name": "Ada"}}}
        assert (await chat.decide(again, edited)).text == "Done."
        assert answer(server) == {"name": "Ada"}


async def test_a_question_about_a_call_that_wants_more() -> None:
    """Its arguments are part of the question, and go back to the remote as it issued them."""
    asked = sse(STARTED, *call(), FINISHED | {"outcome": {"type": "interrupt", "interrupts": [ask_about("c-1")]}})
    result = {"type": "TOOL_CALL_RESULT", "toolCallId": "c-1", "messageId": "m-r", "content": "paid"}
    async with chatting(asked, run_of(result, *text("Done."))) as (server, chat):
        stream = await chat.say("go")
        assert stream.interrupts[0]["metadata"]["arguments"]["asked"] == {"amount": 5}
        done = await resumed(chat, stream, HIGH)
        assert (done.text, told(done, "refund")[-1]) == ("Done.", "paid")
        assert answer(server) == HIGH
        assert server.asked[1]["messages"][1]["toolCalls"][0]["function"]["arguments"] == '{"amount":5}'


def ask_about(call_id: str) -> Json:
    return {"id": "i", "reason": "tool_call", "toolCallId": call_id, "responseSchema": LEVEL}


@pytest.mark.parametrize("schema", [{"properties": 5}, {"properties": {"approved": 1}}, {"type": 7, "required": [{}]}])
async def test_a_schema_that_is_none_is_asked_about_all_the_same(schema: Json) -> None:
    async with chatting(asks(schema), run_of(*text("Done."))) as (server, chat):
        asked = await chat.say("go")
        assert (await resumed(chat, asked, {"approved": True})).text == "Done."
        assert answer(server) == {"approved": True}


async def test_two_questions_of_one_id_are_none() -> None:
    """A yes to one could be taken for a yes to the other."""
    asked = {"id": "i", "reason": "confirmation"}
    end = FINISHED | {"outcome": {"type": "interrupt", "interrupts": [asked, asked | {"message": "All of it?"}]}}
    async with chatting(sse(STARTED, end), run_of(*text("Well again."))) as (_, chat):
        assert (await chat.say("go")).error == "provider_unavailable"
        assert (await chat.http.get(f"{chat.url}/approvals")).json()["approvals"] == []
        assert (await chat.say("again")).text == "Well again."


async def test_a_question_of_its_sub_agent_names_it() -> None:
    """What the sub-agent said is told as the remote's own."""
    tag = {"subagentRunId": "s-1"}
    begun = {"type": "SUBAGENT_STARTED", **tag, "name": "clerk"}
    asked = {"id": "i", "reason": "tool_call", "message": "Well?", **tag}
    said = [event | tag for event in text("Let me see.")]
    end = FINISHED | {"outcome": {"type": "interrupt", "interrupts": [asked]}}
    async with chatting(sse(STARTED, begun, *said, end), run_of(*text("Done.", "m-2"))) as (_, chat):
        stream = await chat.say("go")
        assert (stream.text, stream.interrupts[0]["message"]) == ("Let me see.", "clerk asks: Well?")
        assert not stream.of("SUBAGENT_STARTED")
        assert (await chat.decide(stream, approved=True)).text == "Done."


async def test_arguments_that_may_be_edited_there_may_be_edited_here() -> None:
    shop = Shop(editable=["amount"])
    async with row(script(refund("A1"), refund("A2")), shop.tools) as r:
        chat = r.chat()
        asked = await chat.say("refund both")
        (first, _) = (await r.get(r.front, "/approvals"))["approvals"]
        assert first["editable"] == ["amount"]
        edited = {"approved": True, "editedArgs": {"order_id": "A1", "amount": 5}}
        done = await chat.decide(asked, edited, {"approved": True})
        assert done.text == "Done."
        assert sorted(shop.refunds) == [("A1", 5), ("A2", 20)]
        assert not r.emulator.refusals


async def test_what_may_not_be_edited_there_may_not_be_edited_here() -> None:
    shop = Shop(editable=["amount"])
    async with row(script(refund("A1")), shop.tools) as r:
        chat = r.chat()
        asked = await chat.say("refund")
        again = await chat.decide(asked, {"approved": True, "editedArgs": {"order_id": "B9", "amount": 20}})
        assert again.interrupts
        assert shop.refunds == []


async def test_a_question_goes_through_two_servers() -> None:
    async with (
        scripted(asks(NAME), run_of(*text("Done."))) as server,
        in_front(server.url) as back,
        in_front(back) as front,
        connecting() as http,
    ):
        chat = AGUIClient(http, front)
        asked = await chat.say("go")
        assert asked.interrupts[0]["responseSchema"] == NAME
        assert (await resumed(chat, asked, {"approved": True})).interrupts
        done = await resumed(chat, chat.streams[-1], {"name": "Ada"})
        assert (done.text, answer(server)) == ("Done.", {"name": "Ada"})


OLDER: Event = {"type": "CUSTOM", "name": "on_interrupt", "value": '{"question":"Refund A1?"}'}


@pytest.mark.parametrize(
    ("payload", "goes_on"),
    [({"approved": True}, {"approved": True}), ("blue", "blue"), ({"approved": False}, {"approved": False})],
)
async def test_an_older_server_asks_by_a_custom_event(payload: Any, goes_on: Any) -> None:
    async with chatting(run_of(OLDER), run_of(*text("Done."))) as (server, chat):
        asked = await chat.say("go")
        assert asked.interrupts[0]["message"] == "Refund A1?"
        assert not asked.of("CUSTOM")
        assert (await resumed(chat, asked, payload)).text == "Done."
        said = server.asked[1]["forwardedProps"]["command"]["resume"]
        told_it = said if said == goes_on else json.loads(said)
        assert told_it == goes_on or told_it == goes_on | {"reason": told_it["reason"]}
        assert "resume" not in server.asked[1]
        await chat.say("thanks")
        assert server.asked[2]["forwardedProps"] == {}


CARD: Json = {
    "function_name": "refund",
    "function_call_id": "c-1",
    "function_arguments": {"amount": 5},
    "steps": [{"description": "Refund 5", "status": "enabled"}],
}


def card() -> list[Event]:
    ids = {"toolCallId": "k-1"}
    return [
        {"type": "TOOL_CALL_START", **ids, "toolCallName": "confirm_changes", "parentMessageId": "m-k"},
        {"type": "TOOL_CALL_ARGS", **ids, "delta": json.dumps(CARD)},
        {"type": "TOOL_CALL_END", **ids},
    ]


@pytest.mark.parametrize("approved", [True, False])
async def test_an_older_server_asks_by_card(approved: bool) -> None:
    """It is answered once by what its card's answer looks like, and never again."""
    async with chatting(run_of(*call(), *card()), run_of(*text("Done.")), run_of(*text("Bye.", "m-2"))) as (
        server,
        chat,
    ):
        asked = await chat.say("go")
        (interrupt,) = asked.interrupts
        assert (interrupt["message"], interrupt["metadata"]["arguments"]) == ("Refund 5", {"amount": 5})
        assert (await chat.decide(asked, approved=approved)).text == "Done."
        answers = [m for m in server.asked[1]["messages"] if m.get("toolCallId") == "k-1"]
        assert [json.loads(m["content"])["accepted"] for m in answers] == [approved]
        assert json.loads(answers[0]["content"])["steps"] == (CARD["steps"] if approved else [])
        made = [c for m in server.asked[1]["messages"] for c in m.get("toolCalls", ())]
        assert json.loads(next(c for c in made if c["id"] == "k-1")["function"]["arguments"]) == CARD
        await chat.say("thanks")
        later = next(m for m in server.asked[2]["messages"] if m.get("toolCallId") == "k-1")
        assert "accepted" not in later["content"]


def begun(call_id: str, name: str, arguments: Json, **more: Any) -> list[Event]:
    """A call without a result."""
    return [
        {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name, **more},
        {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": json.dumps(arguments)},
        {"type": "TOOL_CALL_END", "toolCallId": call_id},
    ]


HINT = "Please approve or reject the tool call refund() by responding with a FunctionResponse."
ADK = [
    *begun("c1", "refund", {"order": "A1"}),
    *begun(
        "adk-7894",
        "adk_request_confirmation",
        {
            "originalFunctionCall": {"id": "c1", "args": {"order": "A1"}, "name": "refund"},
            "toolConfirmation": {"hint": HINT, "confirmed": False},
        },
    ),
]
"""What ag_ui_adk 0.11.0 sends where a tool is to be confirmed, by default."""

AGNO = [
    {"type": "STATE_SNAPSHOT", "snapshot": {}},
    {"type": "RAW", "event": {"event": "RunStarted", "agent_id": "a", "run_id": "r"}, "source": "agno"},
    *text("I have tools to execute, but I need confirmation.", "m-a"),
    *begun("call_1", "refund", {"order": "A1"}, parentMessageId="m-a"),
]
"""What agno 3.1.10 sends for a tool with `requires_confirmation`."""

PAUSED: dict[str, tuple[list[Event], str, Json, Json, str]] = {
    "ADK": (ADK, "adk-7894", {"confirmed": True}, {"confirmed": False}, HINT),
    "Agno": (AGNO, "call_1", {"accepted": True}, {"accepted": False, "note": "too much"}, "Run refund?"),
}


@pytest.mark.parametrize("approved", [True, False])
@pytest.mark.parametrize("name", PAUSED)
async def test_a_call_that_waits_for_its_confirmation_is_asked_about(name: str, approved: bool) -> None:
    """It is answered by the result of the call, once. People read that nobody has the tool."""
    events, call_id, yes, no, message = PAUSED[name]
    result = {"type": "TOOL_CALL_RESULT", "toolCallId": "c1", "messageId": "m-r", "content": "refunded A1"}
    async with chatting(run_of(*events), run_of(result, *text("Done.", "m-2"))) as (server, chat):
        asked = await chat.say("go")
        (interrupt,) = asked.interrupts
        assert (interrupt["message"], interrupt["metadata"]["arguments"]) == (message, {"order": "A1"})
        assert "refund" in asked.calls.values()
        assert "without a result" not in str(asked)
        payload = {"approved": approved} | ({} if approved else {"reason": "too much"})
        assert (await chat.resume((interrupt["id"], payload))).text == "Done."
        last = server.asked[1]["messages"][-1]
        assert (last["toolCallId"], json.loads(last["content"])) == (call_id, yes if approved else no)
        assert [m for m in server.asked[1]["messages"] if m.get("toolCallId")] == [last]
