"""Chat Completions, with every named profile against the server that it is named after."""

from typing import ClassVar

from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.testkit.conformance import AdapterConformance
from tests.requirements import shows


@shows("B24")
class _Chat(AdapterConformance):
    profile: ClassVar[str]
    reasons: ClassVar[bool] = True

    def make_adapter(self, base_url: str) -> OpenAIChat:
        return OpenAIChat("some-model", base_url=base_url, api_key="k", profile=self.profile)


class TestOpenAI(_Chat):
    profile = "openai"
    emulator_options: ClassVar = {"chat": "openai"}
    reasons = False


class TestAzure(_Chat):
    profile = "azure"
    emulator_options: ClassVar = {"chat": "azure"}
    reasons = False


class TestVLLM(_Chat):
    profile = "vllm"
    emulator_options: ClassVar = {"chat": "vllm"}


class TestOllama(_Chat):
    profile = "ollama"
    emulator_options: ClassVar = {"chat": "ollama"}


class TestOllamaWithoutIds(_Chat):
    profile = "ollama"
    emulator_options: ClassVar = {"chat": "ollama_no_ids"}


class TestDeepSeek(_Chat):
    profile = "deepseek"
    emulator_options: ClassVar = {"chat": "deepseek"}


class TestKimi(_Chat):
    profile = "kimi"
    emulator_options: ClassVar = {"chat": "kimi"}


class TestMistral(_Chat):
    profile = "mistral"
    emulator_options: ClassVar = {"chat": "mistral"}
    reasons = False


class TestLlamaCpp(_Chat):
    profile = "llama_cpp"
    emulator_options: ClassVar = {"chat": "llama_cpp"}


class TestLenient(_Chat):
    profile = "lenient"
    emulator_options: ClassVar = {"chat": "lenient"}
    reasons = False
    says_end = False
