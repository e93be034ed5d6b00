"""Answers an accepted request with a message, in events or whole.

Events: `message_start`, then each block, then `message_delta` with the stop reason and the output's usage, then
`message_stop`. A `ping` comes after the first block has begun, and there is no `[DONE]`. The message is remembered
right before its last event is handed out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from agui_gate_adapters.testkit.anthropic import violations as v
from agui_gate_adapters.testkit.anthropic.messages import THINKING, blocks_of
from agui_gate_adapters.testkit.anthropic.shapes import size_of
from agui_gate_adapters.testkit.anthropic.signatures import Issued, Record, Signed, digest, prefix_digest, sign
from agui_gate_adapters.testkit.api import Frame
from agui_gate_adapters.testkit.faults import Fault
from agui_gate_adapters.testkit.journal import Entry
from agui_gate_adapters.testkit.script import Turn
from agui_gate_adapters.testkit.wire import Json, encode, sse_frame

# What the public schema requires of a message besides what a script says: members that are null, or counts of nothing.
#
# They are added where something is told, and only there. What is remembered, signed and compared are the blocks
# themselves, since clients need not send such members back.

_DIRECT: Final[Json] = {"caller": {"type": "direct"}}
_MEMBERS: Final[dict[str, Json]] = {
    "text": {"citations": None},
    "tool_use": _DIRECT,
    "server_tool_use": _DIRECT,
    "web_search_tool_result": _DIRECT,
}
_DELTA: Final = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens_details",
    "server_tool_use",
)


def block_view(block: Json) -> Json:
    """Return a content block with every member that its type has."""
    return _MEMBERS.get(block["type"], {}) | block


def usage_view(counts: Json, blocks: list[Json]) -> Json:
    """Return the usage of a message; hosted searches are counted, thinking is taken as told."""
    searches = sum(block["type"] == "server_tool_use" and block["name"] == "web_search" for block in blocks)
    hosted: Any = {"web_search_requests": searches, "web_fetch_requests": 0} if searches else None
    return {
        **counts,
        "cache_creation": {
            "ephemeral_5m_input_tokens": counts["cache_creation_input_tokens"],
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens_details": {"thinking_tokens": sum(_thought(block) for block in blocks)},
        "server_tool_use": hosted,
        "service_tier": "standard",
        "inference_geo": "not_available",
    }


def delta_usage(usage: Json) -> Json:
    """Return what `message_delta` tells of it."""
    return {name: usage[name] for name in _DELTA}


def _thought(block: Json) -> int:
    return len(str(block.get("thinking", ""))) // 4


# The items of a script as content blocks of the Messages API, and the events that tell each of them.
#
# `content_block_start`, its deltas, `content_block_stop`. What a block needs to know about its message (whether to
# think, how to sign, which ids to mint) comes with the `Maker`.

_CITATIONS: Final = frozenset(
    {
        "char_location",
        "page_location",
        "content_block_location",
        "search_result_location",
        "web_search_result_location",
    }
)


class StreamedBlock(msgspec.Struct, frozen=True):
    """A finished block and how it is streamed: `start` is its first form, `deltas` what is added to it."""

    block: Json
    start: Json
    deltas: list[Json] = []


class Maker:
    """Makes the blocks of one message from script items; `thinks` leaves reasoning out when it is false."""

    def __init__(self, message_id: str, body: Json, *, thinks: bool, mint: Callable[[str], str]) -> None:
        self._message_id = message_id
        self._body = body
        self._thinks = thinks
        self._mint = mint
        self._blocks: list[Json] = []
        self._before = [(m["role"], block) for m in body["messages"] for block in blocks_of(m)]
        self._hidden = (body.get("thinking") or {}).get("display") == "omitted"

    def make(self, item: Json) -> list[StreamedBlock]:
        """Return the blocks of one item; none for an item that this API has nothing for."""
        made: list[StreamedBlock] = []
        for block in self._make(item):
            self._blocks.append(block.block)
            made.append(block)
        return made

    def _make(self, item: Json) -> Iterator[StreamedBlock]:
        match item["type"]:
            case "message":
                yield from (_text(part) for part in item.get("content", [item]))
            case "refusal":
                yield _text({"text": item["text"]})
            case "reasoning":
                yield from self._reasoning(item)
            case "function_call":
                yield self._call(item, item.get("arguments", {}))
            case "custom_tool_call":
                yield self._call(item, {"input": item.get("input", "")})
            case "web_search_call":
                yield from self._searched(item)
            case "code_interpreter_call":
                yield from self._executed(item)
            case _:
                return

    # -- thinking ------------------------------------------------------------------------------------------------

    def _reasoning(self, item: Json) -> Iterator[StreamedBlock]:
        if not self._thinks:
            return
        given = item.get("summary") or item.get("content") or []
        text = given if isinstance(given, str) else "\n\n".join(given)
        if item.get("redacted"):
            block: Json = {"type": "redacted_thinking", "data": self._sign(text)}
            yield StreamedBlock(block, block)
            return
        shown = "" if self._hidden else text
        signature = self._sign(shown)
        block = {"type": "thinking", "thinking": shown, "signature": signature}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _words(shown)]
        deltas.append({"type": "signature_delta", "signature": signature})
        yield StreamedBlock(block, {**block, "thinking": "", "signature": ""}, deltas)

    def _sign(self, text: str) -> str:
        before = [*self._before, *(("assistant", block) for block in self._blocks)]
        thoughts = [block for role, block in before if role == "assistant" and block["type"] in THINKING]
        after = digest(str(thoughts[-1].get("signature", thoughts[-1].get("data")))) if thoughts else ""
        prefix = prefix_digest(self._body, before)
        return sign(Signed(self._message_id, len(self._blocks), digest(text), prefix, after))

    # -- calls ---------------------------------------------------------------------------------------------------

    def _call(self, item: Json, arguments: Any) -> StreamedBlock:
        call_id = str(item.get("call_id") or self._mint("toolu_"))
        block = {"type": "tool_use", "id": call_id, "name": item["name"], "input": _object(arguments)}
        return StreamedBlock(block, {**block, "input": {}}, _json_deltas(item, arguments))

    def _searched(self, item: Json) -> Iterator[StreamedBlock]:
        query = {"query": str((item.get("action") or {}).get("query", ""))}
        results = [
            {
                "type": "web_search_result",
                "url": result["url"],
                "title": result.get("title", ""),
                "encrypted_content": digest(result["url"]),
                "page_age": result.get("page_age"),
            }
            for result in item.get("results") or ()
        ]
        error = {"type": "web_search_tool_result_error", "error_code": item.get("error")}
        yield from self._hosted(item, "web_search", query, error if item.get("error") else results)

    def _executed(self, item: Json) -> Iterator[StreamedBlock]:
        logs = "".join(str(out.get("logs", "")) for out in item.get("outputs") or ())
        result = {"type": "code_execution_result", "stdout": logs, "stderr": "", "return_code": 0, "content": []}
        yield from self._hosted(item, "code_execution", {"code": str(item.get("code", ""))}, result)

    def _hosted(self, item: Json, name: str, arguments: Json, result: Any) -> Iterator[StreamedBlock]:
        """Tell a server tool's call and its result; `pending` leaves the result out, `resumes` the call."""
        call_id = str(item.get("call_id") or self._mint("srvtoolu_"))
        if not item.get("resumes"):
            call = {"type": "server_tool_use", "id": call_id, "name": name, "input": arguments}
            yield StreamedBlock(call, {**call, "input": {}}, _json_deltas(item, arguments))
        if not item.get("pending"):
            answer: Json = {"type": f"{name}_tool_result", "tool_use_id": call_id, "content": result}
            yield StreamedBlock(answer, answer)


def block_events(block: StreamedBlock, index: int) -> Iterator[Json]:
    """Yield the events of one block."""
    yield {"type": "content_block_start", "index": index, "content_block": block_view(block.start)}
    for delta in block.deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _text(part: Json) -> StreamedBlock:
    given = part.get("text", part.get("refusal"))
    text = "".join(part.get("deltas") or ()) if given is None else str(given)
    pieces = part["deltas"] if "deltas" in part else _words(text)
    block: Json = {"type": "text", "text": text}
    cited = [_citation(annotation, text) for annotation in part.get("annotations") or ()]
    start: Json = {"type": "text", "text": ""} | ({"citations": []} if cited else {})
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    deltas += [{"type": "citations_delta", "citation": citation} for citation in cited]
    return StreamedBlock(block | ({"citations": cited} if cited else {}), start, deltas)


def _citation(annotation: Json, text: str) -> Json:
    """Return a citation as it is, or the Responses API's `url_citation` as one of a web search."""
    if annotation.get("type") in _CITATIONS:
        return annotation
    start, end = annotation.get("start_index", 0), annotation.get("end_index", len(text))
    url = str(annotation.get("url", ""))
    return {
        "type": "web_search_result_location",
        "url": url,
        "title": annotation.get("title"),
        "cited_text": text[start:end],
        "encrypted_index": digest(url),
    }


def _json_deltas(item: Json, arguments: Any) -> list[Json]:
    """Return the arguments in pieces, after an empty one, as the API does; no arguments give no delta at all."""
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    pieces = item["deltas"] if "deltas" in item else ["", *(text[at : at + 8] for at in range(0, len(text), 8))]
    return [] if text == "{}" and "deltas" not in item else [_json_delta(piece) for piece in pieces]


def _json_delta(piece: str) -> Json:
    return {"type": "input_json_delta", "partial_json": piece}


def _object(arguments: Any) -> Json:
    """Return arguments as an object; text that is none, which a cut-off call may have, gives an empty one."""
    if isinstance(arguments, str):
        try:
            arguments = msgspec.json.decode(arguments)
        except msgspec.DecodeError:
            return {}
    return arguments if isinstance(arguments, dict) else {}


def _words(text: str) -> list[str]:
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + words[-1:] if text else []


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
        """Ends the answer when the client is done or gone."""
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
