"""`agui-gate settings`: what holds, and why."""

import json
from pathlib import Path

import click

from agui_gate.cli.access import why_refused
from agui_gate.cli.program import config_option, debug_option
from agui_gate.cli.terminal.console import table
from agui_gate.config.settings import PREFIX, load_settings, names
from agui_gate.errors import ConfigurationError

HELP = """Print each setting, its value and its source. Secrets are masked.

\b
Examples:
  agui-gate settings
  agui-gate settings --config gate.toml
  AGUI_GATE_STORE=memory:// agui-gate settings --json

Exit codes: 0 a server starts with them; 2 a setting is invalid, or no server starts with these (the message says why).
"""


@click.command("settings", help=HELP)
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: name to value and source.")
@debug_option
def command(config: Path | None, as_json: bool) -> None:
    """Print the settings."""
    settings = load_settings(config)
    if as_json:
        shown = {name: {"value": settings.shown(name), "source": settings.source(name)} for name in names()}
        click.echo(json.dumps(shown, indent=2))
    else:
        rows = [(PREFIX + name.upper(), settings.shown(name) or "–", settings.source(name)) for name in names()]
        click.echo(table(rows, ("NAME", "VALUE", "FROM")))
    if (refused := why_refused(settings)) is not None:
        raise ConfigurationError(refused)
