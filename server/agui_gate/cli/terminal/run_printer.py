"""A run's events, for people and for programs."""

import json
import sys
from typing import Any

from agui_gate.cli.terminal.console import dim, failure, print_hint, printable, short
from agui_gate.core.json_text import parse_object
from agui_gate.core.stop_reasons import ASKED, Stop
from agui_gate.core.transcript import CARD_TOOL
from agui_gate.protocol.dialects.base import stopped

WIDTH = 160
"""Characters of a tool's arguments or result that are shown."""

CARD_ID = "card_"
"""The beginning of the ids of cards, also of those that an earlier run showed (`approvals/questions.py`)."""

_PRINTED = frozenset({"TEXT_MESSAGE_CONTENT", "TOOL_CALL_END", "TOOL_CALL_RESULT"})


class JsonPrinter:
    """Every event as it is on the wire, one a line: UTF-8, whatever the terminal speaks."""

    def show(self, raw: bytes, event: dict[str, Any]) -> None:
        """Prints one event at once."""
        sys.stdout.buffer.write(raw + b"\n")
        sys.stdout.buffer.flush()


class TextPrinter:
    """The agent's words on stdout as they come; tools and errors on stderr.

    ``said``: whether there was anything to print. ``provider_failed``: whether the last run failed at the provider.
    """

    def __init__(self) -> None:
        self.said = self.provider_failed = False
        self._calls: dict[str, str] = {}
        self._callers: dict[str, str] = {}
        self._subagents: dict[str, str] = {}
        self._arguments: dict[str, str] = {}
        self._mid_line = False
        self._lost = ""

    def show(self, raw: bytes, event: dict[str, Any]) -> None:
        """Prints what a person wants to see of one event."""
        self.said = self.said or event["type"] in _PRINTED
        match event["type"]:
            case "TEXT_MESSAGE_CONTENT":
                sys.stdout.write(printable(event["delta"]))
                sys.stdout.flush()
                self._mid_line = True
            case "TEXT_MESSAGE_END":
                self._end_line()
            case "SUBAGENT_STARTED":
                self._subagents[event["subagentRunId"]] = event["name"]
                self._end_line()
                dim(f"⇢ {short(event['name'], 40)} is working", err=True)
            case "RUN_ERROR" if event.get("code") == ASKED.code:
                self._stopped(ASKED)
            case "RUN_ERROR":
                self._error(short(event.get("code") or "no code", WIDTH), short(event["message"], 4 * WIDTH))
            case "RUN_FINISHED":
                self._finished(event)
            case "CUSTOM":
                self._custom(event)
            case kind if kind.startswith("TOOL_CALL_"):
                self._tool(event)

    def _custom(self, event: dict[str, Any]) -> None:
        """Any server may send one of this name, with any value."""
        match event:
            case {"name": "agui-gate:answer_refused", "value": {"message": str(message)}}:
                print_hint(short(message, WIDTH))
            case {"name": "agui-gate:interrupted", "value": {"message": str(message)}}:
                self._lost = message

    def _tool(self, event: dict[str, Any]) -> None:
        call_id = event["toolCallId"]
        match event["type"]:
            case "TOOL_CALL_START":
                self._calls[call_id] = event["toolCallName"]
                self._callers[call_id] = self._inside(event)
            case "TOOL_CALL_ARGS":
                self._arguments[call_id] = self._arguments.get(call_id, "") + event["delta"]
            case "TOOL_CALL_END":
                self._line(call_id, f"→ {self._call(call_id)}({self._named(call_id)})")
            case "TOOL_CALL_RESULT":
                self._line(call_id, self._outcome(call_id, event["content"]))

    def _outcome(self, call_id: str, content: str) -> str:
        """Returns what a call came to; one that handed the conversation over is told as that."""
        told = parse_object(content) or {}
        if told.get("status") == "transferred" and self._calls.get(call_id) == f"transfer_to_{told.get('agent')}":
            return f"⇢ {told['agent']} answers from here on"
        return f"← {self._call(call_id)}: {content}"

    def _inside(self, event: dict[str, Any]) -> str:
        """Returns the name of the sub-agent that an event belongs to; "" for the agent itself."""
        return self._subagents.get(event.get("subagentRunId") or "", "")

    def _call(self, call_id: str) -> str:
        """Returns a call's name, after that of the sub-agent that made it."""
        caller, name = self._callers.get(call_id), self._calls.get(call_id, "earlier call")
        return f"{caller}: {name}" if caller else name

    def _named(self, call_id: str) -> str:
        arguments = parse_object(self._arguments.pop(call_id, "")) or {}
        return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())

    def _line(self, call_id: str, text: str) -> None:
        if self._calls.get(call_id) != CARD_TOOL and not call_id.startswith(CARD_ID):  # it repeats what the call said
            self._end_line()
            dim(short(text, WIDTH), err=True)

    def _finished(self, event: dict[str, Any]) -> None:
        """Prints an end in order; of a run that was lost, where something waits for a person."""
        if self._lost:
            print_hint(short(self._lost, 4 * WIDTH))
            self._lost = ""
        self._stopped(stopped(event))

    def _stopped(self, why: Stop | None) -> None:
        """Prints why the run stopped: what somebody wanted, or a provider cut off, is no error; anything else is
        one.
        """
        if why == ASKED:
            self._end_line()
            self.said = True
            print_hint(ASKED.message)
        elif why is not None and why.reason is not None:
            self._end_line()
            print_hint(f"{short(why.message, 4 * WIDTH)} ({short(why.reason, WIDTH)})")
        elif why is not None:
            self._error(short(why.code, WIDTH), short(why.message, 4 * WIDTH))

    def _error(self, code: str, message: str) -> None:
        self._end_line()
        self._lost = ""
        self.said = True
        self.provider_failed = code.startswith("provider_")
        failure(message, code)

    def _end_line(self) -> None:
        if self._mid_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._mid_line = False
