"""An answer in each API's own words, piece by piece: what was not ended stays open, what was not said is missing."""

import json
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from .raw import END, Step, chunked

Json = dict[str, Any]
_MANY = 200
"""Frames that are sent one by one at most."""


class Answer(ABC):
    """Collects frames; every method adds some. ``elsewhere`` is the address of a server that nobody must talk to.

    Reasons for an end are ``stop``, ``tools``, ``length`` and ``filter``.
    """

    reasons: ClassVar[dict[str, str]]

    def __init__(self, elsewhere: str = "") -> None:
        self.frames: list[bytes] = []
        self.elsewhere = elsewhere
        self.items: list[Json] = []
        self.saying = False

    @abstractmethod
    def begin(self) -> Self:
        """The answer exists."""

    @abstractmethod
    def say(self, *deltas: str) -> Self:
        """Text, or more of it."""

    @abstractmethod
    def call(self, name: str, *pieces: Any, call_id: str = "call_1") -> Self:
        """A tool call with pieces of its arguments; it stays open."""

    @abstractmethod
    def end(self) -> Self:
        """What is open is complete."""

    @abstractmethod
    def finish(self, reason: str = "stop", **usage: Any) -> Self:
        """The answer is over. ``usage`` are counts in the API's own names."""

    @abstractmethod
    def fail(self, message: Any, code: str = "server_error") -> Self:
        """An error in the stream, in the API's own form."""

    @abstractmethod
    def refusal(self, message: Any, code: str = "") -> bytes:
        """The body of an error reply."""

    @abstractmethod
    def whole(self, text: str) -> Json:
        """The body of an answer that is no stream."""

    @abstractmethod
    def odd(self, text: Any, **more: Any) -> Self:
        """A delta of text with other members, or members of other types, than the API has."""

    def event(self, body: Any) -> Self:
        """Any JSON value as a frame."""
        return self.raw(json.dumps(body).encode())

    def raw(self, payload: bytes) -> Self:
        """A frame with this payload."""
        self.frames.append(b"data: " + payload + b"\n\n")
        return self

    def wire(self, data: bytes) -> Self:
        """Bytes as they are."""
        self.frames.append(data)
        return self

    def done(self) -> list[Step]:
        """The reply with all frames and a proper end."""
        return self.then(END)

    def then(self, *steps: Step) -> list[Step]:
        """The reply with all frames, and then this."""
        frames = self.frames if len(self.frames) < _MANY else [self.body]
        return chunked(*frames, *steps)

    @property
    def body(self) -> bytes:
        """All frames in one piece."""
        return b"".join(self.frames)


class ResponsesAnswer(Answer):
    """OpenAI's Responses API."""

    reasons: ClassVar = {"length": "max_output_tokens", "filter": "content_filter"}

    def begin(self) -> Self:
        response = {"id": "resp_raw", "object": "response", "status": "in_progress", "output": []}
        return self.event({"type": "response.created", "response": response})

    def say(self, *deltas: str) -> Self:
        if not self.saying:
            self._add({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ""}]})
        for delta in deltas:
            self.items[-1]["content"][0]["text"] += delta
            self.odd(delta)
        return self

    def call(self, name: str, *pieces: Any, call_id: str = "call_1") -> Self:
        self._add({"type": "function_call", "name": name, "call_id": call_id, "arguments": ""})
        for piece in pieces:
            if isinstance(piece, str):
                self.items[-1]["arguments"] += piece
            self.event({"type": "response.function_call_arguments.delta", "delta": piece, **self._place})
        return self

    def end(self) -> Self:
        item = self.items[-1]
        item["status"], self.saying = "completed", False
        return self.event({"type": "response.output_item.done", "item": item, **self._place})

    def finish(self, reason: str = "stop", **usage: Any) -> Self:
        status = "incomplete" if reason in self.reasons else "completed"
        response: Json = {"id": "resp_raw", "status": status, "output": self.items}
        if status == "incomplete":
            response["incomplete_details"] = {"reason": self.reasons[reason]}
        if usage:
            response["usage"] = usage
        return self.event({"type": f"response.{status}", "response": response})

    def fail(self, message: Any, code: str = "server_error") -> Self:
        return self.event({"type": "error", "error": {"type": code, "code": code, "message": message}})

    def refusal(self, message: Any, code: str = "") -> bytes:
        return json.dumps({"error": {"message": message, "type": "some_error", "code": code or None}}).encode()

    def whole(self, text: str) -> Json:
        content = [{"type": "output_text", "text": text}]
        return {"id": "resp_raw", "status": "completed", "output": [{"type": "message", "content": content}]}

    def odd(self, text: Any, **more: Any) -> Self:
        return self.event(
            {"type": "response.output_text.delta", "delta": text, "content_index": 0, **self._place, **more}
        )

    @property
    def _place(self) -> Json:
        return {"item_id": self.items[-1]["id"], "output_index": len(self.items) - 1} if self.items else {}

    def _add(self, item: Json) -> None:
        self.saying = item["type"] == "message"
        self.items.append(item | {"id": f"item_{len(self.items)}", "status": "in_progress"})
        self.event({"type": "response.output_item.added", "item": self.items[-1], **self._place})


class ChatAnswer(Answer):
    """Chat Completions."""

    reasons: ClassVar = {"stop": "stop", "tools": "tool_calls", "length": "length", "filter": "content_filter"}

    def begin(self) -> Self:
        return self._delta({"role": "assistant", "content": ""})

    def say(self, *deltas: str) -> Self:
        for delta in deltas:
            self._delta({"content": delta})
        return self

    def call(self, name: str, *pieces: Any, call_id: str = "call_1") -> Self:
        self.items.append({})
        index = len(self.items) - 1
        function = {"name": name, "arguments": ""}
        self._delta({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})
        for piece in pieces:
            self._delta({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        return self

    def end(self) -> Self:
        return self  # this API doesn't say it

    def finish(self, reason: str = "stop", **usage: Any) -> Self:
        self._chunk({"index": 0, "delta": {}, "finish_reason": self.reasons[reason]})
        if usage:
            self.event({"object": "chat.completion.chunk", "choices": [], "usage": usage})
        return self.raw(b"[DONE]")

    def fail(self, message: Any, code: str = "server_error") -> Self:
        return self.event({"error": {"type": code, "code": code, "message": message}})

    def refusal(self, message: Any, code: str = "") -> bytes:
        return json.dumps({"error": {"message": message, "type": "some_error", "code": code or None}}).encode()

    def whole(self, text: str) -> Json:
        message = {"role": "assistant", "content": text}
        return {"id": "c", "object": "chat.completion", "choices": [{"message": message, "finish_reason": "stop"}]}

    def odd(self, text: Any, **more: Any) -> Self:
        return self._delta({"content": text, **more})

    def _delta(self, delta: Json) -> Self:
        return self._chunk({"index": 0, "delta": delta, "finish_reason": None})

    def _chunk(self, choice: Json) -> Self:
        return self.event({"id": "chatcmpl-raw", "object": "chat.completion.chunk", "choices": [choice]})


class MessagesAnswer(Answer):
    """Anthropic's Messages."""

    reasons: ClassVar = {"stop": "end_turn", "tools": "tool_use", "length": "max_tokens", "filter": "refusal"}

    def begin(self) -> Self:
        message = {"id": "msg_raw", "type": "message", "role": "assistant", "content": [], "model": "claude-test"}
        return self.event({"type": "message_start", "message": message | {"usage": {"input_tokens": 3}}})

    def say(self, *deltas: str) -> Self:
        if not self.saying:
            self._add({"type": "text", "text": ""})
        for delta in deltas:
            self.odd(delta)
        return self

    def call(self, name: str, *pieces: Any, call_id: str = "call_1") -> Self:
        self._add({"type": "tool_use", "id": call_id, "name": name, "input": {}})
        for piece in pieces:
            self._delta({"type": "input_json_delta", "partial_json": piece})
        return self

    def end(self) -> Self:
        self.saying = False
        return self.event({"type": "content_block_stop", "index": len(self.items) - 1})

    def finish(self, reason: str = "stop", **usage: Any) -> Self:
        delta = {"stop_reason": self.reasons[reason], "stop_sequence": None}
        self.event({"type": "message_delta", "delta": delta, "usage": usage or {"output_tokens": 5}})
        return self.event({"type": "message_stop"})

    def fail(self, message: Any, code: str = "api_error") -> Self:
        return self.event({"type": "error", "error": {"type": code, "message": message}})

    def refusal(self, message: Any, code: str = "") -> bytes:
        return json.dumps({"type": "error", "error": {"type": code or "some_error", "message": message}}).encode()

    def whole(self, text: str) -> Json:
        content = [{"type": "text", "text": text}]
        return {"id": "msg_raw", "type": "message", "content": content, "stop_reason": "end_turn"}

    def odd(self, text: Any, **more: Any) -> Self:
        return self._delta({"type": "text_delta", "text": text, **more})

    def raw(self, payload: bytes) -> Self:
        kind = b"event: some_event\n" if payload.startswith(b"{") else b""
        self.frames.append(kind + b"data: " + payload + b"\n\n")
        return self

    def _add(self, block: Json) -> None:
        self.items.append(block)
        self.saying = block["type"] == "text"
        self.event({"type": "content_block_start", "index": len(self.items) - 1, "content_block": block})

    def _delta(self, delta: Json) -> Self:
        return self.event({"type": "content_block_delta", "index": max(0, len(self.items) - 1), "delta": delta})


ANSWERS: dict[str, type[Answer]] = {"responses": ResponsesAnswer, "chat": ChatAnswer, "messages": MessagesAnswer}
