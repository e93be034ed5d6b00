"""`serve --reload`: a process that watches files, and a child that is started again when one changes.

The child makes everything anew from what was typed, which it finds in an environment variable. Uvicorn passes it
nothing but the name of a factory.

Divergences from uvicorn's own reloader:

* a change is one since the child before was started, so none is lost that comes while the next one is loaded;
* Ctrl-C, which the terminal sends to both, reaches a child that is being loaded as the SIGTERM of its parent alone;
* SIGHUP stops it, too, unless it is ignored (`nohup`): a child that is left alone would keep the address.
"""

import json
import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import click
from uvicorn.supervisors.basereload import BaseReload

from agui_gate.cli.server.connections import limits_from, raise_descriptors
from agui_gate.cli.server.plan import Plan, prepare
from agui_gate.cli.server.uvicorn_server import Server, address_of, bind, configure, is_ours, unblock_signals
from agui_gate.cli.terminal.command_log import to_stderr
from agui_gate.config.settings import load_settings
from agui_gate.errors import AguiGateError

_VARIABLE = "_AGUI_GATE_SERVE"


def reload_forever(plan: Plan) -> None:
    """Serves ``plan``, again and again, until told to stop. Raises `ConfigurationError` for wrong settings."""
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
        config = configure("agui_gate.cli.server.reload:create", factory=True, reload=True, limits=limits)
        Reloader(config, target=Server(config).run, sockets=[sock]).run()


class Reloader(BaseReload):
    """Looks at the times of all Python files here, four times a second."""

    def startup(self) -> None:
        """Starts the first child."""
        self._seen = self._times()
        hangup = getattr(signal, "SIGHUP", None)
        if hangup is not None and is_ours(hangup):
            signal.signal(hangup, self.signal_handler)
        unblock_signals()
        with _held_back():
            super().startup()

    def restart(self) -> None:
        """Ends the child, and starts another one."""
        with _held_back():
            super().restart()

    def should_restart(self) -> list[Path] | None:
        """Returns the files that have changed since the last look. New ones don't count: somebody has to import
        them.
        """
        self.pause()
        before, self._seen = self._seen, self._times()
        return [file for file, time in self._seen.items() if time > before.get(file, time)] or None

    def _times(self) -> dict[Path, float]:
        return {file: time for folder in self.config.reload_dirs for file, time in _times_in(folder)}


def _times_in(folder: Path) -> Iterator[tuple[Path, float]]:
    for file in folder.rglob("*.py"):
        try:
            yield file.resolve(), file.stat().st_mtime
        except OSError:  # it is gone again
            continue


@contextmanager
def _held_back() -> Iterator[None]:
    """SIGINT waits meanwhile. A process that is started in here holds it back until it serves."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start, which would come in between, ends the holding back
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def create() -> Any:
    """Makes the application in the child. What is wrong is told in one line, and the next change tries again."""
    typed = json.loads(os.environ[_VARIABLE])
    config = typed["config"]
    try:
        ready = prepare(Plan(typed["target"], Path(config) if config else None, typed["options"], typed["model"]))
    except AguiGateError as error:
        click.echo(f"error: {error.message}\nwaiting for a file to change", err=True)
        sys.exit(2)
    to_stderr(logging.getLevelNamesMapping()[ready.settings.log_level.upper()], ready.settings.log_format)
    ready.announce(typed["url"])
    return ready.app
