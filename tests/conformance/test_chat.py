"""Chat Completions, with every named profile against the server that it is named after."""

from typing import Any, ClassVar

from agui_gate.testing import AdapterConformance
from agui_gate_adapters.openai_chat import OpenAIChat
from tests.requirements import shows


@shows("B24")
class _Chat(AdapterConformance):
    profile: ClassVar[str]
    reasons: ClassVar[bool] = True

    def __init_subclass__(cls, *, server: str, profile: str = "", **more: Any) -> None:
        """``server`` is the emulator's kind; the profile has its name unless another is given."""
        super().__init_subclass__(**more)
        cls.emulator_options = {"chat": server}
        cls.profile = profile or server

    def make_adapter(self, base_url: str) -> OpenAIChat:
        return OpenAIChat("some-model", base_url=base_url, api_key="k", profile=self.profile)


class TestOpenAI(_Chat, server="openai"):
    reasons = False


class TestAzure(_Chat, server="azure"):
    reasons = False


class TestVLLM(_Chat, server="vllm"): ...


class TestOllama(_Chat, server="ollama"): ...


class TestOllamaWithoutIds(_Chat, server="ollama_no_ids", profile="ollama"): ...


class TestDeepSeek(_Chat, server="deepseek"): ...


class TestKimi(_Chat, server="kimi"): ...


class TestMistral(_Chat, server="mistral"):
    reasons = False


class TestLlamaCpp(_Chat, server="llama_cpp"): ...


class TestLenient(_Chat, server="lenient"):
    reasons = False
    says_end = False
