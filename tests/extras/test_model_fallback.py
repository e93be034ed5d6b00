"""A list of models: who is asked after whom, and a thread that all of them can go on with."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.responses import HTMLResponse, JSONResponse, Response
from structlog.testing import capture_logs

from agui_gate import Agent, create_app
from agui_gate import adapter as ad
from agui_gate.adapter import Abilities, Media, Text, TurnDone, TurnRequest, UserTurn
from agui_gate.config.settings import Settings
from agui_gate.core.transcript import AssistantTurn, CallPart, ConversationRef, Output, SettledCall
from agui_gate.errors import (
    ConfigurationError,
    ContentRefused,
    ContextLength,
    ProviderAuth,
    ProviderUnavailable,
    RateLimited,
)
from agui_gate.extras import model_fallback
from agui_gate.extras.model_fallback import MOST_FAILURES, OPEN_SECONDS, Breaker, FallbackModels
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import AGUIClient
from tests.adapters.mcp.test_http import served
from tests.product.inprocess import Parrot, says
from tests.product.kit import MODES, Chat, Product, client_of, running
from tests.product.shop import Shop, call, refund, say

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
DOWN: Json = {"output": [], "fault": {"kind": "status", "status": 503, "retry_after": 60}}
BUSY: Json = {"output": [], "fault": {"kind": "status", "status": 429, "retry_after": 60}}
CUT: Json = {"output": [say("Half of an answer.")], "fault": {"kind": "cut", "after_events": 6}}
HI = TurnRequest((UserTurn("u", (Text("hi"),)),))


class Model(Parrot):
    """A model that answers as planned."""

    def __init__(self, origin: str, *plan: Any, **members: Any) -> None:
        super().__init__(plan or None)
        self.origin, self.closed = origin, 0
        for name, value in members.items():
            setattr(self, name, value)

    async def check(self) -> Sequence[ad.Finding]:
        return (ad.Finding("key", True, self.origin),)

    async def aclose(self) -> None:
        self.closed += 1


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def breakers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Breaker]:
    """No breaker of another test's."""
    fresh: dict[str, Breaker] = {}
    monkeypatch.setattr(model_fallback, "_breakers", fresh)
    return fresh


async def asked(models: FallbackModels, request: TurnRequest = HI) -> list[Any]:
    return [event async for batch in models.stream(request) for event in batch]


def answer(text: str, **done: Any) -> list[Any]:
    return [*says(text), TurnDone(**done)]


# --- who is asked -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "failure", [RateLimited("busy"), ProviderUnavailable("down"), ProviderUnavailable("away", reached=False)], ids=str
)
async def test_the_next_one_is_asked_where_one_cannot_answer(failure: Exception) -> None:
    first, second = Model("one", [failure]), Model("two", answer("from two"))
    models = FallbackModels([first, second])
    with capture_logs() as lines:
        found = await asked(models)
    assert found == answer("from two", origin="two")
    assert [attempt.code for attempt in models.pop_attempts()] == [failure.code, ""]  # type: ignore[attr-defined]
    assert models.pop_attempts() == ()
    told = [(line["event"], line["model"], line["by"]) for line in lines]
    assert told == [("model_replaced", "one", "two")]


@pytest.mark.parametrize("failure", [ContextLength("long"), ProviderAuth("key")], ids=str)
async def test_a_refusal_is_an_answer(failure: Exception) -> None:
    second = Model("two", answer("never"))
    with pytest.raises(type(failure)):
        await asked(FallbackModels([Model("one", [failure]), second]))
    assert second.requests == []


@pytest.mark.parametrize(
    ("origin", "reached", "kept"), [("one", True, True), ("one", False, False), ("two", True, False)]
)
async def test_a_refusal_after_a_failure_says_that_the_first_may_have_kept_something(
    origin: str, reached: bool, kept: bool
) -> None:
    """Then its reference isn't used again: the next request sends the whole conversation."""
    ref = ConversationRef(turn_id="", origin=origin, previous_response_id="resp_1")
    models = FallbackModels(
        [Model("one", [ProviderUnavailable("down", reached=reached)]), Model("two", [ContentRefused("no")])]
    )
    with pytest.raises(ContentRefused) as refused:
        await asked(models, msgspec.structs.replace(HI, ref=ref))
    assert refused.value.reached is kept


async def test_after_the_first_event_there_is_no_way_back() -> None:
    second = Model("two", answer("never"))
    with pytest.raises(ProviderUnavailable, match="cut"):
        await asked(FallbackModels([Model("one", [*says("half"), ProviderUnavailable("cut")]), second]))
    assert second.requests == []


@pytest.mark.parametrize(
    ("failures", "raised", "reached"),
    [
        ((RateLimited("a"), RateLimited("b")), RateLimited, False),
        ((RateLimited("a"), ProviderUnavailable("b", reached=False)), ProviderUnavailable, False),
        ((ProviderUnavailable("a"), ProviderUnavailable("b", reached=False)), ProviderUnavailable, True),
    ],
    ids=["busy", "not reached", "perhaps reached"],
)
async def test_none_can_answer(failures: Sequence[Exception], raised: type[Exception], reached: bool) -> None:
    models = FallbackModels([Model(str(place), [failure]) for place, failure in enumerate(failures)])
    with pytest.raises(raised, match="a None of 2 models") as caught:
        await asked(models)
    assert caught.value.reached is reached


async def test_an_answer_of_nothing_is_none() -> None:
    assert await asked(FallbackModels([Model("one", []), Model("two", answer("two"))])) == answer("two", origin="two")


async def test_what_a_provider_holds_is_for_that_one_alone() -> None:
    held = SettledCall(CallPart("c", "w", "pay", "{}", "m", kind="held"), Output("yes"), "{}", consent=True)
    yes = TurnRequest((*HI.transcript, AssistantTurn("t", (held,), "two")))
    first, second = Model("one"), Model("two", [ProviderUnavailable("down")])
    with pytest.raises(ProviderUnavailable):
        await asked(FallbackModels([first, second]), yes)
    assert (len(first.requests), len(second.requests)) == (0, 1)


async def test_a_file_is_sent_to_its_own_provider_alone() -> None:
    file = Media("document", "file", "file_1", provider="acme")
    request = TurnRequest((UserTurn("u", (Text("read"), file)),))
    first = Model("one", [RateLimited("busy")], vendor="acme")
    second, third = Model("two", [RateLimited("busy")], vendor="acme"), Model("three", answer("ok"), vendor="other")
    await asked(FallbackModels([first, second, third]), request)
    assert first.requests == second.requests == [request]
    (got,) = third.requests
    assert [type(part) for part in got.transcript[0].content] == [Text, Text]  # type: ignore[union-attr]


# --- the breaker ------------------------------------------------------------------------------------------------------


async def test_a_model_that_fails_again_and_again_is_left_out_for_a_while(breakers: dict[str, Breaker]) -> None:
    time = Time()
    breakers.update({"one": Breaker(time), "two": Breaker(time)})
    first = Model("one", *[[ProviderUnavailable("down")]] * (MOST_FAILURES + 1), answer("back"))
    models = FallbackModels([first, Model("two", *[answer("two")] * (MOST_FAILURES + 3))])
    with capture_logs() as lines:
        for _ in range(MOST_FAILURES + 2):
            await asked(models)
    assert len(first.requests) == MOST_FAILURES
    assert [line["event"] for line in lines].count("model_left_out") == 1
    time.now += OPEN_SECONDS
    await asked(models)  # tries it, in vain
    await asked(models)
    assert len(first.requests) == MOST_FAILURES + 1
    time.now += OPEN_SECONDS
    assert await asked(models) == answer("back")
    assert breakers["one"].admits()


async def test_while_one_request_tries_the_others_go_on_without(breakers: dict[str, Breaker]) -> None:
    time = Time()
    breaker = Breaker(time)
    for _ in range(MOST_FAILURES):
        breaker.failed()
    time.now += OPEN_SECONDS
    assert [breaker.admits() for _ in range(3)] == [True, False, False]
    assert breaker.answered()
    assert not breaker.answered()


async def test_where_all_are_left_out_the_first_is_asked(breakers: dict[str, Breaker]) -> None:
    for name in ("one", "two"):
        breakers[name] = Breaker(Time())
        for _ in range(MOST_FAILURES):
            breakers[name].failed()
    assert await asked(FallbackModels([Model("one", answer("one")), Model("two")])) == answer("one")


def test_no_more_breakers_are_kept_than_may_be(monkeypatch: pytest.MonkeyPatch, breakers: dict[str, Breaker]) -> None:
    monkeypatch.setattr(model_fallback, "MOST_BREAKERS", 2)
    for name in ("a", "b", "c"):
        model_fallback.breaker_of(name)
    assert list(breakers) == ["b", "c"]


# --- the list ---------------------------------------------------------------------------------------------------------
ONE = Model("one")


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ([], "no model"),
        ([ONE, ONE], "twice"),
        (["openai:x", "openai:x"], "twice"),
        ([ONE, 1], "1 is none"),
        ([ONE, [ONE]], "is none"),
        ([ONE, "nobody:x"], "nobody"),
        ([ONE, Model("far", shares_state=True)], "remote"),
        ([Model(str(number)) for number in range(11)], "at most 10"),
    ],
    ids=["none", "one twice", "a name twice", "a number", "a list", "an unknown name", "a remote agent", "too many"],
)
def test_what_is_no_list_of_models_is_refused_at_once(models: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Agent(name="a", model=models)


def test_a_list_of_one_is_that_one() -> None:
    assert Agent(name="a", model=[ONE]).adapter is ONE


async def test_it_is_an_adapter_of_all() -> None:
    able = Model("one", abilities=Abilities(image=True, pdf=True, reasoning=False), vendor="acme")
    other = Model("two", abilities=Abilities(image=True, pdf=False, reasoning=False, asks=True))
    models = Agent(name="a", model=(able, other)).adapter
    assert isinstance(models, FallbackModels)
    assert models.abilities == Abilities(image=True, reasoning=False, asks=True)
    assert (models.origin, models.origins, models.vendor) == ("one", ("one", "two"), "acme")
    assert [finding.what for finding in await models.check()] == ["model 1 of 2 (one): key", "model 2 of 2 (two): key"]
    assert await models.check_setup() == []
    assert not ad.tells_output(models, ad.OutputSpec("form", {}), tools=False)
    await models.aclose()
    assert able.closed == other.closed == 1


# --- whole runs -------------------------------------------------------------------------------------------------------


class Providers:
    """Three providers, one for each API, with strict emulators."""

    def __init__(self, *emulators: Emulator) -> None:
        self.responses, self.anthropic, self.chat = emulators

    def models(self, urls: Sequence[str], mode: str) -> list[ad.Adapter]:
        one, two, three = urls
        return [
            OpenAIResponses("gpt-5.4-mini", mode=mode, base_url=one, api_key="k"),
            AnthropicMessages("claude-sonnet-4-5", base_url=two.removesuffix("/v1"), api_key="k"),
            OpenAIChat("qwen3", base_url=three, api_key="k"),
        ]


@asynccontextmanager
async def serving(
    scripts: Sequence[Sequence[Json]], store: str, mode: str = "chain", tools: Sequence[Any] = (), **settings: Any
) -> AsyncIterator[Any]:
    """Returns what restarts the server, and each time a client of it."""
    emulators = [Emulator(list(script)) for script in scripts]
    async with AsyncExitStack() as up:
        urls = [await up.enter_async_context(serve(emulator)) for emulator in emulators]

        @asynccontextmanager
        async def server() -> AsyncIterator[Product]:
            agent = Agent(name="support", model=Providers(*emulators).models(urls, mode), tools=tools)
            app = create_app(agent, store=store, settings=Settings(**settings))
            async with running(app) as url, client_of() as client:
                yield Product(emulators[0], app, url, client)

        yield server, emulators


@pytest.mark.parametrize("mode", MODES)
async def test_a_thread_stays_legal_whoever_answers(mode: str, tmp_path: Path) -> None:
    """Responses → Anthropic → Chat → Responses, a gated call waiting and a restart at each change."""
    think = {"type": "reasoning", "summary": "Let me see."}
    of_responses = [
        {"output": [think, refund("A1")]},
        DOWN,
        BUSY,
        {"output": [think, call("search", q="x")]},
        {"output": [say("All done.")]},
        {"output": [say("Again.")]},
    ]
    of_anthropic = [{"output": [say("Next."), refund("A2")]}, DOWN]
    of_chat = [{"output": [refund("A3")]}]
    shop, place = Shop(), f"sqlite:///{tmp_path}/store.db"
    async with serving((of_responses, of_anthropic, of_chat), place, mode, shop.tools) as (server, emulators):
        async with server() as p:
            chat = p.chat()
            (ask,) = (await chat.say("refund all")).interrupts
        for _ in range(2):
            async with server() as p:
                chat = _moved(chat, p)
                (ask,) = (await chat.resume((ask["id"], {"approved": True}))).interrupts
        async with server() as p:
            chat = _moved(chat, p)
            last = await chat.resume((ask["id"], {"approved": True}))
            again = await chat.say("and again")
    assert shop.orders == ["A1", "A2", "A3"]
    assert shop.searches == ["x"]
    assert (last.text, again.text) == ("All done.", "Again.")
    assert [emulator.remaining_turns for emulator in emulators] == [0, 0, 0]
    for emulator in emulators:
        assert not emulator.refusals, [(e.rule, e.error) for e in emulator.refusals]


def _moved(chat: Chat, p: Product) -> Chat:
    """The same client, whose server was started again."""
    chat.product, chat.client, chat.url = p, p.client, p.url
    return chat


async def test_a_fallback_is_told_in_usage_metrics_and_log() -> None:
    said = {"output": [say("two")], "usage": {"input_tokens": 30, "output_tokens": 4}}
    async with serving(([DOWN], [said], []), "memory://", metrics="on") as (server, _), server() as p:
        with capture_logs() as lines:
            stream = await p.chat().say("hello")
        figures = (await p.client.get(f"{p.url}/metrics")).text
    (usage,) = stream[-1]["usage"]
    assert (usage["provider"], usage["inputTokens"], usage["outputTokens"]) == ("anthropic", 30, 4)
    name = "agui_gate_model_requests_total"
    assert f'{name}{{code="provider_unavailable",model="gpt-5.4-mini",provider="openai"}} 1.0' in figures
    assert f'{name}{{code="ok",model="{usage["model"]}",provider="anthropic"}} 1.0' in figures
    (told,) = [line for line in lines if line["event"] == "model_replaced"]
    assert (told["code"], told["by"]) == ("provider_unavailable", told["by"])


CHUNK = {
    "object": "chat.completion.chunk",
    "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": None}],
}
OTHERS: dict[str, Response] = {
    "its stream": Response(f"data: {json.dumps(CHUNK)}\n\ndata: [DONE]\n\n", media_type="text/event-stream"),
    "its object": JSONResponse({"object": "chat.completion", "choices": []}),
    "no such route": JSONResponse({"detail": "Not Found"}, 404),
    "a page": HTMLResponse("<h1>Welcome</h1>"),
}


@pytest.mark.parametrize("made", [AnthropicMessages, OpenAIResponses])
@pytest.mark.parametrize("answer", OTHERS)
async def test_a_fallback_whose_address_speaks_another_api_is_one_sentence(made: Any, answer: str) -> None:
    """Nothing of what it said is in the thread, which goes on when the first model is back."""
    shop = Shop()
    async with serve(Emulator([DOWN, {"output": [say("Hello.")]}])) as url, served(OTHERS[answer]) as other:
        models = [OpenAIResponses("one", base_url=url, api_key="k"), made("two", base_url=other, api_key="k")]
        app = create_app(Agent(name="support", model=models, tools=shop.tools), store="memory://")
        async with running(app) as base, client_of() as client:
            chat = AGUIClient(client, base)
            with capture_logs() as lines:
                failed = await chat.say("hello")
            again = await chat.say("and now")
    error = failed[-1]
    assert (error["type"], error["code"].startswith("provider_")) == ("RUN_ERROR", True), error
    assert "Traceback" not in error["message"]
    assert error["message"].count("\n") == 0
    assert not any(line["log_level"] == "error" and "exc_info" in line for line in lines), lines
    assert again.text == "Hello."


async def test_what_has_begun_is_not_said_again_by_another() -> None:
    async with serving(([CUT], [], []), "memory://", metrics="on") as (server, emulators), server() as p:
        stream = await p.chat().say("hello")
        figures = (await p.client.get(f"{p.url}/metrics")).text
    assert stream[-1]["code"] == "provider_unavailable"
    assert not emulators[1].accepted
    assert 'agui_gate_model_requests_total{code="provider_unavailable",model="gpt-5.4-mini",provider="openai"} 1.0' in (
        figures
    )


async def test_a_reference_of_another_origin_is_never_used() -> None:
    ref = ConversationRef(turn_id="", origin="two", previous_response_id="resp_1")
    first, second = Model("one", [RateLimited("busy")]), Model("two", answer("two", ref=ref))
    app = create_app(Agent(name="support", model=[first, second]), store="memory://", settings=Settings())
    async with running(app) as url, client_of() as client:
        chat = Chat(client, url, product=Product(Emulator([]), app, url, client))
        assert (await chat.say("hello")).text == "two"
        first.plan, second.plan = [[RateLimited("busy")], answer("one")], [answer("two")]
        await chat.say("again")
        await chat.say("and again")
    assert [request.ref for request in first.requests] == [None, None, None]
    assert [request.ref and request.ref.previous_response_id for request in second.requests] == [None, "resp_1"]
    assert [turn.origin for turn in first.requests[-1].transcript if isinstance(turn, AssistantTurn)] == ["two", "two"]
