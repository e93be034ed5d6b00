"""Tool calls as the servers write them: ids, indexes, and the many forms of arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from agui_gate_adapters.testkit.chat.profiles import ArgumentForm, ChatProfile
from agui_gate_adapters.testkit.openai.pieces import argument_pieces
from agui_gate_adapters.testkit.wire import Json

__all__ = ["CallSpeech"]


class CallSpeech:
    """The calls of one answer, one after the other."""

    def __init__(self, profile: ChatProfile, mint: Callable[[str, int], str]) -> None:
        self.whole: list[Json] = []
        """The calls as a message carries them."""
        self._profile = profile
        self._mint = mint

    def add(self, spec: Json) -> list[Json]:
        """Add one `function_call` of a script; returns its deltas."""
        profile, position = self._profile, len(self.whole)
        form = profile.argument_forms[position % len(profile.argument_forms)]
        text = self._text(spec, form)
        head: Json = {**self._id(spec, position), "type": "function", "function": {"name": spec["name"]}}
        value = _value(text, form)
        self.whole.append(_with_arguments(head, value))
        index: Json = {"counted": {"index": position}, "zero": {"index": 0}, "missing": {}}[profile.call_index]
        pieces = spec.get("deltas")
        if pieces is None:
            if not text or form in ("whole", "object"):
                return [index | _with_arguments(head, value)]
            pieces = argument_pieces(text)
        again: Json = head if profile.repeat_head else {"function": {}}
        return [index | _with_arguments(head, ""), *(index | _with_arguments(again, piece) for piece in pieces)]

    def _text(self, spec: Json, form: ArgumentForm) -> str | None:
        """Return the arguments as text; None stands for null."""
        given = spec.get("arguments", {})
        text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
        if text == "{}":
            return self._profile.empty_arguments
        return "{}" + text if form == "glued" else text

    def _id(self, spec: Json, position: int) -> Json:
        """Return the `id` member; a script may force one, `null` included."""
        if "call_id" in spec:
            return {"id": spec["call_id"]}
        match self._profile.call_ids:
            case "missing":
                return {}
            case "empty":
                return {"id": ""}
            case "positional":
                return {"id": f"functions.{spec['name']}:{position}"}
            case "chatcmpl-tool":
                return {"id": self._mint("chatcmpl-tool-", 32)}
            case "nine":
                return {"id": self._mint("", 9)}
            case "plain":
                return {"id": self._mint("", 32)}
            case "call":
                return {"id": self._mint("call_", 24)}


def _value(text: str | None, form: ArgumentForm) -> Any:
    """Return the arguments as they are sent whole."""
    if form != "object" or text is None:
        return text
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _with_arguments(head: Json, arguments: Any) -> Json:
    return {**head, "function": {**head["function"], "arguments": arguments}}
