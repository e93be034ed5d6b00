"""Prints for commands: dim lines, tables, marks, and the log on stderr.

Colours go only to terminals: click strips them from anything else.
"""

import logging
import os
import sys
import unicodedata
from collections.abc import Sequence

import click

from agui_gate.cli.program import debugging
from agui_gate.cli.terminal.layout import columns, fit, folded
from agui_gate.core.visible_text import visible


def dim(text: str, *, err: bool = False) -> None:
    """Prints a line that is not the point."""
    click.secho(fit(text, sys.stderr if err else sys.stdout), dim=True, err=err)


def print_hint(text: str) -> None:
    """Prints a line worth noticing on stderr."""
    line = fit(f"note: {text}", sys.stderr).removeprefix("note:")
    click.echo(f"{click.style('note:', fg='yellow')}{line}", err=True)


def failure(message: str, code: str) -> None:
    """Prints what went wrong, with its code, on stderr."""
    line = fit(f"error: {message} ({code})", sys.stderr).removeprefix("error:")
    click.echo(f"{click.style('error:', fg='red', bold=True)}{line}", err=True)


def table(rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Returns ``rows`` in aligned columns, two spaces apart, with ``head`` above them if given.

    On a terminal that is too narrow for them: the first cell of each row, and below it the others with their heads.
    """
    lines = [tuple(head), *rows] if head else list(rows)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))] if lines else []
    if (room := columns(sys.stdout)) is not None and sum(widths) + 2 * (len(widths) - 1) > room:
        return "\n".join(piece for row in rows for line in _stacked(row, head) for piece in folded(line, room))
    padded = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    if head:
        padded[0] = click.style(padded[0], bold=True)
    return "\n".join(padded)


def _stacked(row: Sequence[str], head: Sequence[str]) -> list[str]:
    width = max(map(len, head[1:]), default=0)
    labels = [name.ljust(width + 1) for name in head[1:]] or [""] * (len(row) - 1)
    return [row[0], *(f"  {label}{cell}" for label, cell in zip(labels, row[1:], strict=True) if cell)]


def short(text: str, width: int) -> str:
    """Returns ``text`` on one line of at most ``width`` characters, with what nobody would see shown by its number."""
    line = visible(" ".join(text[: 4 * width].splitlines()).replace("\t", " "))
    return line if len(line) <= width else f"{line[: width - 1]}…"


def whole(text: str) -> str:
    """Returns all of ``text`` on one line, with what nobody would see shown by its number: for what a person agrees
    to.
    """
    return visible(" ".join(text.split("\n")).replace("\t", " "))


_STEERING = frozenset({"Cc", "Cn", "Co", "Cs", "Zl", "Zp"})
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    """Returns ``text`` without control characters: what a model or a tool says must not steer somebody's terminal.

    Spaces of every width and what joins letters or emoji belong to the text.
    """
    return text if text.isprintable() else "".join(c for c in text if not _steers(c))


def _steers(character: str) -> bool:
    if character in "\n\t":
        return False
    return character in _DIRECTIONS or unicodedata.category(character) in _STEERING


def moves_cursor() -> bool:
    """Returns whether a line on stderr can be taken back: somebody watches, on a terminal that is not a plain
    printer.
    """
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def mark(ok: bool | None) -> str:
    """✓, ✗, or ! for None; plain letters where the terminal can't show them."""
    good, bad = ("✓", "✗") if _can_show("✓✗") else ("ok", "NO")
    if ok is None:
        return click.style("!", fg="yellow", bold=True)
    return click.style(good, fg="green") if ok else click.style(bad, fg="red", bold=True)


def _can_show(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def log_to_stderr(ctx: click.Context, at: str = "warning", form: str = "text") -> None:
    """Sends logs to stderr from level ``at`` on; everything with ``--debug``. stdout is for what the command gives."""
    from agui_gate.cli.terminal.command_log import to_stderr

    to_stderr(logging.DEBUG if debugging(ctx) else logging.getLevelNamesMapping()[at.upper()], form)
