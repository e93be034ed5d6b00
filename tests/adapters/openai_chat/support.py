"""What these tests share: an emulator of a kind of server, and a thread that talks to it in the profile it needs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from agui_gate.adapter import AssistantTurn, Output, TurnRequest, UserTurn
from agui_gate_adapters.openai_chat import PROFILES, OpenAIChat, Profile
from agui_gate_adapters.testkit import Emulator, serve
from tests.adapters.openai_responses.support import WEATHER, Turn, run, user

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


class Thread:
    """A thread as the engine keeps it."""

    def __init__(self, model: OpenAIChat) -> None:
        self.model = model
        self.transcript: list[UserTurn | AssistantTurn] = []
        self.outputs: dict[str, Output] = {}
        self.edits: dict[str, str] = {}

    def request(self) -> TurnRequest:
        """What the next turn is asked with."""
        return TurnRequest(tuple(self.transcript), "Be brief.", (WEATHER,))

    def say(self, text: str) -> None:
        """The user says something."""
        self.transcript.append(user(text, f"u{len(self.transcript)}"))

    async def turn(self) -> Turn:
        """The model's next turn, added to the transcript with outputs for its calls."""
        turn = await run(self.model, self.request())  # type: ignore[arg-type]  # any adapter
        assert turn.done.ref is None
        parts = turn.parts(self.outputs, self.edits)
        self.transcript.append(AssistantTurn(f"t{len(self.transcript)}", parts, self.model.origin))
        return turn


@asynccontextmanager
async def talking(
    script: Any, server: Any = "openai", *, profile: Profile | None = None, **options: Any
) -> AsyncIterator[tuple[Emulator, Thread]]:
    """An emulator of this kind of server with this script, and a thread that talks to it."""
    emulator = Emulator(script=script, chat=server)
    async with serve(emulator) as base_url:
        model = OpenAIChat(
            "gpt-test", base_url=base_url, api_key="sk-test", profile=profile or SERVERS[server], **options
        )
        try:
            yield emulator, Thread(model)
        finally:
            await model.aclose()
