"""`agui-gate approvals`: decide from a terminal what waits on a running server."""

import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import quote

import click
import msgspec

from agui_gate.cli.program import FAILED, Failure, debug_option, json_option
from agui_gate.cli.remote_server import Gone, Json, News, Outcome, Record, RemoteServer, Waiting, server_options
from agui_gate.cli.terminal.console import dim, short, table, whole
from agui_gate.cli.terminal.layout import fit
from agui_gate.cli.terminal.prompts import REASON, can_ask, edited_arguments, read_line, show_arguments
from agui_gate.errors import ConfigurationError

SHOWN_ID = 12
"""Characters of an id that are shown at least; more where two would look the same."""

SHORTEST_ID = 8
"""Characters of an id that have to be typed at least, so that a slip doesn't decide something."""

ID_WIDTH = 80
"""Characters of an id that are shown at most."""

MAX_SEEN = 10_000
"""Events of which `watch` remembers that they were shown."""

AGAIN_SECONDS = 3.0
"""Seconds after which `watch` looks again whether a server that went away is back."""

HELP = """List, approve and reject the pending calls of a running server.

\b
Examples:
  agui-gate approvals ls
  agui-gate approvals watch                                  pending calls, and new ones as they arrive
  agui-gate approvals approve apr_5f0c2a71
  agui-gate approvals approve apr_5f0c2a71 --edit amount=20
  agui-gate approvals approve apr_5f0c2a71 --grant arguments --within times=3     and don't ask again
  agui-gate approvals approve apr_5f0c2a71 --no-continue     leave the conversation to a page
  agui-gate approvals reject apr_5f0c2a71 --reason "already refunded"
  agui-gate approvals hand-to apr_5f0c2a71 cat               a colleague is to decide it, and is told
  agui-gate approvals approve apr_5f0c2a71… --break-glass --reason "the till burns"
  agui-gate approvals ls --url https://gate.example --token TOKEN

A unique prefix of an id is enough. The whole call is printed to stderr before it is decided (not with --json). When
nothing else is pending in the conversation, the conversation continues, whether or not a page shows it.

Exit codes: 0 success; 1 the server refused, or the approved tool failed;
2 usage error, or nothing is listening at the address.
"""

continue_option = click.option(
    "--continue/--no-continue",
    "go_on",
    default=True,
    show_default=True,
    help="Continue the conversation when nothing else is pending in it.",
)
emergency_option = click.option(
    "--break-glass", is_flag=True, help="Decide it in an emergency; needs the role and --reason."
)


@click.group("approvals", help=HELP)
def command() -> None:
    """List, approve, reject."""


@command.command("ls", short_help="List your pending calls, oldest first.")
@click.option("--break-glass", is_flag=True, help="Also what you may decide in an emergency; needs the role.")
@server_options
@json_option
@debug_option
def ls(break_glass: bool, server: RemoteServer, as_json: bool) -> None:
    """List your pending calls, oldest first."""
    with server:
        pending = server.pending(in_emergency=break_glass)
    if as_json:
        click.echo(json.dumps({"approvals": pending}, indent=2))
    elif not pending:
        click.echo("Nothing is pending for you.")
    else:
        click.echo(_table(_records(pending)))


@command.command("watch", short_help="Show pending calls, new ones as they arrive, and each outcome.")
@server_options
@json_option
@debug_option
def watch(server: RemoteServer, as_json: bool) -> None:
    """Show pending calls, new ones as they arrive, and each outcome, until Ctrl-C.

    With --json each event is one line: {"event": "approval", "data": {…}}.
    """
    seen: dict[str, None] = {}

    def show(name: str, told: Json, news: News) -> None:
        if as_json:
            click.echo(json.dumps({"event": name, "data": told}))
        elif line := _line(news, seen):
            click.echo(fit(line, sys.stdout))

    with server:
        while True:
            server.follow(show)
            _come_back(server)


def _come_back(server: RemoteServer) -> None:
    """Waits until the server is there again."""
    dim("The server closed the stream. Reconnecting.", err=True)
    while True:
        time.sleep(AGAIN_SECONDS)
        with suppress(ConfigurationError):
            server.pending()
            return


def _line(news: News, seen: dict[str, None]) -> str | None:
    """Returns a line about one event; None where it says what was shown before (``seen``)."""
    if isinstance(news, Waiting):
        return "Nothing is pending for you. Waiting for new calls." if not news.ids else None
    mark = news.id if isinstance(news, Gone) else f"{news.id} {news.state}"
    if mark in seen:
        return None
    seen[mark] = None
    if len(seen) > MAX_SEEN:
        del seen[next(iter(seen))]
    shown = short(news.id, ID_WIDTH)
    if isinstance(news, Gone):
        return f"{shown}  its conversation was deleted"
    if news.state == "pending":
        return f"{shown}  {_call(news)}  {short(news.message or '', 50)}".rstrip()
    by = f" by {short(news.decision.by, 40)}" if news.decision and news.decision.by else ""
    return f"{shown}  {_call(news)}  {short(news.state, 20)}{by}"


@command.command("approve", short_help="Approve a call: its tool runs now.")
@click.argument("approval_id", metavar="ID")
@click.option(
    "--edit", "edits", multiple=True, metavar="KEY=VALUE", help="Change an argument before approving (repeatable)."
)
@click.option("--reason", help="The reason, shown to the model and recorded.")
@click.option("--grant", metavar="SCOPE", help="Say yes to later calls, too, in a scope that the gate offers.")
@click.option(
    "--within",
    "limits",
    multiple=True,
    metavar="KEY=NUMBER",
    help="Narrow it: times, hours, up_to, total (repeatable).",
)
@emergency_option
@continue_option
@server_options
@json_option
@debug_option
def approve(
    approval_id: str,
    edits: Sequence[str],
    reason: str | None,
    grant: str | None,
    limits: Sequence[str],
    break_glass: bool,
    go_on: bool,
    server: RemoteServer,
    as_json: bool,
) -> None:
    """Approve a call: its tool runs now (a tool of the provider: in the thread's next run)."""
    if limits and grant is None:
        raise click.UsageError("--within narrows a grant: say which with --grant.")
    given = {} if grant is None else {"grant": {"scope": grant, **_numbers(limits)}}
    with server:
        found = _found(server, approval_id, in_emergency=break_glass)
        payload = _payload(True, reason, go_on, break_glass) | given
        if edits:
            if found is None or found.state != "pending":
                raise Failure(f"No pending call of yours has the id {approval_id}, so there is nothing to edit.")
            payload["edited_arguments"] = edited_arguments(found.effective_arguments, found.editable, edits)
        if found is not None:  # somebody else may edit them meanwhile
            payload["effective_arguments"] = found.effective_arguments
        if not as_json:
            _show(found, payload.get("edited_arguments"))
        _report(server.decide(found.id if found else approval_id, payload), as_json)


@command.command("reject", short_help="Reject a call: its tool does not run.")
@click.argument("approval_id", metavar="ID")
@click.option("--reason", help="The reason, shown to the model and recorded.  [default: prompt]")
@emergency_option
@continue_option
@server_options
@json_option
@debug_option
def reject(
    approval_id: str,
    reason: str | None,
    break_glass: bool,
    go_on: bool,
    server: RemoteServer,
    as_json: bool,
) -> None:
    """Reject a call: its tool does not run, and the model is told."""
    with server:
        found = _found(server, approval_id, in_emergency=break_glass)
        if not as_json:
            _show(found)
        if reason is None and found is not None and found.state == "pending" and can_ask():
            reason = read_line(REASON)
        payload = _payload(False, reason, go_on, break_glass)
        _report(server.decide(found.id if found else approval_id, payload), as_json)


@command.command("hand-to", short_help="Hand a call to a colleague, who is told.")
@click.argument("approval_id", metavar="ID")
@click.argument("to", metavar="WHO")
@server_options
@debug_option
def hand_to(approval_id: str, to: str, server: RemoteServer) -> None:
    """Hand a call to a colleague, by the id of their principal. They are told; it gives nobody a right."""
    with server:
        found = _found(server, approval_id)
        name = quote(found.id if found else approval_id, safe="")
        server.ask("POST", f"/approvals/{name}/hand-to", {"to": to, "way": "shell"})
    click.echo(f"Handed to {short(to, 60)}.")


def _numbers(limits: Sequence[str]) -> dict[str, int | float]:
    """Returns what ``KEY=NUMBER`` says, by key. Which keys there are, the server knows. Raises `UsageError`."""
    found: dict[str, int | float] = {}
    for each in limits:
        key, _, text = each.partition("=")
        try:
            number = float(text)
            found[key] = int(number) if number == int(number) else number  # which raises where it isn't finite
        except (ValueError, OverflowError):
            raise click.UsageError(f"--within takes KEY=NUMBER, such as times=3: {short(each, 60)!r}.") from None
    return found


def _payload(approved: bool, reason: str | None, go_on: bool, break_glass: bool = False) -> dict[str, Any]:
    payload: dict[str, Any] = {"approved": approved, "way": "shell", "continue": go_on}
    payload |= {"break_glass": True} if break_glass else {}
    return payload | {"reason": reason} if reason else payload


def _records(told: Sequence[Json]) -> list[Record]:
    return msgspec.convert(told, list[Record])


def _found(server: RemoteServer, wanted: str, *, in_emergency: bool = False) -> Record | None:
    """Returns the approval that is meant.

    That is something that waits, or else what was decided lately, of which the server says what is true.
    """
    return _find(_records(server.pending(in_emergency=in_emergency)), wanted) or _find(
        _records(server.decided()), wanted
    )


def _find(records: Sequence[Record], wanted: str) -> Record | None:
    """Returns the approval with this id, or the only one beginning so; None leaves it to the server. Raises
    `Failure`.
    """
    for item in records:
        if item.id == wanted:
            return item
    matches = [item for item in records if item.id.startswith(wanted)]
    if matches and (len(matches) > 1 or len(wanted) < SHORTEST_ID):
        raise Failure(f"{wanted!r} is ambiguous: several ids begin with it. Give more of the id.")
    return matches[0] if matches else None


def _show(found: Record | None, edited: dict[str, Any] | None = None) -> None:
    """Prints the call that is about to be decided, as it would run. On stderr: stdout is for what became of it."""
    if found is not None and found.state == "pending":
        click.secho(whole(found.tool), bold=True, err=True)
        show_arguments(found.effective_arguments if edited is None else edited)


def _report(told: Json, as_json: bool) -> None:
    outcome = msgspec.convert(told, Outcome)
    if as_json:
        click.echo(json.dumps(told, indent=2))
    else:
        result = f": {short(outcome.result, 500)}" if outcome.result else ""
        later = outcome.state == "claimed" and not outcome.run
        note = " (it is sent to the provider in the thread's next run)" if later else ""
        more = f" ({short(outcome.message, 300)})" if outcome.message else ""
        click.echo(f"{short(outcome.state, 20)}{result}{note}{more}")
        if outcome.run:
            dim("The conversation continues.", err=True)
        elif outcome.not_continued:
            dim(f"The conversation doesn't continue yet. {short(outcome.not_continued, 300)}", err=True)
    if outcome.state not in ("done", "rejected", "claimed"):
        click.get_current_context().exit(FAILED)


def _table(pending: Sequence[Record]) -> str:
    length = SHOWN_ID
    while length < ID_WIDTH and len({item.id[:length] for item in pending}) < len({item.id for item in pending}):
        length += 1
    rows = [
        (
            short(item.id[:length], ID_WIDTH),
            short(item.agent, 40),
            _call(item),
            short(item.message or f"Run {item.tool}?", 50),
            _clock(item.asked_at),
            _clock(item.expires_at) if item.expires_at else "never",
        )
        for item in pending
    ]
    return table(rows, ("ID", "AGENT", "CALL", "QUESTION", "ASKED", "EXPIRES"))


def _call(item: Record) -> str:
    """Returns the tool and its arguments, on one line."""
    shown = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in item.effective_arguments.items()
    )
    return short(f"{item.tool}({shown})", 60)


def _clock(iso: str) -> str:
    """Returns a time of the server's as local time, to the minute."""
    try:
        return datetime.fromisoformat(iso).astimezone().strftime("%d %b %H:%M")
    except (ValueError, OverflowError):
        return short(iso, 20)
