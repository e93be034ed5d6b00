"""`agui-gate support-bundle`: what whoever helps has to know of a deployment, without what is nobody's business."""

import json
import os
import platform
import sqlite3
import sys
import tempfile
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click
import msgspec

from agui_gate.adapter import Finding
from agui_gate.cli.commands.doctor import find_all
from agui_gate.cli.interrupts import run
from agui_gate.cli.log_lines import read_lines
from agui_gate.cli.program import Failure, config_option, debug_option
from agui_gate.cli.store_access import opened
from agui_gate.cli.terminal.console import log_to_stderr
from agui_gate.cli.terminal.layout import fit
from agui_gate.config.settings import Settings, load_settings, names
from agui_gate.core.secrets import masked
from agui_gate.errors import AguiGateError, ConfigurationError
from agui_gate.release import describe_release

HELP = """Write FILE (JSON) for whoever helps: settings, versions, counts, findings, last lines of the log.

It has no messages, arguments or results, no names of principals, no ids of threads, and no secrets. Of the log
(--log) only lines of agui-gate are in it, with the words that are listed in the documentation. Read it before you
send it.

\b
Examples:
  agui-gate support-bundle bundle.json
  agui-gate support-bundle bundle.json --log /var/log/agui-gate.log

Exit codes: 0 the file is complete; 1 it could not be written, and nothing of it is left; 2 usage error.
"""

PACKAGES = (
    *("agui-gate", "ag-ui-protocol", "anthropic", "httpx2", "mcp", "msgspec", "openai", "prometheus-client"),
    *("psycopg", "pydantic", "PyJWT", "redis", "sse-starlette", "starlette", "structlog", "uvicorn", "uvloop"),
)
PLAIN = ("access", "bus", "page", "store")
"""Findings of `doctor` whose details name nobody."""

MAX_LOG = 256 * 1024
"""Bytes of the end of the log that are read."""
MOST_LINES = 500
"""Lines of the log."""
WORDS = (
    *("timestamp", "level", "event", "release", "agent", "tool", "state", "way", "approved", "code", "status"),
    "outcome",
)
"""What is kept of a line of the log."""


@click.command("support-bundle", help=HELP)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--log", "log_file", type=click.Path(path_type=Path, dir_okay=False), help="The file with the log.")
@click.option("--store", metavar="URL", help="The store.  [default: from the settings]")
@config_option
@debug_option
@click.pass_context
def command(ctx: click.Context, file: Path, log_file: Path | None, store: str | None, config: Path | None) -> None:
    """Collect it, and write it as a whole or not at all."""
    log_to_stderr(ctx)
    if file.exists():
        raise ConfigurationError(f"{file} exists. Name another file.")
    bundle = run(_collect(store, config))
    if log_file is not None:
        bundle["log"] = last_lines(log_file)
    size = _write(file, json.dumps(bundle, indent=2, ensure_ascii=False).encode())
    click.echo(fit(f"{file}: {size:,} bytes. Read it before you send it.", sys.stdout))


async def _collect(store: str | None, config: Path | None) -> dict[str, Any]:
    bundle: dict[str, Any] = {"versions": _versions()}
    bundle["findings"] = [_finding(one) async for one in find_all(None, None, store, config, ask=False)]
    try:
        settings = load_settings(config, options={"store": store})
    except AguiGateError as error:
        return {**bundle, "settings": masked(error.message)}
    bundle["settings"] = {name: _shown(settings, name) for name in names()}
    try:
        bundle["store"] = await _counts(settings)
    except AguiGateError as error:
        bundle["store"] = masked(error.message)
    return bundle


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform(), "sqlite": sqlite3.sqlite_version}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found | {"agui-gate": describe_release()}


def _finding(finding: Finding) -> dict[str, Any]:
    """Returns a finding; its details only if they name nobody."""
    shown = finding.detail if finding.what in PLAIN and "token of" not in finding.detail else ""
    return {"what": finding.what, "ok": finding.ok, "detail": masked(shown), "fix": finding.fix}


def _shown(settings: Settings, name: str) -> dict[str, str]:
    value = f"of {len(settings.tokens)} principals" if name == "tokens" else masked(settings.shown(name))
    return {"value": value, "source": settings.source(name)}


async def _counts(settings: Settings) -> dict[str, Any]:
    from agui_gate.stores import schema_of

    async with opened(settings, any_past=True) as store:
        backlog = msgspec.to_builtins(await store.backlog())
        tally = msgspec.to_builtins(await store.tally())
        frozen = len(await store.freezes())
    return {"schema": await schema_of(settings.store), "waiting": backlog, "kept": tally, "freezes": frozen}


def last_lines(file: Path) -> list[str]:
    """Returns the last lines of a log, each with no more than `WORDS`. Raises `ConfigurationError`."""
    try:
        with file.open("rb") as opened_file:
            opened_file.seek(max(0, file.stat().st_size - MAX_LOG))
            text = opened_file.read(MAX_LOG).decode("utf-8", "replace")
    except OSError as error:
        raise ConfigurationError(f"The log {file} can't be read: {error.strerror}.") from None
    said = read_lines(text.splitlines())
    kept = [" ".join(f"{name}={value}" for name, value in line.items() if name in WORDS) for line in said]
    return [masked(line) for line in kept[-MOST_LINES:]]


def _write(file: Path, content: bytes) -> int:
    """Writes a file that was not there, all of it or nothing; returns its bytes. Raises `Failure`."""
    made: str | None = None
    try:
        handle, made = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.replace(made, file)
    except OSError as error:
        if made is not None:
            with suppress(OSError):
                os.unlink(made)
        raise Failure(
            f"{file} can't be written: {error.strerror}. Nothing is left of it. Name a file elsewhere."
        ) from None
    return len(content)
