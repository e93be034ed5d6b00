"""What these tests share: an emulator of a kind of server, and a thread that talks to it in the profile it needs."""

from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

import msgspec

from agui_gate_adapters.openai_chat import PROFILES, OpenAIChat, Profile
from agui_gate_adapters.testkit import Emulator
from tests.adapters.threads import Thread, talking_to

SERVERS: dict[str, Profile] = {
    "openai": PROFILES["openai"],
    "azure": PROFILES["azure"],
    "vllm": PROFILES["vllm"],
    "ollama": PROFILES["ollama"],
    "ollama_no_ids": PROFILES["ollama"],
    "deepseek": PROFILES["deepseek"],
    "kimi": PROFILES["kimi"],
    "mistral": PROFILES["mistral"],
    "dashscope": PROFILES["lenient"],
    "minimax": PROFILES["lenient"],
    "llama_cpp": PROFILES["llama_cpp"],
    "legacy": PROFILES["lenient"],
    "lenient": PROFILES["lenient"],
    "bare": msgspec.structs.replace(PROFILES["lenient"], says_end=False),
}
"""The kinds of servers that the emulator knows, and the profile that each needs."""

make = partial(OpenAIChat, "gpt-test")


def talking(
    script: Any, server: str = "openai", *, profile: Profile | None = None, **options: Any
) -> AbstractAsyncContextManager[tuple[Emulator, Thread[OpenAIChat]]]:
    """An emulator of this kind of server with this script, and a thread that talks to it."""
    return talking_to(make, Thread, script, {"chat": server}, {"profile": profile or SERVERS[server], **options})
