"""Hosted MCP approvals in the emulator: what a yes leads to, and what is refused beyond the API's own rule (R19)."""

from typing import Any

import msgspec
import pytest

from agui_gate_adapters.testkit import Emulator

SERVER = {"type": "mcp", "server_label": "crm", "server_url": "https://x", "allowed_tools": ["pay"]}
LISTED = {"type": "mcp_list_tools", "server_label": "crm", "tools": []}
ASKS = {"type": "mcp_approval_request", "server_label": "crm", "name": "pay", "arguments": '{"to":"ada"}'}


def send(emulator: Emulator, items: Any, **more: Any) -> dict[str, Any]:
    """The response object, or the error's members."""
    body = {"model": "m", "input": items, "stream": False, **more}
    answer = emulator.create(msgspec.json.encode(body))
    if hasattr(answer, "whole"):
        return dict(answer.whole())
    return dict(msgspec.json.decode(answer.body)["error"])


def answer_to(request: dict[str, Any], *, approve: bool) -> dict[str, Any]:
    return {"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": approve}


def test_a_yes_leads_to_the_call_that_was_asked_about() -> None:
    emulator = Emulator([{"output": [LISTED, ASKS, ASKS]}, {"output": [{"type": "mcp_call", "output": "ok"}] * 2}])
    first = send(emulator, "go")
    _, one, two = first["output"]
    answers = [answer_to(two, approve=True), answer_to(one, approve=False)]
    second = send(emulator, answers, previous_response_id=first["id"])
    ran, other = second["output"]
    assert (ran["approval_request_id"], ran["name"], ran["arguments"]) == (two["id"], "pay", '{"to":"ada"}')
    assert "approval_request_id" not in other, "nothing else was approved"


@pytest.mark.parametrize("approve", [True, False])
def test_turns_for_a_yes_and_for_a_no(approve: bool) -> None:
    says = [
        {"when": {"approves": value}, "output": [{"type": "message", "text": str(value)}]} for value in (True, False)
    ]
    emulator = Emulator([{"output": [LISTED, ASKS]}, *says])
    first = send(emulator, "go")
    second = send(emulator, [answer_to(first["output"][1], approve=approve)], previous_response_id=first["id"])
    assert second["output"][0]["content"][0]["text"] == str(approve)


def test_a_second_answer_is_refused() -> None:
    emulator = Emulator([{"output": [LISTED, ASKS]}, {"output": [{"type": "message", "text": "ok"}], "repeat": True}])
    first = send(emulator, "go")
    yes = answer_to(first["output"][1], approve=True)
    assert send(emulator, [yes, yes], previous_response_id=first["id"])["code"] == "emulator_strict"
    second = send(emulator, [yes], previous_response_id=first["id"])
    assert "already has an answer" in send(emulator, [yes], previous_response_id=second["id"])["message"]


def test_a_replayed_request_needs_its_servers_tools() -> None:
    emulator = Emulator([{"output": [{"type": "message", "text": "ok"}]}])
    request = {**ASKS, "id": "mcpr_1"}
    items = [{"role": "user", "content": "go"}, request, answer_to(request, approve=True)]
    assert "mcp_list_tools" in send(emulator, items, store=False)["message"]
    listed = {**LISTED, "id": "mcpl_1"}
    assert send(emulator, [listed, *items], store=False)["status"] == "completed"


@pytest.mark.parametrize(("approve", "said"), [(True, "**pay** is done."), (False, "I did not run **pay**.")])
def test_the_brain_asks_and_goes_on(approve: bool, said: str) -> None:
    emulator = Emulator()
    first = send(emulator, "Please pay Ada", tools=[SERVER])
    assert [item["type"] for item in first["output"]] == ["mcp_list_tools", "mcp_approval_request"]
    answer = [answer_to(first["output"][1], approve=approve)]
    second = send(emulator, answer, tools=[SERVER], previous_response_id=first["id"])
    assert [item["type"] for item in second["output"]][:-1] == (["mcp_call"] if approve else [])
    assert second["output"][-1]["content"][0]["text"] == said


def test_foundry_stops_waiting() -> None:
    emulator = Emulator(
        [{"output": [LISTED, ASKS]}, {"output": [{"type": "message", "text": "ok"}]}], profile="foundry"
    )
    first = send(emulator, "go")
    more = {"previous_response_id": first["id"]}
    emulator.state.clock.advance(601)
    assert "expired" in send(emulator, [answer_to(first["output"][1], approve=True)], **more)["message"]
    emulator.state.clock.advance(-10)
    assert send(emulator, [answer_to(first["output"][1], approve=True)], **more)["status"] == "completed"
