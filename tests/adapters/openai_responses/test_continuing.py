"""Servers that continue nothing (T19): no thread gets stuck there, and no model forgets."""

from collections.abc import Iterator
from typing import Any

import httpx2
import msgspec
import pytest

from agui_gate.adapter import AssistantTurn, ConversationRef, TextPart, TurnRequest
from agui_gate.errors import ConsentLost, ProviderRejected, ProviderUnavailable
from agui_gate_adapters.common.failures import Failure, Kind
from agui_gate_adapters.openai_responses import OpenAIResponses, retries
from agui_gate_adapters.openai_responses.request import Mode, Plan, Settings, Shape
from agui_gate_adapters.openai_responses.retries import ReplayLadder
from agui_gate_adapters.testkit import Emulator
from tests.adapters.openai_sdk import framed
from tests.adapters.support import ANSWER, CALLS, run, user
from tests.adapters.support import Json as Body
from tests.requirements import shows

from .subject import SUBJECT, said
from .support import make, talking

pytestmark = [pytest.mark.anyio, shows("T19")]


@pytest.fixture(autouse=True)
def _a_new_process() -> Iterator[None]:
    retries._stateless.clear()
    yield
    retries._stateless.clear()


# --- where a mode is not given ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "mode"),
    [
        ("https://api.openai.com/v1", "chain"),
        ("https://eu.api.openai.com/v1", "chain"),
        ("https://API.OpenAI.com:443/v1", "chain"),
        ("https://x.openai.azure.com/openai/v1", "chain"),
        ("https://x.cognitiveservices.azure.com/openai/v1", "chain"),
        ("https://x.services.ai.azure.com/api/projects/p/openai/v1", "chain"),
        ("http://127.0.0.1:8080/v1", "stateless"),
        ("https://openrouter.ai/api/v1", "stateless"),
        ("https://api.openai.com.evil.example/v1", "stateless"),
        ("https://notapi.openai.com/v1", "stateless"),
        ("https://openai.azure.com.evil.example/v1", "stateless"),
        ("https://evil.example/api.openai.com/v1", "stateless"),
    ],
)
def test_only_hosts_that_are_known_to_keep_responses_are_asked_to(url: str, mode: str) -> None:
    assert OpenAIResponses("m", base_url=url).origin.split(":")[1] == mode
    for named in ("chain", "conversation", "stateless"):
        assert OpenAIResponses("m", base_url=url, mode=named).origin.split(":")[1] == named  # type: ignore[arg-type]


def test_nothing_said_is_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert OpenAIResponses("m").origin == "openai-responses:chain:api.openai.com:m"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:4000")
    assert OpenAIResponses("m").origin == "openai-responses:stateless:127.0.0.1:4000:m"
    assert OpenAIResponses.azure("m", endpoint="http://127.0.0.1:4000", api_key="k").origin.split(":")[1] == "chain"


# --- servers as they are ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["llama_cpp", "litellm"])
async def test_without_a_mode_nothing_is_refused_or_forgotten(profile: str) -> None:
    async with talking([CALLS, ANSWER, ANSWER], None, profile=profile) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        for question in ("And now?", "And now?"):
            assert (await thread.turn()).text == "Sunny in both."
            thread.say(question)
    assert emulator.refusals == []
    assert _grows(emulator)


async def test_a_server_that_refuses_to_continue_is_asked_once() -> None:
    """llama.cpp."""
    async with talking([CALLS, ANSWER, ANSWER, ANSWER], "chain", profile="llama_cpp") as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        for question in ("And now?", "And now?", "And now?"):
            assert (await thread.turn()).text == "Sunny in both."
            thread.say(question)
        assert [entry.rule for entry in emulator.refusals] == ["R6c"]
        assert not any("previous_response_id" in (entry.body or {}) for entry in emulator.accepted)
        assert _grows(emulator)
        assert thread.ref is not None
        assert thread.ref.turn_id == "t1", "there is nothing new to continue from"


async def test_a_server_that_forgets_without_a_word_is_noticed_before_anything_is_shown() -> None:
    """LiteLLM before a model without this API."""
    lost = {"output": [{"type": "message", "text": "Who are you?"}]}
    async with talking([ANSWER, lost, ANSWER, ANSWER], "chain", profile="litellm") as (emulator, thread):
        for question in ("Weather?", "And now?", "And now?"):
            thread.say(question)
            assert (await thread.turn()).text == "Sunny in both."
    assert emulator.refusals == []
    assert ["previous_response_id" in (entry.body or {}) for entry in emulator.accepted] == [False, True, False, False]
    assert [len(_input(entry)) for entry in emulator.accepted][:3] == [1, 1, 3]


async def test_outputs_whose_call_is_forgotten_are_refused_there() -> None:
    async with talking([CALLS, ANSWER, ANSWER, ANSWER], "chain", profile="litellm") as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        assert (await thread.turn()).text == "Sunny in both."
        thread.say("And now?")
        assert (await thread.turn()).text == "Sunny in both."
    assert [entry.rule for entry in emulator.refusals] == ["R2"]


async def test_a_conversation_is_not_to_be_had_there() -> None:
    async with talking([ANSWER], "conversation", profile="llama_cpp") as (_, thread):
        thread.say("hi")
        with pytest.raises(ProviderRejected, match="mode='stateless'"):
            await thread.turn()


def _grows(emulator: Emulator) -> bool:
    """Whether every request had more than the one before."""
    lengths = [len(_input(entry)) for entry in emulator.accepted]
    return lengths == sorted(set(lengths))


def _input(entry: Any) -> list[Any]:
    return list(entry.body["input"])


# --- any server ---------------------------------------------------------------------------------------------------


class Server:
    """Refuses what continues with ``status``, or (``never``) everything."""

    def __init__(self, status: int, body: Any = None, *, never: bool = False) -> None:
        self.status, self.body, self.never = status, body, never
        self.bodies: list[Body] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.bodies.append(msgspec.json.decode(request.content))
        if self.never or "previous_response_id" in self.bodies[-1]:
            return httpx2.Response(self.status, json=self.body or {"error": {"message": "Nope."}})
        return httpx2.Response(200, content=said("ok"), headers={"content-type": "text/event-stream"})

    @property
    def continued(self) -> list[bool]:
        """For each request, whether it was to continue another one."""
        return ["previous_response_id" in body for body in self.bodies]


def continuing_turn(model: Any) -> TurnRequest:
    """A turn that may stand on another one."""
    ref = ConversationRef("t1", model.origin, previous_response_id="resp_1", committed_at=model._now_ms())
    first = AssistantTurn("t1", (TextPart("m", "ok"),), model.origin, ref)
    return TurnRequest((user("one"), first, user("two")), ref=ref)


@pytest.mark.parametrize("status", [400, 402, 404, 405, 413, 415, 418, 422, 451])
async def test_any_refusal_of_a_continuation_is_tried_once_by_value(status: int) -> None:
    server = Server(status)
    model = SUBJECT.answering(server, mode="chain")
    for _ in range(3):
        assert (await run(model, continuing_turn(model))).text == "ok"
    assert server.continued == [True, False, False, False]
    assert len(server.bodies[1]["input"]) == 3
    other = SUBJECT.answering(server, mode="chain")
    await run(other, continuing_turn(other))
    assert server.continued[-1] is False, "remembered for the endpoint, not for the object"


@pytest.mark.parametrize("status", [400, 422])
async def test_a_request_that_is_wrong_either_way_proves_nothing(status: int) -> None:
    server = Server(status, never=True)
    model = SUBJECT.answering(server, mode="chain")
    for _ in range(2):
        with pytest.raises(ProviderRejected):
            await run(model, continuing_turn(model))
    assert server.continued == [True, False, True, False]


LONG = {"error": {"message": "too long", "code": "context_length_exceeded"}}


@pytest.mark.parametrize(
    ("status", "body", "requests"),
    [(401, None, 1), (403, None, 1), (429, None, 2), (408, None, 2), (409, None, 2), (500, None, 2), (400, LONG, 1)],
)
async def test_what_is_refused_for_another_reason_is_not_sent_by_value(status: int, body: Any, requests: int) -> None:
    server = Server(status, body)
    model = SUBJECT.answering(server, mode="chain")
    with pytest.raises(Exception, match=r"\w"):
        await run(model, continuing_turn(model))
    assert server.continued == [True] * requests


# --- what a response repeats --------------------------------------------------------------------------------------

ECHO = {"id": "resp_2", "parallel_tool_calls": True}


def answering(**response: Any) -> tuple[list[bool], Any]:
    """A handler whose first event has this response object, and what it was asked to continue."""
    continued: list[bool] = []
    rest = said("ok").split(b"\n\n", 1)[1]

    def handler(request: httpx2.Request) -> httpx2.Response:
        continued.append("previous_response_id" in msgspec.json.decode(request.content))
        content = framed({"type": "response.created", "response": response}) + rest
        return httpx2.Response(200, content=content, headers={"content-type": "text/event-stream"})

    return continued, handler


@pytest.mark.parametrize(
    ("response", "dropped"),
    [
        ({"id": "resp_2"}, False),  # it repeats nothing, so nobody can tell
        (ECHO, True),
        (ECHO | {"previous_response_id": None}, True),
        (ECHO | {"previous_response_id": ""}, True),
        (ECHO | {"previous_response_id": "resp_1"}, False),
        (ECHO | {"previous_response_id": "chatcmpl-of-its-own"}, False),
        (ECHO | {"previous_response_id": 5}, False),  # not readable, so nobody can tell
    ],
)
async def test_a_continuation_that_was_dropped_is_seen(response: Any, dropped: bool) -> None:
    continued, handler = answering(**response)
    model = SUBJECT.answering(handler, mode="chain")
    for _ in range(2):
        assert (await run(model, continuing_turn(model))).text == "ok"
    assert continued == ([True, False, False] if dropped else [True, True])


async def test_a_host_that_keeps_responses_is_believed() -> None:
    continued, handler = answering(**ECHO)
    model = SUBJECT.answering(handler, mode="chain")
    model._keeps_state = True
    assert (await run(model, continuing_turn(model))).text == "ok"
    assert continued == [True]


async def test_what_is_noticed_only_in_the_end_counts_for_the_next_turn() -> None:
    bodies: list[Body] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        bodies.append(msgspec.json.decode(request.content))
        frames = said("ok").split(b"\n\n")[1:-2]
        end = framed({"type": "response.completed", "response": ECHO})
        content = b"\n\n".join([*frames, end])
        return httpx2.Response(200, content=content, headers={"content-type": "text/event-stream"})

    model = SUBJECT.answering(handler, mode="chain")
    for _ in range(2):
        assert (await run(model, continuing_turn(model))).text == "ok"
    assert ["previous_response_id" in body for body in bodies] == [True, False]


# --- consent ------------------------------------------------------------------------------------------------------

SETTINGS = Settings(model="gpt", mode="chain", origin="o")
AGREEING = Plan(TurnRequest(()), SETTINGS, Shape.CONTINUED, agrees=True)


def refused(kind: Kind, status: int | None, *, accepted: bool = False) -> Failure:
    failure = Failure(ProviderRejected("no"), kind)
    failure.status, failure.accepted = status, accepted
    return failure


def test_consent_is_never_sent_again_by_value() -> None:
    assert ReplayLadder(lambda: AGREEING).next(refused(Kind.FATAL, 400), AGREEING) is None
    with pytest.raises(ConsentLost):
        ReplayLadder(lambda: AGREEING).next(refused(Kind.UNCONTINUED, 400), AGREEING)


def test_nobody_knows_what_became_of_a_consent_that_was_accepted_and_dropped() -> None:
    with pytest.raises(ProviderUnavailable):
        ReplayLadder(lambda: AGREEING).next(refused(Kind.UNCONTINUED, None, accepted=True), AGREEING)


@pytest.mark.parametrize("shape", [Shape.PLAIN, Shape.SEALED])
def test_what_continues_nothing_is_not_tried_again(shape: Shape) -> None:
    assert ReplayLadder(lambda: AGREEING).next(refused(Kind.FATAL, 400), Plan(TurnRequest(()), SETTINGS, shape)) is None


def test_modes_are_named() -> None:
    modes: list[Mode | None] = [None, "chain", "conversation", "stateless"]
    assert {make(mode=mode, base_url="http://127.0.0.1:1/v1").origin.split(":")[1] for mode in modes} == set(modes[1:])
