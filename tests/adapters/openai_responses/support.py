"""What these tests share: a thread that talks to an emulator of the Responses API, in one of the three modes."""

from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.openai_responses.hosts import AZURE, FOUNDRY
from agui_gate_adapters.testkit import Emulator
from tests.adapters.support import Json
from tests.adapters.threads import Thread, talking_to

MODES = ("chain", "conversation", "stateless")
NEEDS: dict[str, Json] = {
    "openai": {},
    "azure_v1": {"host": AZURE},
    "foundry": {"host": FOUNDRY},
    "compat_lenient": {},
}
"""The profiles of the emulator, and the options that each needs."""

make = partial(OpenAIResponses, "gpt-test")


def talking(
    script: Any, mode: str | None = "chain", *, profile: str = "openai", **emulator: Any
) -> AbstractAsyncContextManager[tuple[Emulator, Thread[OpenAIResponses]]]:
    """An emulator with this script, and a thread that talks to it."""
    return talking_to(make, Thread, script, {"profile": profile, **emulator}, {"mode": mode, **NEEDS.get(profile, {})})
