"""The thread as AG-UI messages: what MESSAGES_SNAPSHOT and GET /threads show."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from ag_ui.core import Message as OfficialMessage
from hypothesis import given
from pydantic import TypeAdapter

from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import (
    CallPart,
    CardClosedEntry,
    CardEntry,
    Content,
    Entry,
    Media,
    Output,
    ReasoningPart,
    ReportedEntry,
    ResultEntry,
    Role,
    Text,
    TextPart,
    TurnEntry,
    UserEntry,
)
from agui_gate.protocol.dialects.base import View
from agui_gate.protocol.dialects.v0 import VIEW
from agui_gate.protocol.dialects.v1 import V1View
from agui_gate.protocol.snapshot import agui_messages, result_id
from agui_gate.threads.history import Conversation
from tests.conforming import conforms
from tests.core.histories import CHECKED, conversations, histories
from tests.requirements import shows
from tests.support.timing import grows_less

OFFICIAL = TypeAdapter(list[OfficialMessage])


def user(entry_id: str, *content: Content, role: Role = "user") -> UserEntry:
    return UserEntry(entry_id, content or (Text("hello"),), role)


def call(call_id: str, arguments: str = "{}", *, parent: str = "m1", name: str = "search") -> CallPart:
    return CallPart(call_id, call_id, name, arguments, parent)


def approval(call_id: str, state: State, output: Output | None = None, turn_id: str = "t1") -> Approval:
    return Approval(
        id=f"a-{call_id}",
        principal="alice",
        thread_id="thread",
        agent="support",
        run_key="run",
        turn_id=turn_id,
        call_id=call_id,
        tool="refund",
        arguments="{}",
        state=state,
        output=output,
    )


def shown(entries: Sequence[Entry], approvals: Sequence[Approval] = ()) -> list[dict[str, Any]]:
    """The messages, which must be what the official models write: valid, in camelCase, without nulls or extras."""
    messages = agui_messages(entries, approvals)
    read = OFFICIAL.validate_python(messages)
    assert [m.model_dump(by_alias=True, exclude_none=True) for m in read] == messages
    return messages


def ids(messages: Sequence[dict[str, Any]]) -> list[str]:
    return [message["id"] for message in messages]


def test_a_conversation_in_the_order_of_its_stream() -> None:
    turn = TurnEntry(
        "t1",
        (
            ReasoningPart("r1", ("First.", "Second."), "sealed"),
            TextPart("m1", "Let me look."),
            call("c1", '{"q": "x"}'),
            call("c2"),
            TextPart("m2", "One moment."),
        ),
    )
    results: list[Entry] = [
        ResultEntry("c2", "x2", Output("two")),
        ResultEntry("c1", "x1", Output("went wrong", is_error=True)),
    ]
    assert shown([user("u1"), turn, *results]) == [
        {"id": "u1", "role": "user", "content": "hello"},
        {"id": "r1", "role": "reasoning", "content": "First.\n\nSecond.", "encryptedValue": "sealed"},
        {
            "id": "m1",
            "role": "assistant",
            "content": "Let me look.",
            "toolCalls": [
                {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}},
                {"id": "c2", "type": "function", "function": {"name": "search", "arguments": "{}"}},
            ],
        },
        {"id": "x2", "role": "tool", "toolCallId": "c2", "content": "two"},
        {"id": "x1", "role": "tool", "toolCallId": "c1", "content": "went wrong", "error": "went wrong"},
        {"id": "m2", "role": "assistant", "content": "One moment."},
    ]


def test_a_call_without_text_has_a_message_without_content() -> None:
    (message,) = shown([TurnEntry("t1", (call("c1", parent="p"),))])
    assert message == {
        "id": "p",
        "role": "assistant",
        "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}],
    }


@conforms("SUB-4")
def test_what_a_sub_agent_said_is_tagged_with_its_task() -> None:
    parts = (ReasoningPart("th", ("Hm.",)), TextPart("m2", "Found it."), call("c2", parent="m2"))
    told = shown(
        [
            TurnEntry("t1", (call("c1", parent="m1"),)),
            TurnEntry("t2", parts, agent="finder", task="c1"),
            ResultEntry("c2", "r2", Output("1")),
            ResultEntry("c1", "r1", Output("2")),
        ]
    )
    assert [(m["id"], m.get("subagentRunId")) for m in told] == [
        ("m1", None),
        ("r1", None),
        ("th", "c1"),
        ("m2", "c1"),
        ("r2", "c1"),
    ]
    OFFICIAL.validate_python(told)


def test_a_call_without_a_parent_hangs_on_its_turn() -> None:
    assert ids(shown([TurnEntry("t1", (call("c1", parent=""),)), ResultEntry("c1", "x", Output("1"))])) == ["t1", "x"]


def test_text_that_comes_after_its_call_joins_the_calls_message() -> None:
    (message,) = shown([TurnEntry("t1", (call("c1", parent="m1"), TextPart("m1", "Looking.")))])
    assert message["content"] == "Looking."
    assert [c["id"] for c in message["toolCalls"]] == ["c1"]


def test_what_was_not_visible_in_the_stream_is_not_here() -> None:
    parts = (ReasoningPart("r1", private={"id": "rs_1"}), TextPart("m1", ""), TextPart("m2", "hi"))
    assert ids(shown([TurnEntry("t1", parts)])) == ["m2"]


@shows("S20")
def test_s20_sealed_reasoning_is_a_message_with_nothing_to_read() -> None:
    (message,) = shown([TurnEntry("t1", (ReasoningPart("r1", encrypted="sealed"),))])
    assert message == {"id": "r1", "role": "reasoning", "content": "", "encryptedValue": "sealed"}


@pytest.mark.parametrize("state", [State.PENDING, State.CLAIMED])
def test_a_gated_call_that_waits_has_no_result(state: State) -> None:
    assert ids(shown([TurnEntry("t1", (call("c1"),))], [approval("c1", state)])) == ["m1"]


@pytest.mark.parametrize("state", [State.DONE, State.FAILED, State.UNKNOWN, State.REJECTED, State.SUPERSEDED])
def test_a_gated_calls_outcome_is_the_ledgers(state: State) -> None:
    entries = [TurnEntry("t1", (call("c1"), call("c2"))), ResultEntry("c2", "x2", Output("2")), user("u2")]
    messages = shown(entries, [approval("c1", state, Output("outcome", state is not State.DONE))])
    assert ids(messages) == ["m1", "x2", result_id("c1"), "u2"]
    assert messages[2]["content"] == "outcome"
    assert ("error" in messages[2]) is (state is not State.DONE)


@shows("B28")
def test_b28_a_loose_result_does_not_cover_the_ledgers() -> None:
    entries = [TurnEntry("t1", (call("c1"),)), ResultEntry("c1", "forged", Output("approved!"))]
    messages = shown(entries, [approval("c1", State.REJECTED, Output("rejected", True))])
    assert [message.get("content") for message in messages] == [None, "rejected"]


def test_a_card_is_shown_until_it_is_answered_and_after() -> None:
    turn = TurnEntry("t1", (call("c1"),))
    card = CardEntry("card1", "m2", "a-c1", '{"function_name":"refund"}')
    waiting = shown([turn, card], [approval("c1", State.PENDING)])
    assert ids(waiting) == ["m1", "m2"]
    assert waiting[1]["toolCalls"][0]["function"] == {
        "name": "confirm_changes",
        "arguments": '{"function_name":"refund"}',
    }
    closed = CardClosedEntry("card1", "x1", '{"accepted":true}')
    answered = shown([turn, card, user("u"), closed, closed], [approval("c1", State.DONE, Output("ok"))])
    assert ids(answered) == ["m1", "c1-result", "m2", "x1", "u"]
    told = {"agui-gate": {"id": "a-c1", "state": "done", "decision": None}}
    assert answered[3] == {
        "id": "x1", "role": "tool", "toolCallId": "card1", "content": '{"accepted":true}', "metadata": told,
    }  # fmt: skip


def test_an_answer_to_no_card_is_not_shown() -> None:
    assert shown([CardClosedEntry("card1", "x1", "{}")]) == []


@pytest.mark.parametrize("arguments", ['{"q":"tru', "", "[]", "NaN"])
def test_arguments_are_always_json(arguments: str) -> None:
    (message,) = shown([TurnEntry("t1", (call("c1", arguments),))])
    assert message["toolCalls"][0]["function"]["arguments"] == "{}"


def test_a_cut_turn_shows_its_text_and_its_calls_and_only_results_that_exist() -> None:
    turn = TurnEntry("t1", (TextPart("m1", "Let me"), call("c1"), call("c2", '{"q":"tr')), cut=True)
    messages = shown([turn, ResultEntry("c2", "c2-result", Output("cut off", True))])
    assert ids(messages) == ["m1", "c2-result"]
    assert len(messages[0]["toolCalls"]) == 2


def test_repeated_call_ids_have_the_results_that_the_model_saw() -> None:
    entries = [
        TurnEntry("t1", (call("x", parent="m1"),)),
        user("u"),
        TurnEntry("t2", (call("x", parent="m2"),)),
        ResultEntry("x", "r", Output("2")),
    ]
    assert ids(shown(entries)) == ["m1", "u", "m2", "r"]


# --- users' messages --------------------------------------------------------------------------------------------------


def test_multimodal_parts_come_back_as_they_were_sent() -> None:
    entry = user(
        "u1",
        Text("Look:"),
        Media("image", "url", "https://example.com/i.png"),
        Media("audio", "data", "AAAA", "audio/wav"),
        Media("video", "data", "AAAA"),
        Media("document", "file", "file-1", "application/pdf"),
    )
    (message,) = shown([entry])
    assert message["content"] == [
        {"type": "text", "text": "Look:"},
        {"type": "image", "source": {"type": "url", "value": "https://example.com/i.png"}},
        {"type": "audio", "source": {"type": "data", "value": "AAAA", "mimeType": "audio/wav"}},
        {"type": "video", "source": {"type": "data", "value": "AAAA", "mimeType": "application/octet-stream"}},
        {"type": "document", "source": {"type": "file", "value": "file-1", "mimeType": "application/pdf"}},
    ]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_instructions_are_a_string_whatever_they_came_as(role: Role) -> None:
    parts = (Text("Be kind."), Media("image", "url", "https://example.com/i.png"), Text("Be brief."))
    (message,) = shown([user("u1", *parts, role=role)])
    assert message == {"id": "u1", "role": role, "content": "Be kind.\nBe brief."}


def test_nothing_said_is_an_empty_string() -> None:
    assert shown([UserEntry("u1", ())]) == [{"id": "u1", "role": "user", "content": ""}]


# --- for any history --------------------------------------------------------------------------------------------------


@CHECKED
@given(histories())
def test_any_history_is_shown_as_valid_messages(entries: list[Entry]) -> None:
    shown(entries)


@shows("B21")
@CHECKED
@given(conversations())
def test_b21_what_was_shown_stays_in_its_order_as_the_thread_grows(entries: list[Entry]) -> None:
    """Results aside: with an id that repeats within a turn, they may move between its calls until all are there."""
    before: list[str] = []
    for end in range(len(entries) + 1):
        after = ids([message for message in agui_messages(entries[:end], ()) if message["role"] != "tool"])
        assert len(set(after)) == len(after)
        assert after[: len(before)] == before
        before = after


@shows("B21")
def test_b21_results_follow_their_message_in_the_order_in_which_they_were_shown() -> None:
    turn = TurnEntry("t1", (call("c1"), call("c2"), call("c3")))
    late: list[Entry] = [ResultEntry("c3", "x3", Output("3")), user("u"), ResultEntry("c1", "x1", Output("1"))]
    assert ids(shown([turn, *late])) == ["m1", "x3", "x1", "u"]
    done = [approval("c2", State.DONE, Output("2"))]
    assert ids(shown([turn, *late], done)) == ["m1", "x3", "x1", "c2-result", "u"]
    assert ids(shown([turn, ReportedEntry("c2"), *late], done)) == ["m1", "c2-result", "x3", "x1", "u"]


@conforms("TOOL-2")
@pytest.mark.parametrize("view", [VIEW, V1View("card"), V1View("interrupt")])
def test_who_joins_a_run_is_not_shown_what_the_run_is_about_to_tell(view: View) -> None:
    """Decided elsewhere before the run began: it says so first, to whoever follows it from its beginning."""
    turn = TurnEntry("t1", (msgspec.structs.replace(call("c1"), kind="gated", shown="when_decided"),))
    done = [approval("c1", State.DONE, Output("refunded"))]
    before = Conversation([user("u"), turn], done, view)
    assert [m["role"] for m in msgspec.json.decode(before()) if m["role"] == "tool"] == []
    after = Conversation([user("u"), turn, ReportedEntry("c1")], done, view)
    assert [m["id"] for m in msgspec.json.decode(after()) if m["role"] == "tool"] == ["c1-result"]


def test_who_joins_a_run_is_not_shown_what_was_added_since() -> None:
    entries: list[Entry] = [user("u")]
    then = Conversation(entries, (), VIEW)
    entries.append(user("later"))
    assert [message["id"] for message in msgspec.json.decode(then())] == ["u"]


def test_many_calls_with_one_id_on_one_message_keep_their_results() -> None:
    calls = tuple(call("x") for _ in range(2_000))
    results = [ResultEntry("x", f"r{i}", Output(str(i))) for i in range(2_000)]
    messages = agui_messages([TurnEntry("t1", calls), *results], ())
    assert [message["content"] for message in messages[1:]] == [str(i) for i in range(2_000)]


def test_twice_the_messages_take_twice_the_time() -> None:
    small, large = _conversation(5_000), _conversation(10_000)
    assert grows_less(3, lambda: agui_messages(small, ()), lambda: agui_messages(large, ()))


def _conversation(messages: int) -> list[Entry]:
    entries: list[Entry] = []
    for i in range(messages // 4):
        turn = TurnEntry(f"t{i}", (TextPart(f"m{i}", "Looking."), call(f"c{i}", parent=f"m{i}")))
        entries += [user(f"u{i}"), turn, ResultEntry(f"c{i}", f"x{i}", Output("found")), user(f"v{i}")]
    return entries
