"""`agui-gate serve`: agents on an address."""

import sys
from pathlib import Path

import click
import structlog

from agui_gate.cli.program import config_option, debug_option
from agui_gate.cli.server.plan import Plan, prepare
from agui_gate.cli.target import model_option
from agui_gate.cli.terminal.console import log_to_stderr
from agui_gate.config.setting_values import LEVELS
from agui_gate.release import describe_release

log = structlog.get_logger("agui_gate.server")

HELP = """Serve TARGET, which is module:object: an Agent, a list of agents, or an ASGI application.

With --model, TARGET is optional: a plain agent without tools answers.

\b
Examples:
  agui-gate serve support:agent
  agui-gate serve support:agent --port 9000 --store sqlite:///support.db
  agui-gate serve support:agent --reload                  restart when a file changes
  agui-gate serve --model openai:gpt-5.4-mini             a model, no code
  agui-gate serve support:app                             your own Starlette or FastAPI application
  AGUI_GATE_TOKENS=alice:TOKEN agui-gate serve support:agent --host 0.0.0.0

Without tokens (or auth= in the application) the server accepts only loopback clients and rejects any other --host.

Exit codes: 0 stopped by SIGTERM or Ctrl-C; 2 usage or configuration error.
"""


@click.command("serve", help=HELP)
@click.argument("target", required=False)
@model_option
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port; 0 picks a free one.  [default: 8000]")
@click.option(
    "--store", metavar="URL", help="memory://, sqlite:///file.db, postgresql://….  [default: sqlite:///agui-gate.db]"
)
@click.option("--bus", metavar="URL", help="memory://, postgresql://…, redis://….  [default: by the store]")
@click.option("--log-level", type=click.Choice(LEVELS), help="Log level on stderr.  [default: info]")
@click.option("--reload", is_flag=True, help="Restart when a Python file in this directory changes.")
@click.option("--no-page", is_flag=True, help="Don't serve the built-in page at GET /.")
@config_option
@debug_option
@click.pass_context
def command(
    ctx: click.Context,
    target: str | None,
    model: str | None,
    host: str | None,
    port: int | None,
    store: str | None,
    bus: str | None,
    log_level: str | None,
    reload: bool,
    no_page: bool,
    config: Path | None,
) -> None:
    """Serve TARGET."""
    log_to_stderr(ctx)
    options = {"host": host, "port": port, "store": store, "bus": bus, "page": False if no_page else None}
    options["log_level"] = log_level
    plan = Plan(target, config, options, model)
    if reload:
        from agui_gate.cli.server.reload import reload_forever

        reload_forever(plan)
    else:
        _serve(ctx, plan)


def _serve(ctx: click.Context, plan: Plan) -> None:
    from agui_gate.cli.server.connections import limits_from, raise_descriptors
    from agui_gate.cli.server.settings_files import SettingsFiles
    from agui_gate.cli.server.uvicorn_server import Server, address_of, bind, configure, serve_forever

    ready = prepare(plan)
    log_to_stderr(ctx, ready.settings.log_level, ready.settings.log_format)
    if not sys.stderr.isatty():  # on a terminal the banner says it
        log.info("server_starting", release=describe_release())
    ready.warn()
    limits = limits_from(ready.settings, raise_descriptors())
    with bind(ready.settings.host, ready.settings.port) as sock:

        def announce() -> None:
            address = address_of(sock, ready.settings.host)
            ready.announce(address)
            if not sys.stderr.isatty():
                log.info("server_started", release=describe_release(), at=address)

        files = SettingsFiles(plan, ready)
        on_hangup = files.read_again if files.are_some else None
        serve_forever(Server(configure(ready.app, limits=limits), announce, on_hangup), sock)
