"""Prints what a server says when it is up: the address, who may connect, the agents, and how to try it."""

import sys
import textwrap
from collections.abc import Sequence

import click

from agui_gate.agents.agent import Agent
from agui_gate.cli.terminal.console import dim
from agui_gate.cli.terminal.layout import columns
from agui_gate.release import describe_release

GATED = "\N{NO-BREAK SPACE}(asks\N{NO-BREAK SPACE}first)"


def banner(
    url: str, agents: Sequence[Agent], facts: dict[str, str], *, say: str = "Hello", closed: bool = False
) -> None:
    """Prints it. ``facts`` are labelled lines, such as where data is kept; ``say`` is a prompt to try, which takes a
    token where the server is ``closed`` to strangers.
    """
    up = f"{describe_release()} is up at"
    room = columns(sys.stdout) or sys.maxsize
    apart = "\n  " if len(f"  agui-gate {up} {url}") > room else " "
    click.echo(f"\n  {click.style('agui-gate', bold=True)} {up}{apart}{_link(url)}\n")
    width = max([len(label) for label in facts] + [len(agent.name) for agent in agents])
    for agent in agents:
        _line(agent.name, _tools(agent), width, room, bold=True)
    for label, fact in facts.items():
        _line(label, fact, width, room, dim=True)
    click.echo("")
    if agents:
        click.secho(f"  Try it without a browser:\n\n{curl(url, say, closed=closed)}\n", dim=True)
    dim("  Ctrl-C stops it.")


def curl(url: str, text: str, *, closed: bool = False) -> str:
    """Returns a command that runs the first agent once."""
    bearer = ['-H "Authorization: Bearer $TOKEN"'] if closed else []
    body = (
        f'{{"threadId":"t1","runId":"r1",\n      "messages":[{{"id":"m1","role":"user",\n      "content":"{text}"}}]}}'
    )
    return " \\\n      ".join([f"    curl -N {url}/", "-H 'Content-Type: application/json'", *bearer, f"-d '{body}'"])


def _tools(agent: Agent) -> str:
    own = [tool.name + (GATED if tool.gate else "") for tool in agent.by_name.values()]
    found = [f"the tools of {source.name}" for source in agent.sources]
    return ", ".join(own + found) or "no tools"


def _line(label: str, told: str, width: int, room: int, **style: bool) -> None:
    """Prints a label, and what there is to tell beside it, in as many lines as that takes."""
    first, *more = textwrap.wrap(told, max(room - width - 4, 20), break_long_words=False, break_on_hyphens=False)
    click.echo(f"  {click.style(label.ljust(width), **style)}  {_marked(first)}")
    for line in more:
        click.echo(f"  {' ' * width}  {_marked(line)}")


def _marked(line: str) -> str:
    return line.replace(GATED, click.style(" (asks first)", fg="yellow"))


def _link(url: str) -> str:
    return click.style(url, fg="cyan", bold=True, underline=True)
