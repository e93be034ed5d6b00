"""A scripted AG-UI client, for tests of agents: it says things, answers cards and interrupts, and keeps its history.

    async with serving(create_app(agent)) as url, connecting() as http:
        client = AGUIClient(http, url)
        asked = await client.say("Refund order A1")
        done = await client.decide(asked, approved=True)
        assert done.text == "Refunded."

It behaves as the real clients do. It pins its thread id, replays its full history with every run, and changes that
history by the events it is sent.
"""

from agui_gate_adapters.testkit.agui.asgi_server import serving
from agui_gate_adapters.testkit.agui.client import CARD_TOOL, AGUIClient, connecting
from agui_gate_adapters.testkit.agui.stream import Stream, parse

__all__ = ["CARD_TOOL", "AGUIClient", "Stream", "connecting", "parse", "serving"]
