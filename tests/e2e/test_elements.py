"""The card as a custom element, in Chromium: in a plain page of another origin, with a real server behind it."""

import pytest

from tests.e2e.stack import Stack
from tests.requirements import shows


@shows("T3", "T4", "T5")
@pytest.mark.parametrize(
    "scenario",
    [
        "Decides",
        "Races",
        "AsksAgain",
        "IsAtHand",
        "TakesInputMethods",
        "KeepsAnEdit",
        "IsLeft",
        "IsKilled",
        "Expires",
        "ShowsWhatIsThere",
        "ComesLate",
        "IsForEverybody",
        "IsThePages",
    ],
)
def test_the_card(stack: Stack, scenario: str) -> None:
    """T3 to T5: a decision is the person's, on what is there to see, once; and the server's word counts."""
    stack.run(f"element{scenario}", {"style": "interrupt"})
