"""What one agent sees of a journal that several write (S18 to S22)."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core.agent_view import ALONE, Viewpoint, seen
from agui_gate.core.journal import Journal
from agui_gate.core.sanitizer import sanitize
from agui_gate.core.stored_values import decode_entries, encode_entries
from agui_gate.core.transcript import (
    AssistantTurn,
    CallPart,
    ConversationRef,
    Entry,
    HandedOffEntry,
    Output,
    ReasoningPart,
    ResultEntry,
    Text,
    TextPart,
    TurnEntry,
    UserEntry,
    UserTurn,
)
from tests.core.histories import CHECKED, conversations, histories
from tests.core.rules import violations

AGENTS = ("", "billing", "archive")
TASKS = ("", "call_task")


def said(entries: list[Entry], members: bytes) -> list[Entry]:
    """``entries``, their turns said by members of a team, some of them in a task."""
    return [_said_by(entry, members[number % len(members)]) for number, entry in enumerate(entries)]


def _said_by(entry: Entry, member: int) -> Entry:
    if not isinstance(entry, TurnEntry):
        return entry
    agent, task = AGENTS[member % len(AGENTS)], TASKS[member // 8 % len(TASKS)]
    return msgspec.structs.replace(entry, agent=agent, task=task)


def teams(of: st.SearchStrategy[list[Entry]]) -> st.SearchStrategy[list[Entry]]:
    return st.tuples(of, st.binary(min_size=8, max_size=8)).map(lambda drawn: said(*drawn))


VIEWPOINTS = st.builds(Viewpoint, st.sampled_from(AGENTS), st.sampled_from(TASKS))

RICH = TurnEntry(
    "t1",
    (
        ReasoningPart("r1", ("thinking",), "sealed", {"id": "rs_1"}),
        TextPart("m1", "I pass you on.", {"id": "msg_1"}),
        CallPart("call_1", "fc_wire", "transfer_to_billing", "{}", "m1", private={"id": "fc_1"}),
    ),
    "responses/gpt",
    ConversationRef("t1", "responses/gpt", previous_response_id="resp_1"),
)
RESULT = ResultEntry("call_1", "call_1-result", Output("done"))


def test_ones_own_turns_are_as_they_were_made() -> None:
    assert seen([RICH, RESULT], ALONE) == [RICH, RESULT]


def test_anothers_turn_says_what_was_said_and_nothing_that_only_its_model_understands() -> None:
    (turn, result) = seen([RICH, RESULT], Viewpoint("billing"))
    assert turn == TurnEntry(
        "t1",
        (TextPart("m1", "I pass you on."), CallPart("call_1", "call_1", "transfer_to_billing", "{}", "m1")),
    )
    assert result == RESULT


def test_a_task_begins_with_its_prompt_and_has_only_what_belongs_to_it() -> None:
    inner = msgspec.structs.replace(RICH, id="t2", agent="billing", task="call_1")
    entries = [UserEntry("u1", (Text("hello"),)), RICH, inner, RESULT]
    task = seen(entries, Viewpoint("billing", "call_1"), "Look up the invoice.")
    assert task == [UserEntry("call_1", (Text("Look up the invoice."),)), inner, RESULT]
    assert seen(entries, ALONE) == [entries[0], RICH, RESULT]


def test_stored_rows_of_an_agent_without_a_team_say_nothing_of_teams() -> None:
    body = encode_entries([RICH])
    assert b"agent" not in body
    assert b"task" not in body
    handed = [msgspec.structs.replace(RICH, agent="billing", task="c"), HandedOffEntry("c", "billing")]
    assert decode_entries(encode_entries(handed)) == handed


def test_a_journal_knows_whom_it_was_handed_to_and_a_branch_gives_it_back() -> None:
    journal = Journal([UserEntry("u1", (Text("hello"),)), RICH])
    assert (journal.heirs, journal.alone) == ({}, True)
    for entry in (HandedOffEntry("call_1", "billing"), RESULT, TurnEntry("t2", (), agent="billing")):
        journal.extend([entry])
    assert (journal.heirs, journal.alone) == ({"": "billing"}, False)
    journal.branch(1)
    assert (journal.heirs, journal.alone) == ({}, True)


@given(teams(histories()), VIEWPOINTS)
@CHECKED
def test_whatever_went_in_every_provider_accepts_what_each_member_sees(entries: list[Entry], who: Viewpoint) -> None:
    view = seen(entries, who, "do it")
    assert violations(sanitize(view, {}), view) == []


@given(teams(histories()), VIEWPOINTS)
@CHECKED
def test_what_is_seen_is_seen_again_as_it_is(entries: list[Entry], who: Viewpoint) -> None:
    view = seen(entries, who, "do it")
    assert seen(view, who, "do it") == view


@given(teams(histories()), VIEWPOINTS)
@CHECKED
def test_nothing_of_others_has_a_mark_of_where_it_was_made(entries: list[Entry], who: Viewpoint) -> None:
    for turn in seen(entries, who, "do it"):
        if not isinstance(turn, TurnEntry) or turn.agent == who.agent:
            continue
        assert (turn.origin, turn.ref) == ("", None)
        for part in turn.parts:
            assert not isinstance(part, ReasoningPart)
            assert part.private is None
            assert not isinstance(part, CallPart) or part.wire_id == part.id


@given(teams(conversations()), VIEWPOINTS)
@CHECKED
def test_all_that_was_said_in_a_task_crosses_over(entries: list[Entry], who: Viewpoint) -> None:
    transcript = sanitize(seen(entries, who, "do it"), {})
    turns = [e for e in entries if isinstance(e, TurnEntry) and e.task == who.task]
    assert [c.part.id for t in transcript if isinstance(t, AssistantTurn) for c in t.calls] == [
        call.id for turn in turns for call in turn.told_calls
    ]
    texts = [p.text for t in transcript if isinstance(t, AssistantTurn) for p in t.parts if isinstance(p, TextPart)]
    assert [text for text in texts if text.strip()] == [
        p.text for turn in turns for p in turn.parts if isinstance(p, TextPart) and p.text.strip()
    ]
    if who.task:
        assert [t.id for t in transcript if isinstance(t, UserTurn)] == [who.task]
