"""Anthropic's Messages API: without thinking, with it, and on models that think unasked."""

from typing import Any, ClassVar

from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.testkit.conformance import AdapterConformance

Json = dict[str, Any]


class _Messages(AdapterConformance):
    thinking: ClassVar[Json | None] = None

    def make_adapter(self, base_url: str) -> AnthropicMessages:
        return AnthropicMessages("claude-test", thinking=self.thinking, base_url=base_url, api_key="k")


class TestPlain(_Messages):
    """On a host of 2025, which insists on tools for a history with calls."""

    reasons = False
    emulator_options: ClassVar[Json] = {"anthropic": "older"}


class TestThinking(_Messages):
    thinking: ClassVar[Json | None] = {"type": "enabled", "budget_tokens": 2048}


class TestPreserved(_Messages):
    """The newest models: a thinking block is bound to its very conversation."""

    emulator_options: ClassVar[Json] = {"anthropic": "preserved"}
