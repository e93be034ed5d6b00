"""Azure OpenAI and Foundry: the Responses API as those hosts have it, in the modes that they offer."""

from typing import Literal

from agui_gate.testing import AdapterConformance
from agui_gate_adapters.openai_responses import OpenAIResponses


class _Azure(AdapterConformance):
    mode: Literal["chain", "stateless"]
    emulator_options = {"profile": "azure_v1"}  # noqa: RUF012  declared by the suite

    def make_adapter(self, base_url: str) -> OpenAIResponses:
        return OpenAIResponses.azure("gpt-test", mode=self.mode, endpoint=base_url, api_key="k")


class TestAzureChain(_Azure):
    mode = "chain"
    continues = True


class TestAzureStateless(_Azure):
    mode = "stateless"


class _Foundry(AdapterConformance):
    mode: Literal["chain", "conversation", "stateless"]
    emulator_options = {"profile": "foundry"}  # noqa: RUF012  declared by the suite

    def make_adapter(self, base_url: str) -> OpenAIResponses:
        return OpenAIResponses.foundry("gpt-test", mode=self.mode, endpoint=base_url, api_key="k")


class TestFoundryChain(_Foundry):
    mode = "chain"
    continues = True


class TestFoundryConversation(_Foundry):
    mode = "conversation"
    continues = True


class TestFoundryStateless(_Foundry):
    mode = "stateless"
