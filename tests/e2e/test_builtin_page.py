"""The built-in page in Chromium: real server, the emulator as provider, interrupts and cards."""

import pytest

from tests.e2e.stack import Stack
from tests.requirements import shows

STYLES = ("interrupt", "card")


def in_both(*scenarios: str) -> pytest.MarkDecorator:
    """Each scenario in both styles."""
    return pytest.mark.parametrize(("scenario", "style"), [(name, style) for name in scenarios for style in STYLES])


def by_turns(*scenarios: str) -> pytest.MarkDecorator:
    """The same, but for `--every` each in one of them, and the next one in the other."""
    return pytest.mark.parametrize(
        ("scenario", "style"),
        [
            pytest.param(name, style, marks=() if style == STYLES[n % 2] else pytest.mark.spare)
            for n, name in enumerate(scenarios)
            for style in STYLES
        ],
    )


@in_both("Approve")
def test_a_person_approves(stack: Stack, scenario: str, style: str) -> None:
    stack.run(f"builtin{scenario}", {"style": style})


@by_turns("Reject", "ReloadOpen", "Partial")
def test_a_person_decides(stack: Stack, scenario: str, style: str) -> None:
    stack.run(f"builtin{scenario}", {"style": style})


@by_turns("Conversation", "Narrow")
def test_the_built_in_page(stack: Stack, scenario: str, style: str) -> None:
    stack.run(f"builtin{scenario}", {"style": style})


@shows("T4", "T5", "T6")
@by_turns("Elsewhere", "Late", "Overtaken", "BetweenFrames", "TryAgain", "Race", "Slow", "MovedOn", "Half", "Gone")
def test_the_built_in_page_shows_the_ledgers_word(stack: Stack, scenario: str, style: str) -> None:
    """T4 to T6: decided elsewhere, too late, meanwhile; and what ran in an answer that was replaced."""
    stack.run(f"builtin{scenario}", {"style": style})


@shows("T4", "T6")
@by_turns("", "Here", "Edit", "Two", "Busy", "Late", "Narrow", "Problems")
def test_what_waits_in_any_chat_is_decided_from_the_list(stack: Stack, scenario: str, style: str) -> None:
    """T6: looked at, approved, edited and rejected in the inbox; the conversation goes on."""
    stack.run(f"builtinInbox{scenario}", {"style": style})


@by_turns("ApproveAll", "ApproveRest", "KeepsEdit", "SameThing", "Words")
def test_cards_say_what_people_need(stack: Stack, scenario: str, style: str) -> None:
    """One click for several, edits that last, what ran already, words and amounts as people write them."""
    stack.run(f"builtin{scenario}", {"style": style})


@pytest.mark.parametrize("scenario", ["SameTitles", "Kept", "Phone", "CutOff", "Left"])
def test_what_else_people_meet(stack: Stack, scenario: str) -> None:
    stack.run(f"builtin{scenario}", {"style": "interrupt"})


@pytest.mark.parametrize("scenario", ["Named", "Keys", "Chats", "Expired", "Followed", "ClockAhead"])
def test_the_built_in_page_at_hand(stack: Stack, scenario: str) -> None:
    """Names, keys, the list of chats, expiry and clocks; what waits is followed."""
    stack.run(f"builtin{scenario}", {"style": "interrupt"})


@by_turns("Asks", "Rejects", "Two", "Gated", "Handoff", "Narrow")
def test_the_built_in_page_shows_a_team(stack: Stack, scenario: str, style: str) -> None:
    """Who speaks, who hands over, what sub-agents do and ask: the same live and after a reload."""
    stack.run(f"builtinTeam{scenario}", {"style": style, "server": "team"})


@pytest.mark.parametrize(
    "scenario", ["Stopped", "Fails", "Again", "Paused", "Down", "Restart", "State", "Activity", "Form", "Inbox"]
)
def test_the_built_in_page_shows_what_a_team_does(stack: Stack, scenario: str) -> None:
    """Shared state, activities of any kind, answers with a form; stops, failures and the inbox."""
    stack.run(f"builtinTeam{scenario}", {"style": "interrupt", "server": "team"})


def test_a_killed_server_loses_nothing_that_was_said(stack: Stack) -> None:
    stack.run("builtinKilled", {"style": "interrupt"})


@shows("T4")
def test_what_was_answered_to_a_server_that_was_killed_is_not_asked_anew(stack: Stack) -> None:
    stack.run("builtinKilledAtWork", {"style": "interrupt"})
