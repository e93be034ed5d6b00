"""What a server says when it is up: the address, who may connect, the agents, and how to try it."""

from collections.abc import Sequence
from importlib.metadata import version

import click

from agui_gate.agent import Agent
from agui_gate.cli.terminal.console import dim


def banner(
    url: str, agents: Sequence[Agent], facts: dict[str, str], *, say: str = "Hello", closed: bool = False
) -> None:
    """Print it. ``facts`` are labelled lines, such as where data is kept; ``say`` is a prompt to try, which takes a
    token where the server is ``closed`` to strangers.
    """
    click.echo(f"\n  {click.style('agui-gate', bold=True)} {version('agui-gate')} is up at {_link(url)}\n")
    width = max([len(label) for label in facts] + [len(agent.name) for agent in agents])
    for agent in agents:
        click.echo(f"  {click.style(agent.name.ljust(width), bold=True)}  {_tools(agent)}")
    for label, fact in facts.items():
        click.echo(f"  {click.style(label.ljust(width), dim=True)}  {fact}")
    click.echo("")
    if agents:
        dim(f"  Try it without a browser:\n\n{curl(url, say, closed=closed)}\n")
    dim("  Ctrl-C stops it.")


def curl(url: str, text: str, *, closed: bool = False) -> str:
    """A command that runs the first agent once."""
    bearer = ' -H "Authorization: Bearer $TOKEN"' if closed else ""
    body = f'{{"threadId":"t1","runId":"r1","messages":[{{"id":"m1","role":"user","content":"{text}"}}]}}'
    return f"    curl -N {url}/ -H 'Content-Type: application/json'{bearer} \\\n      -d '{body}'"


def _tools(agent: Agent) -> str:
    gated = click.style(" (asks first)", fg="yellow")
    own = [tool.name + (gated if tool.gate else "") for tool in agent.by_name.values()]
    found = [f"the tools of {source.name}" for source in agent.sources]
    return ", ".join(own + found) or click.style("no tools", dim=True)


def _link(url: str) -> str:
    return click.style(url, fg="cyan", bold=True, underline=True)
