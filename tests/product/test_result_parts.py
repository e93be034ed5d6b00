"""What a page's tool gives back as parts: media for models that take them, text for the others (TOOL-3)."""

import json
import logging
from typing import Any

import pytest

from agui_gate import Agent, create_app
from agui_gate.adapter import AssistantTurn, Media, Text, TurnDone
from agui_gate.errors import MediaRefused
from tests.conforming import conforms
from tests.product import poison
from tests.product.inprocess import Parrot, calls, run, run_body, says, started
from tests.product.shop import call, say
from tests.product.test_left_out import every_adapter, notes, talking
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T10"), conforms("TOOL-3", "IN-3")]

Json = dict[str, Any]
PAINT = {"name": "paint", "description": "Paint.", "parameters": {"type": "object", "properties": {}}}
SCRIPT = [{"output": [call("paint")]}, {"output": [say("Nice.")], "repeat": True}]
TEXT = {"type": "text", "text": "Here it is."}
FILM = {"type": "video", "source": {"type": "url", "value": "https://x.example/a.mp4"}}


async def answered(client: Any, content: Any, **more: Any) -> Any:
    asked = await client.say("paint", tools=[PAINT])
    (started,) = asked.of("TOOL_CALL_START")
    client.messages.append(
        {"id": "t1", "role": "tool", "toolCallId": started["toolCallId"], "content": content, **more}
    )
    return await client.go(tools=[PAINT])


@every_adapter
async def test_a_picture_goes_to_a_model_that_takes_it(name: str, caplog: pytest.LogCaptureFixture) -> None:
    async with talking(name, SCRIPT) as (emulator, client):
        with caplog.at_level(logging.WARNING, "agui_gate.adapters"):
            done = await answered(client, [TEXT, poison.text(name), poison.image(), FILM])
            assert done.text == "Nice."
            assert (await client.say("again", tools=[PAINT])).text == "Nice."
        assert emulator.refusals == []
        sent = str([entry.body for entry in emulator.accepted])
        assert TEXT["text"] in sent
        assert (poison.PNG in sent) == (name != "chat")
        assert "a.mp4" not in sent
        told = [record.message for record in caplog.records if "were left out" in record.message]
        assert len(told) == 1, "once for each result, however often it is sent"


@every_adapter
async def test_the_call_is_answered_if_nothing_is_left(name: str) -> None:
    async with talking(name, SCRIPT) as (emulator, client):
        assert (await answered(client, [FILM])).text == "Nice."
        assert emulator.refusals == []


@every_adapter
async def test_the_model_hears_what_came_and_what_went_wrong(name: str) -> None:
    async with talking(name, SCRIPT) as (emulator, client):
        assert (await answered(client, "half of it", error="The brush broke.")).text == "Nice."
        sent = json.dumps(emulator.accepted[-1].body)
        assert "half of it" in sent
        assert "The brush broke." in sent


async def test_what_can_be_no_attachment_is_said_and_not_sent() -> None:
    async with talking("stateless", SCRIPT) as (emulator, client):
        done = await answered(client, [TEXT, poison.AT_THE_DOOR["broken base64"]])
        (note,) = notes(done)
        assert (note["part"], "callId" in note) == (1, True)
        assert emulator.refusals == []
        assert "@@@" not in str(emulator.accepted[-1].body)


async def test_a_picture_in_a_result_that_the_provider_refuses_costs_no_thread() -> None:
    paint = [*calls("paint", {}), TurnDone()]
    parrot = Parrot([paint, [MediaRefused("no")], [*says("one"), TurnDone()], [*says("two"), TurnDone()]])
    async with started(create_app(Agent(name="a", model=parrot), store="memory://")) as app:
        hello = {"id": "u1", "role": "user", "content": "paint"}
        events = (await run(app, run_body("t", hello, tools=[PAINT]))).events()
        (call_id,) = [event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_START"]
        answer = {"id": "t1", "role": "tool", "toolCallId": call_id, "content": [TEXT, poison.image()]}
        assert (await run(app, run_body("t", hello, answer))).events()[-1]["type"] == "RUN_FINISHED"
        assert _result(parrot) == "Here it is."
        more = {"id": "u2", "role": "user", "content": "and now?"}
        await run(app, run_body("t", hello, answer, more))
    assert len(parrot.requests) == 4
    assert _result(parrot) == "Here it is."
    (turn,) = [turn for turn in parrot.requests[1].transcript if isinstance(turn, AssistantTurn)]
    assert turn.calls[0].output.parts == (Text("Here it is."), Media("image", "data", poison.PNG, "image/png"))


def _result(parrot: Parrot) -> str:
    (turn,) = [turn for turn in parrot.requests[-1].transcript if isinstance(turn, AssistantTurn) and turn.calls]
    assert turn.calls[0].output.parts is None
    return turn.calls[0].output.content
