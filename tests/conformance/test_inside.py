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
    """But for what is another thing for a task: it is one call more of a stream, and ends with a result where a run
    would fail. What is said meanwhile is a task of its own.
    """

    test_a_client_tool_and_a_card_of_a_client_of_1_0 = None  # type: ignore[assignment]
    test_a_limit_closes_every_call = None  # type: ignore[assignment]
    test_cancelling_a_client_of_1_0_that_has_calls_of_its_own = None  # type: ignore[assignment]
    test_cancelling_in_the_middle_of_a_tool = None  # type: ignore[assignment]
    test_one_approved_one_rejected_one_ignored_and_something_said = None  # type: ignore[assignment]
    test_reasoning_before_a_gated_call = None  # type: ignore[assignment]
    test_seven_calls_of_which_three_are_gated = None  # type: ignore[assignment]
    test_several_turns_of_tools = None  # type: ignore[assignment]
    test_the_provider_fails_after_the_tool_ran = None  # type: ignore[assignment]

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
        return AnthropicMessages("claude-test", base_url=base_url.removesuffix("/v1"), api_key="k")
