"""A server with a model that keeps time: `python -m tests.live.server`. Prints `port N` when it listens.

Each run says `BURST` pieces at once and then, once somebody has said `GO`, one every `INTERVAL` seconds. What the
server logs goes to stdout.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence

from agui_gate import Agent, adapter, create_app
from agui_gate.cli.server.uvicorn_server import Server, configure, serve_forever
from agui_gate.config.settings import Settings

BURST, PIECE = 60, "x" * 3000
INTERVAL = 0.05
PIECES = 120
SEND_TIMEOUT = 2.0
GO = "now"


class Metronome:
    """An adapter that says the same at the same pace, whoever listens."""

    origin = "metronome/1"

    def __init__(self) -> None:
        self._go = asyncio.Event()

    async def stream(self, request: adapter.TurnRequest) -> AsyncIterator[Sequence[adapter.ModelEvent]]:
        """One turn."""
        yield [adapter.TextStart("0"), *(adapter.TextDelta("0", PIECE) for _ in range(BURST))]
        if GO in str(request.transcript[-1]):
            self._go.set()
        await self._go.wait()
        loop = asyncio.get_running_loop()
        start = loop.time()
        for number in range(PIECES):
            await asyncio.sleep(start + (number + 1) * INTERVAL - loop.time())
            yield [adapter.TextDelta("0", f" {number}")]
        yield [adapter.TextEnd("0"), adapter.TurnDone()]

    async def check(self) -> Sequence[adapter.Finding]:
        """Nothing to check."""
        return ()

    async def aclose(self) -> None:
        """Nothing to close."""


def main() -> None:
    """Serve until told to stop."""
    agent = Agent(name="metronome", model=Metronome(), on_disconnect="continue")
    app = create_app(agent, store="memory://", settings=Settings(send_timeout=SEND_TIMEOUT))
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)  # so that the kernel hides no slowness
        sock.bind(("127.0.0.1", 0))
        sock.listen(1024)
        port = sock.getsockname()[1]
        serve_forever(Server(configure(app), lambda: print("port", port, flush=True)), sock)


if __name__ == "__main__":
    main()
