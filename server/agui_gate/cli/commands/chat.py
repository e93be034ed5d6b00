"""`agui-gate chat`: talk to any AG-UI server from a terminal."""

import contextlib
import json
import shlex
import sys
import uuid
from collections.abc import Coroutine
from typing import Any, TypeVar

import click

from agui_gate.cli.chatting import Policy, Talk, tell
from agui_gate.cli.interruptible import Runner
from agui_gate.cli.program import FAILED, INTERRUPTED, WAITING, debug_option
from agui_gate.cli.request_headers import header_option, read_headers
from agui_gate.cli.terminal.asking import can_ask, read_line
from agui_gate.cli.terminal.console import dim, log_to_stderr, note, short
from agui_gate.client import CARD, Answer, Client, ClientError, Limits, Outcome
from agui_gate.errors import InvalidRequest
from agui_gate.protocol.inbound import check_id

MAX_ROUNDS = 50
"""How often in a row questions are answered; an agent that never stops asking ends there."""

HELP = """Talk to any AG-UI server: agui-gate, or an agent of another framework behind its own adapter.

URL is the address that a run is POSTed to. The agent's words come as they are said. Tool calls, who speaks, and
questions stand beside them. An approval is put to you: y(es), n(o) with a reason, e(dit), or Ctrl-D for later.

\b
While it answers:  Ctrl-C stops it; again: leaves
At the prompt:     /help   what can be typed        Ctrl-D   leaves

\b
Examples:
  agui-gate chat http://127.0.0.1:8000/
  agui-gate chat http://127.0.0.1:8000/agents/support --thread t1      go on with a conversation
  agui-gate chat https://example.org/agent --header 'Authorization: Bearer TOKEN'
  agui-gate chat http://127.0.0.1:8000/ -m "Refund order 1001" --approve yes
  echo "What is the state of order 1002?" | agui-gate chat http://127.0.0.1:8000/

With -m it says that and ends. Without a terminal each line of stdin is said, and only the agent's words go to stdout.
Where nobody can be asked, --approve ask means no.

\b
Exit codes: 0 well; 1 the last run failed, or nobody answers there; 2 wrong use;
3 a question still waits; 130 left by Ctrl-C.
"""

COMMANDS = """  /ask      answer what waits
  /state    the shared state
  /thread   this conversation's id, and how to go on with it
  /help     this
  /quit     leave (or Ctrl-D)
Anything else is said to the agent. // at the beginning says a slash."""

T = TypeVar("T")


@click.command("chat", help=HELP)
@click.argument("url")
@click.option("--message", "-m", help="Say this, answer what it asks, and end.")
@click.option("--thread", metavar="ID", help="Go on with this conversation.  [default: a new one]")
@header_option
@click.option(
    "--approve", type=click.Choice(["ask", "yes", "no"]), default="ask", show_default=True, help="What is asked."
)
@click.option("--cards", is_flag=True, help="Be asked by confirm_changes cards, as pages are that have them.")
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
    policy: Policy = "no" if approve == "ask" and not can_ask() else approve
    talk = Talk(client.thread(thread_id, advertised=[CARD] if cards else []), policy, as_json=as_json)
    with Runner() as runner:
        session = Session(runner, talk, shlex.join(["agui-gate", "chat", url, "--thread", thread_id]))
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
        raise click.UsageError("Say something with --message.")
    if thread is not None:
        try:
            check_id(thread, "--thread")
        except InvalidRequest as error:
            raise click.UsageError(error.message) from None


class Session:
    """From the first word to the exit code. The loop runs only while the agent does: questions are asked outside."""

    def __init__(self, runner: Runner, talk: Talk, again: str) -> None:
        self._runner, self._talk, self._again = runner, talk, again
        self._code = 0
        self._interactive = can_ask() and sys.stdout.isatty()
        self._converses = self._interactive

    def hold(self, message: str | None, *, resumed: bool) -> int:
        """Talk until there is nothing more to say; the exit code."""
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
        return WAITING if self._talk.thread.questions and self._code == 0 else self._code

    def _resume(self) -> None:
        known = self._run(self._talk.resume())
        if known is None and self._code == 0:
            note("The server can't bring back what was said. What you say now goes on under the same id.")
        self._answer_all()

    def _converse(self) -> None:
        dim("Ctrl-C stops an answer. /help says what else there is; Ctrl-D leaves.", err=True)
        while (typed := read_line(click.style("\nyou: ", bold=True))) is not None:
            text = typed.strip()
            if text in ("/quit", "/exit"):
                break
            if text.startswith("/") and not text.startswith("//"):
                self._command(text)
            elif text:
                self._say(text[1:] if text.startswith("//") else text)
        dim(f"Go on with: {self._again}", err=True)

    def _command(self, text: str) -> None:
        match text:
            case "/help":
                click.echo(COMMANDS, err=True)
            case "/state":
                click.echo(json.dumps(self._talk.thread.state, indent=2, ensure_ascii=False))
            case "/thread":
                click.echo(f"{self._talk.thread.id}\n{self._again}", err=True)
            case "/ask":
                if not self._talk.thread.questions:
                    dim("Nothing waits.", err=True)
                self._answer_all()
            case _:
                note(f"There is no {short(text, 40)}. /help says what there is.")

    def _say(self, text: str) -> None:
        """Say it; what still waits is cancelled first, if the person wants that."""
        left = self._talk.thread.questions
        if left and self._interactive:
            dim(f"Still waits: {'; '.join(short(one.message, 80) for one in left)}", err=True)
            if (read_line("Cancel that and say this instead? y(es), n(o): ") or "n").strip().lower() not in (
                "y",
                "yes",
            ):
                return
        answers: list[Answer] = [one.cancel() for one in left if one.way != "card"]
        self._run(self._talk.say(text, *answers))
        self._answer_all()

    def _answer_all(self) -> None:
        """Put what waits to the person, until nothing waits or something is left for later."""
        for _ in range(MAX_ROUNDS):
            if self._code or not self._talk.thread.questions:
                return
            answers = self._talk.ask()
            if not answers:
                return
            self._run(self._talk.answer(answers))
        note(f"The agent asked {MAX_ROUNDS} times in a row; that is where this command stops.")

    def _run(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Do it; what went wrong is told, and is the exit code unless something goes well after it."""
        self._code = 0
        try:
            ended = self._runner.run(work)
        except ClientError as error:
            tell(error)
            self._code = FAILED
            return None
        if isinstance(ended, Outcome) and ended.kind == "error" and not ended.stopped:
            self._code = FAILED
        elif isinstance(ended, Outcome) and ended.stopped and not self._converses:
            self._code = INTERRUPTED
        return ended
