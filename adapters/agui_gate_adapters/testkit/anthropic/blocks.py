"""The items of a script as content blocks of the Messages API, and the events that tell each of them.

`content_block_start`, its deltas, `content_block_stop`. What a block needs to know about its message (whether to think,
how to sign, which ids to mint) comes with the `Maker`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from agui_gate_adapters.testkit.anthropic.complete import block_view
from agui_gate_adapters.testkit.anthropic.message_merge import THINKING, blocks_of
from agui_gate_adapters.testkit.anthropic.signatures import Signed, digest, prefix_digest, sign
from agui_gate_adapters.testkit.wire import Json

__all__ = ["Maker", "StreamedBlock", "block_events"]

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
