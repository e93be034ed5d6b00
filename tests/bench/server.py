"""One of the two servers that are compared, under uvicorn with the same configuration.

    python -m tests.bench.server ours|served|unlogged|measured|proxy|FILE PROVIDER_URL FOLDER [STORE_URL]

``ours`` is the whole product: SQLite in FOLDER, or the store at STORE_URL, a principal, approvals and all; stateless,
so that a history is sent whole. ``served`` is the same with connections as `agui-gate serve` makes them. ``unlogged``
is the same without its event log. ``measured`` is the same with metrics, and with spans that OpenTelemetry's SDK keeps
in batches and hands to an exporter. FILE makes a rival's application: see `rivals.py`.
"""

import asyncio
import runpy
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette

from tests.bench.machine import SERVER, pin
from tests.bench.processes import announce


async def _bench(request: object) -> str:
    """Whoever asks: async, as a sync one would take a thread each time."""
    return "bench"


def create_ours(
    provider: str, folder: Path, store: str | None = None, bus: str | None = None, **settings: Any
) -> Starlette:
    """The product as a team would configure it. ``store``: instead of SQLite in ``folder``; ``bus``: instead of the
    one that goes with it; ``settings``: others than the defaults.
    """
    from agui_gate import Agent, create_app, tool
    from agui_gate.config.settings import Settings
    from agui_gate_adapters.openai_responses import OpenAIResponses

    @tool(gate=True)
    async def refund(order: str, amount: float) -> str:
        """Refund an order."""
        return f"{amount} for {order}"

    model = OpenAIResponses("bench", mode="stateless", base_url=provider, api_key="bench")
    agent = Agent(name="bench", model=model, instructions="You help with orders.", tools=[refund])
    place = store or f"sqlite:///{folder / 'bench.db'}"
    return create_app(agent, store=place, bus=bus, auth=_bench, settings=Settings(**settings) if settings else None)


def _create_measured(provider: str, folder: Path) -> Starlette:
    """The product with metrics and spans, as the SDK of OpenTelemetry keeps them."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    class Drops(SpanExporter):
        """Keeps none, as one that has sent them."""

        def export(self, spans: object) -> SpanExportResult:
            return SpanExportResult.SUCCESS

    spans = TracerProvider()
    spans.add_span_processor(BatchSpanProcessor(Drops()))
    trace.set_tracer_provider(spans)
    return create_ours(provider, folder, metrics="on", traces=True)


def _create(kind: str, provider: str, folder: Path, store: str | None) -> Any:
    if kind.endswith(".py"):
        return runpy.run_path(kind)["create"](provider)
    if kind == "unlogged":
        from tests.bench.unlogged import switch_off

        switch_off()
    if kind == "measured":
        return _create_measured(provider, folder)
    if kind != "proxy":
        return create_ours(provider, folder, store)
    from tests.bench.proxy import create_proxy

    return create_proxy(provider)


class _Server(uvicorn.Server):
    """Says its port once it accepts connections."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            announce(sockets[0].getsockname()[1])


def main(kind: str, provider: str, folder: str, store: str | None = None) -> None:
    """Serve until the parent leaves."""
    sock = socket.create_server(("127.0.0.1", 0), backlog=4096)
    app = _create(kind, provider, Path(folder), store)
    connection: Any = "agui_gate.cli.server.connections:Connection" if kind == "served" else "auto"
    config = uvicorn.Config(
        app,
        http=connection,
        access_log=False,
        log_level="warning",
        server_header=False,
        ws="none",
        timeout_keep_alive=600,
    )
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(_Server(config).serve(sockets=[sock]))


if __name__ == "__main__":
    pin(SERVER)
    main(*sys.argv[1:5])
