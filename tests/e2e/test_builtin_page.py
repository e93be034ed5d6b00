"""The built-in page in Chromium: real server, the emulator as provider, interrupts and cards."""

import pytest

from tests.e2e.stack import Stack


@pytest.mark.parametrize("style", ["interrupt", "card"])
@pytest.mark.parametrize(
    "scenario", ["Approve", "Edit", "Details", "Reject", "Partial", "ReloadOpen", "Conversation", "Narrow"]
)
def test_the_built_in_page(stack: Stack, scenario: str, style: str) -> None:
    stack.run(f"builtin{scenario}", {"style": style})
