"""Text that fits into a terminal. What goes into a file or a pipe is left as it is: programs read lines."""

import os
import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from typing import IO, Any

import click

HELP_WIDTH = 80
"""Columns that a help text has at most: longer lines are hard to read."""

NARROW = 60
"""Columns below which what an option does stands below it."""

_JOINED = "\N{NO-BREAK SPACE}"
_GAP = re.compile(r"(?<=\S)(?:  +)(?=\S)")


def columns(stream: IO[Any]) -> int | None:
    """Returns how wide the terminal behind ``stream`` is; None if there is none, or if it doesn't say."""
    try:
        return (os.get_terminal_size(stream.fileno()).columns or None) if stream.isatty() else None
    except (OSError, ValueError, AttributeError):
        return None


def colour() -> bool | None:
    """Returns False where nobody wants colours or bold letters (https://no-color.org); None leaves it to click."""
    return False if os.environ.get("NO_COLOR") else None


def fit(text: str, stream: IO[Any], hang: int = 2) -> str:
    """Returns ``text`` for ``stream``: lines that are too long go on in the next one, indented by ``hang`` more.

    Words stay whole, so that addresses can be copied, and so does what is `whole_line`.
    """
    width = columns(stream)
    if width is not None:
        text = "\n".join(piece for line in text.split("\n") for piece in folded(line, width, hang))
    return text.replace(_JOINED, " ")


def whole_line(command: str) -> str:
    """Returns ``command`` for `fit`, which then leaves it in one line: a part of one that is copied does something
    else.
    """
    return command.replace(" ", _JOINED)


def folded(line: str, width: int, hang: int = 2) -> list[str]:
    """Folds one line into lines of at most ``width`` characters. Columns (two spaces and more) go below each other
    first.
    """
    if len(line) <= width:
        return [line]
    lead = len(line) - len(line.lstrip(" "))
    gaps = list(_GAP.finditer(line))
    if gaps:
        under = " " * (lead + 2 * hang)
        return [*folded(line[: gaps[-1].start()], width, hang), *folded(under + line[gaps[-1].end() :], width, hang)]
    return textwrap.wrap(
        line, width, subsequent_indent=" " * (lead + hang), break_long_words=False, break_on_hyphens=False
    )


def help_width() -> int:
    """Returns the columns of help texts."""
    return max(min(shutil.get_terminal_size().columns, HELP_WIDTH) - 2, 30)


class HelpFormatter(click.HelpFormatter):
    """Folds also the lines that are written as they are (after a backspace), and stacks options in narrow terminals."""

    def write_text(self, text: str) -> None:
        """Paragraphs of a help text."""
        for number, paragraph in enumerate(text.split("\n\n")):
            if number:
                self.write("\n")
            if not paragraph.startswith("\b\n"):
                super().write_text(paragraph)
                continue
            for line in paragraph.removeprefix("\b\n").split("\n"):
                indented = f"{'':>{self.current_indent}}{line}"
                self.write("".join(f"{piece}\n" for piece in folded(indented, self.width)))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Options or commands, and what they do."""
        listed = list(rows)
        if self.width >= NARROW or max(len(first) for first, _ in listed) <= self.width // 4:
            super().write_dl(listed, col_max, col_spacing)
            return
        for first, second in listed:
            room = self.width - self.current_indent - 4
            told = (f"    {line}" for line in textwrap.wrap(second, room, break_on_hyphens=False))
            for line in (*self._term(first), *told):
                self.write(f"{'':>{self.current_indent}}{line}\n")

    def _term(self, text: str) -> Iterator[str]:
        """Yields an option and its values, of which there may be many."""
        pieces = re.split(r"(?<=[| ])", text)
        line = pieces[0]
        for piece in pieces[1:]:
            if len(line) + len(piece) > self.width - self.current_indent:
                yield line.rstrip()
                line = "  "
            line += piece
        yield line


class FittingContext(click.Context):
    """Fits help texts to the terminal, as above."""

    formatter_class = HelpFormatter


def fitting(command: click.Command) -> click.Command:
    """Returns ``command``, and those below it, with help texts as above."""
    command.context_class = FittingContext
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        fitting(below)
    return command
