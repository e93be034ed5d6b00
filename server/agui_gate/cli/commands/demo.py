"""`agui-gate demo`: server, agent, page and provider in one process, without a key."""

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agui_gate.cli.program import debug_option
from agui_gate.cli.terminal.console import log_to_stderr, note

if TYPE_CHECKING:
    import socket

    from agui_gate.agent import Agent

DEFAULT_PORT = 8000
HOST = "127.0.0.1"
LOOK = 1.0
"""Seconds between looks at whether the other page has been built."""
PACE = 0.015
"""Seconds between the emulated model's words, so that one sees it stream."""

HELP = """The whole product on this machine, without a key or any other service.

A strict emulator stands in for the model provider, an example agent looks after a small shop, and the built-in page
shows the conversation and what waits for your yes. A second agent, front_desk, does it with a team. Every chat has the
shop's orders anew. AGUI_GATE_* settings are left aside.

\b
Examples:
  agui-gate demo
  agui-gate demo --port 9000
  agui-gate demo --store sqlite:///demo.db    keep the conversations; stop, start again, approve then

\b
Exit codes: 0 stopped by SIGTERM or Ctrl-C; 2 the port is taken or the store can't be opened.
"""


@click.command("demo", help=HELP)
@click.option("--port", type=click.IntRange(0, 65_535), help=f"Port.  [default: {DEFAULT_PORT}, or the next free one]")
@click.option("--store", metavar="URL", help="Where conversations are kept.  [default: a temporary SQLite file]")
@debug_option
@click.pass_context
def command(ctx: click.Context, port: int | None, store: str | None) -> None:
    """Run the demo."""
    from agui_gate.cli.serving.uvicorn_server import bind, bind_near

    log_to_stderr(ctx)
    directory = None if store else tempfile.mkdtemp(prefix="agui-gate-demo-")
    try:
        with bind_near(HOST, DEFAULT_PORT) if port is None else bind(HOST, port) as sock:
            asked = DEFAULT_PORT if port is None else port
            if asked not in (0, sock.getsockname()[1]):
                note(f"port {asked} is taken by another program; using {sock.getsockname()[1]}.")
            _run(sock, store or f"sqlite:///{Path(str(directory)) / 'demo.db'}", kept=store is not None)
    finally:
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)


def _run(sock: "socket.socket", store: str, *, kept: bool) -> None:
    from agui_gate.cli.serving.uvicorn_server import configure

    loop_factory = configure(None).get_loop_factory()  # the same loop as `serve`
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(_demo(sock, store, kept))


async def _demo(sock: "socket.socket", store: str, kept: bool) -> None:
    from agui_gate.cli.demo.agent import support_agent
    from agui_gate.cli.demo.team import front_desk
    from agui_gate.cli.serving.banner import banner
    from agui_gate.cli.serving.uvicorn_server import Server, address_of, configure
    from agui_gate.http.app import create_app
    from agui_gate.http.assets import BUILT
    from agui_gate.settings import Settings
    from agui_gate_adapters.openai_responses import OpenAIResponses
    from agui_gate_adapters.testkit import Emulator, serve

    async with serve(Emulator(pace=PACE)) as provider:
        model = OpenAIResponses("demo-model", mode="chain", base_url=provider, api_key="demo")
        agents = [support_agent(model), front_desk(model)]
        app = create_app(*agents, settings=Settings(store=store, sources={"store": "--store"} if kept else {}))
        facts = {
            "provider": f"the emulator at {provider} (no key, no network)",
            "store": store if kept else "a temporary file, removed at the end (--store sqlite:///demo.db keeps it)",
            "access": "this machine only",
        }
        url = address_of(sock, HOST)
        aside = [asyncio.create_task(_warm(agents[0]))]

        def say() -> None:
            banner(url, agents, facts, say="Refund order 1001")
            aside.append(asyncio.create_task(tell_of_other_page(url, BUILT)))

        try:
            await Server(configure(app), say).serve(sockets=[sock])
        finally:
            for task in aside:
                task.cancel()


async def tell_of_other_page(url: str, built: Path, *, every: float = LOOK) -> None:
    """Say where the page made with CopilotKit is, once it is there: `make demo` builds it while this serves already."""
    if not built.parent.is_dir():
        return  # no checkout: there is no such page
    while not (built / "index.html").is_file():  # noqa: ASYNC110  (a file has no event)
        await asyncio.sleep(every)
    click.echo(f"  The page made with CopilotKit is ready: {url}/copilot/\n")


async def _warm(agent: "Agent") -> None:
    """Load the provider's SDK and open a connection while the person still reads the banner."""
    await agent.adapter.check()
