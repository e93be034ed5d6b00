"""Asks the person at the terminal about gated calls, and reads edits of their arguments."""

import json
import os
import select
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import click

from agui_gate.agents.agent import Agent
from agui_gate.approvals.answer_validation import tool_of
from agui_gate.cli.terminal.console import dim, print_hint, short, whole
from agui_gate.cli.terminal.layout import whole_line
from agui_gate.core.approvals import Approval
from agui_gate.protocol import cards
from agui_gate.protocol.cards import in_order
from agui_gate.protocol.run_input import ResumeEntry

Policy = Literal["ask", "yes", "no"]

REASON = "  reason, for model and record (or Enter): "


class Decision(NamedTuple):
    """A person's decision: yes or no, why, and all arguments where some were edited."""

    approved: bool
    reason: str = ""
    edited: dict[str, Any] | None = None

    @property
    def payload(self) -> dict[str, Any]:
        """The decision as an interrupt's answer has it."""
        edited = {} if self.edited is None else {"editedArgs": self.edited}
        return {"approved": self.approved, **({"reason": self.reason} if self.reason else {}), **edited}


class Asker:
    """Answers what waits: by asking, or always the same. People read arguments as the tool orders them, which is one
    of ``members``; another one than ``entry`` is named. A yes says to which arguments it is: somebody else may edit
    them meanwhile.
    """

    def __init__(self, policy: Policy, members: Mapping[str, Agent], entry: str) -> None:
        self._policy, self._members, self._entry = policy, members, entry

    def ask(self, pending: Sequence[Approval]) -> list[ResumeEntry]:
        """Answers to some or all of ``pending``; what is missing was left for later. None where nobody is there."""
        if self._policy == "ask" and not can_ask():
            return []
        answers: list[ResumeEntry] = []
        for approval in pending:
            tool = tool_of(self._members.get(approval.agent), approval)
            arguments = in_order(approval.effective_arguments, tool.parameters if tool else None)
            decision: Decision | None = Decision(self._policy == "yes")
            if self._policy == "ask":
                asker = "" if approval.agent == self._entry else approval.agent
                asked = asked_by(asker, cards.question(approval) or f"Run {approval.tool}?")
                decision = ask_about(asked, arguments, approval.editable)
            if decision is None:
                break
            shown = {"effective_arguments": arguments} if decision.approved and approval.people else {}
            answers.append(ResumeEntry(approval.id, "resolved", decision.payload | shown))
        return answers


def asked_by(agent: str, question: str) -> str:
    """Returns ``question``, saying which agent asks, unless that is "" or is said already."""
    return question if not agent or question.startswith(f"{agent} asks:") else f"{agent} asks: {question}"


def print_pending(pending: Sequence[tuple[str, str, str]], again: str) -> None:
    """Names the calls that were left pending, each its id, its question and for whom it waits, and says how to decide
    them. ``again`` is the command that continues the conversation.
    """
    for approval_id, question, _ in pending:
        dim(f"Still pending: {whole(approval_id)}: {whole(question)}", err=True)
    for others in dict.fromkeys(others for _, _, others in pending if others):
        dim(f"Waits for {whole(others)}: they decide at /inbox, or by `agui-gate approvals`.", err=True)
    if all(others for _, _, others in pending):
        return
    dim(f"Decide at a terminal: {whole_line(again)}", err=True)
    dim(f"Decide without one:   {whole_line(f'{again} --approve yes')}   (or no)", err=True)


def print_lost(calls: Sequence[str], again: str) -> None:
    """Says what to do about a run that was lost with its process while these ``calls`` (names of tools) were running.

    ``again`` is the command that continues the conversation.
    """
    for name in dict.fromkeys(calls):
        print_hint(f"{short(name, 60)} was running. Whether it took effect is not known: check before you try again.")
    dim(f"Continue with: {whole_line(again)} --message '...'", err=True)


def can_ask() -> bool:
    """Returns whether somebody is at the terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_about(message: str, arguments: dict[str, Any], editable: Sequence[str]) -> Decision | None:
    """Puts a call to the person at the terminal: the decision, or None for later (Ctrl-D)."""
    click.secho(f"\n{whole(message)}", bold=True, err=True)
    show_arguments(arguments)
    choices = "y(es), n(o), e(dit)" if editable else "y(es), n(o)"
    while True:
        typed = read_line(f"{choices}, Ctrl-D for later: ")
        match typed and typed.strip().lower():
            case None:
                return None
            case "y" | "yes":
                return Decision(True)
            case "n" | "no":
                reason = read_line(REASON)
                return None if reason is None else Decision(False, reason.strip())
            case "e" | "edit" if editable:
                edited = _edit(arguments, editable)
                return None if edited is None else Decision(True, edited=edited)


def show_arguments(arguments: Mapping[str, Any]) -> None:
    """Shows all of them, however long: a person agrees to nothing unseen."""
    for name, value in arguments.items():
        click.secho(f"  {whole(name)}: {whole(json.dumps(value, ensure_ascii=False))}", dim=True, err=True)


def _edit(arguments: dict[str, Any], editable: Sequence[str]) -> dict[str, Any] | None:
    """Returns all arguments, with new values for the editable ones; an empty line keeps a value. None on Ctrl-D."""
    edited = dict(arguments)
    for name in editable:
        before = arguments.get(name)
        typed = read_line(f"  {whole(name)} [{short(json.dumps(before, ensure_ascii=False), 80)}]: ")
        if typed is None:
            return None
        if typed.strip():
            edited[name] = read_value(typed.strip(), before)
    return edited


def read_line(prompt: str) -> str | None:
    """Returns a line from the terminal, or None at its end. The prompt goes to stderr: stdout is the agent's."""
    click.echo(prompt, nl=False, err=True)
    _wait_for_line()
    line = sys.stdin.readline()
    if not line:
        click.echo("", err=True)
        return None
    return line.rstrip("\n")


def _wait_for_line() -> None:
    """Waits until a line can be read. A Ctrl-C that comes just before a read begins would only count after the read."""
    if os.name != "posix":
        return
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    before = signal.set_wakeup_fd(wakes)
    try:
        select.select([sys.stdin, woken], [], [])
    finally:
        signal.set_wakeup_fd(before)
        os.close(wakes)
        os.close(woken)


def edited_arguments(arguments: dict[str, Any], editable: Sequence[str], edits: Sequence[str]) -> dict[str, Any]:
    """Returns all ``arguments`` with ``edits`` (``key=value``) made. Raises `click.UsageError` for what may not be
    edited.
    """
    changed = dict(arguments)
    for edit in edits:
        name, separator, text = edit.partition("=")
        if not separator:
            raise click.UsageError(f"--edit takes KEY=VALUE, not {edit!r}.")
        if name not in editable:
            may = ", ".join(map(whole, editable)) or "nothing"
            raise click.UsageError(f"{name!r} may not be edited; {may} may.")
        changed[name] = read_value(text, arguments.get(name))
    return changed


def read_value(text: str, before: Any) -> Any:
    """Returns what was typed, as the kind of value it replaces: text stays text, anything else is JSON where it can
    be.
    """
    if isinstance(before, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
