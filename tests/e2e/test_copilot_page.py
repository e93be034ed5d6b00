"""The CopilotKit page in Chromium: real page, real server, the emulator as provider.

Each scenario (a function in `scenarios/`) ends with no console error, no unhandled error and no failed request, except
for those that it provokes.
"""

import json
from itertools import chain, combinations
from typing import Any
from urllib.request import urlopen

import pytest

from tests.e2e.stack import MIXED, Stack
from tests.requirements import shows

VIAS = ("direct", "runtime", "browser")
STYLES = ("card", "interrupt")
CARDS = [(via, "card") for via in VIAS]
SOME = [("direct", "card"), ("direct", "interrupt"), ("browser", "card")]
ALL = [(via, style) for via in VIAS for style in STYLES]


def cases(*names: str, over: list[tuple[str, str]]) -> list[object]:
    """A test for every scenario over each of these connections and in each of these styles.

    As few ways a scenario as do that, the next scenario has others; the rest is left to `--every`.
    """
    return [case for n, name in enumerate(names) for case in _played(name, over, _pairs(over, n))]


def spread(*names: str, over: list[tuple[str, str]]) -> list[object]:
    """A test for every scenario in one of these ways, the next one in the next; the rest is left to `--every`."""
    return [case for n, name in enumerate(names) for case in _played(name, over, {over[n % len(over)]})]


def _pairs(over: list[tuple[str, str]], turn: int) -> set[tuple[str, str]]:
    """As few of the ways as have all of their connections and styles: the first such, or in the next turn the last."""
    parts = {part for way in over for part in way}
    numbers = range(1, len(over) + 1)
    found = next(
        all_
        for number in numbers
        if (all_ := [ways for ways in combinations(over, number) if {*chain(*ways)} == parts])
    )
    return {*found[-(turn % 2)]}


def _played(name: str, over: list[tuple[str, str]], ways: set[tuple[str, str]]) -> list[object]:
    return [_case(name, *way, marks=() if way in ways else pytest.mark.spare) for way in over]


def _case(name: str, via: str, style: str, **more: Any) -> object:
    return pytest.param(name, {"via": via, "style": style}, id=f"{name}-{via}-{style}", **more)


@pytest.mark.parametrize(
    ("scenario", "options"),
    cases("approve", "reject", "edit", "reload", "twoTabs", over=ALL)
    + spread("threeCards", "approveAll", "ignored", "restart", "mixed", "sevenCalls", "decidedElsewhere", over=ALL)
    + cases("details", "halfDecided", "halfAtWork", over=[("direct", "card"), ("direct", "interrupt")])
    + cases("stopsAtCard", over=[("direct", "card"), ("runtime", "card")])
    + cases("lateAnswer", over=[("direct", "card"), ("runtime", "interrupt"), ("browser", "card")]),
)
def test_a_person_decides(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


@pytest.mark.parametrize(
    ("scenario", "options"),
    spread(
        "settlesInTime", "staleReject", "goesOn", "editTold", "regenerate", "editMessage", "editWhileAsked", over=ALL
    )
    + cases("askedAgain", "raced", "expiresInTime", over=SOME)
    + cases("decidedAtOnce", over=[("direct", "card"), ("direct", "interrupt"), ("runtime", "interrupt")])
    + cases("asksAtOnce", over=[("direct", "interrupt")])
    + cases("saidMeanwhile", over=[("runtime", "card")])
    + cases(
        "namesWho",
        "hiddenCharacters",
        "deletedElsewhere",
        "toldInTheRun",
        over=[("direct", "card"), ("direct", "interrupt")],
    ),
)
def test_the_page_tells_what_the_ledger_says(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


@pytest.mark.parametrize(
    ("scenario", "options"),
    cases("saidAfterHalf", over=[("direct", "card"), ("direct", "interrupt"), ("browser", "interrupt")])
    + cases("askedAnewAfterHalf", over=[("direct", "interrupt")])
    + cases("clockAhead", over=[("direct", "card"), ("direct", "interrupt")])
    + cases("killed", over=[("direct", "card")])
    + cases("killedAtWork", over=[("direct", "interrupt"), ("direct", "card")])
    + cases("saidToNobody", over=[("direct", "interrupt")])
    + cases("answerLost", over=[("direct", "card"), ("direct", "interrupt"), ("browser", "interrupt")]),
)
def test_what_was_decided_is_what_counts(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    """Something else is said, or the server is away: no decision is lost, and none is made up."""
    stack.run(scenario, options)


@shows("T4", "T6")
@pytest.mark.parametrize(
    ("scenario", "options"),
    spread("inboxApproves", "inboxHere", "unread", "goneOn", "goneOnMeanwhile", "staysAtEnd", over=ALL)
    + cases("inboxRejects", "inboxSettles", "inboxTwoOfOne", over=SOME)
    + cases("inboxRaced", "inboxRefused", "inboxChanges", "inboxMeanwhile", "inboxMany", over=[("direct", "card")])
    + cases("inboxFollows", "inboxUntold", over=[("direct", "card")])
    + cases("inboxAway", over=[("direct", "interrupt")]),
)
def test_what_waits_is_decided_from_the_list(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    """Line 6: the inbox decides with `"continue": true`; every open page shows what is true."""
    stack.run(scenario, options)


@pytest.mark.parametrize(
    ("scenario", "options"),
    cases("keepsEdit", "sameThing", "words", over=[("direct", "card"), ("direct", "interrupt")])
    + cases("sameTitles", "phone", over=[("direct", "card")])
    + cases("kept", over=[("direct", "interrupt"), ("browser", "interrupt")]),
)
def test_cards_and_lists_say_what_people_need(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    """Edits that last, what ran already, words and amounts as people write them; phones."""
    stack.run(scenario, options)


@pytest.mark.parametrize(
    ("scenario", "options"),
    cases("threadMenu", "waitsForYou", over=[("direct", "card"), ("browser", "card")])
    + cases("connections", "listedLate", over=[("direct", "card")]),
)
def test_the_list_of_chats(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


@pytest.mark.parametrize(
    ("scenario", "options"),
    cases("suggestions", "stopThought", over=[("direct", "card"), ("runtime", "card")])
    + cases("cutOff", "left", over=[("direct", "card"), ("browser", "card")])
    + spread("stopText", "stopTool", "twoThreads", "longAnswer", "twentyTurns", "threads", over=CARDS),
)
def test_a_conversation(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


@pytest.mark.parametrize(
    ("scenario", "options"),
    spread("providerFails", "serverAway", "busy", "cutStream", "tooLarge", "guarded", over=CARDS)
    + cases("expired", "halfExpired", over=[("direct", "card"), ("direct", "interrupt")])
    + cases("wrongAddress", over=[("runtime", "card")]),
)
def test_what_goes_wrong_is_told_and_mended(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


@pytest.mark.parametrize(
    ("scenario", "options"),
    spread("accessibility", over=CARDS)
    + cases("narrow", over=[("direct", "card")])
    + cases("keyboard", over=[("direct", "card"), ("direct", "interrupt")]),
)
def test_everybody_can_use_it(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


@shows("B14", "B15")
@pytest.mark.parametrize(
    ("scenario", "options"),
    cases("insideApprove", over=ALL)
    + spread("insideEdit", "insideNested", "insideElsewhere", "handsOver", over=ALL)
    + cases("insideReject", "gatedTask", over=SOME)
    + spread("insideStop", "sharedState", "insideReload", "insideFails", over=CARDS)
    + cases("insideStopsAll", "insideStopsLater", "insideUnread", over=SOME)
    + cases("insideNarrow", over=[("direct", "card")])
    + cases("stateRefused", over=[("direct", "card"), ("browser", "card")]),
)
def test_a_team(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


def on_1_0(turn: int, *names: str) -> pytest.MarkDecorator:
    """Every scenario in both styles, but for `--every` only in one of them, turn by turn."""
    spare = {(name, STYLES[(n + turn) % 2]) for n, name in enumerate(names)}
    every = [(name, style) for name in names for style in STYLES]
    marked = [pytest.param(*case, marks=pytest.mark.spare if case in spare else ()) for case in every]
    return pytest.mark.parametrize(("scenario", "style"), marked)


DECIDED = ("approve", "reject", "reload", "mixed", "ignored", "stopText", "stopTool", "approvesThenStops")
TEAM = ("insideApprove", "insideNested", "handsOver", "sharedState")


@on_1_0(0, *DECIDED)
def test_a_runtime_of_1_0_before_a_browser_of_0_x(stack: Stack, scenario: str, style: str) -> None:
    """The runtime declares AG-UI 1.0, and so the server answers; what it passes on is read by client 0.0.59."""
    stack.run(scenario, {"via": "runtime", "style": style, "runtime": MIXED})


@on_1_0(0, *TEAM)
def test_a_team_through_a_runtime_of_1_0(stack: Stack, scenario: str, style: str) -> None:
    stack.run(scenario, {"via": "runtime", "style": style, "runtime": MIXED})


@on_1_0(1, *TEAM)
def test_a_team_on_a_page_with_client_1_0(stack: Stack, scenario: str, style: str) -> None:
    stack.run(scenario, {"via": "direct", "style": style, "page": "next"})


@on_1_0(1, *DECIDED)
def test_a_page_with_client_1_0(stack: Stack, scenario: str, style: str) -> None:
    """The kit's newest core, and the client that it doesn't have yet: what comes next."""
    stack.run(scenario, {"via": "direct", "style": style, "page": "next"})


def test_a_page_that_knows_nothing_of_this_server(stack: Stack) -> None:
    stack.run("plain", {})


def test_the_provider_was_never_sent_what_it_refuses(stack: Stack) -> None:
    """After everything above: stops, late answers, broken streams, restarts."""
    with urlopen(f"{stack.urls['provider']}/emulator/journal", timeout=10) as response:
        entries = json.load(response)["entries"]
    assert not [(entry["rule"], entry["error"]) for entry in entries if entry["rule"]]
