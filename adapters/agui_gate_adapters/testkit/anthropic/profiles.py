"""How models and hosts that speak the Messages API differ; every field can be overridden one by one.

`anthropic` is the reference: what the API refuses today of any model. `preserved` is a model with preserved thinking,
the newest kind. It thinks without being asked, and a thinking block is only good behind exactly the conversation that
it was made in. `older` is a model or a host of 2025.

    Emulator(anthropic="preserved")
    Emulator(anthropic=msgspec.structs.replace(ANTHROPIC_PROFILES["anthropic"], prefill=True))
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

AnthropicProfileName = Literal["anthropic", "preserved", "older"]


class AnthropicProfile(msgspec.Struct, frozen=True):
    """What one kind of model insists on."""

    name: str
    prefill: bool = False
    """Accept a conversation that ends with an assistant message; else A10."""
    thinking_by_default: bool = False
    """A request without `thinking` thinks."""
    manual_thinking: bool = True
    """Accept `thinking` of type `enabled`; models since 4.7 decide for themselves."""
    preserved_thinking: bool = False
    """Refuse a thinking block behind a changed `system`, `tools` or message (A9, second sentence)."""
    late_results_are_missing: bool = True
    """A5 in the words of A1; otherwise in its own, as in 2025."""
    merged_indices: bool = True
    """Count messages after same-role runs were merged. What the API does is not known; see `merging`."""
    tools_for_history: bool = False
    """Refuse `tool_use` and `tool_result` in a request without `tools`, as some hosts do."""
    first_message_user: bool = False
    """Refuse a conversation that begins with the assistant, as some hosts do."""
    max_output_tokens: int = 128_000
    """The largest `max_tokens`."""
    context_tokens: int = 200_000
    """The longest prompt, estimated at four bytes a token."""


ANTHROPIC_PROFILES: Final[dict[AnthropicProfileName, AnthropicProfile]] = {
    "anthropic": AnthropicProfile("anthropic"),
    "preserved": AnthropicProfile(
        "preserved", thinking_by_default=True, manual_thinking=False, preserved_thinking=True
    ),
    "older": AnthropicProfile(
        "older", prefill=True, late_results_are_missing=False, tools_for_history=True, first_message_user=True
    ),
}
