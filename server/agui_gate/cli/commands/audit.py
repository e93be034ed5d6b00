"""`agui-gate audit`: what happened to approvals, by whom and which way; and whether anybody changed that."""

import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import click
import msgspec

from agui_gate.cli.interruptible import run as run_interruptible
from agui_gate.cli.opened_store import opened
from agui_gate.cli.program import FAILED, config_option, debug_option
from agui_gate.cli.terminal.console import dim
from agui_gate.core.audit import Break, Chains, Event, Head
from agui_gate.errors import ConfigurationError
from agui_gate.settings import Settings, load_settings
from agui_gate.stores.audit import AuditStore

PAGE = 500
EVERY_SECONDS = 2.0
"""How often a command that takes long says how far it is, on a terminal."""

HELP = """Check and export the audit trail: what happened to each approval, by whom and which way.

Each thread's events are a chain: each has the hash of the one before it. `verify` finds what was changed, left out
or added. Who owns the database can write a whole chain anew. So print the heads of the chains now and then, keep
them where that person can't write, and hand them to `verify`.

\b
Examples:
  agui-gate audit verify
  agui-gate audit heads > heads-monday.jsonl
  agui-gate audit verify --heads heads-monday.jsonl
  agui-gate audit export --since 2026-11-01 > events.jsonl
  agui-gate audit export --principal alice | jq 'select(.kind == "approved")'

An event has no arguments, results or reasons: digests (SHA-256) of them, and the names of what a person edited.

\b
Exit codes: 0 well, all chains are whole; 1 a chain is broken, or the store is not available; 2 wrong use.
"""

store_option = click.option("--store", metavar="URL", help="Another store than the one in the settings.")
principal_option = click.option("--principal", metavar="NAME", help="Only this principal's.")
thread_option = click.option("--thread", metavar="ID", help="Only of threads with this id.")


@click.group("audit", help=HELP)
def command() -> None:
    """Verify, export, heads."""


@command.command("verify", short_help="Check every chain; say where one is broken.")
@click.option("--heads", "kept", type=click.File("r"), help="Heads that were printed earlier: JSON lines.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@store_option
@config_option
@debug_option
@click.pass_context
def verify(ctx: click.Context, kept: IO[str] | None, as_json: bool, store: str | None, config: Path | None) -> None:
    """Check every chain; name the thread and the event where one is broken."""
    heads = _read_heads(kept) if kept else []
    checked = run_interruptible(_verify(load_settings(config, options={"store": store}), heads))
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(checked)))
    else:
        for broken in checked.broken:
            click.echo(
                f"thread {broken.thread_id or broken.thread} (key {broken.thread}), event {broken.seq}: {broken.why}"
            )
        click.echo(
            f"{checked.events:,} events in {checked.chains:,} chains: {'broken' if checked.broken else 'whole'}."
        )
    if checked.broken:
        ctx.exit(FAILED)


@command.command("export")
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]),
    help="Only events from this time on, in UTC.",
)
@principal_option
@thread_option
@store_option
@config_option
@debug_option
def export(
    since: datetime | None, principal: str | None, thread: str | None, store: str | None, config: Path | None
) -> None:
    """Print events as JSON lines, chain by chain. `body` is an object; the hash is over it as canonical JSON."""
    at = int(since.replace(tzinfo=UTC).timestamp() * 1000) if since else 0
    settings = load_settings(config, options={"store": store})

    async def run() -> None:
        async with opened(settings) as kept:
            async for event in _events(kept, principal=principal, thread_id=thread, since=at):
                click.echo(_line(event))

    run_interruptible(run())


@command.command("heads")
@store_option
@config_option
@debug_option
def heads(store: str | None, config: Path | None) -> None:
    """Print the head of each chain as a JSON line, to be kept elsewhere."""
    settings = load_settings(config, options={"store": store})

    async def run() -> None:
        async with opened(settings) as kept:
            async for head in _heads(kept):
                click.echo(msgspec.json.encode(head))

    run_interruptible(run())


class Place(msgspec.Struct, frozen=True):
    """Where a chain is broken. ``thread`` is the store's key of it, and ``thread_id`` the client's."""

    principal: str
    thread_id: str
    thread: str
    seq: int
    why: str


class Checked(msgspec.Struct):
    """What `verify` found."""

    events: int = 0
    chains: int = 0
    broken: list[Place] = []


_WORDS = {
    "missing": "events before it are missing",
    "added": "it is there twice, or was added",
    "changed": "it was changed",
    "not_the_head": "it is not what its head was, which was kept",
}
_NOT_THERE = "it is not there any more: cut off, removed, or aged out with all of its chain"


async def _verify(settings: Settings, heads: Sequence[Head]) -> Checked:
    checked, chains, last = Checked(), Chains(heads), ""
    async with opened(settings) as store:
        async for event in _events(store):
            checked.events += 1
            checked.chains += event.thread != last
            last = event.thread
            checked.broken += [_place(broken, event) for broken in chains.take(event)]
    checked.broken += [_place(broken, None) for broken in chains.missing()]
    return checked


def _place(broken: Break, event: Event | None) -> Place:
    if event is None:
        return Place("", "", broken.thread, broken.seq, _NOT_THERE)
    return Place(event.principal, event.thread_id, broken.thread, broken.seq, _WORDS[broken.why])


async def _events(
    store: AuditStore, *, principal: str | None = None, thread_id: str | None = None, since: int = 0
) -> AsyncIterator[Event]:
    """All of them, in pages; says on a terminal how far it is."""
    progress, cursor, number = Progress(), None, 0
    while True:
        page = await store.read_events(limit=PAGE, cursor=cursor, principal=principal, thread_id=thread_id, since=since)
        for event in page.events:
            yield event
        number, cursor = number + len(page.events), page.next_cursor
        if cursor is None:
            return
        progress(number)


async def _heads(store: AuditStore) -> AsyncIterator[Head]:
    cursor: str | None = None
    while True:
        page = await store.read_heads(limit=PAGE, cursor=cursor)
        for head in page.heads:
            yield head
        cursor = page.next_cursor
        if cursor is None:
            return


class Progress:
    """Says how many events were read, if somebody sits there."""

    def __init__(self) -> None:
        self._next = time.monotonic() + EVERY_SECONDS

    def __call__(self, number: int) -> None:
        """Told after each page."""
        if time.monotonic() >= self._next and sys.stderr.isatty():
            self._next = time.monotonic() + EVERY_SECONDS
            dim(f"{number:,} events", err=True)


def _line(event: Event) -> str:
    said: dict[str, Any] = msgspec.to_builtins(event)
    return msgspec.json.encode(said | {"body": msgspec.Raw(event.body.encode())}).decode()


def _read_heads(lines: IO[str]) -> list[Head]:
    try:
        return [msgspec.json.decode(line, type=Head) for line in lines if line.strip()]
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ConfigurationError("The file with the heads is not what `agui-gate audit heads` prints.") from None
