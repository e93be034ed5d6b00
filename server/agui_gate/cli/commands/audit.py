"""`agui-gate audit`: what happened to approvals, by whom and which way; and whether anybody changed that."""

import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import IO, Any

import click
import msgspec

from agui_gate.cli.interrupts import run as run_interruptible
from agui_gate.cli.log_lines import read_lines
from agui_gate.cli.program import FAILED, approval_argument
from agui_gate.cli.store_access import opened, store_options
from agui_gate.cli.terminal.console import dim, short, table, whole
from agui_gate.cli.terminal.layout import fit
from agui_gate.config.settings import Settings
from agui_gate.core.audit import Event, Head
from agui_gate.core.principals import owner_key
from agui_gate.core.visible_text import visible
from agui_gate.errors import InvalidRequest
from agui_gate.extra_loader import load
from agui_gate.protocol.cards import iso, record
from agui_gate.stores.audit import AuditStore, Part

PAGE = 500
_ALWAYS = ("events", "chains", "broken")
EVERY_SECONDS = 2.0
"""Seconds after which a command that takes long says again how far it is, on a terminal."""

HELP = """Read, verify and export the audit trail: what happened to each approval, who decided it, and where.

Each thread's events are a chain: each has the hash of the one before it. `verify` finds events that were
changed, removed or added. The owner of the database could rewrite a whole chain. To detect that, export the heads of
the chains regularly, keep them elsewhere, and pass them to `verify`; or sign the events (AGUI_GATE_AUDIT_KEY).

\b
Examples:
  agui-gate audit ls --tool refund --since 2026-11-01
  agui-gate audit ls --by alice --decision approved        what alice approved, on whosever calls
  agui-gate audit show apr_1f0c…
  agui-gate audit verify
  agui-gate audit heads > heads-monday.jsonl
  agui-gate audit verify --heads heads-monday.jsonl
  agui-gate audit compare server.log                       what ran since, after a backup was restored
  agui-gate audit export --since 2026-11-01 > events.jsonl
  agui-gate audit export --principal alice | jq 'select(.kind == "approved")'

Events don't contain arguments or results, only their SHA-256 digests and the names of edited arguments. Reasons are
encrypted in them; `ls --json` and `show` decrypt them.

Exit codes: 0 all chains are intact; 1 a chain is broken, a log tells of more, or the store is not available; 2 usage
error.
"""

TIME = "such as 2026-11-01 or 2026-11-01T08:30; UTC if it says nothing else."
store_option = store_options("read")
principal_option = click.option("--principal", metavar="NAME", help="Only this principal's.")
thread_option = click.option("--thread", metavar="ID", help="Only of threads with this id.")


@click.group("audit", help=HELP)
def command() -> None:
    """Verify, export, heads."""


@command.command("verify", short_help="Verify every chain, and print where one is broken.")
@click.option("--heads", "kept", type=click.File("r"), help="Heads that were kept: printed by `heads`, or a log.")
@click.option("--head", "given", metavar="KEY:SEQ:HASH", multiple=True, help="A head, as in the log (repeatable).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@store_option
@click.pass_context
def verify(
    ctx: click.Context,
    kept: IO[str] | None,
    given: Sequence[str],
    as_json: bool,
    settings: Settings,
) -> None:
    """Check every chain; name the thread and the event where one is broken."""
    reader = load("audit.verification")
    heads = [*(reader.read_heads(kept) if kept else ()), *map(reader.read_head, given)]
    checked = run_interruptible(_verify(settings, heads))
    if as_json:
        said = msgspec.to_builtins(checked)
        click.echo(json.dumps({name: value for name, value in said.items() if name in _ALWAYS or value}))
    else:
        for broken in checked.broken:
            where = f"thread {broken.thread_id or broken.thread} (key {broken.thread}), event {broken.seq}"
            click.echo(fit(f"{where}: {broken.why}", sys.stdout))
        erased = f", {checked.erased:,} without the names of erased people" if checked.erased else ""
        pruned = f", {checked.pruned:,} deleted by their age" if checked.pruned else ""
        pruned += f" (with {checked.pruned_heads:,} heads)" if checked.pruned_heads else ""
        state = "broken" if checked.broken else "whole"
        click.echo(f"{checked.events:,} events in {checked.chains:,} chains{erased}{pruned}: {state}.")
    if checked.broken:
        ctx.exit(FAILED)


@command.command("compare", short_help="Tell what a log says was decided and the store lacks.")
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, type=click.File("r", errors="replace"))
@click.option("--since", default="", metavar="TIME", help=f"Only lines from this time on, {TIME}")
@click.option("--json", "as_json", is_flag=True, help="Print lines of JSON.")
@store_option
@click.pass_context
def compare(ctx: click.Context, logs: Sequence[IO[str]], since: str, as_json: bool, settings: Settings) -> None:
    """Tell which calls a server's log says were decided and the store lacks, or doesn't know what came of.

    For a store that was restored: what was carried out since the backup. "not there": the call is not in the store at
    all. Of one that is pending or unknown, `agui-gate ops show ID` has the arguments and the idempotency key.
    """
    found = run_interruptible(_compare(settings, chain.from_iterable(logs), since))
    if as_json:
        for one in found:
            click.echo(msgspec.json.encode(one))
    elif not found:
        click.echo("The store has all that the log says was decided.")
    else:
        head = ("TIME (UTC)", "APPROVAL", "TOOL", "OWNER", "THREAD", "IN THE LOG", "IN THE STORE")
        click.echo(table([_difference_row(one) for one in found], head))
    if found:
        ctx.exit(FAILED)


async def _compare(settings: Settings, lines: Iterable[str], since: str) -> list[Any]:
    comparison = load("audit.comparison")
    since = since and iso(_wanted({"since": since}).since)[:19]  # a log's times have more digits
    logged = comparison.read_decisions(read_lines(lines), since)
    async with opened(settings, any_past=True) as store:
        found: list[Any] = await comparison.compare(store, logged)
    return found


def _difference_row(one: Any) -> Sequence[str]:
    said = one.logged
    names = (whole(one.approval or said.approval), short(said.tool, 40), whole(said.owner), whole(said.thread))
    return (said.at[:19].replace("T", " "), *names, short(said.state, 20), one.here or "not there")


@command.command("export", short_help="Print events as JSON lines, chain by chain.")
@click.option("--since", default="", metavar="TIME", help=f"Only events from this time on, {TIME}")
@principal_option
@click.option("--tenant", default="", metavar="NAME", help="The tenant of that principal.")
@thread_option
@store_option
def export(
    since: str,
    principal: str | None,
    tenant: str,
    thread: str | None,
    settings: Settings,
) -> None:
    """Print events as JSON lines, chain by chain. `body` is an object; the hash is over it as canonical JSON."""
    if tenant and not principal:
        raise click.UsageError("--tenant goes with --principal.")
    principal = principal and owner_key(tenant, principal)
    at = _wanted({"since": since}).since

    async def run() -> None:
        async with opened(settings, any_past=True) as kept:
            async for event in load("audit.verification").all_events(
                kept, principal=principal, thread_id=thread, since=at
            ):
                click.echo(_line(event))

    run_interruptible(run())


@command.command("heads", short_help="Print the head of each chain, to be kept elsewhere.")
@store_option
def heads(settings: Settings) -> None:
    """Print the head of each chain as a JSON line, to be kept elsewhere."""

    async def run() -> None:
        async with opened(settings, any_past=True) as kept:
            async for head in _heads(kept):
                click.echo(msgspec.json.encode(head))

    run_interruptible(run())


async def _verify(settings: Settings, heads: Sequence[Head]) -> Any:
    """Verifies the store that settings name, by their keys."""
    keys = load("audit.keys").read_keys(settings)
    async with opened(settings, any_past=True) as store:
        return await load("audit.verification").verify(store, heads, keys, Progress())


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


# --- for people


def filters(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options that say which entries are wanted."""
    told = {
        "since": ("TIME", f"Only from this time on, {TIME}"),
        "until": ("TIME", "Only before this time."),
        "tool": ("NAME", "Only calls of this tool."),
        "agent": ("NAME", "Only calls of this agent."),
        "person": ("NAME", "Only what this person, or principal, asked for or did."),
        "by": ("NAME", "Only what this person did, on whosever calls."),
        "thread": ("ID", "Only of threads with this id."),
        "decision": ("KIND", "Only events of this kind, such as approved or rejected."),
    }
    for name, (metavar, text) in reversed(told.items()):
        command = click.option(f"--{name}", metavar=metavar, help=text)(command)
    return command


@command.command("ls", short_help="List what happened, newest first.")
@filters
@click.option("--tenant", metavar="NAME", help='Only of this tenant; "" for owners without one.')
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many entries.")
@click.option("--json", "as_json", is_flag=True, help="Print lines of JSON.")
@store_option
def ls(tenant: str | None, limit: int, as_json: bool, settings: Settings, **given: str | None) -> None:
    """List what happened to calls, newest first."""
    entries = run_interruptible(_entries(settings, given, limit, tenant=tenant))
    if as_json:
        for entry in entries:
            click.echo(msgspec.json.encode(entry))
    elif not entries:
        click.echo("There is no such entry.")
    else:
        rows = [
            (
                entry["at"][:19].replace("T", " "),
                short(entry["text"], 90),
                short(entry["tool"], 30),
                short(entry["approval_id"], 40),
            )
            for entry in entries
        ]
        click.echo(table(rows, ("TIME (UTC)", "WHAT", "TOOL", "APPROVAL")))


@command.command("show", short_help="Tell the story of one approval.")
@approval_argument
@click.option("--json", "as_json", is_flag=True, help="Print lines of JSON.")
@store_option
@click.pass_context
def show(ctx: click.Context, approval_id: str, as_json: bool, settings: Settings) -> None:
    """Tell the story of one approval, oldest first: who asked, who decided, what ran."""
    entries = run_interruptible(_entries(settings, {"approval": approval_id}, 10_000, approval_id=approval_id))
    if not entries:
        click.echo(fit(f"There is no approval {short(approval_id, 80)} in this store.", sys.stderr), err=True)
        ctx.exit(FAILED)
    for entry in reversed(entries):
        if as_json:
            click.echo(msgspec.json.encode(entry))
            continue
        click.echo(fit(f"{entry['at'][:19].replace('T', ' ')}  {visible(entry['text'])}", sys.stdout, hang=21))
        for name, text in _details(entry):
            dim(f"                     {name}: {short(text, 2_000)}")


def _details(entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields what else an entry says, for one who reads the story."""
    if entry["kind"] == "asked":
        yield "arguments", json.dumps(entry["arguments"], ensure_ascii=False)
    if entry["kind"] in ("approved", "agreed") and entry["edited"]:
        yield "changed to", json.dumps(entry["effective_arguments"], ensure_ascii=False)
    if entry["kind"] == "claimed":
        yield "with", json.dumps(entry["effective_arguments"], ensure_ascii=False)
    if entry["result"] is not None:
        yield "result", entry["result"]
    if entry["model"]:
        yield "model", f"{entry['model']}, {entry['input_tokens'] or 0} tokens in, {entry['output_tokens'] or 0} out"
    for name in ("acr", "jti", "response_id"):
        if entry[name] and (name != "response_id" or entry["kind"] == "asked"):
            yield name.replace("_", " "), entry[name]


def _wanted(given: Mapping[str, str | None]) -> Any:
    """Returns what is asked for, see `audit.entries.Wanted`. Raises `click.UsageError`."""
    try:
        return load("audit.entries").read_wanted({name: value for name, value in given.items() if value})
    except InvalidRequest as error:
        raise click.UsageError(error.message) from None


async def _entries(settings: Settings, given: Mapping[str, str | None], limit: int, **part: str | None) -> list[Any]:
    """Returns entries, newest first."""
    entries, wanted = load("audit.entries"), _wanted(given)
    async with opened(settings, any_past=True) as store:
        trail = entries.Trail(store, (Part(**part),), wanted, record)
        found: list[Any] = []
        before = entries.END
        while before is not None and len(found) < limit:
            more, before = await trail.page(limit - len(found), before)
            found += more
    return found
