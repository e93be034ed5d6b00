"""`agui-gate run`: one run from the shell, without a server."""

import contextlib
import shlex
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import click

from agui_gate.cli.interrupts import Runner
from agui_gate.cli.local_thread import LocalThread, make_engine
from agui_gate.cli.program import FAILED, INTERRUPTED, MISUSED, WAITING, Failure, config_option, debug_option
from agui_gate.cli.target import load_target, model_option, pick_agent
from agui_gate.cli.terminal.chat_printer import ChatPrinter
from agui_gate.cli.terminal.console import dim, failure, log_to_stderr, print_hint
from agui_gate.cli.terminal.layout import whole_line
from agui_gate.cli.terminal.prompts import Asker, print_lost, print_pending
from agui_gate.cli.terminal.run_printer import JsonPrinter
from agui_gate.core.approvals import LOCAL, Approval
from agui_gate.core.principals import Principal
from agui_gate.errors import Interrupted, InvalidRequest
from agui_gate.protocol.run_input import check_id

MAX_ROUNDS = 50
"""Rounds in which approvals are asked for and the run goes on; a model that never stops asking ends there."""

HELP = """Run TARGET (module:object) once and print its answer. With --model, TARGET is optional: a plain agent
without tools answers.

Text goes to stdout; tool calls, questions, and the names of several agents go to stderr. It asks you about each gated
call: y(es), n(o), e(dit), or Ctrl-D to leave it pending. Without a terminal, calls stay pending, unless --approve
answers them.

\b
Examples:
  agui-gate run support:agent --message "Refund order 1001"
  agui-gate run support:agent --message "And 1002?" --thread t1
  agui-gate run support:agent --thread t1                  answer what is pending
  agui-gate run support:agent -m "Refund 1001" --approve yes --json
  agui-gate run --model anthropic:claude-sonnet-4-5 -m "hello"
  agui-gate run support:agent -m "Refund 1001" --principal ada --tenant acme

The conversation is kept in the store that `serve` uses, for the principal "local" or for --principal. A server
without tokens shows those of "local", and pending calls can be decided there.

Exit codes: 0 finished; 1 the run failed or was lost with its process; 2 usage or configuration error;
3 a call waits for approval; 130 stopped by Ctrl-C.
"""


@click.command("run", help=HELP)
@click.argument("target", required=False)
@click.option("--message", "-m", help="Your message. Optional with --thread.")
@click.option(
    "--approve", type=click.Choice(["ask", "yes", "no"]), default="ask", show_default=True, help="Gated calls."
)
@click.option("--thread", metavar="ID", help="Continue this conversation.  [default: a new one]")
@model_option
@click.option("--agent", metavar="NAME", help="Which agent of TARGET.  [default: the first]")
@click.option("--json", "as_json", is_flag=True, help="Print the AG-UI events, one JSON object a line.")
@click.option("--store", metavar="URL", help="Where the conversation is kept.  [default: as in the settings]")
@click.option("--principal", metavar="ID", help="Who runs it, and decides.  [default: local]")
@click.option("--tenant", metavar="NAME", help="The tenant of --principal.")
@click.option("--role", "roles", metavar="NAME", multiple=True, help="A role of --principal; may be given again.")
@config_option
@debug_option
@click.pass_context
def command(
    ctx: click.Context,
    target: str | None,
    message: str | None,
    approve: Literal["ask", "yes", "no"],
    thread: str | None,
    model: str | None,
    agent: str | None,
    as_json: bool,
    store: str | None,
    principal: str | None,
    tenant: str | None,
    roles: tuple[str, ...],
    config: Path | None,
) -> None:
    """Run TARGET once."""
    _check(message, thread)
    who = _who(principal, tenant, roles)
    log_to_stderr(ctx, "error")  # what fails is told by the run itself
    loaded = load_target(target, model)
    chosen = pick_agent(loaded, agent)
    engine = make_engine(loaded, chosen, store, config)
    printer = JsonPrinter() if as_json else ChatPrinter(chosen.name)
    thread_id = thread or f"cli-{uuid.uuid4().hex[:12]}"
    show = printer.print_frame if isinstance(printer, ChatPrinter) else printer.show
    local = LocalThread(engine, chosen, thread_id, show, who)
    asker = Asker(approve, engine.members, chosen.name)
    end = _run(local, asker, message)
    typed = {"--model": model, "--agent": agent, "--store": store, "--config": config, "--principal": principal}
    given = [*typed.items(), ("--tenant", tenant), *(("--role", role) for role in roles)]
    named = shlex.join([*filter(None, [target]), *(str(x) for item in given if item[1] for x in item)])
    again = f"agui-gate run {named} --thread {shlex.quote(thread_id)}"
    if end.pending or end.lost is not None:
        _print_left(end, again)
    elif isinstance(printer, ChatPrinter):
        if printer.provider_failed:
            checked = shlex.join([*filter(None, [target]), *(["--model", model] if model else [])])
            dim(f"What to do about it: {whole_line(f'agui-gate doctor {checked}')}", err=True)
        elif message is None and not printer.said:
            print_hint("Nothing is pending in this conversation. Send a message with --message.")
    ctx.exit(end.code)


class Ending(NamedTuple):
    """The end of the command, with the calls that were left pending.

    ``lost``: the conversation's last run was lost with its process, and these tools were running.
    """

    code: int
    pending: Sequence[Approval] = ()
    lost: Sequence[str] | None = None


def _print_left(end: Ending, again: str) -> None:
    """Says what waits, or was lost. ``again`` is the command that continues the conversation."""
    if end.pending:
        print_pending([(one.id, one.message or f"Run {one.tool}?", _waits_for(one)) for one in end.pending], again)
        dim(f"Decide on a server:   {whole_line(f'agui-gate approvals approve {end.pending[0].id}')}", err=True)
    else:
        failure(Interrupted().message, Interrupted.code)
        print_lost(end.lost or (), again)


def _waits_for(approval: Approval) -> str:
    """Returns whom the gate names; "" where it names nobody."""
    from agui_gate.core.agreement import waited_for

    return waited_for(approval.people) if approval.people is not None and approval.people.approvers else ""


def _who(principal: str | None, tenant: str | None, roles: tuple[str, ...]) -> str:
    """Returns who runs it. Raises `click.UsageError` for what can be no principal."""
    if principal is None:
        if tenant or roles:
            raise click.UsageError("--tenant and --role say more of a --principal: name one.")
        return LOCAL
    try:
        return Principal(principal, tenant or "", roles)
    except ValueError as error:
        raise click.UsageError(f"--principal: {error}.") from None


def _check(message: str | None, thread: str | None) -> None:
    """Raises `click.UsageError` for what can't be said, or not there."""
    if (message is None and thread is None) or (message is not None and not message.strip()):
        raise click.UsageError("Send a message with --message.")
    try:
        (message or "").encode()
    except UnicodeEncodeError:  # bytes of another encoding, as Python keeps them
        raise click.UsageError("--message is not UTF-8 text.") from None
    if thread is not None:
        try:
            check_id(thread, "--thread")
        except InvalidRequest as error:
            raise click.UsageError(error.message) from None


def _run(local: LocalThread, asker: Asker, message: str | None) -> Ending:
    """Does everything between opening and closing the engine.

    The loop runs only while the agent does: questions are asked outside of it, where Ctrl-C ends them at once.
    """
    with Runner() as runner:
        try:
            runner.run(local.start())
            if message is None and not runner.run(local.known()):
                raise Failure("There is no such conversation. Send a message with --message.", MISUSED)
            if message is None and (lost := runner.run(local.lost())) is not None:
                return Ending(FAILED, lost=lost)
            return _converse(runner, local, asker, message)
        except KeyboardInterrupt:
            return Ending(INTERRUPTED)
        finally:
            with contextlib.suppress(KeyboardInterrupt):
                runner.run(local.aclose())


def _converse(runner: Runner, local: LocalThread, asker: Asker, message: str | None) -> Ending:
    well = runner.run(local.say(message))
    for _ in range(MAX_ROUNDS):
        if not well:
            return Ending(FAILED)
        pending = runner.run(local.pending())
        if not pending:
            return Ending(0)
        try:
            answers = asker.ask(pending)
        except KeyboardInterrupt:
            return Ending(INTERRUPTED, pending)
        if not answers:
            return Ending(WAITING, pending)
        well = runner.run(local.answer(answers))
    raise Failure(
        f"The agent asked for approvals {MAX_ROUNDS} times in a row, which is the limit of this command.", WAITING
    )
