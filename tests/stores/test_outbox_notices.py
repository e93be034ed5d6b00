"""Which notices are made of what happened."""

from agui_gate.core import audit
from agui_gate.core.approvals import Decision, State
from agui_gate.errors import ApprovalRefused
from agui_gate.stores.outbox import Telling, run_ended, tellings
from tests.stores.support import gated

YES = Decision(True, "bob", way="card")


def test_what_waits_and_what_it_comes_to_is_told() -> None:
    happened = [
        audit.asked(gated()),
        audit.shown(gated(), "alice", "card", "r1"),
        audit.refused(gated(), "alice", "card", ApprovalRefused("No."), "r1"),
        *audit.moved(gated(), State.CLAIMED, YES),
        *audit.moved(gated(), State.DONE),
    ]
    told = [(telling.kind, telling.about, telling.body) for telling in tellings(happened)]
    assert told == [
        ("approval_pending", "a1", '{"state":"pending"}'),
        ("approval_decided", "a1", '{"state":"claimed"}'),
        ("approval_decided", "a1", '{"state":"done"}'),
    ]


def test_the_end_of_a_run_is_told() -> None:
    assert run_ended("alice", "t", "r1", "failed") == Telling("run_ended", "alice", "t", "r1", '{"status":"failed"}')
