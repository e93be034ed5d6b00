"""The same promises with a sub-agent between the user and the tools, on every adapter."""

import json
from typing import Any, Literal

import pytest

from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit.conformance import Approvals, Failures, Poison, Threads, Tools, Windows
from agui_gate_adapters.testkit.conformance.approvals import styles
from agui_gate_adapters.testkit.conformance.ground import Shop, refund, script
from examples.adapter_in_an_afternoon import SmallChat
from tests.conformance.inside import Inside
from tests.requirements import shows


@shows("B14", "B24")
class _Inside(Inside, Approvals, Tools, Threads, Windows, Failures, Poison):
    """But for what is another thing for a task (docs/teams.md). `Turns` is about an adapter alone, without an agent."""

    # A stop ends a task: its model is never asked again, and who delegated hears of it (test_subagents_live.py).
    test_cancelling_in_the_middle_of_a_tool = None  # type: ignore[assignment]
    test_cancelling_a_client_of_1_0_that_has_calls_of_its_own = None  # type: ignore[assignment]
    # So does a failure: there is nothing to go on with but its result (test_subagents.py).
    test_the_provider_fails_after_the_tool_ran = None  # type: ignore[assignment]
    # A thread's window and summary are of what user and front say. A task has its own (test_subagents.py).
    test_a_round_that_is_too_long_is_cut_between_answers = None  # type: ignore[assignment]
    test_a_summary_that_can_not_be_written_keeps_nobody_waiting = None  # type: ignore[assignment]
    test_an_agent_that_is_sent_all_again = None  # type: ignore[assignment]
    test_what_is_not_sent_is_summarised_once = None  # type: ignore[assignment]

    @pytest.mark.parametrize("ending", ["approve", "reject", "one by one"])
    async def test_seven_calls_of_which_three_are_gated(self, ending: str) -> None:
        """What is said while they wait is a task of its own, with an answer of its own: see below."""
        await super().test_seven_calls_of_which_three_are_gated(ending)

    @styles
    async def test_one_approved_one_rejected_one_ignored_and_something_said(self, tools: list[dict[str, Any]]) -> None:
        """Once all is answered the task goes on. If a question was left for something else it ends. Then comes that."""
        shop = Shop()
        async with self.ground(shop.tools, script(refund("A1"), refund("A2"), refund("A3"))) as ground:
            client = ground.client(tools=tools)
            done = await self.hurried(client)
            assert (done.text, shop.orders) == ("Done." if tools else "Done.Done.", ["A1"])
            assert ground.newest.users == ["refund all", "and hurry"]
            heard = [json.loads(output).get("status", "ran") for output in ground.newest.outputs]
            assert heard == ([] if tools else ["ran", "rejected", "cancelled"])
            assert (await client.say("thanks")).text == "Done."


class _Responses(_Inside):
    mode: Literal["chain", "conversation", "stateless"]

    def adapter(self, base_url: str, model: str) -> OpenAIResponses:
        return OpenAIResponses(model, mode=self.mode, base_url=base_url, api_key="k")


class TestChain(_Responses):
    mode = "chain"


class TestConversation(_Responses):
    mode = "conversation"


class TestStateless(_Responses):
    mode = "stateless"


class _Azure(_Inside):
    mode: Literal["chain", "stateless"]
    emulator_options = {"profile": "azure_v1"}  # noqa: RUF012  declared by the suite

    def adapter(self, base_url: str, model: str) -> OpenAIResponses:
        return OpenAIResponses.azure(model, mode=self.mode, endpoint=base_url, api_key="k")


class TestAzureChain(_Azure):
    mode = "chain"


class TestAzureStateless(_Azure):
    mode = "stateless"


class TestChat(_Inside):
    emulator_options = {"chat": "kimi"}  # noqa: RUF012  declared by the suite

    def adapter(self, base_url: str, model: str) -> OpenAIChat:
        return OpenAIChat(model, base_url=base_url, api_key="k", profile="kimi")


class TestAnthropic(_Inside):
    def adapter(self, base_url: str, model: str) -> AnthropicMessages:
        thinking = {"type": "enabled", "budget_tokens": 1024}
        return AnthropicMessages(model, base_url=base_url.removesuffix("/v1"), api_key="k", thinking=thinking)


class TestExample(_Inside):
    reasons = False

    def adapter(self, base_url: str, model: str) -> SmallChat:
        return SmallChat(model, base_url=base_url, api_key="k")
