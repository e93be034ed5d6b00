"""What a remote agent is sent: the conversation as it knows it, and what others said, with ids that never change."""

from typing import Any

from agui_gate.adapter import (
    AssistantTurn,
    CallPart,
    Media,
    Output,
    SettledCall,
    Text,
    TextPart,
    ToolSpec,
    TurnRequest,
    UserTurn,
)
from agui_gate_adapters.remote_agui.request import planned, thread_id

OURS = "remote-agui:x"


def body(*turns: Any, **more: Any) -> dict[str, Any]:
    return planned(TurnRequest(turns, **more), OURS, "r")


def settled(kind: Any, consent: bool | None = None, arguments: str = "{}", **private: Any) -> SettledCall:
    part = CallPart("c-shown", "c-1", "refund", "{}", "m-shown", kind=kind, private=private or None)
    return SettledCall(part, Output('{"status":"rejected","reason":"no"}'), arguments, consent)


def test_what_others_said_is_one_message_with_its_results() -> None:
    hosted = settled("hosted")
    turn = AssistantTurn("t-1", (TextPart("m", "Hello"), settled("server"), hosted), "another")
    once, twice = body(turn), body(turn)
    assert once["messages"] == twice["messages"]
    said, *results = once["messages"]
    assert (said["id"], said["content"], [c["id"] for c in said["toolCalls"]]) == ("t-1", "Hello", ["t-1-0", "t-1-1"])
    assert [m["toolCallId"] for m in results] == ["t-1-0", "t-1-1"]


def test_what_others_said_after_it_answered_is_told_as_a_message() -> None:
    own = AssistantTurn("t-1", (TextPart("m", "Mine", {"id": "m-1"}),), OURS)
    theirs = AssistantTurn("t-2", (TextPart("n", "Hello"), settled("server", arguments='{"a":1}')), "another")
    assert body(theirs, own)["messages"][0]["role"] == "assistant"
    after = body(own, theirs)["messages"][-1]
    assert (after["id"], after["role"]) == ("t-2", "user")
    assert after["content"].startswith("[Another agent")
    assert "Hello" in after["content"]
    assert '[refund {"a":1}: {"status":"rejected"' in after["content"]
    assert body(own, AssistantTurn("t-3", (), "another"))["messages"][-1]["id"] == "m-1"


def test_a_turn_that_says_nothing_is_nothing() -> None:
    assert body(AssistantTurn("t-1", (), "another"), AssistantTurn("t-2", (), OURS))["messages"] == []


def test_a_yes_leaves_the_call_open_and_a_no_says_why() -> None:
    kept: dict[str, Any] = {"message": "m-1", "name": "refund", "ask": "i", "word": "accepted", "reasons": True}
    yes = body(AssistantTurn("t", (settled("held", True, **kept),), OURS))
    assert yes["resume"] == [{"interruptId": "i", "status": "resolved", "payload": {"accepted": True}}]
    assert [m["role"] for m in yes["messages"]] == ["assistant"]
    no = body(AssistantTurn("t", (settled("held", False, **kept),), OURS))
    assert no["resume"][0]["payload"] == {"accepted": False, "reason": "no"}
    told = body(AssistantTurn("t", (settled("held", None, **kept),), OURS))
    assert "resume" not in told
    assert [m["role"] for m in told["messages"]] == ["assistant", "tool"]


def test_a_lent_tool_whose_arguments_were_edited_says_so() -> None:
    (call, result) = body(AssistantTurn("t", (settled("gated", arguments='{"a":1}', message="m"),), OURS))["messages"]
    assert call["toolCalls"][0]["function"]["arguments"] == "{}"
    assert '"arguments":{"a":1}' in result["content"]


def test_parts_and_tools_go_along() -> None:
    picture = Media("image", "data", "AA==", "image/png")
    spec = ToolSpec("paint", "Paint.", {"type": "object"})
    sent = body(UserTurn("u", (Text("look"), picture)), UserTurn("v", (Text("a"), Text("b"))), tools=(spec,))
    assert sent["messages"][0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}},
    ]
    assert sent["messages"][1]["content"] == "a\n\nb"
    assert sent["tools"] == [{"name": "paint", "description": "Paint.", "parameters": {"type": "object"}}]


def test_conversations_never_share_an_id() -> None:
    conversations = [
        ("ann", "t", "1"),
        ("ann", "t", "2"),
        ("bob", "t", "1"),
        ("ann,1:t", "1"),
        ("ann", "t1", ""),
        ("an", "nt", "1"),
    ]
    assert len({thread_id(one) for one in conversations}) == len(conversations)
    assert thread_id(("ann", "t", "1")) == thread_id(("ann", "t", "1"))
    assert thread_id(()) == ""
