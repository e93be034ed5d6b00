"""Hosted tools: which may be given, what their items become, and how what was asked and agreed to travels."""

import json
from typing import Any

import msgspec
import pytest

from agui_gate.adapter import (
    AssistantTurn,
    CallDelta,
    CallEnd,
    CallHeld,
    CallPart,
    CallResult,
    CallStart,
    ConversationRef,
    ModelEvent,
    Notice,
    Output,
    SettledCall,
    TextPart,
    TurnDone,
    TurnRequest,
    retold,
)
from agui_gate.core.sse import SSESplitter
from agui_gate.errors import ConfigurationError, ConsentLost, ProviderUnavailable, RateLimited
from agui_gate_adapters.common.failures import Failure, Kind
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.openai_responses.hosted_tools import MAX_IMAGE, MAX_NAME, Hosting
from agui_gate_adapters.openai_responses.machine import ResponseMachine
from agui_gate_adapters.openai_responses.request import Plan, Settings, Shape, plan
from agui_gate_adapters.openai_responses.retries import ReplayLadder
from agui_gate_adapters.testkit import Emulator
from tests.adapters.support import assistant, call, user

NOW = 1_800_000_000_000
ORIGIN = "openai-responses:m:host:gpt"
REF = ConversationRef("t1", ORIGIN, previous_response_id="resp_1", committed_at=NOW - 1000)
LISTED = {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "crm", "tools": [{"name": "pay"}]}
ASKS = {"type": "mcp_approval_request", "server_label": "crm", "name": "pay", "arguments": '{"to":"ada"}'}


def told(*items: dict[str, Any], hosting: Hosting = Hosting(), **turn: Any) -> list[ModelEvent]:  # noqa: B008 immutable
    """What the items of one response become, whatever the network does to its bytes."""
    emulator = Emulator([{"output": list(items), **turn}])
    exchange = emulator.create(msgspec.json.encode({"model": "m", "input": "go", "stream": True}))
    body = b"".join(frame.data for frame in exchange.frames())  # type: ignore[union-attr]  # a Reply fails here
    whole = fed(body, len(body), hosting)
    assert fed(body, 1 if len(body) < 100_000 else 4093, hosting) == whole
    return [event for event in whole if not isinstance(event, TurnDone)]


def fed(body: bytes, step: int, hosting: Hosting) -> list[ModelEvent]:
    machine = ResponseMachine("m", lambda response_id: REF, hosting)
    splitter, events = SSESplitter(), list[ModelEvent]()
    for start in range(0, len(body), step):
        events += machine.feed(splitter.feed(body[start : start + step]))
    assert machine.failure is None
    return events


def of(events: list[ModelEvent], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


# --- items --------------------------------------------------------------------------------------------------------


def test_code_is_streamed_as_json() -> None:
    code = 'for i in "é\\"":\n    print(i)\n' * 3
    events = told({"type": "code_interpreter_call", "code": code, "outputs": []})
    pieces = [event.text for event in of(events, CallDelta)]
    (end,) = of(events, CallEnd)
    assert len(pieces) > 3
    assert json.loads(end.arguments) == {"code": code}
    assert end.arguments.startswith("".join(pieces)), "what was streamed is how it begins"


@pytest.mark.parametrize("arguments", ['{"q": "ada"}', ""])
def test_remote_arguments_are_streamed_as_they_are(arguments: str) -> None:
    item = {"type": "mcp_call", "server_label": "crm", "name": "find", "arguments": arguments, "output": "found"}
    events = told(item)
    assert "".join(event.text for event in of(events, CallDelta)) == arguments
    assert of(events, CallEnd)[0].arguments == (arguments or "{}")
    assert of(events, CallResult) == [CallResult(of(events, CallStart)[0].key, "found")]


@pytest.mark.parametrize(
    ("error", "content"),
    [("gone", "gone"), ({"code": 500, "message": "oops"}, '{"code":500,"message":"oops"}')],
)
def test_errors_of_a_remote_server(error: Any, content: str) -> None:
    item = {"type": "mcp_call", "server_label": "crm", "name": "find", "arguments": "{}", "error": error}
    (result,) = of(told(item), CallResult)
    assert (result.content, result.is_error) == (content, True)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "web_search_call", "action": "search"},
        {"type": "web_search_call", "action": None},
        {"type": "file_search_call", "queries": None, "results": 7},
        {"type": "code_interpreter_call", "outputs": "none"},
        {"type": "image_generation_call", "result": None},
        {"type": "mcp_call", "server_label": "crm", "name": "find", "arguments": "nope", "output": {"a": [1]}},
        {"type": "web_search_call", "status": "incomplete"},
    ],
)
def test_whatever_an_item_holds_it_is_a_finished_call(item: dict[str, Any]) -> None:
    events = told(item)
    assert [len(of(events, kind)) for kind in (CallStart, CallEnd, CallResult)] == [1, 1, 1]
    assert of(events, CallStart)[0].hosted
    assert of(events, CallResult)[0].is_error is (item.get("status") == "incomplete")


def test_large_images_are_only_mentioned() -> None:
    events = told({"type": "image_generation_call", "result": "A" * (MAX_IMAGE + 1)})
    assert not of(events, Notice)
    assert json.loads(of(events, CallResult)[0].content)["bytes"] > 3_000_000


def test_names_are_fit_for_tools() -> None:
    item = {"type": "mcp_call", "server_label": "my server.io", "name": "löschen" * 20, "arguments": "{}"}
    (start,) = of(told(item), CallStart)
    assert start.name.startswith("my_server_io__l_schen")
    assert len(start.name) == MAX_NAME


@pytest.mark.parametrize("keeps", [True, False])
def test_a_request_for_approval_is_a_held_call(keeps: bool) -> None:
    events = told(LISTED, ASKS, hosting=Hosting(60.0, keeps, {"crm": "there"}))
    (start,) = of(events, CallStart)
    (end,) = of(events, CallEnd)
    assert (start.name, start.hosted, end.arguments) == ("crm__pay", True, '{"to":"ada"}')
    assert of(events, CallHeld) == [CallHeld(start.key, 60.0, "Let crm run pay?")]
    assert not of(events, CallResult)
    listed = end.private.pop("tool_list", None)
    crm = {"server_label": "crm", "server": "there", "name": "pay"}
    assert end.private == {"index": 1, "id": start.wire_id, **crm}
    assert listed == (LISTED if keeps else None)
    (notice,) = of(events, Notice)
    assert notice == Notice("openai.mcp_tools", {"server": "crm", "tools": ["pay"], "failed": False})


# --- requests -----------------------------------------------------------------------------------------------------


def held(consent: bool | None, wire_id: str = "mcpr_1", **private: Any) -> SettledCall:
    """A call that the provider asked about, and what it is to be told."""
    known = {"index": 0, "id": wire_id, "server_label": "crm", "name": "pay", **private}
    part = CallPart(wire_id, wire_id, "crm__pay", '{"to":"ada"}', "m", "held", private=known)
    return SettledCall(part, Output('{"status":"rejected","message":"No.","reason":"too much"}'), "{}", consent)


def hosted_call() -> SettledCall:
    part = CallPart("ws_1", "ws_1", "web_search", '{"query":"x"}', "m", "hosted", private={"index": 0, "id": "ws_1"})
    return SettledCall(part, Output('{"status":"completed"}'), '{"query":"x"}')


def planned(*turns: Any, mode: Any = "chain", ref: ConversationRef | None = REF, **how: Any) -> Plan:
    settings = Settings(model="gpt", mode=mode, origin=ORIGIN, **how.pop("options", {}))
    return plan(TurnRequest(turns, "", (), ref), settings, now_ms=NOW, **how)


def asked(*calls: SettledCall) -> AssistantTurn:
    return assistant(*calls, origin=ORIGIN)


def kinds(made: Plan) -> list[str]:
    return [item["type"] for item in made.body["input"]]


def test_a_continuation_answers_what_was_asked_and_says_nothing_of_what_ran() -> None:
    made = planned(
        user("hi"), asked(held(True), hosted_call(), call("call_1"), held(False, "mcpr_2")), user("go", "u2")
    )
    assert (made.shape, made.agrees) == (Shape.CONTINUED, True)
    assert kinds(made) == ["function_call_output", "mcp_approval_response", "mcp_approval_response", "message"]
    yes, no = made.body["input"][1:3]
    assert yes == {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    assert no == yes | {"approval_request_id": "mcpr_2", "approve": False, "reason": "too much"}


def test_without_memory_the_question_goes_with_its_tools_and_the_answer() -> None:
    listed = assistant(held(None, "mcpr_0", tool_list=LISTED), turn_id="t0", origin=ORIGIN)
    now = asked(held(True), held(False, "mcpr_2"), call("call_1"))
    made = planned(listed, now, mode="stateless", ref=None)
    assert (made.shape, made.agrees) == (Shape.SEALED, True)
    assert kinds(made) == [
        "message",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_request",
        "function_call",
        "function_call_output",
        "mcp_approval_response",
        "mcp_approval_response",
    ]
    request = made.body["input"][2]
    assert request["arguments"] == '{"to":"ada"}'
    assert (request["id"], request["server_label"], request["name"]) == ("mcpr_1", "crm", "pay")


@pytest.mark.parametrize("mode", ["chain", "conversation", "stateless"])
def test_what_may_have_been_answered_is_told_as_text(mode: Any) -> None:
    made = planned(user("hi"), asked(held(None)), mode=mode)
    assert (kinds(made), made.agrees) == (["message", "message"], False)
    assert made.shape is not Shape.CONTINUED
    assert made.body["input"][1] == {"type": "message", "role": "assistant", "content": retold(held(None))}


@pytest.mark.parametrize("mode", ["chain", "conversation"])
@pytest.mark.parametrize(
    "how",
    [
        {"plain": True},
        {"ref": None},
        {"ref": msgspec.structs.replace(REF, origin="other")},
        {"options": {"output_window_ms": 500}},
    ],
)
def test_consent_that_nobody_can_be_given(mode: Any, how: dict[str, Any]) -> None:
    with pytest.raises(ConsentLost):
        planned(user("hi"), asked(held(True)), mode=mode, **how)
    refused = planned(user("hi"), asked(held(False)), mode=mode, **how)
    assert kinds(refused) == ["message", "message"], "and a no need not be said to who does not ask"


def test_a_hosted_call_breaks_a_sealed_group() -> None:
    """Its reasoning must be followed by it, and it can't be sent (R4, R9)."""
    made = planned(asked(hosted_call()), user("more"), mode="stateless", ref=None)
    assert kinds(made) == ["message", "message"]


def test_how_calls_are_retold() -> None:
    assert retold(hosted_call()) == '[web_search {"query":"x"} was run by the provider: {"status":"completed"}]'
    long = msgspec.structs.replace(hosted_call(), output=Output("y" * 9_000))
    assert len(retold(long)) < 2_200


def test_text_beside_hosted_calls_stays_in_place() -> None:
    turn = asked(hosted_call())
    turn = msgspec.structs.replace(turn, parts=(TextPart("a", "Let me see."), *turn.parts, TextPart("b", "Sunny.")))
    made = planned(turn, user("more"), mode="stateless", ref=None)
    contents = [item["content"] for item in made.body["input"][:3]]
    assert contents == ["Let me see.", retold(hosted_call()), "Sunny."]


# --- trying again -------------------------------------------------------------------------------------------------


def agreeing() -> Plan:
    return planned(user("hi"), asked(held(True)))


@pytest.mark.parametrize("kind", [Kind.TRANSIENT, Kind.AMBIGUOUS])
def test_consent_is_not_given_twice(kind: Kind) -> None:
    ladder = ReplayLadder(lambda **_: planned(user("hi")))
    with pytest.raises(ProviderUnavailable):
        ladder.next(Failure(ProviderUnavailable("down"), kind), agreeing())


def test_a_rate_limit_in_the_middle_proves_nothing() -> None:
    with pytest.raises(ProviderUnavailable):
        ReplayLadder(agreeing).next(Failure(RateLimited("slow"), Kind.AMBIGUOUS), agreeing())


@pytest.mark.parametrize("kind", [Kind.FORGOTTEN, Kind.MISMATCH])
def test_consent_is_lost_with_the_question(kind: Kind) -> None:
    with pytest.raises(ConsentLost):
        ReplayLadder(agreeing).next(Failure(ProviderUnavailable("gone"), kind), agreeing())


@pytest.mark.parametrize(("kind", "error"), [(Kind.TRANSIENT, RateLimited("slow")), (Kind.LOCKED, RateLimited("busy"))])
def test_what_was_surely_not_taken_is_sent_again(kind: Kind, error: RateLimited) -> None:
    current = agreeing()
    step = ReplayLadder(agreeing).next(Failure(error, kind), current)
    assert step is not None
    assert step.plan is current


# --- what may be given --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tools", "more", "why"),
    [
        ([{"type": "function", "name": "f"}], {}, "none that the provider runs"),
        ([{"type": "local_shell"}], {}, "none that the provider runs"),
        ([{}], {}, "none that the provider runs"),
        ([{"type": "mcp", "server_url": "https://x"}], {}, "server_label"),
        ([{"type": "mcp", "server_label": "crm"}, {"type": "mcp", "server_label": "crm"}], {}, "two mcp servers"),
        ({"type": "web_search"}, {}, "is a list of objects"),
        (["web_search"], {}, "is a list of objects"),
        ([], {"approval_expires_after": 0}, "above 0"),
    ],
)
def test_what_is_no_hosted_tool(tools: list[dict[str, Any]], more: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        OpenAIResponses("m", hosted_tools=tools, **more)


def test_secrets_of_hosted_tools_are_not_shown() -> None:
    model = OpenAIResponses("m", hosted_tools=[{"type": "mcp", "server_label": "crm", "authorization": "secret"}])
    assert "secret" not in repr(model)
    assert "secret" not in model.origin
