"""Names for tests of agents and of adapters.

    from agui_gate.testing import Emulator, serve

    emulator = Emulator(script=[{"output": [{"type": "message", "text": "Hello"}]}])
    async with serve(emulator) as base_url:
        ...  # point OpenAIResponses(…, base_url=base_url, api_key="any") at it
    assert not emulator.refusals  # requests that the real provider would have rejected

* A model without a provider: `Emulator` with a `Script`, served by `serve` or in process by `EmulatorTransport`. A
  `Fault` spoils an answer, a profile is a host with its own strictness, an `Entry` of the journal is a request.
* A page without a browser: `AGUIClient`, whose runs are `Stream`s. `connecting` makes its HTTP client, `serving` serves
  an application.
* The AG-UI specification: `assert_conforms`, `breaches` and `judge` check a stream against `RULES`.
* An adapter: `AdapterConformance` and its groups of tests, which need pytest. `check_request`, `check_chat_request` and
  `check_messages` check a request's body as the Responses API, Chat Completions and Anthropic's Messages would.
* A provider whose API the emulator doesn't speak: an `Api` plays the same scripts.

The code is in `agui_gate_adapters.testkit`; nothing in the server imports this module. `adapters/README.md` is the
guide, SCRIPTS.md in the test kit describes scripts. Installing agui-gate also installs a pytest plugin with the
fixtures `emulator`, `provider_url` and `agui_client`.
"""

import importlib
from typing import TYPE_CHECKING

from agui_gate_adapters.testkit import (
    CHAT_PROFILES,
    PROFILES,
    ChatProfile,
    Clock,
    Emulator,
    EmulatorTransport,
    Entry,
    Fault,
    Profile,
    ProviderState,
    Script,
    ScriptError,
    Turn,
    Violation,
    When,
    check_chat_request,
    check_request,
    load_script,
    serve,
)
from agui_gate_adapters.testkit.agui import CARD_TOOL, AGUIClient, Stream, connecting, serving
from agui_gate_adapters.testkit.anthropic import ANTHROPIC_PROFILES, AnthropicProfile, check_messages
from agui_gate_adapters.testkit.api import Answer, Api, Frame, Request
from agui_gate_adapters.testkit.faults import Refused, Reply, error_reply, status_violation
from agui_gate_adapters.testkit.host import Host, Play, parse_object
from agui_gate_adapters.testkit.script import Asked
from agui_gate_adapters.testkit.spec import JUDGED, RULES, Finding, Rule, assert_conforms, breaches, judge

if TYPE_CHECKING:
    from agui_gate_adapters.testkit.conformance import (
        AdapterConformance,
        Approvals,
        Failures,
        Ground,
        Poison,
        Suite,
        Threads,
        Tools,
        Turns,
        Windows,
    )

__all__ = [
    "ANTHROPIC_PROFILES",
    "CARD_TOOL",
    "CHAT_PROFILES",
    "JUDGED",
    "PROFILES",
    "RULES",
    "AGUIClient",
    "AdapterConformance",
    "Answer",
    "AnthropicProfile",
    "Api",
    "Approvals",
    "Asked",
    "ChatProfile",
    "Clock",
    "Emulator",
    "EmulatorTransport",
    "Entry",
    "Failures",
    "Fault",
    "Finding",
    "Frame",
    "Ground",
    "Host",
    "Play",
    "Poison",
    "Profile",
    "ProviderState",
    "Refused",
    "Reply",
    "Request",
    "Rule",
    "Script",
    "ScriptError",
    "Stream",
    "Suite",
    "Threads",
    "Tools",
    "Turn",
    "Turns",
    "Violation",
    "When",
    "Windows",
    "assert_conforms",
    "breaches",
    "check_chat_request",
    "check_messages",
    "check_request",
    "connecting",
    "error_reply",
    "judge",
    "load_script",
    "parse_object",
    "serve",
    "serving",
    "status_violation",
]


def __getattr__(name: str) -> object:
    """Loads the conformance suite, which imports pytest, when one of its names is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'agui_gate.testing' has no attribute {name!r}")
    return getattr(importlib.import_module("agui_gate_adapters.testkit.conformance"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
