"""`serve --reload`: a process that watches files, and a child that is started again when one changes.

The child makes everything anew from what was typed, which it finds in an environment variable. Uvicorn passes it
nothing but the name of a factory.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from agui_gate.cli.serving.connections import limits_from, raise_descriptors
from agui_gate.cli.serving.plan import Plan, prepare
from agui_gate.cli.serving.uvicorn_server import Server, address_of, bind, configure
from agui_gate.errors import AguiGateError
from agui_gate.settings import load_settings

_VARIABLE = "_AGUI_GATE_SERVE"


def reload_forever(plan: Plan) -> None:
    """Serve ``plan``, again and again, until told to stop. Raises `ConfigurationError` for wrong settings."""
    from uvicorn.supervisors import ChangeReload

    settings = load_settings(plan.config, options=plan.options)
    with bind(settings.host, settings.port) as sock:
        typed: dict[str, Any] = {
            "target": plan.target,
            "config": str(plan.config) if plan.config else None,
            "options": dict(plan.options),
            "model": plan.model,
            "url": address_of(sock, settings.host),
        }
        os.environ[_VARIABLE] = json.dumps(typed)
        limits = limits_from(settings, raise_descriptors())
        config = configure("agui_gate.cli.serving.reloading:create", factory=True, reload=True, limits=limits)
        ChangeReload(config, target=Server(config).run, sockets=[sock]).run()


def create() -> Any:
    """Make the application in the child. What is wrong is told in one line, and the next change tries again."""
    typed = json.loads(os.environ[_VARIABLE])
    config = typed["config"]
    try:
        ready = prepare(Plan(typed["target"], Path(config) if config else None, typed["options"], typed["model"]))
    except AguiGateError as error:
        click.echo(f"error: {error.message}\nwaiting for a file to change", err=True)
        sys.exit(2)
    ready.announce(typed["url"])
    return ready.app
