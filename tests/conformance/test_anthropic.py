"""Anthropic's Messages API: without thinking, with it, and with the rules of the newest models."""

from typing import Any, ClassVar

from agui_gate.testing import AdapterConformance
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from tests.requirements import shows


@shows("B24")
class _Anthropic(AdapterConformance):
    thinking: ClassVar[dict[str, Any] | None] = None

    def make_adapter(self, base_url: str) -> AnthropicMessages:
        address = base_url.removesuffix("/v1")
        return AnthropicMessages("claude-test", base_url=address, api_key="k", thinking=self.thinking)


class TestPlain(_Anthropic):
    reasons = False


class TestThinking(_Anthropic):
    thinking: ClassVar = {"type": "enabled", "budget_tokens": 1024}


class TestOlder(_Anthropic):
    emulator_options: ClassVar = {"anthropic": "older"}
    thinking: ClassVar = {"type": "enabled", "budget_tokens": 1024}


class TestPreserved(_Anthropic):
    emulator_options: ClassVar = {"anthropic": "preserved"}
    thinking: ClassVar = {"type": "adaptive"}
