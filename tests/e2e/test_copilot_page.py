"""The CopilotKit page in Chromium: real page, real server, the emulator as provider.

Each scenario (a function in `scenarios/`) ends with no console error, no unhandled error and no failed request, except
for those that it provokes.
"""

import json
from typing import Any
from urllib.request import urlopen

import pytest

from tests.e2e.stack import MIXED, Stack
from tests.requirements import shows

VIAS = ("direct", "runtime", "browser")
STYLES = ("card", "interrupt")
CARDS = [(via, "card") for via in VIAS]
BOTH = [("direct", style) for style in STYLES]
SOME = [*BOTH, ("browser", "card")]
ALL = [(via, style) for via in VIAS for style in STYLES]
FEW = {("direct", "card"), ("runtime", "interrupt"), ("browser", "card")}
"""All connections and styles, in as few ways as that takes."""


def each(*names: str) -> list[object]:
    """A test for every scenario over each connection and in each style; the rest is left to `--every`."""
    return [case for name in names for case in _played(name, ALL, FEW)]


def spread(*names: str, over: list[tuple[str, str]]) -> list[object]:
    """A test for every scenario in one of these ways, the next one in the next; the rest is left to `--every`."""
    return [case for n, name in enumerate(names) for case in _played(name, over, {over[n % len(over)]})]


def _played(name: str, over: list[tuple[str, str]], ways: set[tuple[str, str]]) -> list[object]:
    return [_case(name, *way, marks=() if way in ways else pytest.mark.spare) for way in over]


def _case(name: str, via: str, style: str, **more: Any) -> object:
    return pytest.param(name, {"via": via, "style": style}, id=f"{name}-{via}-{style}", **more)


@pytest.mark.parametrize(
    ("scenario", "options"),
    each("approve")
    + spread("reject", "reload", "twoTabs", over=ALL)
    + spread("threeCards", "approveAll", "ignored", "restart", "mixed", "sevenCalls", "decidedElsewhere", over=ALL)
    + spread("halfDecided", "halfAtWork", "refusedEdit", "askedOtherwise", over=BOTH)
    + spread("stopsAtCard", over=[("direct", "card"), ("runtime", "card")])
    + spread("lateAnswer", over=[("runtime", "interrupt"), ("direct", "card"), ("browser", "card")]),
)
def test_a_person_decides(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


@pytest.mark.parametrize(
    ("scenario", "options"),
    spread(
        "settlesInTime", "staleReject", "goesOn", "editTold", "regenerate", "editMessage", "editWhileAsked", over=ALL
    )
    + spread("askedAgain", "raced", "expiresInTime", over=SOME)
    + spread("decidedAtOnce", over=[("runtime", "interrupt"), ("direct", "card"), ("direct", "interrupt")])
    + spread("asksAtOnce", over=[("direct", "interrupt")])
    + spread("saidMeanwhile", over=[("runtime", "card")])
    + spread("namesWho", "deletedElsewhere", "toldInTheRun", over=BOTH),
)
def test_the_page_tells_what_the_ledger_says(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


@pytest.mark.parametrize(
    ("scenario", "options"),
    spread("answerLost", "saidAfterHalf", over=[("direct", "card"), ("browser", "interrupt"), ("direct", "interrupt")])
    + spread("askedAnewAfterHalf", "saidToNobody", over=[("direct", "interrupt")])
    + spread("clockAhead", "killedAtWork", over=BOTH)
    + spread("killed", over=[("direct", "card")]),
)
def test_what_was_decided_is_what_counts(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    """Something else is said, or the server is away: no decision is lost, and none is made up."""
    stack.run(scenario, options)


@shows("T4", "T6")
@pytest.mark.parametrize(
    ("scenario", "options"),
    spread("inboxApproves", "inboxHere", "unread", "goneOn", "goneOnMeanwhile", "staysAtEnd", over=ALL)
    + spread("inboxRejects", "inboxSettles", "inboxTwoOfOne", over=SOME)
    + spread("inboxRaced", "inboxRefused", "inboxChanges", "inboxMeanwhile", "inboxMany", over=[("direct", "card")])
    + spread("inboxFollows", "inboxUntold", over=[("direct", "card")])
    + spread("inboxAway", over=[("direct", "interrupt")]),
)
def test_what_waits_is_decided_from_the_list(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    """Line 6: the inbox decides with `"continue": true`; every open page shows what is true."""
    stack.run(scenario, options)


@pytest.mark.parametrize(
    ("scenario", "options"),
    spread("keepsEdit", "sameThing", "words", over=BOTH)
    + spread("sameTitles", "phone", over=[("direct", "card")])
    + spread("kept", over=[("direct", "interrupt"), ("browser", "interrupt")]),
)
def test_cards_and_lists_say_what_people_need(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    """Edits that last, what ran already, words and amounts as people write them; phones."""
    stack.run(scenario, options)


@pytest.mark.parametrize(
    ("scenario", "options"),
    spread("threadMenu", "waitsForYou", over=[("direct", "card"), ("browser", "card")])
    + spread("connections", "listedLate", over=[("direct", "card")]),
)
def test_the_list_of_chats(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


@pytest.mark.parametrize(
    ("scenario", "options"),
    spread("suggestions", "stopThought", over=[("direct", "card"), ("runtime", "card")])
    + spread("cutOff", "left", over=[("direct", "card"), ("browser", "card")])
    + spread("saidEarly", over=[("direct", "card")])
    + spread("stopText", "stopTool", "twoThreads", "longAnswer", "twentyTurns", "threads", over=CARDS),
)
def test_a_conversation(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


@pytest.mark.parametrize(
    ("scenario", "options"),
    spread("providerFails", "serverAway", "busy", "cutStream", "tooLarge", "guarded", over=CARDS)
    + spread("expired", "halfExpired", over=BOTH)
    + spread("wrongAddress", over=[("runtime", "card")]),
)
def test_what_goes_wrong_is_told_and_mended(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


@pytest.mark.parametrize(
    ("scenario", "options"),
    spread("accessibility", over=CARDS) + spread("narrow", over=[("direct", "card")]) + spread("keyboard", over=BOTH),
)
def test_everybody_can_use_it(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


@shows("B14", "B15")
@pytest.mark.parametrize(
    ("scenario", "options"),
    each("insideApprove")
    + spread("insideEdit", "insideNested", "insideElsewhere", "handsOver", over=ALL)
    + spread("insideReject", "gatedTask", "insideStopsAll", "insideStopsLater", "insideUnread", over=SOME)
    + spread("insideStop", "sharedState", "insideReload", "insideFails", over=CARDS)
    + spread("insideNarrow", over=[("direct", "card")])
    + spread("stateRefused", over=[("browser", "card"), ("direct", "card")]),
)
def test_a_team(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


WAYS_OF_1_0 = [
    {**way, "style": style}
    for style in STYLES
    for way in ({"via": "runtime", "runtime": MIXED}, {"via": "direct", "page": "next"})
]
"""The runtime declares AG-UI 1.0, and so the server answers; what it passes on is read by client 0.0.59. Or the page
has the kit's newest core, and the client that it doesn't have yet: what comes next."""


def on_1_0(*names: str) -> list[object]:
    """A test for every scenario in one of the ways of 1.0, the next one in the next; the rest is left to `--every`."""
    return [
        pytest.param(name, way, id=f"{name}-{way.get('page', MIXED)}-{way['style']}", marks=marks)
        for n, name in enumerate(names)
        for m, way in enumerate(WAYS_OF_1_0)
        for marks in [() if (n + m) % len(WAYS_OF_1_0) == 0 else pytest.mark.spare]
    ]


@pytest.mark.parametrize(
    ("scenario", "options"),
    on_1_0("approve", "reload", "stopTool", "approvesThenStops", "reject", "mixed", "stopText", "ignored"),
)
def test_a_person_decides_with_a_client_of_1_0(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


@pytest.mark.parametrize(("scenario", "options"), on_1_0("insideApprove", "insideNested", "sharedState", "handsOver"))
def test_a_team_with_a_client_of_1_0(stack: Stack, scenario: str, options: dict[str, str]) -> None:
    stack.run(scenario, options)


def test_a_page_that_knows_nothing_of_this_server(stack: Stack) -> None:
    stack.run("plain", {})


def test_the_provider_was_never_sent_what_it_refuses(stack: Stack) -> None:
    """After everything above: stops, late answers, broken streams, restarts."""
    with urlopen(f"{stack.urls['provider']}/emulator/journal", timeout=10) as response:
        entries = json.load(response)["entries"]
    assert not [(entry["rule"], entry["error"]) for entry in entries if entry["rule"]]
