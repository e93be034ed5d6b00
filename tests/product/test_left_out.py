"""What a provider can't take ends one request, never the thread; and what is remembered of it (T10)."""

from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agui_gate import Agent, create_app, tool
from agui_gate.adapter import ConversationRef, Media, Text, TurnDone, UserTurn
from agui_gate.errors import ContextLength, MediaRefused, ProviderAuth, ProviderRejected
from agui_gate.turns.refused_content import REFUSED, TOO_LONG, TOO_LONG_RESULT
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import AGUIClient, connecting, serving
from agui_gate_adapters.testkit.conformance.ground import SeenRequest
from tests.product import poison
from tests.product.inprocess import Parrot, calls, run, run_body, says, started, user
from tests.product.shop import call, say
from tests.requirements import shows

pytestmark = pytest.mark.anyio

GIF = "R0lGODlh"
FINE = [{"output": [say("Fine.")], "repeat": True}]
ADAPTERS = {
    "chain": lambda url: OpenAIResponses("m", mode="chain", base_url=url, api_key="k"),
    "conversation": lambda url: OpenAIResponses("m", mode="conversation", base_url=url, api_key="k"),
    "stateless": lambda url: OpenAIResponses("m", mode="stateless", base_url=url, api_key="k"),
    "chat": lambda url: OpenAIChat("m", base_url=url, api_key="k"),
    "anthropic": lambda url: AnthropicMessages("m", base_url=url, api_key="k"),
}
every_adapter = pytest.mark.parametrize("name", ADAPTERS)


@asynccontextmanager
async def talking(name, script=FINE, *, store="memory://", tools=(), emulator=None, messages=()):
    """An emulator, and a client of an agent that asks it."""
    emulator = emulator or Emulator(script)
    async with serve(emulator) as url, connecting() as http:
        app = create_app(Agent(name="a", model=ADAPTERS[name](url), tools=tools), store=store)
        async with serving(app) as served:
            yield emulator, AGUIClient(http, served, messages=list(messages))


def asking(*parts):
    return {"id": "u1", "role": "user", "content": [poison.text("What is this?"), *parts]}


def told(emulator):
    return " ".join(SeenRequest(emulator.accepted[-1].items).users)


def notes(stream):
    return [e["value"] for e in stream.of("CUSTOM") if e["name"] == "agui-gate:left_out"]


@shows("T10")
@pytest.mark.parametrize("kind", poison.AT_THE_DOOR)
async def test_what_can_not_be_an_attachment_is_never_sent(kind: str) -> None:
    async with talking("stateless", messages=[asking(poison.AT_THE_DOOR[kind])]) as (emulator, client):
        first = await client.go()
        assert first.text == "Fine."
        (note,) = notes(first)
        assert note["messageId"] == "u1"
        assert note["message"] in told(emulator)
        again = await client.say("and now?")
        assert again.text == "Fine."
        assert notes(again) == []
        thread = (await client.http.get(f"{client.url}/threads/{client.thread_id}")).json()
        assert thread["messages"][0]["content"][1]["type"] in ("image", "document"), "people still see what they sent"
        assert emulator.refusals == []


@shows("T10")
@every_adapter
@pytest.mark.parametrize("kind", ["a picture that was cut", "an address where nothing is"])
async def test_what_the_provider_refuses_is_left_out_and_the_thread_remembers(
    name: str, kind: str, tmp_path: Path
) -> None:
    store, emulator = f"sqlite:///{tmp_path}/t.db", Emulator(FINE)
    fine = poison.image()
    async with talking(name, store=store, emulator=emulator) as (_, client):
        assert (await client.say("hello")).text == "Fine."
        client.messages.append(asking(fine, poison.AT_THE_PROVIDER[kind]))
        first = await client.go()
        assert first.text == "Fine."
        assert notes(first)
        assert "image left out: the provider could not take it" in told(emulator)
        refused = len(emulator.refusals)
        assert 1 <= refused <= 2
    async with talking(name, store=store, emulator=emulator) as (_, later):
        later.thread_id, later.messages = client.thread_id, client.messages
        assert (await later.say("and now?")).text == "Fine."
        assert len(emulator.refusals) == refused, "a restart forgets nothing of it"
        assert {entry.rule for entry in emulator.refusals} == {"media"}


@shows("T10")
async def test_a_refusal_that_names_an_attachment_costs_only_that_one() -> None:
    value = f"data:image/gif;base64,{GIF}"
    parrot = Parrot([[MediaRefused("no", value)], [*says("one"), TurnDone()]])
    app = create_app(Agent(name="a", model=parrot), store="memory://")
    async with started(app):
        message = {"role": "user", "id": "u1", "content": [poison.image(), poison.image(GIF, "image/gif")]}
        assert (await run(app, run_body("t", message))).events()[-1]["type"] == "RUN_FINISHED"
    first, second = parrot.requests[-1].transcript[0].content
    assert isinstance(first, Media)
    assert second == Text("[image left out: the provider could not take it]")


@shows("T10")
async def test_what_a_provider_may_have_kept_is_not_continued() -> None:
    """The request was accepted first: its conversation may hold the attachment for ever."""
    ref = ConversationRef("", "parrot/1", conversation_id="conv")
    refused = MediaRefused("no", accepted=True)
    parrot = Parrot([[*says("one"), TurnDone(ref=ref)], [refused], [*says("two"), TurnDone(ref=ref)]])
    app = create_app(Agent(name="a", model=parrot), store="memory://")
    async with started(app):
        hello = {"role": "user", "id": "u0", "content": "hello"}
        await run(app, run_body("t", hello))
        picture = {"role": "user", "id": "u1", "content": [poison.image()]}
        assert (await run(app, run_body("t", hello, picture))).events()[-1]["type"] == "RUN_FINISHED"
    assert [request.ref is not None for request in parrot.requests] == [False, True, False]


@shows("T10")
@every_adapter
async def test_an_edit_sends_the_message_as_it_is_then(name: str) -> None:
    bad = asking(poison.AT_THE_PROVIDER["a picture that was cut"])
    async with talking(name, messages=[bad]) as (emulator, client):
        assert (await client.go()).text == "Fine."
        client.messages = [asking(poison.image())]
        edited = await client.go()
        assert edited.text == "Fine."
        assert notes(edited) == []
        assert poison.PNG in str(emulator.accepted[-1].body)
        assert "left out" not in told(emulator)


@shows("T10")
@every_adapter
async def test_going_back_to_the_message_does_not_ask_again(name: str) -> None:
    bad = asking(poison.AT_THE_PROVIDER["a picture that was cut"])
    async with talking(name, messages=[bad]) as (emulator, client):
        await client.go()
        refused = len(emulator.refusals)
        del client.messages[1:]
        assert (await client.go()).text == "Fine."
        assert len(emulator.refusals) == refused


@shows("T10")
@every_adapter
async def test_what_is_against_the_policy_ends_one_run(name: str) -> None:
    emulator = Emulator(FINE)
    emulator.flagged = ("forbidden",)
    async with talking(name, emulator=emulator) as (_, client):
        await client.say("hello")
        refused = await client.say("forbidden words")
        assert refused.error == "provider_rejected"
        assert notes(refused)[0]["message"] == REFUSED
        assert (await client.go()).text == "Fine.", "a retry doesn't send it either"
        assert REFUSED in told(emulator) or name in ("chain", "conversation")
        assert (await client.say("and now?")).text == "Fine."
        assert len(emulator.refusals) == 1
        shown = (await client.http.get(f"{client.url}/threads/{client.thread_id}")).json()["messages"]
        assert "forbidden words" in [message.get("content") for message in shown]


@shows("T10")
@every_adapter
async def test_a_result_that_is_too_long_ends_one_run(name: str) -> None:
    """Everything after it would be too long, too."""
    told_ = {"code": "context_length_exceeded", "message": "prompt is too long: 9 tokens > 8 maximum"}
    turns = [
        {"output": [call("read")]},
        {"output": [], "fault": {"kind": "status", "status": 400, **told_}},
        *FINE,
    ]

    def read() -> str:
        """Read a long file."""
        return "long " * 1_000

    async with talking(name, turns, tools=[read]) as (emulator, client):
        assert (await client.say("read it")).error == "context_length"
        assert (await client.say("and now?")).text == "Fine."
        assert SeenRequest(emulator.accepted[-1].items).outputs == [TOO_LONG_RESULT]


@shows("T10")
async def test_a_result_that_was_approved_and_is_too_long_ends_one_run() -> None:
    """The result is in the approval's record alone; there it is found, and left out, as any other is."""

    @tool(gate=True)
    def read() -> str:
        """Read a long file."""
        return "long " * 1_000

    parrot = Parrot([[*calls("read", {}), TurnDone()], [ContextLength("too long")], [*says("Fine."), TurnDone()]])
    app = create_app(Agent(name="a", model=parrot, tools=[read], hitl="interrupt"), store="memory://")
    async with started(app):
        asked = await run(app, run_body("t", user("read it", "u1")))
        (interrupt,) = asked.events()[-1]["outcome"]["interrupts"]
        yes = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
        ended = await run(app, run_body("t", user("read it", "u1"), resume=yes))
        assert ended.events()[-1]["code"] == "context_length"
        await run(app, run_body("t", user("read it", "u1"), user("and now?", "u2")))
    outputs = [call.output.content for turn in parrot.requests[-1].transcript for call in getattr(turn, "calls", ())]
    assert outputs == [TOO_LONG_RESULT]


@shows("T10")
async def test_a_conversation_that_grew_too_long_finds_room_again() -> None:
    """What is new is short, so the longest of what is old makes room, a piece with each refusal."""
    too_long = [ContextLength("too long")]
    answer = [*says("ok"), TurnDone()]
    parrot = Parrot([answer, answer, too_long, too_long, answer])
    app = create_app(Agent(name="a", model=parrot), store="memory://")
    async with started(app):
        history = []
        ends = []
        for number, said in enumerate(["long " * 900, "longer " * 900, "hi", "hello?", "there?"]):
            history.append({"role": "user", "id": f"u{number}", "content": said})
            ends.append((await run(app, run_body("t", *history))).events()[-1]["type"])
    assert ends == ["RUN_FINISHED", "RUN_FINISHED", "RUN_ERROR", "RUN_ERROR", "RUN_FINISHED"]
    said = [turn.content[0].text for turn in parrot.requests[-1].transcript if isinstance(turn, UserTurn)]
    assert said == [TOO_LONG, TOO_LONG, "hi", "hello?", "there?"]


@shows("T10")
@pytest.mark.parametrize("error", [ProviderAuth("no key"), ProviderRejected("no such model")])
async def test_a_refusal_that_has_another_reason_leaves_nothing_out(error) -> None:
    parrot = Parrot([[error]])
    app = create_app(Agent(name="a", model=parrot), store="memory://")
    async with started(app):
        picture = {"role": "user", "id": "u1", "content": [poison.image()]}
        assert (await run(app, run_body("t", picture))).events()[-1]["type"] == "RUN_ERROR"
        assert (await run(app, run_body("t", picture))).events()[-1]["type"] == "RUN_FINISHED"
    assert [isinstance(part, Media) for part in parrot.requests[-1].transcript[0].content] == [True]


@shows("T10")
async def test_nothing_is_remembered_of_a_refusal_that_leaving_out_did_not_help() -> None:
    """The attachments were not the reason then, so they are sent again."""
    parrot = Parrot([[MediaRefused("no")], [MediaRefused("no")], [ProviderAuth("no key")]])
    app = create_app(Agent(name="a", model=parrot), store="memory://")
    async with started(app):
        picture = {"role": "user", "id": "u1", "content": [poison.image()]}
        failed = (await run(app, run_body("t", picture))).events()
        assert failed[-1]["type"] == "RUN_ERROR"
        assert len(parrot.requests) == 2, "there is nothing more to leave out"
        assert (await run(app, run_body("t", picture))).events()[-1]["code"] == "provider_auth"
        assert (await run(app, run_body("t", picture))).events()[-1]["type"] == "RUN_FINISHED"
    assert [isinstance(part, Media) for part in parrot.requests[-1].transcript[0].content] == [True]


@shows("T10")
async def test_first_the_newest_attachments_are_left_out_and_then_all() -> None:
    parrot = Parrot(
        [[*says("one"), TurnDone()], [MediaRefused("no")], [MediaRefused("no")], [*says("two"), TurnDone()]]
    )
    app = create_app(Agent(name="a", model=parrot), store="memory://")
    async with started(app):
        first = {"role": "user", "id": "u1", "content": [poison.image(), poison.text("one")]}
        second = {"role": "user", "id": "u2", "content": [poison.text("two"), poison.image()]}
        await run(app, run_body("t", first))
        assert (await run(app, run_body("t", first, second))).events()[-1]["type"] == "RUN_FINISHED"
    seen = [[_pictures(turn) for turn in r.transcript if isinstance(turn, UserTurn)] for r in parrot.requests[1:]]
    assert seen == [[1, 1], [1, 0], [0, 0]]


def _pictures(turn):
    assert all(isinstance(part, Media | Text) for part in turn.content)
    return sum(isinstance(part, Media) for part in turn.content)


@shows("T10")
@pytest.mark.parametrize("name", ["chain", "conversation", "stateless"])
async def test_an_attachment_that_is_refused_after_the_request_was_accepted(name: str) -> None:
    """The Responses API says so in the stream, too."""
    failed = {"kind": "failed", "after_events": 1, "code": "invalid_image", "message": "The image is not valid."}
    turns = [{"output": [say("Hello.")]}, {"output": [], "fault": failed}, *FINE]
    async with talking(name, turns) as (emulator, client):
        assert (await client.say("hello")).text == "Hello."
        client.messages.append(asking(poison.image()))
        answer = await client.go()
        assert answer.text == "Fine.", answer[-1]
        assert notes(answer)
        assert (await client.say("and now?")).text == "Fine."
        assert poison.PNG not in str(emulator.accepted[-1].items)
        assert emulator.refusals == []
