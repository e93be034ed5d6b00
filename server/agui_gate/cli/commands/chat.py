"""`agui-gate chat`: talk to any AG-UI server from a terminal."""

import contextlib
import json
import shlex
import sys
import uuid
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

import click

from agui_gate.cli.chat_session import Policy, Talk, header_option, print_error, read_headers
from agui_gate.cli.interrupts import Runner
from agui_gate.cli.program import FAILED, INTERRUPTED, WAITING, debug_option
from agui_gate.cli.refusals import explained
from agui_gate.cli.terminal.console import dim, log_to_stderr, print_hint, short
from agui_gate.cli.terminal.layout import fit, whole_line
from agui_gate.cli.terminal.prompts import can_ask, print_lost, print_pending, read_line
from agui_gate.client import CARD, Answer, Client, ClientError, Limits, Outcome
from agui_gate.errors import InvalidRequest
from agui_gate.protocol.run_input import check_id

MAX_ROUNDS = 50
"""Rounds of questions answered in a row; an agent that never stops asking ends there."""

HELP = """Chat with any AG-UI server: agui-gate, or another framework's.

URL is the address that accepts runs (POST). Text is printed as it streams, with tool calls and the names of agents.
Answer an approval with y(es), n(o) and a reason, or e(dit); Ctrl-D leaves it pending.

\b
While it answers:  Ctrl-C stops the answer; a second one quits
At the prompt:     /help lists the commands; Ctrl-D quits

\b
Examples:
  agui-gate chat http://127.0.0.1:8000/
  agui-gate chat http://127.0.0.1:8000/agents/support --thread t1      continue a conversation
  agui-gate chat https://example.org/agent --header 'Authorization: Bearer TOKEN'
  agui-gate chat http://127.0.0.1:8000/ -m "Refund order 1001" --approve yes
  echo "What is the state of order 1002?" | agui-gate chat http://127.0.0.1:8000/

With -m it sends that message and exits. Without a terminal it sends each line of stdin as a message, and only the
agent's text goes to stdout; questions stay pending, unless --approve answers them.

Exit codes: 0 success; 1 the last run failed or was lost with its server, or nothing is listening;
2 usage error; 3 a question is pending; 130 interrupted by Ctrl-C.
"""

COMMANDS = """  /ask      answer pending questions
  /state    the shared state
  /thread   this conversation's id, and how to continue it
  /help     this list
  /quit     quit (or Ctrl-D)
Anything else is sent to the agent. Begin with // to send a message that starts with a slash."""

T = TypeVar("T")
Explain = Callable[[ClientError], Coroutine[Any, Any, str]]


@click.command("chat", help=HELP)
@click.argument("url")
@click.option("--message", "-m", help="Send this message, answer its questions, and exit.")
@click.option("--thread", metavar="ID", help="Continue this conversation.  [default: a new one]")
@header_option
@click.option(
    "--approve",
    type=click.Choice(["ask", "yes", "no"]),
    default="ask",
    show_default=True,
    help="How to answer approvals.",
)
@click.option("--cards", is_flag=True, help="Ask by confirm_changes cards instead of interrupts.")
@click.option("--timeout", type=click.FloatRange(0.1, 86_400), default=120.0, show_default=True, help="Most silence.")
@click.option("--json", "as_json", is_flag=True, help="Print the AG-UI events, one JSON object a line.")
@debug_option
@click.pass_context
def command(
    ctx: click.Context,
    url: str,
    message: str | None,
    thread: str | None,
    headers: tuple[str, ...],
    approve: Policy,
    cards: bool,
    timeout: float,
    as_json: bool,
) -> None:
    """Talk."""
    head = read_headers(headers)
    _check(message, thread)
    log_to_stderr(ctx, "error")
    client = Client(url, headers=head, limits=Limits(idle=timeout, total=max(timeout, Limits().total)))
    thread_id = thread or f"cli-{uuid.uuid4().hex[:12]}"
    talk = Talk(client.thread(thread_id, advertised=[CARD] if cards else []), approve, as_json=as_json)
    with Runner() as runner:
        again = shlex.join(["agui-gate", "chat", url, "--thread", thread_id])
        session = Session(runner, talk, again, partial(explained, url=url, headers=head))
        try:
            code = session.hold(message, resumed=thread is not None)
        except KeyboardInterrupt:
            code = INTERRUPTED
        finally:
            with contextlib.suppress(KeyboardInterrupt):
                runner.run(client.aclose())
    ctx.exit(code)


def _check(message: str | None, thread: str | None) -> None:
    """Raises `click.UsageError` for what can't be said, or not there."""
    if message is not None and not message.strip():
        raise click.UsageError("Send a message with --message.")
    if thread is not None:
        try:
            check_id(thread, "--thread")
        except InvalidRequest as error:
            raise click.UsageError(error.message) from None


class Session:
    """A session, from the first word to the exit code. The loop runs only while the agent does: questions are asked
    outside.
    """

    def __init__(self, runner: Runner, talk: Talk, again: str, explain: Explain) -> None:
        self._runner, self._talk, self._again, self._explain = runner, talk, again, explain
        self._code = 0
        self._interactive = can_ask() and sys.stdout.isatty()
        self._converses = self._interactive

    def hold(self, message: str | None, *, resumed: bool) -> int:
        """Talks until there is nothing more to say; the exit code."""
        self._converses = self._interactive and message is None
        if resumed:
            self._resume()
        if message is not None:
            self._say(message)
        elif self._converses:
            self._converse()
        elif not (resumed and sys.stdin.isatty()):
            for line in sys.stdin:
                if line.strip():
                    self._say(line.strip())
        if not self._talk.thread.questions or self._code:
            return self._code
        if not self._converses:
            left = [(one.id, one.message, one.waits_for) for one in self._talk.thread.questions]
            print_pending(left, self._again)
        return WAITING

    def _resume(self) -> None:
        known = self._run(self._talk.resume())
        if self._code == INTERRUPTED:  # by somebody, at that time
            self._code = 0
        if known is None and self._code == 0:
            print_hint("This server can't load earlier messages. New messages continue under the same id.")
        self._answer_all()

    def _converse(self) -> None:
        dim("Ctrl-C stops an answer, Ctrl-D quits, /help lists the commands.", err=True)
        while (typed := read_line(click.style("\nyou: ", bold=True))) is not None:
            text = typed.strip()
            if text in ("/quit", "/exit"):
                break
            if text.startswith("/") and not text.startswith("//"):
                self._command(text)
            elif text:
                self._say(text[1:] if text.startswith("//") else text)
        dim(f"Continue with: {whole_line(self._again)}", err=True)

    def _command(self, text: str) -> None:
        match text:
            case "/help":
                click.echo(fit(COMMANDS, sys.stderr), err=True)
            case "/state":
                click.echo(json.dumps(self._talk.thread.state, indent=2, ensure_ascii=False))
            case "/thread":
                click.echo(f"{self._talk.thread.id}\n{self._again}", err=True)
            case "/ask":
                if not self._talk.thread.questions:
                    dim("Nothing is pending.", err=True)
                self._answer_all()
            case _:
                print_hint(f"There is no {short(text, 40)}. /help lists the commands.")

    def _say(self, text: str) -> None:
        """Says it; what still waits is cancelled first, if the person wants that."""
        left = self._talk.thread.questions
        if left and self._interactive:
            dim(f"Still pending: {'; '.join(short(one.message, 80) for one in left)}", err=True)
            if (read_line("Cancel it and send this? y(es), n(o): ") or "n").strip().lower() not in (
                "y",
                "yes",
            ):
                return
        answers: list[Answer] = [one.cancel() for one in left if one.way != "card"]
        self._run(self._talk.say(text, *answers))
        self._answer_all()

    def _answer_all(self) -> None:
        """Puts what waits to the person, until nothing waits or something is left for later."""
        for _ in range(MAX_ROUNDS):
            if self._code or not self._talk.thread.questions:
                return
            answers = self._talk.ask()
            if not answers:
                return
            self._run(self._talk.answer(answers))
        print_hint(f"The agent asked {MAX_ROUNDS} times in a row, which is the limit of this command.")

    def _run(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Does it; what went wrong is told, and is the exit code unless something goes well after it."""
        self._code = 0
        try:
            ended = self._runner.run(work)
        except ClientError as error:
            print_error(error, self._runner.run(self._explain(error)))
            self._code = FAILED
            return None
        if isinstance(ended, Outcome) and ended.kind == "interrupted":
            print_lost(self._talk.unfinished(), self._again)
            self._code = FAILED
        elif isinstance(ended, Outcome) and ended.kind == "error" and not ended.stopped:
            self._code = FAILED
        elif isinstance(ended, Outcome) and ended.stopped and not self._converses:
            self._code = INTERRUPTED
        return ended
