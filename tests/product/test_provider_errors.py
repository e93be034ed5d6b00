"""When the provider fails: the right code, a safe text, one retry before the first token, and a thread that goes on."""

import json

import pytest

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator
from tests.product.inprocess import run, run_body, started, user
from tests.product.kit import MODES, product
from tests.product.shop import SEARCH, Shop, call, outputs, refund, say, users
from tests.requirements import shows

pytestmark = pytest.mark.anyio

SECRET = "sk-live-0123456789 customer data"
BACK = {"output": [say("Back.")], "repeat": True}
TRANSIENT = {
    "429": ({"kind": "status", "status": 429, "retry_after": 0}, "rate_limited"),
    "500": ({"kind": "status", "status": 500, "retry_after": 0}, "provider_unavailable"),
    "503": ({"kind": "status", "status": 503, "retry_after": 0}, "provider_unavailable"),
    "html": ({"kind": "html", "status": 502, "retry_after": 0}, "provider_unavailable"),
    "cut before anything": ({"kind": "cut", "after_events": 0}, "provider_unavailable"),
}
FINAL = {
    "401": ({"kind": "status", "status": 401}, "provider_auth"),
    "403": ({"kind": "status", "status": 403}, "provider_auth"),
    "400": ({"kind": "status", "status": 400}, "provider_rejected"),
    "quota": ({"kind": "status", "status": 429, "code": "insufficient_quota"}, "rate_limited"),
    "model": ({"kind": "status", "status": 404, "code": "model_not_found"}, "provider_rejected"),
    "context": ({"kind": "status", "status": 400, "code": "context_length_exceeded"}, "context_length"),
}
MIDDLE = {
    "cut": ({"kind": "cut", "after_events": 8}, "provider_unavailable"),
    "clean cut": ({"kind": "cut", "after_events": 8, "clean": True}, "provider_unavailable"),
    "error event": ({"kind": "error_event", "after_events": 8}, "provider_unavailable"),
    "flat error event": ({"kind": "error_event", "after_events": 8, "shape": "flat"}, "provider_unavailable"),
    "failed": ({"kind": "failed", "after_events": 8, "code": "server_error"}, "provider_unavailable"),
    "rate limit in the stream": ({"kind": "failed", "after_events": 8, "code": "rate_limit_exceeded"}, "rate_limited"),
    "context in the stream": (
        {"kind": "failed", "after_events": 8, "code": "context_length_exceeded"},
        "context_length",
    ),
}


def told(fault):
    """The fault with a message that must not reach anybody."""
    return {**fault, "message": SECRET} if fault["kind"] in ("status", "error_event", "failed") else fault


def check_error(stream, code) -> None:
    assert (stream[-1]["type"], stream[-1]["code"]) == ("RUN_ERROR", code)
    assert "sk-live" not in stream.raw
    assert "customer data" not in stream.raw
    assert "<html" not in stream.raw
    assert 10 < len(stream[-1]["message"]) < 200


@shows("B19", "B10")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", TRANSIENT)
async def test_a_transient_failure_is_retried_once(mode: str, kind: str) -> None:
    fault, code = TRANSIENT[kind]
    fine = {"output": [say("Fine.")], "repeat": True}
    async with product([], [{"fault": told(fault)}, fine], mode=mode) as p:
        chat = p.chat()
        assert (await chat.say("hello")).text == "Fine."
        assert len(p.inputs()) == 2
        p.emulator.load([{"fault": {**told(fault), "times": 2}}, fine])
        check_error(await chat.say("again"), code)
        assert len(p.inputs()) == 4, "one retry, not more"
        assert (await chat.go()).text == "Fine."
        assert (await chat.say("bye")).text == "Fine."
        p.assert_clean()


@shows("B19")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", FINAL)
async def test_what_a_retry_can_not_help_is_told_at_once(mode: str, kind: str) -> None:
    fault, code = FINAL[kind]
    async with product([], [{"fault": told(fault)}, BACK], mode=mode) as p:
        chat = p.chat()
        check_error(await chat.say("hello"), code)
        assert len(p.inputs()) == 1
        assert (await chat.say("once more")).text == "Back."
        assert users(p.inputs()[-1]) == ["hello", "once more"], "nothing that was typed is lost"
        p.assert_clean()


@shows("B19", "B14", "S30")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", MIDDLE)
async def test_after_the_first_token_nothing_is_retried(mode: str, kind: str) -> None:
    fault, code = MIDDLE[kind]
    text = {"type": "message", "deltas": ["Half ", "of ", "an ", "answer"], "text": "Half of an answer"}
    turns = [{"output": [text], "fault": told(fault), "when": {"user": "hello"}}, BACK]
    async with product([], turns, mode=mode) as p:
        chat = p.chat()
        stream = await chat.say("hello")
        check_error(stream, code)
        assert stream.text.startswith("Half")
        assert len(p.inputs()) == 1
        assert (await chat.say("go on")).text == "Back."
        snapshot = await p.get(f"/threads/{chat.thread_id}")
        assert [m["content"] for m in snapshot["messages"]] == ["hello", stream.text, "go on", "Back."]
        p.assert_clean()


@shows("B19", "S30")
@pytest.mark.parametrize("kind", ["cut before anything", "cut"])
async def test_a_run_that_failed_is_kept_as_failed(kind: str) -> None:
    """Whoever comes later reads of it what the stream said."""
    fault, code = {**TRANSIENT, **MIDDLE}[kind]
    text = {"type": "message", "deltas": ["Half ", "of ", "an ", "answer"], "text": "Half of an answer"}
    async with product([], [{"output": [text], "fault": {**fault, "times": 2}}, BACK]) as p:
        chat = p.chat()
        check_error(await chat.say("hello"), code)
        assert (await p.get(f"/threads/{chat.thread_id}"))["run"]["status"] == "failed"


@shows("B25", "S27", "S29")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("after", range(5, 12))
async def test_a_stream_that_is_cut_in_the_middle_of_arguments_runs_nothing(mode: str, after: int) -> None:
    shop = Shop()
    arguments = '{"q":"ada lovelace"}'
    item = {"type": "function_call", "name": "search", "arguments": arguments, "deltas": list(arguments)}
    fault = {"kind": "cut", "after_events": after}
    async with product(
        shop.tools, [{"output": [item], "fault": fault, "when": {"user": "find"}}, BACK], mode=mode
    ) as p:
        chat = p.chat()
        stream = await chat.say("find")
        check_error(stream, "provider_unavailable")
        for call_id, content in stream.results.items():
            assert json.loads(content)["status"] == "cancelled"
            assert isinstance(json.loads(stream.arguments(call_id)), dict)
        assert stream.results.keys() == stream.calls.keys()
        assert (await chat.say("go on")).text == "Back."
        assert shop.searches == []
        p.assert_clean()


@shows("B25")
@pytest.mark.parametrize("mode", MODES)
async def test_an_incomplete_response_runs_only_complete_calls(mode: str) -> None:
    shop = Shop()
    turns = [{"output": [SEARCH, call("search", q="cut")], "status": "incomplete", "when": {"user": "find"}}, BACK]
    async with product(shop.tools, turns, mode=mode) as p:
        chat = p.chat()
        stream = await chat.say("find")
        assert stream.results.keys() == stream.calls.keys()
        assert "cut" not in shop.searches
        assert (await chat.say("go on")).text == "Back."
        p.assert_clean()


@shows("B19", "S27")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("arguments", ["not json", '{"q":', "[1]", "null", '"text"', '{"q":1}', '{"other":"x"}', ""])
async def test_arguments_that_do_not_fit_are_a_result_not_a_dead_run(mode: str, arguments: str) -> None:
    shop = Shop()
    bad = {"type": "function_call", "name": "refund", "arguments": arguments}
    async with product(shop.tools, [{"output": [bad]}, BACK], mode=mode) as p:
        chat = p.chat()
        if arguments == "not json":  # what the model wrote is streamed as it is, which a validator minds
            stream = await p.post("/", chat.body(messages=[{"id": "u", "role": "user", "content": "x"}]))
        else:
            stream = await chat.say("refund")
        assert stream.text == "Back."
        (content,) = stream.results.values()
        assert json.loads(content)["status"] == "error"
        assert shop.refunds == []
        assert (await p.get("/approvals"))["approvals"] == []
        p.assert_clean()


@shows("B10")
@pytest.mark.parametrize("mode", MODES)
async def test_a_failure_after_the_tools_ran_does_not_run_them_again(mode: str) -> None:
    shop = Shop()
    failing = {"when": {"has_output_for": "search"}, "fault": {"kind": "status", "status": 401}}
    async with product(shop.tools, [{"output": [SEARCH]}, failing, BACK], mode=mode) as p:
        chat = p.chat()
        check_error(await chat.say("find"), "provider_auth")
        assert (await chat.go()).text == "Back."  # the same request again, with the stored result
        assert shop.searches == ["ada"]
        assert outputs(p.inputs()[-1]) == ['["found ada"]']
        p.assert_clean()


@shows("B27", "S18")
@pytest.mark.parametrize("mode", ["chain", "conversation"])
async def test_a_provider_that_forgot_is_given_everything_once(mode: str) -> None:
    shop = Shop()
    forgets = {"output": [say("I know it all again.")], "fault": {"kind": "forget"}}
    async with product(shop.tools, [{"output": [SEARCH]}, {"output": [say("Found.")]}, forgets, BACK], mode=mode) as p:
        chat = p.chat()
        await chat.say("find")
        stream = await chat.say("what was it?")
        assert stream.text == "I know it all again."
        replay = p.inputs()[-1]
        assert "previous_response_id" not in replay
        assert users(replay) == ["find", "what was it?"] or p.emulator.accepted[-1].path.endswith("conversations")
        assert outputs(replay) == ['["found ada"]']
        assert [e.rule for e in p.emulator.refusals] == [{"chain": "R6", "conversation": "R7"}[mode]]
        assert (await chat.say("bye")).text == "Back."
        assert users(p.inputs()[-1]) == ["bye"], "and from then on it continues"
        assert shop.searches == ["ada"]


@shows("B27", "S1")
@pytest.mark.parametrize("mode", ["chain", "conversation"])
async def test_a_provider_that_forgot_while_a_question_waited(mode: str) -> None:
    shop = Shop()
    forgets = {"output": [say("Refunded.")], "fault": {"kind": "forget"}}
    async with product(shop.tools, [{"output": [refund()]}, forgets, BACK], mode=mode) as p:
        chat = p.chat()
        (ask,) = (await chat.say("refund")).interrupts
        stream = await chat.resume((ask["id"], {"approved": True}))
        assert stream.text == "Refunded."
        assert shop.refunds == [("A1", 20)]
        assert len(outputs(p.inputs()[-1])) == 1
        assert [e.rule for e in p.emulator.refusals] == [{"chain": "R6", "conversation": "R7"}[mode]]


@shows("B27")
async def test_zero_data_retention_falls_back_to_replays() -> None:
    shop = Shop()
    emulator = Emulator([{"output": [SEARCH]}, {"output": [say("Found.")]}, BACK], zdr=True)
    async with product(shop.tools, emulator=emulator, mode="chain") as p:
        chat = p.chat()
        assert (await chat.say("find")).text == "Found."
        assert (await chat.say("bye")).text == "Back."
        assert {e.rule for e in emulator.refusals} <= {"R6b", "R6"}
        assert shop.searches == ["ada"]


@shows("B19")
async def test_a_provider_that_is_not_there() -> None:
    model = OpenAIResponses("gpt-5.4-mini", base_url="http://127.0.0.1:9/v1", api_key="sk-live-0123456789")
    app = create_app(Agent(name="a", model=model), store="memory://", settings=Settings())
    async with started(app):
        answer = await run(app, run_body("t", user("hello")))
        assert (answer.events()[-1]["type"], answer.events()[-1]["code"]) == ("RUN_ERROR", "provider_unavailable")
        assert b"sk-live" not in answer.body
        assert b"127.0.0.1" not in answer.body
