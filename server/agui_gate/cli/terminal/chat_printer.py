"""Events as people in a terminal see them: words as they come, who says them, tools, and what is at work."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import click
import msgspec

from agui_gate.cli.terminal.console import dim, moves_cursor, short
from agui_gate.cli.terminal.layout import columns
from agui_gate.cli.terminal.run_printer import WIDTH, TextPrinter
from agui_gate.client import AnyEvent, Json, events

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
QUIET = 0.4
"""Seconds without a word after which it is shown that something is at work."""
CLEAR = "\r\x1b[2K"
LAST = 20
"""Messages of an earlier time that are shown when a conversation goes on."""


_decode = msgspec.json.Decoder(AnyEvent).decode


class Spinner:
    """A line that says what is at work, on terminals that can take it back again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._able, self._clock = moves_cursor(), clock
        self._since = self._last = clock()
        self._shown = False

    def begin(self) -> None:
        """Begins a line, as something has begun."""
        self._since = self._last = self._clock()

    def clear(self) -> None:
        """Takes the line back: something else is printed now."""
        self._last = self._clock()
        if self._shown:
            self._shown = False
            click.echo(CLEAR, nl=False, err=True)

    def draw(self, label: str) -> None:
        """Shows the line, if nothing was said for a while."""
        now = self._clock()
        if not self._able or now - self._last < QUIET:
            return
        frame = FRAMES[int(now * 10) % len(FRAMES)]
        self._shown = True
        room = min((columns(sys.stderr) or 80) - 10, 60)  # one line: no more can be taken back
        line = click.style(f"{frame} {short(label, room)} {now - self._since:.0f} s", dim=True)
        click.echo(f"{CLEAR}{line}", nl=False, err=True)


class ChatPrinter(TextPrinter):
    """Prints events of runs. One message streams at a time: what others say meanwhile follows when it has ended.

    Who speaks is named where it is somebody else than before. ``entry`` is the name of the agent itself, which is named
    only once another one has spoken.
    """

    def __init__(self, entry: str = "") -> None:
        super().__init__()
        self.spinner = Spinner()
        self._entry, self._voice = entry, ""
        self._has_team = False
        self._live: str | None = None
        self._waiting: dict[str, list[AnyEvent]] = {}
        self._silent: set[str] = set()
        self._working: dict[str, str] = {}

    def begin(self) -> None:
        """Begins a run."""
        self.spinner.begin()
        self._live, self._waiting, self._working = None, {}, {}
        self._voice = ""

    def end(self) -> None:
        """The run is over, or nobody reads it any more."""
        self.spinner.clear()
        for told in list(self._waiting.values()):
            self._tell(told)
        self._end_line()

    def draw(self) -> None:
        """Says what is at work, if nothing else is said."""
        if not self._mid_line:
            self.spinner.draw(next(reversed(self._working.values()), "waiting for the agent"))

    def print_frame(self, raw: bytes, event: dict[str, Any]) -> None:
        """Prints one event as the wire's JSON; ``event`` is the same, decoded."""
        told = _decode(raw)
        if isinstance(told, events.RunStarted):
            self.begin()
        if isinstance(told, events.RunFinished | events.RunError):
            self.end()
        self.print_event(told)

    def print_event(self, event: AnyEvent) -> None:
        """Prints one event."""
        self._note_work(event)
        match event:
            case events.TextMessageStart(role=role) if role != "assistant":
                self._silent.add(event.message_id)
            case events.TextMessageStart() | events.TextMessageContent() | events.TextMessageEnd():
                if event.message_id not in self._silent:
                    self._words(event)
            case events.ReasoningMessageContent() | events.StateDelta() | events.StateSnapshot():
                pass
            case _:
                self._print(event)

    def _words(self, event: Any) -> None:
        """Prints the message that streams now at once, and keeps any other for later."""
        if self._live is None:
            self._live = event.message_id
        if event.message_id != self._live:
            self._waiting.setdefault(event.message_id, []).append(event)
            return
        self._print(event)
        if isinstance(event, events.TextMessageEnd):
            self._live = None
            ended = [i for i, told in self._waiting.items() if isinstance(told[-1], events.TextMessageEnd)]
            for message_id in ended:
                self._tell(self._waiting.pop(message_id))
            if self._waiting:
                self._live = next(iter(self._waiting))
                self._tell(self._waiting.pop(self._live))

    def _tell(self, told: Sequence[AnyEvent]) -> None:
        for event in told:
            self._print(event)

    def _print(self, event: AnyEvent) -> None:
        self.spinner.clear()
        told = msgspec.to_builtins(event)
        if isinstance(event, events.TextMessageStart):
            self._name(event.name or self._inside(told))
        self.show(b"", told)

    def _name(self, voice: str) -> None:
        """Says who speaks, if it is somebody else than before."""
        self._has_team = self._has_team or bool(voice)
        if self._has_team and (who := voice or self._entry or "agent") != self._voice:
            self._voice = who
            self._end_line()
            click.secho(f"{short(who, 40)}:", bold=True, err=True)

    def _note_work(self, event: AnyEvent) -> None:
        """Keeps what is at work, for the spinner."""
        match event:
            case events.ToolCallStart():
                self._working[event.tool_call_id] = f"{event.tool_call_name} is working"
            case events.ToolCallResult():
                self._working.pop(event.tool_call_id, None)
            case events.ReasoningStart() | events.ReasoningMessageStart():
                self._working[event.message_id] = "thinking"
            case events.ReasoningEnd() | events.ReasoningMessageEnd():
                self._working.pop(event.message_id, None)
            case events.SubagentStarted():
                self._working[event.subagent_run_id] = f"{event.name} is working"
            case events.SubagentFinished() | events.SubagentError():
                self._working.pop(event.subagent_run_id, None)
            case events.ActivitySnapshot():
                text = msgspec.json.encode(event.content).decode()
                self._working[event.message_id] = f"{event.activity_type} {text}"
            case _:
                pass


def show_history(messages: Sequence[Json]) -> None:
    """Prints the last messages of a conversation that goes on."""
    if len(messages) > LAST:
        dim(f"({len(messages) - LAST} earlier messages)", err=True)
    for message in messages[-LAST:]:
        said = message.get("content") or ""  # a message that only calls has none
        text = said if isinstance(said, str) else "(attachments)"
        match message["role"]:
            case "user":
                click.secho(f"you: {short(text, WIDTH)}", dim=True, err=True)
            case "assistant":
                who = f"{short(str(message['name']), 40)}: " if message.get("name") else ""
                if text:
                    click.echo(f"{who}{short(text, 4 * WIDTH)}", err=True)
                for call in message.get("toolCalls") or ():
                    dim(f"→ {short(call['function']['name'], 60)}", err=True)
            case _:
                pass
    sys.stderr.flush()
