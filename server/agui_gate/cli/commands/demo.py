"""`agui-gate demo`: server, agent, page and provider in one process, without a key."""

import sys
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from agui_gate.cli.interrupts import in_order
from agui_gate.cli.program import debug_option
from agui_gate.cli.terminal.console import dim, log_to_stderr, print_hint

DEFAULT_PORT = 8000

HELP = """Try everything on this machine, without a key or any other service.

A strict emulator replaces the model provider, an example agent manages a small shop, and the built-in page shows the
conversation and the calls that wait for your approval. A second agent, front_desk, works with a team. Each
chat starts with the same orders. AGUI_GATE_* settings are ignored.

\b
Examples:
  agui-gate demo
  agui-gate demo --port 9000
  agui-gate demo --store sqlite:///demo.db    keep the conversations across restarts

Exit codes: 0 stopped by SIGTERM or Ctrl-C; 2 the port is taken or the store can't be opened.
"""


@click.command("demo", help=HELP)
@click.option("--port", type=click.IntRange(0, 65_535), help=f"Port.  [default: {DEFAULT_PORT}, or the next free one]")
@click.option("--store", metavar="URL", help="Where conversations are kept.  [default: a temporary SQLite file]")
@debug_option
@click.pass_context
def command(ctx: click.Context, port: int | None, store: str | None) -> None:
    """Run the demo."""
    if sys.stderr.isatty():
        dim("Starting the demo…", err=True)  # on a busy machine it loads for several seconds
    from agui_gate.cli.demo.application import HOST, serve_demo
    from agui_gate.cli.server.uvicorn_server import bind, bind_near

    log_to_stderr(ctx)
    with (
        in_order(),
        nullcontext("")
        if store
        else TemporaryDirectory(prefix="agui-gate-demo-", ignore_cleanup_errors=True) as folder,
        bind_near(HOST, DEFAULT_PORT) if port is None else bind(HOST, port) as sock,
    ):
        asked = DEFAULT_PORT if port is None else port
        if asked not in (0, sock.getsockname()[1]):
            print_hint(f"port {asked} is taken by another program; using {sock.getsockname()[1]}.")
        serve_demo(sock, store or f"sqlite:///{Path(folder) / 'demo.db'}", kept=store is not None)
