"""Holds a conversation with a remote agent from a terminal: runs, questions and answers, and the headers it sends."""

import asyncio
import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from typing import Literal

import click
import msgspec

from agui_gate.cli.terminal.chat_printer import ChatPrinter, show_history
from agui_gate.cli.terminal.console import dim, failure, print_hint, whole
from agui_gate.cli.terminal.prompts import ask_about, asked_by, can_ask, read_line, show_arguments
from agui_gate.client import Answer, AnyEvent, ClientError, Json, Outcome, Question, Refused, Run, Thread, events
from agui_gate.core.approvals import State
from agui_gate.core.json_text import parse_object
from agui_gate.core.transcript import CARD_TOOL

STOP_SECONDS = 8.0
"""Seconds that a run that was stopped may take to say so."""
TICK = 0.1

Policy = Literal["ask", "yes", "no"]
Show = Callable[[AnyEvent], None]


class Talk:
    """A conversation on one thread, and what is printed of it. ``as_json``: events, one a line, and nothing else on
    stdout.
    """

    def __init__(self, thread: Thread, policy: Policy, *, as_json: bool = False) -> None:
        self.thread, self._policy, self._as_json = thread, policy, as_json
        self._printer = ChatPrinter()

    async def say(self, text: str, *answers: Answer) -> Outcome:
        """Says something, and prints what comes."""
        return await self._read(self.thread.say(text, *answers))

    async def answer(self, answers: Sequence[Answer]) -> Outcome:
        """Answers what waits, and prints what comes."""
        return await self._read(self.thread.answer(*answers))

    async def resume(self) -> Outcome | None:
        """Goes on with an earlier conversation: shows it, and what still happens. None where the server can't bring
        it.
        """
        try:
            run = await self.thread.attach()
            return await self._read(run, back=True)
        except LookupError:
            return None
        except Refused as error:
            if error.http_status in (404, 405):
                return None
            raise

    async def _read(self, run: Run, *, back: bool = False) -> Outcome:
        """Prints a run. A first Ctrl-C stops it, and what it still says is printed; a second one leaves."""
        reader = asyncio.ensure_future(self._print(run, back))
        ticker = asyncio.ensure_future(self._tick())
        try:
            await asyncio.shield(reader)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or reader.done() or not task.cancelling():
                raise
            if task.uncancel():  # a second one, before this came to its turn
                raise
            await self._stop(run, reader)
        finally:
            ticker.cancel()
            reader.cancel()  # of a run that was left
            self._printer.end()
        return run.outcome or Outcome("cancelled")

    async def _stop(self, run: Run, reader: "asyncio.Future[None]") -> None:
        self._printer.spinner.clear()
        dim("stopping…", err=True)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await run.stop()
                await reader
        except TimeoutError:
            print_hint("The run did not stop in time. Disconnected.")

    async def _print(self, run: Run, back: bool) -> None:
        self._printer.begin()
        async with run:
            async for event in run:
                if self._as_json:
                    sys.stdout.buffer.write(msgspec.json.encode(event) + b"\n")
                    sys.stdout.buffer.flush()
                elif back and isinstance(event, events.MessagesSnapshot):
                    show_history(self.thread.messages)
                    back = False
                else:
                    self._printer.print_event(event)

    async def _tick(self) -> None:
        while not self._as_json:
            await asyncio.sleep(TICK)
            self._printer.draw()

    def unfinished(self) -> list[str]:
        """Returns the tools whose calls have no outcome since the person spoke last, or one that isn't known."""
        calls: dict[str, str] = {}
        for message in self.thread.messages:
            match message:
                case {"role": "user"}:
                    calls.clear()
                case {"toolCalls": [*made]}:
                    calls |= {call["id"]: _called(call) for call in made}
                case {"role": "tool", "metadata": {"agui-gate": {"state": State.UNKNOWN}}}:
                    pass
                case {"role": "tool"}:
                    calls.pop(message["toolCallId"], None)
        return [name for name in calls.values() if name and name not in self.thread.tools]

    def ask(self) -> list[Answer]:
        """Answers to all that waits; none if the person leaves some for later, or nobody is there to ask.

        Blocks: no loop may run.
        """
        if self._policy == "ask" and not can_ask():
            return []
        answers: list[Answer] = []
        for question in self.thread.questions:
            answer = self._decide(question)
            if answer is None:
                return []
            answers.append(answer)
        return answers

    def _decide(self, question: Question) -> Answer | None:
        if self._policy != "ask":
            if not question.approval:
                return None
            return question.approve() if self._policy == "yes" else question.reject()
        if not question.approval:
            return _free(question)
        asked = asked_by(question.agent, question.message)
        said = ask_about(asked, question.arguments, question.editable)
        if said is None:
            return None
        return question.approve(said.edited) if said.approved else question.reject(said.reason)


def _called(call: Json) -> str:
    """Returns the name of the tool that a call is of; of a card, that of the call that it stands for, where it was
    approved.
    """
    name: str = call["function"]["name"]
    if name != CARD_TOOL:
        return name
    match call:
        case {"metadata": {"agui-gate": {"state": State.CLAIMED | State.UNKNOWN}}}:
            return str((parse_object(call["function"]["arguments"]) or {}).get("function_name", ""))
    return ""


def _free(question: Question) -> Answer | None:
    """Returns an answer that is neither yes nor no: text, or JSON where its schema wants something else."""
    click.secho(f"\n{whole(question.message)}", bold=True, err=True)
    show_arguments(question.arguments)
    kind = (question.schema or {}).get("type", "string")
    if question.schema is not None and kind != "string":
        click.secho(f"  Expected JSON: {whole(json.dumps(question.schema, ensure_ascii=False))}", dim=True, err=True)
    typed = read_line("answer (Ctrl-D for later): ")
    if typed is None:
        return None
    if kind != "string":
        with contextlib.suppress(ValueError):
            return question.reply(json.loads(typed))
    return question.reply(typed)


def print_error(error: ClientError, explained: str) -> None:
    """Prints one line about what went wrong on the way."""
    failure(whole(explained), error.code)


header_option = click.option(
    "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Send this with each request."
)


def read_headers(given: tuple[str, ...]) -> dict[str, str]:
    """Returns the headers by their names. Raises `click.BadParameter`."""
    pairs = [header.partition(":") for header in given]
    for name, colon, value in pairs:
        if not (colon and name.strip() and f"{name}{value}".isascii() and f"{name}{value}".isprintable()):
            raise click.BadParameter("must be 'Name: value' in ASCII", param_hint="--header")
    return {name.strip(): value.strip() for name, _, value in pairs}
