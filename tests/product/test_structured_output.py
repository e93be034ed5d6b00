"""`Agent(output=Model)`: what providers are told, what is taken as an answer, and what becomes of it."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, RootModel, create_model

from agui_gate import Agent, ConfigurationError, LastRounds, adapter, create_app
from agui_gate.adapter import Adapter
from agui_gate.agents.state_form import Unfit
from agui_gate.agents.structured_output import OutputForm
from agui_gate.config.settings import Settings
from agui_gate.core.transcript import TurnEntry
from agui_gate.extras.structured_output import StructuredOutput
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.common.output_schemas import strict_schema
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.openai.checks import strict_faults
from tests.product.inprocess import Parrot, calls, request, run, run_body, says, started, user
from tests.product.kit import Chat, Json, Product, Stream, client_of, running
from tests.product.shop import SEARCH, Shop, refund, say
from tests.requirements import shows
from tests.support.timing import grows_less

pytestmark = [pytest.mark.anyio, shows("B19", "B24")]
DONE = adapter.TurnDone()


class Line(BaseModel):
    item: str = Field(description="What.", min_length=1)
    count: int = Field(default=1, ge=1)


class Order(BaseModel):
    """An order."""

    status: Literal["open", "done"]
    lines: list[Line]
    note: str | None = None


class Free(BaseModel):
    values: dict[str, int]


class Tree(BaseModel):
    leaves: list["Tree"] = []


class Wood(BaseModel):
    tree: Tree


class Odd(BaseModel):
    function: Callable[[], int]


class Many(RootModel[list[int]]):
    pass


GOOD = '{"status": "done", "lines": [{"item": "pen"}]}'
WRITTEN = {"status": "done", "lines": [{"item": "pen", "count": 1}], "note": None}
BAD = '{"status": "gone", "lines": []}'

Make = Callable[[str], Adapter]
MODELS: dict[str, Make] = {
    "chain": lambda url: OpenAIResponses("gpt", mode="chain", base_url=url, api_key="k"),
    "stateless": lambda url: OpenAIResponses("gpt", mode="stateless", base_url=url, api_key="k"),
    "chat": lambda url: OpenAIChat("gpt", base_url=url, api_key="k"),
    "llama_cpp": lambda url: OpenAIChat("qwen", base_url=url, api_key="k", profile="llama_cpp"),
    "deepseek": lambda url: OpenAIChat("deepseek", base_url=url, api_key="k", profile="deepseek"),
    "anthropic": lambda url: AnthropicMessages(
        "claude-sonnet-4-5", base_url=url, api_key="k", thinking={"type": "enabled", "budget_tokens": 2048}
    ),
    "older": lambda url: AnthropicMessages("claude-sonnet-4-20250514", base_url=url, api_key="k"),
}
TOLD = {"chain", "chat", "anthropic"}
every_model = pytest.mark.parametrize("name", MODELS)


def format_of(body: Json) -> Any:
    """What a request says about the form of its answer, whatever the API."""
    return (
        (body.get("text") or {}).get("format")
        or (body.get("response_format") or {}).get("json_schema")
        or (body.get("output_config") or {}).get("format")
    )


async def played(name: str, *turns: Json, shop: Shop, talk: Any, **options: Any) -> Emulator:
    profiles = {"llama_cpp": "llama_cpp", "deepseek": "deepseek"}
    emulator = Emulator(script=list(turns), **({"chat": profiles[name]} if name in profiles else {}))
    async with serve(emulator) as url:
        base = url.removesuffix("/v1") if name in ("anthropic", "older") else url
        agent = Agent(name="a", model=MODELS[name](base), instructions="I.", tools=shop.tools, output=Order, **options)
        app = create_app(agent, store="memory://", settings=Settings())
        async with running(app) as at, client_of() as client:
            product = Product(emulator, app, at, client)
            await talk(product)
            product.assert_clean()
    return emulator


@every_model
async def test_every_provider_takes_it_with_tools_a_gate_and_a_second_request(name: str) -> None:
    shop = Shop()

    async def talk(p: Product) -> None:
        chat: Chat = p.chat()
        waiting: Stream = await chat.say("go")
        assert waiting.error is None
        assert "result" not in waiting[-1]
        done = await approve(p, chat)
        assert done[-1]["result"] == {"output": WRITTEN}
        again = await chat.say("and now?")
        assert again[-1]["result"] == {"output": WRITTEN}, "the thread goes on"

    emulator = await played(
        name,
        {"output": [SEARCH]},
        {"output": [refund()]},
        {"output": [say(BAD)]},
        {"output": [say(GOOD)], "repeat": True},
        shop=shop,
        talk=talk,
    )
    assert (len(shop.refunds), len(shop.searches)) == (1, 1)
    for entry in emulator.accepted:
        assert entry.body is not None
        told, words = format_of(entry.body), "JSON Schema" in json.dumps(entry.body)
        assert (told is not None, words) == (name in TOLD, name not in TOLD)
        if told is not None:
            assert not list(strict_faults(told["schema"]))
    assert len(emulator.accepted) == 5
    assert "could not use the answer above: output.status" in json.dumps(emulator.accepted[3].body)


async def approve(p: Product, chat: Chat) -> Stream:
    """Say yes to what waits, and go on."""
    (asked,) = (await p.get("/approvals"))["approvals"]
    await p.decide(asked["id"], {"approved": True})
    return await chat.go()


@pytest.mark.parametrize("thinking", ["preserved", "anthropic"])
async def test_the_note_stays_so_thinking_can_be_sent_again(thinking: Any) -> None:
    thought = {"type": "reasoning", "summary": ["Hm."]}
    emulator = Emulator(
        script=[{"output": [thought, say(BAD)]}, {"output": [thought, say(GOOD)]}, {"output": [say(GOOD)]}],
        anthropic=thinking,
    )
    async with serve(emulator) as url:
        model = AnthropicMessages(
            "claude-opus-4-7", base_url=url.removesuffix("/v1"), api_key="k", thinking={"type": "adaptive"}
        )
        app = create_app(Agent(name="a", model=model, output=Order), store="memory://", settings=Settings())
        async with running(app) as at, client_of() as client:
            p = Product(emulator, app, at, client)
            chat = p.chat()
            for text in ("go", "more"):
                assert (await chat.say(text))[-1]["result"] == {"output": WRITTEN}
            p.assert_clean()


def _deep(levels: int) -> type[BaseModel]:
    return create_model("Deep", inner=(_deep(levels - 1) if levels else int, 0))


MAYBE: dict[str, Any] = {f"m{number}": (str | None, None) for number in range(17)}
TOO_MUCH = {"chain": _deep(10), "chat": _deep(10), "anthropic": create_model("Maybe", **MAYBE)}


@pytest.mark.parametrize("name", TOO_MUCH)
async def test_a_form_that_the_provider_refuses_is_told_in_words_from_then_on(name: str) -> None:
    """How large and deep a schema may be, each provider has its own limits for."""
    emulator = Emulator(script=[{"output": [say("{}")], "repeat": True}])
    async with serve(emulator) as url:
        base = url.removesuffix("/v1") if name == "anthropic" else url
        agent = Agent(name="a", model=MODELS[name](base), output=TOO_MUCH[name])
        app = create_app(agent, store="memory://", settings=Settings())
        async with started(app):
            ends = [(await run(app, run_body(t, user("go", "u1")))).events()[-1] for t in ("t1", "t2")]
    assert [end["type"] for end in ends] == ["RUN_FINISHED", "RUN_FINISHED"], ends
    assert all("output" in end["result"] for end in ends)
    assert len(emulator.refusals) == 1, "it isn't tried again"
    assert all("JSON Schema" in json.dumps(entry.body) for entry in emulator.accepted)


def test_a_form_is_known_to_be_refused_once_the_request_is_taken_without_it() -> None:
    """Another part of the request may have been meant."""
    form, model = OutputForm(Order), MODELS["llama_cpp"]("http://127.0.0.1:9")
    failed = StructuredOutput(form, model, tools=False)
    assert failed.tell_in_words()
    assert not failed.tell_in_words()
    again = StructuredOutput(form, model, tools=False)
    assert again.tell_in_words()
    again.judged(TurnEntry("t", ()), adapter.TurnDone())
    assert not StructuredOutput(form, model, tools=False).tell_in_words()


async def test_suggestions_are_no_answers_of_that_form() -> None:
    suggest = {"name": "copilotkitSuggest", "description": "Suggest.", "parameters": {"type": "object"}}
    app, model = served(answered("What next?"))
    async with started(app):
        forced = {"toolChoice": {"type": "function", "function": {"name": "copilotkitSuggest"}}}
        body = run_body("t", user("go", "u1"), tools=[suggest], forwardedProps=forced)
        end = (await run(app, body)).events()[-1]
    assert end["type"] == "RUN_FINISHED"
    assert "JSON Schema" not in model.requests[0].instructions


async def test_without_tools_a_local_server_is_told_too() -> None:
    model = MODELS["llama_cpp"]("http://127.0.0.1:9")
    assert isinstance(model, adapter.TellsOutput)
    spec = adapter.OutputSpec("Order", Order.model_json_schema())
    assert (model.tells_output(spec, tools=False), model.tells_output(spec, tools=True)) == (True, False)


def test_a_schema_is_narrowed_to_what_is_strict_or_not_told() -> None:
    made = strict_schema(Order.model_json_schema())
    assert made is not None
    assert not list(strict_faults(made))
    assert made["required"] == ["status", "lines", "note"]
    assert made["$defs"]["Line"]["properties"]["item"]["description"] == "What. (minLength: 1)"
    assert strict_schema(Free.model_json_schema()) is None
    assert strict_schema(Many.model_json_schema()) is None
    assert strict_schema(Wood.model_json_schema()) is not None
    assert strict_schema(Wood.model_json_schema(), recursive=False) is None
    assert strict_schema({"type": "object", "properties": {"items of any kind": {"type": "array"}}}) is None
    untyped = strict_schema({"type": "object", "properties": {"one": {"enum": [1]}, "two": {"const": 2}}})
    assert untyped is not None
    assert untyped["properties"] == {"one": {"enum": [1]}, "two": {"const": 2}}


def served(*plan: Any, tools: Any = (), **more: Any) -> tuple[Any, Parrot]:
    model = Parrot(list(plan))
    more = {"output": Order, **more}
    agent = Agent(name="a", model=model, tools=tools, instructions="I.", **more)
    return create_app(agent, store="memory://", settings=Settings()), model


def answered(text: str) -> list[Any]:
    return [*says(text), DONE]


@pytest.mark.parametrize("version", [{}, {"protocolVersion": "1.0"}], ids=["0.x", "1.x"])
@pytest.mark.parametrize(
    "text", [GOOD, f"```json\n{GOOD}\n```", f"\n {GOOD} \n", f"``` \n\n{GOOD}\n\n  ```", f"```json\n\n{GOOD}\n```\n"]
)
async def test_what_fits_is_the_runs_result(text: str, version: Json) -> None:
    app, model = served(answered(text))
    async with started(app):
        end = (await run(app, run_body("t", user("go", "u1"), **version))).events()[-1]
        assert (end["type"], end["result"]) == ("RUN_FINISHED", {"output": WRITTEN})
        assert '"$defs"' in model.requests[0].instructions
        assert model.requests[0].output is None
        shown = (await request(app, "GET", "/threads/t")).json()["messages"]
        again = (await run(app, run_body("t", *shown))).events()[-1]
        assert (again["type"], len(model.requests)) == ("RUN_FINISHED", 1), "nothing is to be answered"


async def test_a_number_that_json_has_not_fits_no_form() -> None:
    class Sum(BaseModel):
        total: float

    app, _ = served(answered('{"total": "NaN"}'), answered('{"total": 1e999}'), output=Sum)
    async with started(app):
        failed = (await run(app, run_body("t", user("go", "u1")))).events()[-1]
        assert (failed["type"], failed["code"]) == ("RUN_ERROR", "output_unfit")
        assert "NaN" in failed["message"]


@pytest.mark.parametrize("text", [BAD, "Sorry, here it is.", "", f"Here: {GOOD}", "[]"])
async def test_what_does_not_fit_is_asked_again_once(text: str) -> None:
    app, model = served(answered(text), answered(text), answered(GOOD))
    async with started(app):
        failed = (await run(app, run_body("t", user("go", "u1")))).events()[-1]
        assert (failed["type"], failed["code"]) == ("RUN_ERROR", "output_unfit")
        first, second = model.requests
        assert len(first.transcript) == 1
        note = second.transcript[-1]
        assert isinstance(note, adapter.UserTurn)
        assert "output" in str(note.content)
        shown = (await request(app, "GET", "/threads/t")).json()["messages"]
        assert "could not use" not in json.dumps(shown), "nobody said it"
        end = (await run(app, run_body("t", *shown))).events()[-1]
        assert end["result"] == {"output": WRITTEN}, "trying again is enough"


async def test_the_note_begins_no_round_and_the_next_message_is_told_as_ever() -> None:
    app, model = served(answered(BAD), answered(GOOD), answered(GOOD), history=LastRounds(1))
    async with started(app):
        await run(app, run_body("t", user("go", "u1")))
        assert [turn.id for turn in model.requests[1].transcript][:1] == ["u1"]
        shown = (await request(app, "GET", "/threads/t")).json()["messages"]
        end = (await run(app, run_body("t", *shown, user("more", "u2")))).events()[-1]
        assert end["result"] == {"output": WRITTEN}
        assert [turn.id for turn in model.requests[2].transcript] == ["u2"]


@pytest.mark.parametrize("done", [adapter.TurnDone(refused=True), adapter.TurnDone("incomplete", "max_tokens")])
async def test_a_refusal_and_a_cut_answer_are_not_judged(done: adapter.TurnDone) -> None:
    app, model = served([*says("I can't."), done])
    async with started(app):
        end = (await run(app, run_body("t", user("go", "u1")))).events()[-1]
        assert end["type"] == "RUN_FINISHED"
        assert "output" not in (end.get("result") or {})
        assert len(model.requests) == 1


@pytest.mark.parametrize("name", ["chain", "chat"])
async def test_a_providers_refusal_is_known(name: str) -> None:
    async def talk(p: Product) -> None:
        done = await p.chat().say("go")
        assert done.error is None
        assert "result" not in done[-1]
        assert done.text == "No."

    emulator = await played(name, {"output": [{"type": "refusal", "text": "No."}]}, shop=Shop(), talk=talk)
    assert len(emulator.accepted) == 1


async def test_the_second_request_counts_as_a_turn() -> None:
    app, _ = served(answered(BAD), answered(GOOD), max_turns=1)
    async with started(app):
        assert (await run(app, run_body("t", user("go", "u1")))).events()[-1]["code"] == "limit_reached"


async def test_a_sub_agents_answer_is_told_as_json() -> None:
    inner = Parrot([answered(BAD), answered(f"```json\n{GOOD}\n```")])
    clerk = Agent(name="clerk", model=inner, output=Order)
    app, model = served(
        [*calls("clerk", {"task": "Look."}), DONE], answered("All is well."), tools=[clerk.as_tool()], output=None
    )
    async with started(app):
        answer = (await run(app, run_body("t", user("go", "u1")))).events()
        assert answer[-1]["type"] == "RUN_FINISHED"
        assert "result" not in answer[-1]
        (told,) = (event["content"] for event in answer if event["type"] == "TOOL_CALL_RESULT")
        assert json.loads(told) == WRITTEN
        assert len(inner.requests) == len(model.requests) == 2


async def test_a_sub_agent_that_gives_none_ends_its_task_and_not_the_run() -> None:
    clerk = Agent(name="clerk", model=Parrot([answered(BAD), answered(BAD)]), output=Order)
    app, _ = served(
        [*calls("clerk", {"task": "Look."}), DONE], answered("A pity."), tools=[clerk.as_tool()], output=None
    )
    async with started(app):
        answer = (await run(app, run_body("t", user("go", "u1")))).events()
        assert answer[-1]["type"] == "RUN_FINISHED"
        assert [event["code"] for event in answer if event["type"] == "SUBAGENT_ERROR"] == ["output_unfit"]


@pytest.mark.parametrize("model", [Free, Tree, Many])
async def test_a_form_that_no_provider_takes_is_told_in_the_instructions(model: Any) -> None:
    said = {Free: '{"values": {"a": 1}}', Tree: '{"leaves": [{"leaves": []}]}', Many: "[1, 2]"}[model]
    emulator = Emulator(script=[{"output": [say(said)]}])
    async with serve(emulator) as url:
        app = create_app(
            Agent(name="a", model=MODELS["chain"](url), output=model), store="memory://", settings=Settings()
        )
        async with running(app) as at, client_of() as client:
            p = Product(emulator, app, at, client)
            assert (await p.chat().say("go"))[-1]["result"] == {"output": json.loads(said)}
            p.assert_clean()


async def test_after_a_hand_off_the_form_is_that_of_who_answers() -> None:
    heir = Agent(name="heir", model=Parrot([answered(GOOD)]), output=Order)
    app, _ = served([*calls("transfer_to_heir", {}), DONE], handoffs=[heir], output=None)
    async with started(app):
        end = (await run(app, run_body("t", user("go", "u1")))).events()[-1]
        assert end["result"] == {"output": WRITTEN}


async def test_pages_are_told_that_it_has_a_form() -> None:
    app, _ = served()
    async with started(app):
        told = (await request(app, "GET", "/agents/a/capabilities")).json()
        assert told["output"] == {"structuredOutput": True}


async def test_what_was_wrong_is_known_after_a_restart(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'a.db'}"
    plans = ([answered(BAD), answered(BAD)], [answered(GOOD)])
    models = [Parrot(plan) for plan in plans]
    apps = [
        create_app(Agent(name="a", model=model, output=Order), store=store, settings=Settings()) for model in models
    ]
    async with started(apps[0]) as app:
        assert (await run(app, run_body("t", user("go", "u1")))).events()[-1]["code"] == "output_unfit"
    async with started(apps[1]) as app:
        shown = (await request(app, "GET", "/threads/t")).json()["messages"]
        assert (await run(app, run_body("t", *shown))).events()[-1]["result"] == {"output": WRITTEN}
    kinds = [type(turn).__name__ for turn in models[1].requests[0].transcript]
    assert kinds == ["UserTurn", "AssistantTurn", "UserTurn", "AssistantTurn", "UserTurn"]


def test_a_model_without_a_json_schema_is_refused_when_the_agent_is_made() -> None:
    with pytest.raises(ConfigurationError, match="no JSON Schema"):
        Agent(name="a", model=Parrot(), output=Odd)


@pytest.mark.parametrize("given", [int, "Order", Order(status="open", lines=[])])
def test_what_is_no_model_is_refused_when_the_agent_is_made(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="output="):
        Agent(name="a", model=Parrot(), output=given)


def test_an_answer_of_nearly_empty_lines_is_looked_through_once() -> None:
    """Models come to that by themselves. Of 8,000 lines it took four minutes."""
    form = OutputForm(Order)

    def look(lines: int) -> None:
        with suppress(Unfit):
            form.fitted("```" + "\n" * lines + "x")

    assert grows_less(24, lambda: look(100), lambda: look(800))
