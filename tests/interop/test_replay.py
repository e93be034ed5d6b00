"""The harness accepts what both real clients accept, and fails where one of them does."""

import re

import pytest

from tests.interop.replay import VERSIONS, Case, Result, Run, assert_accepted, replay
from tests.interop.streams import FINISHED, INTERRUPTED, RESULT, STARTED, call, sse, text

pytestmark = pytest.mark.interop

QUESTION = {"threadId": "t-1", "runId": "r-1", "messages": [{"id": "u-1", "role": "user", "content": "Refund 5?"}]}
APPROVAL = {"resume": [{"interruptId": "int-1", "status": "resolved", "payload": {"approved": True}}]}
RESUMED = sse(STARTED, RESULT, *text("Done.", "m-2"), FINISHED)
PAUSED = sse(STARTED, *call(), INTERRUPTED)

CASES = [
    Case("good", [Run(sse(STARTED, *text("Hello."), *call(), RESULT, FINISHED), QUESTION)]),
    Case("cancelled", [Run(sse(STARTED, FINISHED | {"outcome": {"type": "cancelled"}}))]),
    Case("crlf", [Run(sse(STARTED, *text("Hello."), FINISHED, end="\r\n\r\n"))]),
    Case("no-start", [Run(sse(*text("Hello."), FINISHED))]),
    Case("open-text", [Run(sse(STARTED, *text("Hello.")[:2], FINISHED))]),
    Case("open-call", [Run(sse(STARTED, *call()[:2], FINISHED))]),
    Case("open-text-then-error", [Run(sse(STARTED, text("Hello.")[0], {"type": "RUN_ERROR", "message": "no"}))]),
    Case("late-event", [Run(sse(STARTED, FINISHED, *text("Hello.")))]),
    Case("no-end", [Run(sse(STARTED, *text("Hello.")))]),
    Case("unknown-field", [Run(sse(STARTED | {"surprise": 1}, FINISHED))]),
    Case("abort", [Run(sse(STARTED, {"type": "RUN_ERROR", "message": "stopped", "code": "abort"}))]),
    Case("busy", [Run('{"error": {"code": "thread_busy", "message": "busy"}}', QUESTION, status=409)]),
    Case("approved", [Run(PAUSED, QUESTION), Run(RESUMED, APPROVAL)]),
    Case(
        "ignored", [Run(PAUSED, QUESTION), Run(RESUMED, {"messages": [{"id": "u-2", "role": "user", "content": "?"}]})]
    ),
    Case("regenerated", [Run(sse(STARTED, *text("Hello."), FINISHED), QUESTION), Run(RESUMED, QUESTION, replace=True)]),
]


@pytest.fixture(scope="module")
def results() -> dict[tuple[str, str], Result]:
    return {(result.case, result.version): result for result in replay(CASES)}


def both(results: dict[tuple[str, str], Result], case: str) -> list[Result]:
    return [results[case, version] for version in VERSIONS]


def test_every_case_is_replayed_to_both_clients(results: dict[tuple[str, str], Result]) -> None:
    assert list(results) == [(case.name, version) for case in CASES for version in VERSIONS]


def test_a_good_stream_is_accepted_and_becomes_messages(results: dict[tuple[str, str], Result]) -> None:
    assert_accepted(both(results, "good"))
    for result in both(results, "good"):
        roles = [(message["role"], message.get("content", "")) for message in result.last.messages]
        assert roles == [
            ("user", "Refund 5?"),
            ("assistant", "Hello."),
            ("assistant", ""),
            ("tool", '{"refunded":5}'),
        ]
        assert result.last.messages[2]["toolCalls"][0]["function"] == {"name": "refund", "arguments": '{"amount":5}'}
        assert result.last.outcome == "success"
        assert result.last.request is not None
        assert result.last.request["threadId"] == "t-1"
        assert result.last.request["messages"] == QUESTION["messages"]


def test_outcome_cancelled_is_known_to_1_0_only(results: dict[tuple[str, str], Result]) -> None:
    old, new = both(results, "cancelled")
    assert not old.accepted
    assert old.error is not None
    assert "discriminator" in old.error
    assert new.accepted
    assert new.last.outcome == "cancelled"


@pytest.mark.parametrize(
    ("case", "complaint"),
    [
        ("crlf", "JSON"),
        ("no-start", "First event must be 'RUN_STARTED'"),
        ("open-text", "text messages are still active: m-1"),
        ("open-call", "tool calls are still active: c-1"),
        ("late-event", "already finished"),
        ("busy", "HTTP 409"),
        ("ignored", "not addressed by resume"),
    ],
)
def test_both_clients_refuse(results: dict[tuple[str, str], Result], case: str, complaint: str) -> None:
    for result in both(results, case):
        assert not result.accepted
        assert complaint in (result.error or "")
        with pytest.raises(
            AssertionError, match=re.escape(f"{case} · client {result.version} · run {len(result.runs)}")
        ):
            assert_accepted([result])


def test_run_error_excuses_what_is_open(results: dict[tuple[str, str], Result]) -> None:
    assert_accepted(both(results, "open-text-then-error"))
    assert_accepted(both(results, "abort"))
    for result in both(results, "abort"):
        assert result.last.outcome == "error"
        assert result.last.run_error == {"code": "abort", "message": "stopped"}


def test_a_stream_without_terminal_event_fails_although_clients_accept_it(
    results: dict[tuple[str, str], Result],
) -> None:
    assert all(result.accepted for result in both(results, "no-end"))
    with pytest.raises(AssertionError, match="without a terminal event"):
        assert_accepted(both(results, "no-end"))


def test_what_a_client_strips_fails_unless_allowed(results: dict[tuple[str, str], Result]) -> None:
    assert_accepted(both(results, "unknown-field"), warnings=True)
    with pytest.raises(AssertionError, match=r"1\.0\.0 .* warn: .*surprise"):
        assert_accepted(both(results, "unknown-field"))


def test_a_resumed_run_starts_from_what_the_client_holds(results: dict[tuple[str, str], Result]) -> None:
    assert_accepted(both(results, "approved"))
    for result in both(results, "approved"):
        paused, resumed = result.runs
        assert (paused.outcome, [interrupt["id"] for interrupt in paused.pending_interrupts]) == (
            "interrupt",
            ["int-1"],
        )
        assert resumed.pending_interrupts == []
        assert [message["role"] for message in resumed.messages] == ["user", "assistant", "tool", "assistant"]
        assert resumed.request is not None
        assert resumed.request["resume"] == APPROVAL["resume"]
        assert [message["id"] for message in resumed.request["messages"]] == [m["id"] for m in paused.messages]


def test_an_unanswered_interrupt_never_leaves_the_client(results: dict[tuple[str, str], Result]) -> None:
    for result in both(results, "ignored"):
        assert result.last.request is None
        assert result.last.pending_interrupts != []


def test_replace_sets_the_history_back(results: dict[tuple[str, str], Result]) -> None:
    assert_accepted(both(results, "regenerated"), warnings=True)
    for result in both(results, "regenerated"):
        assert result.last.request is not None
        assert result.last.request["messages"] == QUESTION["messages"]
