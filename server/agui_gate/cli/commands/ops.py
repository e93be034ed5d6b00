"""`agui-gate ops`: what everybody's threads and calls do, and what an operator can do about it."""

import json
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import click

from agui_gate.cli.interrupts import run as run_interruptible
from agui_gate.cli.program import FAILED, approval_argument, config_option, debug_option, json_option
from agui_gate.cli.remote_server import RemoteServer, token_option
from agui_gate.cli.store_access import opened, user_name
from agui_gate.cli.terminal.console import print_hint, printable, short, table, whole
from agui_gate.cli.terminal.layout import fit
from agui_gate.config.settings import load_settings
from agui_gate.core.freezes import Freeze
from agui_gate.errors import ConfigurationError
from agui_gate.extra_loader import load

Json = dict[str, Any]

HELP = """List what everybody's threads and calls do; stop, settle, freeze, hand on.

It works on the store of the settings (or --store), for who can reach that. With --url it asks a server, for
principals with the role operator; they see their own tenant.

\b
Examples:
  agui-gate ops runs                                       what is at work, and whose process died
  agui-gate ops approvals --state unknown
  agui-gate ops show apr_5f0c2a71…                         one call: its arguments and idempotency key
  agui-gate ops settle apr_5f0c2a71… --done --result "Refund R-17, 20 EUR" --reason "Seen in the ledger"
  agui-gate ops stop THREAD --reason "The provider hangs"
  agui-gate ops who alice
  agui-gate ops freeze --tool refund --reason "The till is checked"
  agui-gate ops hand-on alice bob --reason "Alice has left"
  agui-gate ops runs --url https://gate.example --token TOKEN
  agui-gate ops replicas --url https://gate.example        which release each replica runs

With tenants, an owner on the store is called tenant/name. Each change is in the audit trail with who made it (your
user name, --operator, or the principal of the token) and why: don't write names of people or secrets into a reason.

Exit codes: 0 success; 1 refused, not there, or not ended yet; 2 usage error, or nothing is listening at the address.
"""


class Place(NamedTuple):
    """Where an operator works: on a store, or at a server."""

    store: str | None
    config: Path | None
    url: str | None
    token: str | None
    operator: str | None
    as_json: bool

    def do(self, work: Callable[[Any], Coroutine[Any, Any, Json]], method: str, path: str, said: Json | None) -> Json:
        """Returns what ``work`` at a desk gives; or the answer of a server to that request. Raises as they do."""
        if self.url is not None and self.store is None:
            if self.operator is not None:
                raise ConfigurationError("A server knows who you are by your token: leave --operator out.")
            with RemoteServer(self.url, self.token) as server:
                return server.ask(method, path, said)
        return run_interruptible(self._at_store(work))

    async def _at_store(self, work: Callable[[Any], Coroutine[Any, Any, Json]]) -> Json:
        settings = load_settings(self.config, options={"store": self.store})
        async with opened(settings) as store:
            return await work(load("operations.desk").Desk(store, self.operator or user_name()))


def at_place(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of `Place`."""

    @wraps(command)
    def placed(
        store: str | None,
        config: Path | None,
        url: str | None,
        token: str | None,
        operator: str | None,
        as_json: bool,
        **more: Any,
    ) -> None:
        command(Place(store, config, url, token, operator, as_json), **more)

    options = (
        click.option("--store", metavar="URL", help="The store to use.  [default: from the settings]"),
        click.option("--url", envvar="AGUI_GATE_URL", help="Ask this server instead.  [env: AGUI_GATE_URL]"),
        token_option,
        click.option("--operator", metavar="NAME", help="Who you are, on a store.  [default: your user name]"),
        json_option,
        config_option,
        debug_option,
    )
    for option in reversed(options):
        placed = option(placed)
    return placed


reason_option = click.option("--reason", required=True, metavar="TEXT", help="Why; it is kept in the audit trail.")
limit_option = click.option(
    "--limit", type=click.IntRange(1, 200), default=50, show_default=True, help="Rows of a page."
)
cursor_option = click.option("--cursor", metavar="TEXT", help="Go on where the page before ended.")


@click.group("ops", help=HELP)
def command() -> None:
    """List, stop, settle, freeze, hand on."""


@command.command("runs", short_help="List what is at work.")
@at_place
def runs(place: Place) -> None:
    """List what is at work on all replicas; lost: its process died, or doesn't renew its lease."""
    told = place.do(lambda desk: desk.runs(), "GET", "/ops/runs", None)
    _show(
        place,
        told,
        told["runs"],
        "Nothing is at work.",
        ("RUN", "OWNER", "THREAD", "AGENT", "SAVED", "STATE"),
        _run_row,
    )
    if told["more"] and not place.as_json:
        print_hint(f"There are more than these {len(told['runs']):,}.")


@command.command("threads", short_help="List threads.")
@click.option("--owner", metavar="NAME", help="Only this owner's, those that changed last first.")
@limit_option
@cursor_option
@at_place
def threads(place: Place, owner: str | None, limit: int, cursor: str | None) -> None:
    """List threads, owner by owner."""
    path = _query("/ops/threads", owner=owner, limit=limit, cursor=cursor)
    told = place.do(lambda desk: desk.threads(owner=owner, limit=limit, cursor=cursor), "GET", path, None)
    head = ("THREAD", "OWNER", "AGENT", "CHANGED", "RUN", "PENDING")
    _show(place, told, told["threads"], "There are no threads.", head, _thread_row)


@command.command("approvals", short_help="List calls that wait, are at work, or came to nothing known.")
@click.option(
    "--state",
    type=click.Choice(("pending", "claimed", "orphaned", "unknown")),
    default="pending",
    show_default=True,
    help="claimed: at work; orphaned: the process that ran it died; unknown: nobody knows what came of it.",
)
@limit_option
@cursor_option
@at_place
def approvals(place: Place, state: str, limit: int, cursor: str | None) -> None:
    """List gated calls in one state, owner by owner, oldest first."""
    path = _query("/ops/approvals", state=state, limit=limit, cursor=cursor)
    told = place.do(lambda desk: desk.approvals(state, limit=limit, cursor=cursor), "GET", path, None)
    head = ("ID", "OWNER", "THREAD", "TOOL", "STATE", "ASKED")
    _show(place, told, told["approvals"], f"No call is {state}.", head, _call_row)


@command.command("show", short_help="Show one call: its arguments, and its idempotency key.")
@approval_argument
@at_place
def show(place: Place, approval_id: str) -> None:
    """Show one call: what ran, and the idempotency key that its tool was given."""
    path = f"/ops/approvals/{quote(approval_id, safe='')}"
    _print_call(place, place.do(lambda desk: desk.approval(approval_id), "GET", path, None))


@command.command("settle", short_help="Say what came of a call whose outcome is unknown.")
@approval_argument
@click.option("--done", "done", flag_value=True, type=bool, default=None, help="It took effect.")
@click.option("--failed", "done", flag_value=False, type=bool, help="It did not take effect.")
@click.option("--result", required=True, metavar="TEXT", help="What was found out; the model is told it.")
@reason_option
@at_place
def settle(place: Place, approval_id: str, done: bool | None, result: str, reason: str) -> None:
    """Say what came of a call whose outcome is unknown. The model is told in the thread's next run.

    Look first: `agui-gate ops show ID` has the idempotency key by which the other system may know it.
    """
    if done is None:
        raise click.UsageError("Say --done if it took effect, or --failed if it did not.")
    path = f"/ops/approvals/{quote(approval_id, safe='')}/settle"
    said = {"done": done, "result": result, "reason": reason}
    _print_call(place, place.do(lambda desk: desk.settle(approval_id, done, result, reason), "POST", path, said))


@command.command("stop", short_help="Stop what is at work on a thread, on whichever replica.")
@click.argument("thread_id", metavar="THREAD")
@click.option("--owner", metavar="NAME", help="Whose thread it is, where several have one of this id.")
@reason_option
@at_place
@click.pass_context
def stop(ctx: click.Context, place: Place, thread_id: str, owner: str | None, reason: str) -> None:
    """Stop what is at work on a thread, on whichever replica. THREAD is its id, or the key of a run.

    A call that was running becomes unknown. What waits for a person goes on waiting.
    """
    said = {"reason": reason, **({"owner": owner} if owner is not None else {})}
    path = f"/ops/threads/{quote(thread_id, safe='')}/stop"
    told = place.do(lambda desk: desk.stop(thread_id, reason, owner), "POST", path, said)
    if place.as_json:
        click.echo(json.dumps(told, indent=2))
    elif told["state"] == "stopped":
        click.echo(fit(f"Stopped {_id(told['run'])} on thread {_id(told['thread_id'])} of {_owner(told)}.", sys.stdout))
        for name in told.get("unknown", ()):
            click.echo(fit(f"{_id(name)} is unknown: perhaps it took effect. Look there, then say:", sys.stdout))
            click.echo(f"  agui-gate ops settle {_id(name)} --done|--failed --result TEXT --reason TEXT")
    elif told["state"] == "idle":
        click.echo("It had ended already.")
    elif told["state"] == "lost":
        click.echo("Its process has died, or hangs: it has lost the thread, and can't be asked to stop.")
        click.echo("If it hangs, end it with SIGKILL, as it might carry a call out later. Another server on this store")
        click.echo("settles within ten seconds what it left: agui-gate ops approvals --state unknown")
    else:
        click.echo("It was asked to stop, and has not ended yet. If its process hangs, end that with SIGKILL.")
        click.echo("The thread is free again half a minute later: docs/runbook/claimed.md.")
    if told["state"] in ("asked", "lost"):
        ctx.exit(FAILED)


@command.command("who", short_help="Show what belongs to an owner.")
@click.argument("owner", metavar="OWNER")
@at_place
def who(place: Place, owner: str) -> None:
    """Show what belongs to an owner: runs, threads, calls that are not settled, grants."""
    told = place.do(lambda desk: desk.who(owner), "GET", f"/ops/owners/{quote(owner, safe='')}", None)
    if place.as_json:
        click.echo(json.dumps(told, indent=2))
        return
    listed = told["threads"]
    rows = [("runs", _ids(run["run"] for run in told["runs"]))]
    rows.append(("threads", f"{listed['number']}{' and more' if listed['more'] else ''}"))
    for state, calls in told["approvals"].items():
        rows.append((state, _ids(f"{call['tool']} ({call['id']})" for call in calls)))
    rows.append(("grants", _ids(f"{grant['tool']} ({grant['id']})" for grant in told["grants"])))
    click.echo(table([(name, cell or "none") for name, cell in rows], ("OF", _owner(told))))


@command.command("replicas", short_help="Show which release each replica runs.")
@at_place
@click.pass_context
def replicas(ctx: click.Context, place: Place) -> None:
    """Show which release each replica runs, as they tell each other (--url). Exit code 1: not all the same one."""
    if place.url is None or place.store is not None:
        raise click.UsageError("Replicas tell it each other, not the store: ask one of them by --url.")
    server = place.do(lambda desk: desk.runs(), "GET", "/ops/summary", None)["server"]
    told, silent = server["replicas"], server["silent"]
    if place.as_json:
        click.echo(json.dumps({"replicas": told, "silent": silent}, indent=2))
    elif not told:
        click.echo(fit("There are none that you may see: only an operator of all tenants is told.", sys.stdout))
    else:
        rows = [
            (short(one["host"], 60), str(one["pid"]), one["version"], one["revision"] or "not known") for one in told
        ]
        rows += [(f"{silent} more", "", "older, or not reached", "")] if silent else []
        click.echo(table(rows, ("HOST", "PROCESS", "VERSION", "COMMIT")))
    if silent or len({(one["version"], one["revision"]) for one in told}) != 1:
        ctx.exit(FAILED)


@command.command("hand-on", short_help="Give an owner's threads to another owner.")
@click.argument("owner", metavar="FROM")
@click.argument("to", metavar="TO")
@reason_option
@at_place
@click.pass_context
def hand_on(ctx: click.Context, place: Place, owner: str, to: str, reason: str) -> None:
    """Give an owner's threads, with what waits on them, to another owner of the same tenant.

    Threads at which something is at work stay, and so do those of whose id the other one has one. Grants stay.
    """
    said = {"to": to, "reason": reason}
    path = f"/ops/owners/{quote(owner, safe='')}/hand-on"
    told = place.do(lambda desk: desk.hand_on(owner, to, reason), "POST", path, said)
    if place.as_json:
        click.echo(json.dumps(told, indent=2))
    else:
        number = len(told["threads"])
        click.echo(f"{number} thread{'' if number == 1 else 's'} handed on to {_owner(told['to'])}.")
        if not (number or told["left"]):
            print_hint(f"{_owner(told['from'])} has no threads. agui-gate ops threads lists whose there are.")
        for name, why in told["left"].items():
            print_hint(f"{_id(name)} stays: {short(why, 300)}")
    if told["left"] or not told["threads"]:
        ctx.exit(FAILED)


@command.command("freeze", short_help="Stop gated calls from being approved, on all replicas at once.")
@click.option("--tool", metavar="NAME", help="Only calls of the tool with this name.")
@click.option("--agent", metavar="NAME", help="Only calls of this agent.")
@click.option("--tenant", metavar="NAME", help='Only calls of this tenant; "" for owners without one.')
@click.option("--reason", default="", metavar="TEXT", help="Why; people are told who would approve a call.")
@click.option("--lift", is_flag=True, help="End the freeze of just this.")
@click.option("--list", "as_list", is_flag=True, help="Print what is frozen, and change nothing.")
@at_place
@click.pass_context
def freeze(
    ctx: click.Context,
    place: Place,
    tool: str | None,
    agent: str | None,
    tenant: str | None,
    reason: str,
    lift: bool,
    as_list: bool,
) -> None:
    """Stop gated calls from being approved, on all replicas at once; as `agui-gate freeze`, and in the audit trail."""
    if as_list:
        told = place.do(lambda desk: desk.freezes(), "GET", "/ops/freezes", None)
    else:
        said = {"tool": tool, "agent": agent, "tenant": tenant, "reason": reason, "lift": lift}
        wanted = Freeze(tool=tool, agent=agent, of_tenant=tenant, reason=reason)
        told = place.do(lambda desk: desk.freeze(wanted, lift=lift), "POST", "/ops/freezes", said)
    head = ("SINCE", "TOOL", "AGENT", "TENANT", "REASON")
    _show(place, told, told["freezes"], "Nothing is frozen.", head, _freeze_row)
    if not told.get("changed", True):
        click.echo(fit("There is no freeze of just this.", sys.stderr), err=True)
        ctx.exit(FAILED)


def _query(path: str, **given: object) -> str:
    said = {name: value for name, value in given.items() if value is not None}
    return f"{path}?{urlencode(said)}"


def _show(
    place: Place,
    told: Json,
    items: Sequence[Json],
    none: str,
    head: Sequence[str],
    row: Callable[[Json], Sequence[str]],
) -> None:
    """Prints a list, and how it goes on."""
    if place.as_json:
        click.echo(json.dumps(told, indent=2))
        return
    click.echo(table([row(item) for item in items], head) if items else none)
    if cursor := told.get("next_cursor"):
        print_hint(f"There is more: --cursor {cursor}")


def _run_row(run: Json) -> Sequence[str]:
    state = run["state"] if run["kind"] == "run" else f"{run['state']} ({run['kind']})"
    return _id(run["run"]), _owner(run), _id(run["thread_id"]), short(run["agent"], 40), _age(run["saved_at"]), state


def _thread_row(thread: Json) -> Sequence[str]:
    status = thread["run"]["status"] if thread["run"] else "none"
    if status == "waiting" and not thread["pending"]:
        status = "answered"  # nothing waits any more, and the model is told with the next message
    pending = str(thread["pending"])
    changed = _age(thread["updated_at"])
    return _id(thread["id"]), _owner(thread), short(thread["agent"], 40), changed, short(status, 20), pending


def _call_row(call: Json) -> Sequence[str]:
    asked = _age(call["asked_at"])
    return _id(call["id"]), _owner(call), _id(call["thread_id"]), short(call["tool"], 40), call["state"], asked


def _freeze_row(freeze: Json) -> Sequence[str]:
    names = (freeze[name] for name in ("tool", "agent", "tenant"))
    about = ["all" if name is None else short(name, 40) or "(none)" for name in names]
    return (short(freeze["since"], 30), *about, short(freeze["reason"], 60))


def _print_call(place: Place, call: Json) -> None:
    if place.as_json:
        click.echo(json.dumps(call, indent=2))
        return
    decision = call["decision"]
    rows = [
        ("call", f"{call['tool']} of agent {call['agent']}"),
        ("state", call["state"]),
        ("owner", _owner(call)),
        ("thread", _id(call["thread_id"])),
        ("run", _id(call["run"])),
        ("asked", f"{short(call['asked_at'], 30)} ({_age(call['asked_at'])} ago)"),
        ("decided", "no" if decision is None else f"{'yes' if decision['approved'] else 'no'}, by {decision['by']}"),
        ("idempotency key", whole(call["idempotency_key"])),
        ("arguments", whole(json.dumps(call["arguments"], ensure_ascii=False))),
        ("result", short(call["result"] or "none", 500)),
    ]
    width = max(len(name) for name, _ in rows)
    click.secho(whole(call["id"]), bold=True)
    for name, value in rows:
        click.echo(fit(f"  {name.ljust(width)}  {printable(value)}", sys.stdout))


def _id(text: str) -> str:
    """Returns an id as it is typed: whole, on one line."""
    return whole(text)


def _ids(names: Any) -> str:
    return ", ".join(_id(name) for name in names)


def _owner(view: Mapping[str, Any]) -> str:
    tenant, owner = whole(view["tenant"]), whole(view["owner"])
    return f"{tenant}/{owner}" if tenant else owner


def _age(iso: str) -> str:
    """Returns how long ago that was."""
    try:
        seconds = int((datetime.now(UTC) - datetime.fromisoformat(iso)).total_seconds())
    except (ValueError, OverflowError, TypeError):
        return short(iso, 30)
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{max(seconds, 0)} s"
