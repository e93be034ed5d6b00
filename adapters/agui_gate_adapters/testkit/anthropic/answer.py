"""One accepted request being answered: a message, told in events or whole.

Events: `message_start`, then each block, then `message_delta` with the stop reason and the output's usage, then
`message_stop`. A `ping` comes after the first block has begun, and there is no `[DONE]`. The message is remembered
right before its last event is handed out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from agui_gate_adapters.testkit.anthropic import violations as v
from agui_gate_adapters.testkit.anthropic.blocks import Maker, StreamedBlock, block_events
from agui_gate_adapters.testkit.anthropic.complete import block_view, delta_usage, usage_view
from agui_gate_adapters.testkit.anthropic.record import Issued, Record
from agui_gate_adapters.testkit.anthropic.shapes import size_of
from agui_gate_adapters.testkit.api import Frame
from agui_gate_adapters.testkit.faults import Fault
from agui_gate_adapters.testkit.journal import Entry
from agui_gate_adapters.testkit.script import Turn
from agui_gate_adapters.testkit.wire import Json, encode, sse_frame

__all__ = ["Answer"]

_REASONS: Final = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}


class Answer:
    """The answer to one request."""

    def __init__(
        self, message_id: str, body: Json, maker: Maker, turn: Turn, fault: Fault | None, record: Record
    ) -> None:
        self.id = message_id
        self.turn = turn
        self.fault = fault
        self.streamed = bool(body.get("stream"))
        self.entry: Entry | None = None
        self.ended: str | None = None
        self._record = record
        self._parts: list[StreamedBlock | Json] = []
        for item in turn.output:
            self._parts += [dict(item["event"])] if item["type"] == "event" else maker.make(item)
        self._blocks = [part.block for part in self._parts if isinstance(part, StreamedBlock)]
        self._stop_reason = self._reason(body)
        self._message: Json = {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "stop_details": None,
            "container": None,
            "usage": usage_view(self._usage(size_of(body)), self._blocks),
        }
        self._stop: Json = {
            "stop_reason": self._stop_reason,
            "stop_sequence": None,
            "stop_details": None,
            "container": None,
        }
        if self._stop_reason == "stop_sequence":
            self._stop["stop_sequence"] = next(iter(body.get("stop_sequences") or ()), None)
        if self._stop_reason == "refusal":
            self._stop["stop_details"] = {"type": "refusal", "category": None, "explanation": None}

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The request id."""
        return (("request-id", f"req_{self.id[4:28]}"),)

    def frames(self) -> Iterator[Frame]:
        """Yield the events in their framing; a failure in the middle ends them with an `error` event."""
        for event in self._spoiled():
            yield Frame(sse_frame(event), event["type"] == "content_block_delta")

    def whole(self) -> Json:
        """Return the message."""
        self._end(self.turn.status)
        return {**self._message, "content": [block_view(block) for block in self._blocks], **self._stop}

    def close(self) -> None:
        """The client is done, or gone."""
        if self.ended is None:
            self._end("aborted")

    # -- inside --------------------------------------------------------------------------------------------------

    def _spoiled(self) -> Iterator[Json]:
        fault = self.fault
        if self.turn.status == "failed":
            error = self.turn.error or {}
            fault = Fault("failed", code=error.get("code"), message=error.get("message"), after_events=10**9)
        if fault is None or fault.kind not in ("error_event", "failed"):
            yield from self._events()
            return
        yield from islice(self._events(), fault.events_before)
        if self.ended is None:
            self._end("failed" if fault.kind == "failed" else "aborted")
            yield v.body_of(v.of_fault(fault))

    def _events(self) -> Iterator[Json]:
        first = {**self._message["usage"], "output_tokens": 1, "output_tokens_details": {"thinking_tokens": 0}}
        yield {"type": "message_start", "message": {**self._message, "usage": first}}
        index = 0
        for part in self._parts:
            events = block_events(part, index) if isinstance(part, StreamedBlock) else iter([part])
            for number, event in enumerate(events):
                yield event
                if isinstance(part, StreamedBlock) and number == index == 0:
                    yield {"type": "ping"}
            index += isinstance(part, StreamedBlock)
        if self.turn.status == "failed":
            return
        yield {"type": "message_delta", "delta": self._stop, "usage": delta_usage(self._message["usage"])}
        self._end(self.turn.status)
        yield {"type": "message_stop"}

    def _reason(self, body: Json) -> str:
        if self.turn.status == "incomplete":
            return _REASONS.get(self.turn.reason, self.turn.reason)
        if any(item["type"] == "refusal" for item in self.turn.output):
            return "refusal"
        return "tool_use" if any(block["type"] == "tool_use" for block in self._blocks) else "end_turn"

    def _usage(self, prompt: int) -> Json:
        """Return the turn's usage in this API's members, or an estimate: four characters a token, nothing cached."""
        given = self.turn.usage or {}
        cached = (given.get("input_tokens_details") or {}).get("cached_tokens", 0)
        estimate = len(encode(self._blocks)) // 4
        return {
            "input_tokens": given.get("input_tokens", prompt),
            "cache_creation_input_tokens": given.get("cache_creation_input_tokens", 0),
            "cache_read_input_tokens": given.get("cache_read_input_tokens", cached),
            "output_tokens": given.get("output_tokens", estimate),
        }

    def _end(self, status: str) -> None:
        self.ended = status
        if self.entry is not None:
            self.entry.ended = status
        if status in ("completed", "incomplete"):
            self._record.keep(Issued(self.id, self._blocks, self._stop_reason))
