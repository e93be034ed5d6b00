"""A strict emulator of the Anthropic Messages API, beside the other APIs of the test kit and playing the same scripts.

    emulator = Emulator(script, anthropic="anthropic")   # or "preserved", "older", or an AnthropicProfile
    async with serve(emulator) as base_url:
        client = AsyncAnthropic(base_url=base_url.removesuffix("/v1"), api_key="any")

It holds every request to the rules A1 to A12 with the provider's own words, signs its thinking and knows it again.
"""

from __future__ import annotations

from agui_gate_adapters.testkit.anthropic.api import Messages
from agui_gate_adapters.testkit.anthropic.checks import check_messages
from agui_gate_adapters.testkit.anthropic.profiles import (
    ANTHROPIC_PROFILES,
    AnthropicProfile,
    AnthropicProfileName,
)

__all__ = ["ANTHROPIC_PROFILES", "AnthropicProfile", "AnthropicProfileName", "Messages", "check_messages"]
