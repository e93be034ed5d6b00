"""The application that `agui-gate demo` serves: provider, agents and page in one process."""

import asyncio
import socket
import sys
from pathlib import Path

import click

from agui_gate.cli.demo.agent import support_agent
from agui_gate.cli.demo.team import front_desk
from agui_gate.cli.server.banner import banner
from agui_gate.cli.server.uvicorn_server import Server, address_of, configure, run_server
from agui_gate.cli.terminal.layout import fit
from agui_gate.config.settings import Settings
from agui_gate.extra_loader import load
from agui_gate.http.app import create_app
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve

HOST = "127.0.0.1"
LOOK = 1.0
"""Seconds between looks at whether the other page has been built."""
PACE = 0.015
"""Seconds between the emulated model's words, so that one sees it stream."""


def serve_demo(sock: socket.socket, store: str, *, kept: bool) -> None:
    """Serve until it is told to stop. ``kept``: whether the person has named the store."""
    run_server(_demo(sock, store, kept), configure(None))  # in the same loop as `serve`


async def _demo(sock: socket.socket, store: str, kept: bool) -> None:
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
        telling: list[asyncio.Task[None]] = []

        def say() -> None:
            banner(url, agents, facts, say="Refund order 1001")
            telling.append(asyncio.create_task(announce_other_page(url, load("page.assets").BUILT)))

        try:
            await Server(configure(app), say).serve(sockets=[sock])
        finally:
            for task in telling:
                task.cancel()


async def announce_other_page(url: str, built: Path, *, every: float = LOOK) -> None:
    """Say where the CopilotKit page is, once it is there: `make demo` builds it while this serves already."""
    if not built.parent.is_dir():
        return  # no checkout: there is no such page
    while not (built / "index.html").is_file():  # noqa: ASYNC110  (a file has no event)
        await asyncio.sleep(every)
    click.echo(fit(f"  The CopilotKit page is ready: {url}/copilot/\n", sys.stdout, hang=0))
