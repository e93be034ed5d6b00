"""Tests what every adapter must do: subclass `AdapterConformance` and say how to make yours.

    from agui_gate_adapters.testkit.conformance import AdapterConformance

    class TestMyAdapter(AdapterConformance):
        def make_adapter(self, base_url):
            return MyAdapter("some-model", base_url=base_url, api_key="k")

Each test runs the adapter against the strict emulator over real HTTP. Most of them run it inside the whole server, with
a scripted AG-UI client in front. Each ends by asking the emulator whether it had to refuse anything. ``base_url`` ends
in `/v1`; the emulator speaks the Responses API, Chat Completions and Anthropic's Messages there. Needs pytest and
anyio.
"""

from agui_gate_adapters.testkit.conformance.approvals import Approvals
from agui_gate_adapters.testkit.conformance.failures import Failures
from agui_gate_adapters.testkit.conformance.ground import Ground, Suite
from agui_gate_adapters.testkit.conformance.poison import Poison
from agui_gate_adapters.testkit.conformance.threads import Threads, Windows
from agui_gate_adapters.testkit.conformance.tools import Tools
from agui_gate_adapters.testkit.conformance.turns import Turns

__all__ = [
    "AdapterConformance",
    "Approvals",
    "Failures",
    "Ground",
    "Poison",
    "Suite",
    "Threads",
    "Tools",
    "Turns",
    "Windows",
]


class AdapterConformance(Turns, Tools, Approvals, Threads, Windows, Failures, Poison):
    """All groups at once."""
