"""What was said, as attributes of spans: messages, arguments and results, by the conventions for GenAI.

Off unless the application's code asks for it, so no variable of an environment turns it on. It is bounded: each text,
and each attribute as a whole. What ``redact`` doesn't return is not recorded, and neither is anything if it fails.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any, Literal, cast

import structlog
from opentelemetry.trace import Span

from agui_gate.core.transcript import (
    AssistantTurn,
    CallPart,
    Media,
    Output,
    ReasoningPart,
    SettledCall,
    Text,
    TextPart,
    TurnEntry,
    UserTurn,
)
from agui_gate.errors import ConfigurationError
from agui_gate.extension import Extension, Server
from agui_gate.extras.telemetry import names
from agui_gate.turns.steps import Draft

Kind = Literal["instructions", "input", "output", "arguments", "result"]
"""The instructions of a request; a message of its input; its answer; a tool's arguments and its result."""

Redact = Callable[[Kind, Any], Any]

TEXT_CHARACTERS = 8_000
"""Characters of one text. What is over is cut, and says so."""
ATTRIBUTE_CHARACTERS = 64_000
"""Characters of one attribute. Of messages, the oldest are left out; others are cut."""
CUT = "… (cut)"

Json = dict[str, Any]

log = structlog.get_logger("agui_gate.traces")


class SpanContent(Extension):
    """Records content in the spans of `AGUI_GATE_TRACES`.

    ``redact(kind, value)`` is given each value before it is recorded: a text, or for ``input`` and ``output`` a message
    as JSON data. It returns what to record in its place, or None for nothing. It is called in the event loop: it must
    not wait. None: all is recorded as it is.
    """

    notice_kinds = ()

    def __init__(self, redact: Redact | None = None) -> None:
        self._redact = redact
        self._is_failing = False

    async def start(self, server: Server) -> None:
        """Raises `ConfigurationError` if nothing is traced."""
        if not any(hasattr(one, "spans") for one in cast(Any, server).engine.extensions.all):
            raise ConfigurationError("SpanContent records nothing without traces: set AGUI_GATE_TRACES=true.")

    # --- what is recorded -------------------------------------------------------------------------------------------
    def asked(self, span: Span, draft: Draft, run: Span) -> None:
        """Records a request: its instructions, and its messages, the newest ones that fit. The newest that a person
        wrote is the input of ``run``.
        """
        self._set(span, names.INSTRUCTIONS, "instructions", draft.prompt, _as_instructions)
        is_said = False
        kept: list[str] = []
        left = ATTRIBUTE_CHARACTERS
        for message, begins in _newest(draft):
            said = self._redacted("input", message)
            if said is None:
                continue
            text = _json(said)
            left -= len(text) + 2
            if left < 0:
                break
            kept.append(text)
            if begins and not is_said:
                is_said = True
                run.set_attribute(names.INPUT, f"[{text}]")
        if kept:
            span.set_attribute(names.INPUT, f"[{', '.join(reversed(kept))}]")

    def answered(self, span: Span, turn: TurnEntry, run: Span) -> None:
        """Records an answer. The newest is the output of ``run``."""
        parts = [_part(part) for part in turn.parts]
        message = {"role": "assistant", "parts": parts, "finish_reason": "tool_call" if turn.calls else "stop"}
        said = self._redacted("output", message)
        if said is not None and len(text := _json([said])) <= ATTRIBUTE_CHARACTERS:
            span.set_attribute(names.OUTPUT, text)
            run.set_attribute(names.OUTPUT, text)

    def called(self, span: Span, arguments: str) -> None:
        """Records what a tool is called with."""
        self._set(span, names.ARGUMENTS, "arguments", arguments, str)

    def returned(self, span: Span, output: Output) -> None:
        """Records what a tool said."""
        self._set(span, names.RESULT, "result", output.content, str)

    def _set(self, span: Span, name: str, kind: Kind, text: str, form: Callable[[Any], str]) -> None:
        if text and (said := self._redacted(kind, text)) is not None:
            span.set_attribute(name, form(_cut(said if isinstance(said, str) else _json(said))))

    def _redacted(self, kind: Kind, value: Any) -> Any:
        if self._redact is None:
            return value
        try:
            found = self._redact(kind, value)
            _json(found)
        except Exception as error:
            if not self._is_failing:
                log.error("redact_failed", kind=kind, error=type(error).__name__)  # its message may have the content
            self._is_failing = True
            return None
        self._is_failing = False
        return found


def _newest(draft: Draft) -> Iterable[tuple[Json, bool]]:
    """Yields the messages of a request, the newest first, and whether a person began a turn with it."""
    for turn in reversed(draft.transcript):
        if isinstance(turn, UserTurn):
            message = {"role": turn.role, "parts": [_content(part) for part in turn.content]}
            yield message, turn.role == "user" and not turn.is_note
            continue
        results = [_result(call) for call in turn.calls]
        if results:
            yield {"role": "tool", "parts": results}, False
        yield _assistant(turn), False


def _assistant(turn: AssistantTurn) -> Json:
    return {"role": "assistant", "parts": [_part(part) for part in turn.parts]}


def _content(part: Text | Media) -> Json:
    if isinstance(part, Text):
        return {"type": "text", "content": _cut(part.text)}
    return {"type": "uri", "modality": part.kind, "mime_type": part.mime_type or "", "uri": "(left out)"}


def _part(part: TextPart | ReasoningPart | CallPart | SettledCall) -> Json:
    if isinstance(part, TextPart):
        return {"type": "text", "content": _cut(part.text)}
    if isinstance(part, ReasoningPart):
        return {"type": "reasoning", "content": _cut("\n\n".join(part.summary))}
    call = part.part if isinstance(part, SettledCall) else part
    return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": _cut(part.arguments)}


def _result(call: SettledCall) -> Json:
    return {"type": "tool_call_response", "id": call.part.id, "response": _cut(call.output.content)}


def _as_instructions(text: str) -> str:
    return _json([{"type": "text", "content": text}])


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_CHARACTERS else text[:TEXT_CHARACTERS] + CUT


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
