"""What a reader is shown of a thread's calls, by the rules it is told by; and where (TOOL-4, TOOL-6)."""

from typing import Any

import msgspec
import pytest

from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import (
    CallPart,
    CardClosedEntry,
    CardEntry,
    Entry,
    Output,
    ReportedEntry,
    ResultEntry,
    Shown,
    TextPart,
    TurnEntry,
    UserEntry,
)
from agui_gate.protocol.dialects.base import View
from agui_gate.protocol.dialects.v0 import VIEW
from agui_gate.protocol.dialects.v1 import V1View
from agui_gate.protocol.snapshot import agui_messages
from tests.conforming import conforms
from tests.protocol.dialects.kinds import V0

pytestmark = conforms("TOOL-4", "TOOL-6")

CARDS, INTERRUPTS = V1View("card"), V1View("interrupt")

CARD = CardEntry("card", "m-card", "apr", "{}")
RETIRED = CardClosedEntry("card", "card-result", "gone", retired=True)
ANSWERED = CardClosedEntry("card", "a1", '{"accepted":true}')
LATE = CardClosedEntry("card", "a2", "rejected", said='{"accepted":true}')


def call(name: str, shown: Shown = "at_once", kind: Any = "server") -> CallPart:
    return CallPart(name, name, name, "{}", f"m-{name}", kind, shown=shown)


def approval(output: Output | None = None) -> Approval:
    return Approval(
        id="apr", principal="", thread_id="t", agent="a", run_key="k", run_id="r", turn_id="turn", call_id="gated",
        tool="gated", arguments="{}", style="card", state=State.DONE if output else State.PENDING, output=output,
    )  # fmt: skip


def shown(view: View, entries: list[Entry], *approvals: Approval) -> list[str]:
    """Ids of messages, and of calls."""
    found = []
    for message in agui_messages(entries, approvals, view=view):
        found += [c["id"] for c in message.get("toolCalls", ())] or [message["id"]]
    return found


def test_readers_of_0_x_are_shown_the_same_however_they_are_asked() -> None:
    assert V0.view("card") is V0.view("interrupt") is VIEW


def test_what_was_given_up_is_for_the_model_alone() -> None:
    given_up = ResultEntry("paint", "paint-result", Output("cancelled", True), given_up=True)
    entries: list[Entry] = [TurnEntry("turn", (call("paint", kind="client"),)), given_up]
    assert shown(VIEW, entries) == ["paint", "paint-result"]
    assert shown(CARDS, entries) == shown(INTERRUPTS, entries) == []
    given = msgspec.structs.replace(given_up, given_up=False)
    assert shown(CARDS, [entries[0], given]) == ["paint", "paint-result"]


def test_a_message_stays_for_what_else_it_says() -> None:
    parts = (TextPart("m-paint", "Pick."), call("paint", kind="client"), call("search"))
    given_up = ResultEntry("paint", "x", Output("cancelled", True), given_up=True)
    (message, *_) = agui_messages([TurnEntry("turn", parts), given_up], [], view=CARDS)
    assert message == {"id": "m-paint", "role": "assistant", "content": "Pick."}


@pytest.mark.parametrize(
    ("entries", "cards", "interrupts"),
    [
        ([CARD], True, False),
        ([CARD, RETIRED], False, False),
        ([CARD, ANSWERED], True, True),
        ([CARD, RETIRED, ANSWERED], True, True),
        ([CARD, ANSWERED, RETIRED], True, True),
        ([CARD, LATE], False, False),
        ([ANSWERED], False, False),
    ],
)
def test_cards(entries: list[Entry], cards: bool, interrupts: bool) -> None:
    assert ("card" in shown(CARDS, entries)) is cards
    assert ("card" in shown(INTERRUPTS, entries)) is interrupts
    assert ("card" in shown(VIEW, entries)) is (CARD in entries)
    for view in (CARDS, INTERRUPTS):
        assert not {"card-result", "a2"} & set(shown(view, entries)), "what the server made up"


def test_a_call_that_was_held_back_stands_where_it_was_streamed() -> None:
    turn = TurnEntry("turn", (call("gated", "when_decided"), call("free", "after_turn"), call("search")))
    said = UserEntry("u", ())
    asked: list[Entry] = [turn, CARD]
    assert shown(VIEW, asked, approval()) == ["gated", "free", "search", "card"]
    assert shown(CARDS, asked, approval()) == ["search", "free", "card"]
    assert shown(INTERRUPTS, asked, approval()) == ["gated", "search", "free"]
    done = approval(Output("ran"))
    told: list[Entry] = [*asked, ANSWERED, said, ReportedEntry("gated"), ReportedEntry("gated")]
    assert shown(VIEW, told, done) == ["gated", "gated-result", "free", "search", "card", "a1", "u"]
    for view in (CARDS, INTERRUPTS):
        assert shown(view, told, done) == ["search", "free", "card", "a1", "u", "gated", "gated-result"]
        assert "gated" not in shown(view, asked, done), "it is told next"
