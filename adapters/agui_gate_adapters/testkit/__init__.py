"""The test kit: a strict emulator of model providers' APIs, for anyone's tests and for the demo.

    from agui_gate_adapters.testkit import Emulator, serve

    emulator = Emulator(script=[{"output": [{"type": "message", "text": "Hello"}]}])
    async with serve(emulator) as base_url:
        ...                        # point any client of the provider at base_url
    assert not emulator.refusals   # what a real provider would have answered with 400

It keeps state like the provider, and refuses what the provider refuses with the provider's own words. It streams the
provider's events in their order, and can be told to fail in the provider's ways. It speaks the Responses API
(`/v1/responses`), Chat Completions (`/v1/chat/completions`) and Anthropic's Messages (`/v1/messages`) at once, and one
script serves all of them. Profiles are hosts and servers that differ in what they refuse and in how they talk. Scripts
are described in SCRIPTS.md.
"""

from __future__ import annotations

from agui_gate_adapters.testkit.anthropic import ANTHROPIC_PROFILES, AnthropicProfile
from agui_gate_adapters.testkit.chat import CHAT_PROFILES, ChatProfile, check_chat_request
from agui_gate_adapters.testkit.emulator import Emulator
from agui_gate_adapters.testkit.faults import Fault, Violation
from agui_gate_adapters.testkit.journal import Clock, Entry
from agui_gate_adapters.testkit.responses import PROFILES, Profile, ProviderState, check_request
from agui_gate_adapters.testkit.script import Script, ScriptError, Turn, When, load_script
from agui_gate_adapters.testkit.server import EmulatorTransport, main, serve

__all__ = [
    "ANTHROPIC_PROFILES",
    "CHAT_PROFILES",
    "PROFILES",
    "AnthropicProfile",
    "ChatProfile",
    "Clock",
    "Emulator",
    "EmulatorTransport",
    "Entry",
    "Fault",
    "Profile",
    "ProviderState",
    "Script",
    "ScriptError",
    "Turn",
    "Violation",
    "When",
    "check_chat_request",
    "check_request",
    "load_script",
    "main",
    "serve",
]
