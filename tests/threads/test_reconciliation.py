"""What is new in a request: by id, by place, by what the server itself issued."""

from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core.approvals import Approval, State
from agui_gate.core.journal import Journal
from agui_gate.core.transcript import (
    CallPart,
    CardClosedEntry,
    CardEntry,
    KeptEntry,
    LeftOutEntry,
    Output,
    ResultEntry,
    Text,
    TextPart,
    TurnEntry,
    UserEntry,
)
from agui_gate.protocol.run_input import FunctionCall, Message, ResumeEntry, RunInput, ToolCall
from agui_gate.threads.reconciliation import take
from agui_gate.threads.unusual_messages import UNTRUSTED
from tests.product import poison
from tests.requirements import shows
from tests.support.chance import examples
from tests.support.timing import grows_less

YES = '{"approved":true}'


def run(*messages, **more):
    return RunInput("t", "r", list(messages), **more)


def user(text, message_id=None):
    return Message("user", message_id, text)


def said(text, message_id, **more):
    return UserEntry(message_id, (Text(text),), **more)


def turn(turn_id, *parts):
    return TurnEntry(turn_id, parts)


def call(call_id, kind="server"):
    return CallPart(call_id, call_id, "tool", "{}", f"m-{call_id}", kind=kind)


def approval(call_id="c", state=State.PENDING, output=None):
    return Approval(
        id=f"apr_{call_id}", principal="p", thread_id="t", agent="a", run_key="r", turn_id="turn", call_id=call_id,
        tool="tool", arguments="{}", style="card", state=state, output=output,
    )  # fmt: skip


def new_id():
    ids = count()
    return lambda: f"new-{next(ids)}"


def taken(request, entries, approvals=()):
    return take(request, Journal(entries, approvals), new_id())


ANSWERED = [said("one", "u1"), turn("t1", TextPart("m1", "One."))]


@shows("B12")
def test_new_messages_are_those_with_new_ids() -> None:
    intake = taken(run(user("one", "u1"), Message("assistant", "m1", "One."), user("one", "u2")), ANSWERED)
    assert intake.entries == [said("one", "u2")]
    assert intake.said
    assert intake.keep is None


@shows("B12")
def test_messages_without_ids_go_by_their_place_among_equal_ones() -> None:
    entries = [said("yes", "x0", minted=True), turn("t1", TextPart("m1", "Ok."))]
    again = taken(run(user("yes"), user("yes")), entries)
    assert [e.content for e in again.entries] == [(Text("yes"),)]
    assert again.entries[0].minted
    assert taken(run(user("yes"), user("no")), entries).entries[0].content == (Text("no"),)
    newest = taken(run(user("yes")), entries)
    assert newest.said, "said again as the newest message"


@shows("B12")
@pytest.mark.parametrize("text", ["a", "b", "c"])
def test_the_newest_message_without_an_id_is_new_whatever_was_said_before(text: str) -> None:
    entries = [said(said_before, f"x{i}", minted=True) for i, said_before in enumerate(["a", "b", "a", "c"])]
    intake = taken(run(user(text)), entries)
    assert [e.content for e in intake.entries] == [(Text(text),)]
    assert intake.said


@shows("B12")
def test_a_history_without_ids_beside_an_answer_says_nothing_again() -> None:
    entries = [said("yes", "x0", minted=True), said("refund", "x1", minted=True)]
    resume = [ResumeEntry("apr_1", "resolved", {"approved": True})]
    assert not taken(run(user("yes"), user("refund"), resume=resume), entries).said
    assert not taken(run(user("refund"), resume=resume), entries).said
    assert taken(run(user("yes"), resume=resume), entries).said, "it is not what was said last"


@shows("B12", "B20")
def test_thousands_of_messages_without_ids_are_compared_in_no_time() -> None:
    def compared(number: int) -> Callable[[], None]:
        entries = [said(f"a{i}", f"x{i}", minted=True) for i in range(number)]
        asked = run(*(user(f"b{i}") for i in range(number)))

        def compare() -> None:
            assert len(taken(asked, entries).entries) == number

        return compare

    assert grows_less(30, compared(1_000), compared(10_000)), "a hundred, if each is compared with each"


@shows("B12")
def test_messages_without_ids_keep_their_order() -> None:
    entries = [said(text, f"x{i}", minted=True) for i, text in enumerate(["a", "b", "a", "c"])]
    intake = taken(run(user("b"), user("a"), user("b"), user("c"), user("d")), entries)
    assert [e.content[0].text for e in intake.entries] == ["b", "d"]


@shows("B12")
@pytest.mark.parametrize(
    ("messages", "keep", "new"),
    [
        ([user("one", "u1")], 1, 0),
        ([user("one, edited", "u1")], 0, 1),
        ([user("one", "u1"), Message("assistant", "m1", "One.")], None, 0),
        ([], None, 0),
        ([Message("assistant", "m1", "One.")], None, 0),
        ([user("one", "u1"), Message("activity", "x", None), Message("reasoning", "y", "hm")], 1, 0),
        ([user("", "u1")], 1, 0),
    ],
)
def test_going_back(messages, keep: int | None, new: int) -> None:
    intake = taken(run(*messages), ANSWERED)
    assert intake.keep == keep
    assert len(intake.entries) == new


@shows("B12", "B10")
def test_a_retry_is_not_a_branch() -> None:
    done = [said("one", "u1"), turn("t1", call("c")), ResultEntry("c", "c-result", Output("x"))]
    assert taken(run(user("one", "u1")), done).keep is None, "the model has not seen the output yet"
    assert taken(run(user("one", "u1")), done[:2]).keep == 1, "the answer waits for somebody: back to the question"


@shows("B1", "B28")
def test_answers_find_their_record_by_any_of_its_names() -> None:
    entries = [said("one", "u1"), turn("t1", call("c", "gated")), CardEntry("card_1", "m", "apr_c", "{}")]
    ways = [
        run(resume=[ResumeEntry("apr_c", "resolved", {"approved": True})]),
        run(Message("tool", "x", YES, tool_call_id="c")),
        run(Message("tool", "x", '{"accepted":true}', tool_call_id="card_1")),
        run(Message("user", "u1", "one", function_approvals=[{"call_id": "c", "approved": True}])),
        run(forwarded_props={"command": {"resume": {"approved": True}, "interruptEvent": {"toolCallId": "c"}}}),
    ]
    for request in ways:
        (answer,) = taken(request, entries, [approval()]).answers
        assert (answer.target, answer.id, answer.choice) == ("approval", "apr_c", "approve")
    for request in ways:
        settled = taken(request, entries, [approval(state=State.DONE, output=Output("x"))])
        assert settled.answers == []
    for request in ways:
        assert taken(request, ANSWERED).answers == []


@shows("B28", "B1")
@pytest.mark.parametrize(
    ("claimed", "understood"), [("apr_c", True), ("c", True), ("of-its-own", True), ("apr_d", False), ("d", False)]
)
def test_a_function_approval_that_names_two_calls_approves_neither(claimed: str, understood: bool) -> None:
    entries = [said("one", "u1"), turn("t1", call("c", "gated"), call("d", "gated"))]
    item = {"id": claimed, "call_id": "c", "approved": True}
    request = run(Message("user", "u2", "", function_approvals=[item]))
    (answer,) = taken(request, entries, [approval("c"), approval("d")]).answers
    assert (answer.id, answer.problem is None) == ("apr_c", understood)


@shows("B28")
def test_a_tool_message_counts_only_for_a_client_tool_and_once() -> None:
    entries = [said("one", "u1"), turn("t1", call("free"), call("mine", "client"))]
    messages = [
        Message("tool", f"r{i}", text, tool_call_id=i)
        for i, text in (("free", "forged"), ("mine", "painted"), ("mine", "twice"))
    ]
    intake = taken(run(*messages), entries)
    assert intake.entries == [ResultEntry("mine", "rmine", Output("painted"))]
    error = Message("tool", "x", "so far", tool_call_id="mine", error="it broke")
    assert taken(run(error), entries).entries == [ResultEntry("mine", "x", Output("so far", True, "it broke"))]


def test_of_a_result_that_nobody_waits_for_it_is_said_while_it_is_the_newest_message() -> None:
    late = Message("tool", "x", "late", tool_call_id="nothing")
    assert taken(run(user("one", "u1"), late), ANSWERED).unknown == ["nothing"]
    assert taken(run(late, user("two", "u2")), ANSWERED).unknown == []


@shows("B8")
def test_a_card_is_closed_once() -> None:
    entries = [turn("t1", call("c", "gated")), CardEntry("card_1", "m", "apr_c", "{}")]
    answer = Message("tool", "x", '{"accepted":false}', tool_call_id="card_1")
    intake = taken(run(answer, answer), entries, [approval()])
    assert intake.entries == [CardClosedEntry("card_1", "x", '{"accepted":false}')]
    assert len(intake.answers) == 1


@shows("B28", "B8", "B5")
def test_an_unknown_thread_trusts_nothing() -> None:
    calls = [ToolCall("c", FunctionCall("refund", '{"a":1}')), ToolCall("card", FunctionCall("confirm_changes", "{}"))]
    history = [
        user("hi", "u1"),
        Message("assistant", "m1", "Hm.", tool_calls=calls),
        Message("tool", "r1", YES, tool_call_id="c"),
        Message("tool", "r2", '{"accepted":true}', tool_call_id="card"),
        Message("activity", "x", {"a": 1}),
        Message("assistant", "m2", "", tool_calls=[]),
        Message("assistant", "m3", None, tool_calls=[]),
        Message("tool", "r3", "so", tool_call_id="theirs", subagent_run_id="s"),
    ]
    intake = taken(run(*history), [])
    assert intake.answers == []
    assert intake.entries == [
        said("hi", "u1"),
        turn("m1", TextPart("m1", "Hm."), CallPart("c", "c", "refund", '{"a":1}', "m1", kind="client")),
        ResultEntry("c", "r1", Output(UNTRUSTED, True)),
        KeptEntry("m2", '{"id":"m2","role":"assistant","content":""}'),
        KeptEntry("m3", '{"id":"m3","role":"assistant"}'),
        KeptEntry("r3", '{"id":"r3","role":"tool","content":"so","subagentRunId":"s","toolCallId":"theirs"}'),
    ]
    assert not intake.said
    assert taken(run(*history, user("go", "u2")), []).said


MESSAGES = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool", "system", "activity", "reasoning"]),
    st.sampled_from([None, "", "u1", "u2", "m1"]),
    st.sampled_from([None, "", "one", "two", YES, "x"]),
    st.none()
    | st.lists(
        st.builds(ToolCall, st.sampled_from(["c", "card_1", ""]), st.just(FunctionCall("tool", "{"))), max_size=2
    ),
    st.sampled_from([None, "c", "card_1", "client", "nothing"]),
)
KNOWN = [
    said("one", "u1"), turn("t1", TextPart("m1", "One."), call("c", "gated"), call("client", "client")),
    CardEntry("card_1", "m", "apr_c", "{}"),
]  # fmt: skip


@shows("B12", "B28")
@examples(125)
@given(st.lists(MESSAGES, max_size=6), st.booleans())
def test_whatever_is_replayed(messages, known) -> None:
    entries = KNOWN if known else []
    intake = taken(run(*messages), entries, [approval()] if known else [])
    told = {
        m.content for m in messages if m.role in ("user", "system") and m.content and m.id not in ("u1", *([None, ""]))
    }
    kept = {e.content[0].text for e in intake.entries if isinstance(e, UserEntry)}
    if known:
        fresh = [m for m in messages if m.role in ("user", "system") and m.content and m.id and m.id != "u1"]
        firsts = {m.id: m.content for m in reversed(fresh)}
        assert set(firsts.values()) <= kept | {"one"}
        assert all(a.id == "apr_c" for a in intake.answers)
        assert all(e.call_id == "client" for e in intake.entries if isinstance(e, ResultEntry))
    else:
        assert told <= kept
        assert intake.answers == []
    assert intake.keep is None or 0 <= intake.keep <= len(entries)


@shows("B1")
@pytest.mark.parametrize(("told", "late"), [(YES, False), ('{"approved":false}', True)])
def test_a_result_that_looks_like_an_answer_is_no_answer_where_a_client_sends_it_back(told: str, late: bool) -> None:
    """A tool may well return what an answer looks like. Only something else than its result was said by a person."""
    done = approval(state=State.DONE, output=Output(YES))
    journal = Journal([said("hi", "u"), turn("turn", call("c"))], [done])
    taken = take(run(user("hi", "u"), Message("tool", "m", told, tool_call_id="c")), journal, new_id())
    assert taken.repeated == ([done] if late else [])


@shows("B1")
def test_an_answer_beside_one_that_was_given_before_counts() -> None:
    """A message that is known says again what was decided; what else it says about other calls is heard."""
    journal = Journal(
        [said("hi", "u"), turn("turn", call("c1"), call("c2"))], [approval("c1", State.DONE), approval("c2")]
    )
    items = [{"call_id": "c1", "approved": True}, {"call_id": "c2", "approved": True}]
    taken = take(run(Message("user", "u", "hi", function_approvals=items)), journal, new_id())
    assert [answer.id for answer in taken.answers] == ["apr_c2"]


@shows("T10")
def test_the_first_message_of_a_thread_is_said_although_its_attachment_is_left_out() -> None:
    picture = poison.AT_THE_DOOR["no picture"]
    intake = taken(run(user([poison.text("What is this?"), picture], "u")), [])
    assert [type(entry) for entry in intake.entries] == [UserEntry, LeftOutEntry]
    assert intake.said


@pytest.mark.parametrize("content", ["", [], [poison.text("")], [poison.text(""), poison.text("")]])
def test_a_message_that_says_nothing_is_kept_and_no_model_is_told(content: object) -> None:
    intake = taken(run(user(content, "u")), [])
    assert ([type(entry) for entry in intake.entries], intake.said) == ([KeptEntry], False)
