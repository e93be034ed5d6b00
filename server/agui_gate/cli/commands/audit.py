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

from agui_gate.cli.interrupts import run as run_interruptible
from agui_gate.cli.program import FAILED, config_option, debug_option
from agui_gate.cli.store_access import opened
from agui_gate.cli.terminal.console import dim
from agui_gate.cli.terminal.layout import fit
from agui_gate.config.settings import Settings, load_settings
from agui_gate.core.audit import Event, Head
from agui_gate.core.audit_verification import Break, Chains, Ledger
from agui_gate.errors import ConfigurationError
from agui_gate.stores.audit import AuditStore
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.cursor import Place as After
from agui_gate.stores.cursor import to_cursor

PAGE = 500
EVERY_SECONDS = 2.0
"""Seconds after which a command that takes long says again how far it is, on a terminal."""

HELP = """Verify and export the audit trail: what happened to each approval, and who decided it, where.

Each thread's events are a chain: each has the hash of the one before it. `verify` finds events that were
changed, removed or added. The owner of the database could rewrite a whole chain. To detect that, export the heads of
the chains regularly, keep them elsewhere, and pass them to `verify`.

\b
Examples:
  agui-gate audit verify
  agui-gate audit heads > heads-monday.jsonl
  agui-gate audit verify --heads heads-monday.jsonl
  agui-gate audit export --since 2026-11-01 > events.jsonl
  agui-gate audit export --principal alice | jq 'select(.kind == "approved")'

Events don't contain arguments, results or reasons, only their SHA-256 digests and the names of edited arguments.

Exit codes: 0 all chains are intact; 1 a chain is broken, or the store is not available; 2 usage error.
"""

store_option = click.option("--store", metavar="URL", help="The store to read.  [default: from the settings]")
principal_option = click.option("--principal", metavar="NAME", help="Only this principal's.")
thread_option = click.option("--thread", metavar="ID", help="Only of threads with this id.")


@click.group("audit", help=HELP)
def command() -> None:
    """Verify, export, heads."""


@command.command("verify", short_help="Verify every chain, and print where one is broken.")
@click.option("--heads", "kept", type=click.File("r"), help="Heads exported earlier, as JSON lines.")
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
            where = f"thread {broken.thread_id or broken.thread} (key {broken.thread}), event {broken.seq}"
            click.echo(fit(f"{where}: {broken.why}", sys.stdout))
        click.echo(
            f"{checked.events:,} events in {checked.chains:,} chains: {'broken' if checked.broken else 'whole'}."
        )
    if checked.broken:
        ctx.exit(FAILED)


@command.command("export", short_help="Print events as JSON lines, chain by chain.")
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
        async with opened(settings, any_past=True) as kept:
            async for event in _events(kept, principal=principal, thread_id=thread, since=at):
                click.echo(_line(event))

    run_interruptible(run())


@command.command("heads", short_help="Print the head of each chain, to be kept elsewhere.")
@store_option
@config_option
@debug_option
def heads(store: str | None, config: Path | None) -> None:
    """Print the head of each chain as a JSON line, to be kept elsewhere."""
    settings = load_settings(config, options={"store": store})

    async def run() -> None:
        async with opened(settings, any_past=True) as kept:
            async for head in _heads(kept):
                click.echo(msgspec.json.encode(head))

    run_interruptible(run())


class Place(msgspec.Struct, frozen=True):
    """A place where a chain is broken. ``thread`` is the store's key of it, and ``thread_id`` the client's."""

    principal: str
    thread_id: str
    thread: str
    seq: int
    why: str


class Checked(msgspec.Struct):
    """The findings of `verify`."""

    events: int = 0
    chains: int = 0
    broken: list[Place] = []


_WORDS = {
    "missing": "events before it are missing",
    "added": "it is a duplicate, or was added",
    "changed": "it was changed",
    "not_the_head": "it differs from the exported head",
}
_NOT_THERE = "it is missing: truncated, removed, or expired with its chain"


_DIFFERS = {
    "arguments": "its record has arguments that were not asked about or approved",
    "decision": "its record has another decision, or a decision of another person",
    "state": "its record is in another state",
    "output": "its record has another result",
    "not_asked": "it has a record, but the trail has no question about it",
    "no_record": "it has no record, and the trail has no deletion of it",
}


async def _verify(settings: Settings, heads: Sequence[Head]) -> Checked:
    checked, chains, ledger = Checked(), Chains(heads), Ledger()
    last: Event | None = None
    async with opened(settings, any_past=True) as store:
        async for event in _events(store):
            if last is None or event.thread != last.thread:
                await _hold(checked, ledger, last, store)
                ledger = Ledger()
                checked.chains += 1
            checked.events += 1
            last = event
            ledger.apply(event)
            checked.broken += [_place(broken, event) for broken in chains.check(event)]
        await _hold(checked, ledger, last, store)
        checked.broken += [
            Place(one.principal, one.thread_id, "", 0, f"approval {one.id}: {_DIFFERS['not_asked']}")
            for one in await store.read_ledger(None)
        ]
    checked.broken += [_place(broken, None) for broken in chains.missing()]
    return checked


async def _hold(checked: Checked, ledger: Ledger, last: Event | None, store: FullStore) -> None:
    """Holds the records of a thread against its chain up to ``last``. What happens meanwhile is no finding."""
    if last is None:
        return
    found = ledger.differences(await store.read_ledger(last.thread))
    now = (
        (await store.read_events(limit=PAGE, cursor=to_cursor(After(int(last.thread), last.seq)))).events
        if found
        else []
    )
    busy = {event.approval_id for event in now if event.thread == last.thread}
    checked.broken += [
        Place(last.principal, last.thread_id, last.thread, seq, f"approval {name}: {_DIFFERS[why]}")
        for name, seq, why in found
        if name not in busy
    ]


def _place(broken: Break, event: Event | None) -> Place:
    if event is None:
        return Place("", "", broken.thread, broken.seq, _NOT_THERE)
    return Place(event.principal, event.thread_id, broken.thread, broken.seq, _WORDS[broken.why])


async def _events(
    store: AuditStore, *, principal: str | None = None, thread_id: str | None = None, since: int = 0
) -> AsyncIterator[Event]:
    """Yields all of them, in pages; says on a terminal how far it is."""
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
    """Prints how many events were read, where stderr is a terminal."""

    def __init__(self) -> None:
        self._next = time.monotonic() + EVERY_SECONDS

    def __call__(self, number: int) -> None:
        """Shows how far it is, after each page."""
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
