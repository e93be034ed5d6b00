"""OpenAI's Responses API, in its three modes."""

from typing import Literal

from agui_gate.testing import AdapterConformance
from agui_gate_adapters.openai_responses import OpenAIResponses
from tests.requirements import shows


@shows("B24")
class _Responses(AdapterConformance):
    mode: Literal["chain", "conversation", "stateless"]

    def make_adapter(self, base_url: str) -> OpenAIResponses:
        return OpenAIResponses("gpt-test", mode=self.mode, base_url=base_url, api_key="k")


class TestChain(_Responses):
    mode = "chain"
    continues = True


class TestConversation(_Responses):
    mode = "conversation"
    continues = True


class TestStateless(_Responses):
    mode = "stateless"
