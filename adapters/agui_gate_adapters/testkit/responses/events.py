"""The events of a response, in the exact order of the Responses API.

`created`, (`queued`,) `in_progress`, then for each output item `output_item.added` … `output_item.done`, then one
terminal event; there is no `[DONE]`. A `Piece` is one output item being told: iterating `events` tells it, and
`item` is its final form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from agui_gate_adapters.testkit.kinds import HOSTED, KINDS
from agui_gate_adapters.testkit.responses.encrypted_reasoning import SealedReasoning, seal
from agui_gate_adapters.testkit.wire import Json, argument_pieces, pieces_of

_HOSTED_STAGES: Final[dict[str, tuple[str, ...]]] = {
    "web_search_call": ("in_progress", "searching", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "image_generation_call": ("in_progress", "generating", "completed"),
    "mcp_list_tools": ("in_progress", "completed"),
    "mcp_call": ("in_progress", "completed"),
}


class Piece(msgspec.Struct):
    """One output item: its final form (None for an injected event) and the way it is told."""

    item: Json | None
    events: Iterator[Json]


class Sealer(msgspec.Struct, frozen=True):
    """What reasoning needs to seal itself; `wanted` when the request included encrypted content."""

    response_id: str
    model: str
    wanted: bool

    def blob(self, item_id: str, *, finished: bool) -> str:
        """Return the encrypted content of a reasoning item."""
        return seal(SealedReasoning(item_id, self.model, self.response_id, finished))


def build_piece(spec: Json, index: int, mint: Callable[[str], str], sealer: Sealer, *, last_status: str) -> Piece:
    """Turn an output of a script into a piece at `output_index` `index`.

    `last_status` is the status of the item: `completed`, or `incomplete` for the item at which a response stopped.
    """
    kind = str(spec["type"])
    if kind == "event":
        return Piece(None, iter([dict(spec["event"])]))
    prefix = KINDS["message" if kind == "refusal" else kind].id_prefix
    item_id = str(spec.get("id") or mint(f"{prefix}_"))
    if kind in ("message", "refusal"):
        return _message(spec, item_id, index, last_status)
    if kind == "reasoning":
        return _reasoning(spec, item_id, index, sealer)
    if kind in ("function_call", "custom_tool_call"):
        return _call(spec, item_id, index, mint, last_status)
    return _other(spec, item_id, index, mint)


def _added(index: int, item: Json) -> Json:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def _done(index: int, item: Json) -> Json:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


# -- messages ----------------------------------------------------------------------------------------------------


def _message(spec: Json, item_id: str, index: int, status: str) -> Piece:
    parts = [_part(part) for part in _parts(spec)]
    item: Json = {"id": item_id, "type": "message", "status": status, "role": "assistant", "content": parts}
    if "phase" in spec:
        item["phase"] = spec["phase"]
    deltas = [part.get("deltas") for part in _parts(spec)]
    return Piece(item, _tell_message(item, index, deltas))


def _parts(spec: Json) -> list[Json]:
    if spec["type"] == "refusal":
        return [{"refusal": spec["text"]}]
    return list(spec["content"]) if "content" in spec else [spec]


def _part(part: Json) -> Json:
    if "refusal" in part:
        return {"type": "refusal", "refusal": str(part["refusal"])}
    text = part["text"] if "text" in part else "".join(part.get("deltas") or ())
    return {"type": "output_text", "text": text, "annotations": list(part.get("annotations") or ()), "logprobs": []}


def _tell_message(item: Json, index: int, deltas: list[list[str] | None]) -> Iterator[Json]:
    yield _added(index, {**item, "status": "in_progress", "content": []})
    for number, part in enumerate(item["content"]):
        where: Json = {"item_id": item["id"], "output_index": index, "content_index": number}
        yield from _tell_part(part, where, deltas[number])
    yield _done(index, item)


def _tell_part(part: Json, where: Json, deltas: list[str] | None) -> Iterator[Json]:
    name = "output_text" if part["type"] == "output_text" else "refusal"
    member = "text" if name == "output_text" else "refusal"
    extra: Json = {"logprobs": []} if name == "output_text" else {}
    empty = {**part, member: ""} | ({"annotations": []} if name == "output_text" else {})
    yield {"type": "response.content_part.added", **where, "part": empty}
    for delta in pieces_of(part[member]) if deltas is None else deltas:
        yield {"type": f"response.{name}.delta", **where, "delta": delta, **extra}
    for number, annotation in enumerate(part.get("annotations") or ()):
        yield {
            "type": "response.output_text.annotation.added",
            **where,
            "annotation_index": number,
            "annotation": annotation,
        }
    yield {"type": f"response.{name}.done", **where, member: part[member], **extra}
    yield {"type": "response.content_part.done", **where, "part": part}


# -- reasoning ---------------------------------------------------------------------------------------------------


def _reasoning(spec: Json, item_id: str, index: int, sealer: Sealer) -> Piece:
    given = spec.get("summary") or []
    texts = [given] if isinstance(given, str) else list(given)
    item: Json = {
        "id": item_id,
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text} for text in texts],
    }
    if spec.get("content"):
        item["content"] = [{"type": "reasoning_text", "text": str(spec["content"])}]
    early = dict(item)
    if sealer.wanted:
        early["encrypted_content"] = sealer.blob(item_id, finished=False)
        item["encrypted_content"] = sealer.blob(item_id, finished=True)
    return Piece(item, _tell_reasoning(item, early, index))


def _tell_reasoning(item: Json, early: Json, index: int) -> Iterator[Json]:
    yield _added(index, {key: value for key, value in early.items() if key != "content"} | {"summary": []})
    for number, part in enumerate(item["summary"]):
        where: Json = {"item_id": item["id"], "output_index": index, "summary_index": number}
        yield {"type": "response.reasoning_summary_part.added", **where, "part": {"type": "summary_text", "text": ""}}
        for delta in pieces_of(part["text"]):
            yield {"type": "response.reasoning_summary_text.delta", **where, "delta": delta}
        yield {"type": "response.reasoning_summary_text.done", **where, "text": part["text"]}
        yield {"type": "response.reasoning_summary_part.done", **where, "part": part}
    for number, part in enumerate(item.get("content") or ()):
        where = {"item_id": item["id"], "output_index": index, "content_index": number}
        for delta in pieces_of(part["text"]):
            yield {"type": "response.reasoning_text.delta", **where, "delta": delta}
        yield {"type": "response.reasoning_text.done", **where, "text": part["text"]}
    yield _done(index, item)


# -- calls -------------------------------------------------------------------------------------------------------


def _call(spec: Json, item_id: str, index: int, mint: Callable[[str], str], status: str) -> Piece:
    member = "arguments" if spec["type"] == "function_call" else "input"
    given = spec.get(member, {} if member == "arguments" else "")
    text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
    call_id = str(spec.get("call_id") or mint("call_")[:29])
    item: Json = {"id": item_id, "type": spec["type"], "call_id": call_id, "name": spec["name"], member: text}
    if spec["type"] == "function_call":
        item["status"] = status
    deltas = spec["deltas"] if "deltas" in spec else argument_pieces(text)
    return Piece(item, _tell_call(item, member, index, deltas))


def _tell_call(item: Json, member: str, index: int, deltas: list[str]) -> Iterator[Json]:
    name = "function_call_arguments" if member == "arguments" else "custom_tool_call_input"
    where: Json = {"item_id": item["id"], "output_index": index}
    yield _added(index, {**item, member: ""} | ({"status": "in_progress"} if "status" in item else {}))
    for delta in deltas:
        yield {"type": f"response.{name}.delta", **where, "delta": delta}
    yield {"type": f"response.{name}.done", **where, member: item[member]}
    yield _done(index, item)


# -- hosted tools and the rest -----------------------------------------------------------------------------------


def _other(spec: Json, item_id: str, index: int, mint: Callable[[str], str]) -> Piece:
    """Makes an item that is sent as in the script, with an id."""
    item: Json = {**spec, "id": item_id}
    if "call_id" in KINDS[item["type"]].members:
        item.setdefault("call_id", mint("call_")[:29])
    if item["type"] in HOSTED and item["type"] != "mcp_list_tools":
        item.setdefault("status", "completed")
    return Piece(item, _tell_other(item, index))


def _tell_other(item: Json, index: int) -> Iterator[Json]:
    where: Json = {"output_index": index, "item_id": item["id"]}
    early = {key: value for key, value in item.items() if key not in ("output", "error", "result", "outputs", "code")}
    yield _added(index, early | ({"status": "in_progress"} if "status" in item else {}))
    stages = _HOSTED_STAGES.get(item["type"], ())
    for stage in stages:
        if stage == "completed" and item["type"] == "mcp_call":
            yield from _tell_mcp_arguments(item, where)
        if stage == "interpreting" and item.get("code"):
            yield from _tell_code(str(item["code"]), where)
        ending = "failed" if stage == "completed" and item.get("error") else stage
        yield {"type": f"response.{item['type']}.{ending}", **where}
    yield _done(index, item)


def _tell_mcp_arguments(item: Json, where: Json) -> Iterator[Json]:
    arguments = str(item.get("arguments", ""))
    yield {"type": "response.mcp_call_arguments.delta", **where, "delta": arguments}
    yield {"type": "response.mcp_call_arguments.done", **where, "arguments": arguments}


def _tell_code(code: str, where: Json) -> Iterator[Json]:
    for delta in pieces_of(code):
        yield {"type": "response.code_interpreter_call_code.delta", **where, "delta": delta}
    yield {"type": "response.code_interpreter_call_code.done", **where, "code": code}
