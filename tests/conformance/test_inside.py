"""The same promises with a sub-agent between the user and the tools, on every adapter.

The agent under test works on tasks that a workflow of it alone hands it. So each message is a task of its own: what a
later one is told of earlier ones is no matter of these groups.
"""

from dataclasses import replace
from typing import Literal

from agui_gate import Agent, pipeline
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit.conformance import Approvals, Tools


class _Inside(Approvals, Tools):
    def served(self, agent: Agent) -> Agent:
        front = pipeline("front", agent)
        silence, left = agent.on_unanswered, agent.on_disconnect
        return replace(front, hitl=agent.hitl, on_unanswered=silence, on_disconnect=left)


class _Responses(_Inside):
    mode: Literal["chain", "conversation", "stateless"]

    def make_adapter(self, base_url: str) -> OpenAIResponses:
        return OpenAIResponses("gpt-test", mode=self.mode, base_url=base_url, api_key="k")


class TestChain(_Responses):
    mode = "chain"


class TestConversation(_Responses):
    mode = "conversation"


class TestStateless(_Responses):
    mode = "stateless"


class TestChat(_Inside):
    def make_adapter(self, base_url: str) -> OpenAIChat:
        return OpenAIChat("gpt-test", base_url=base_url, api_key="k")


class TestAnthropic(_Inside):
    def make_adapter(self, base_url: str) -> AnthropicMessages:
        return AnthropicMessages("claude-test", base_url=base_url, api_key="k")
