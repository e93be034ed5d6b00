"""One accepted Chat request being answered: its chunks, or its one reply. Nothing is remembered; Chat has no state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from agui_gate_adapters.testkit.api import Frame
from agui_gate_adapters.testkit.chat.errors import error_body
from agui_gate_adapters.testkit.chat.profiles import ChatProfile
from agui_gate_adapters.testkit.chat.speech import Raw, speak
from agui_gate_adapters.testkit.chat.usage import usage_of
from agui_gate_adapters.testkit.faults import IN_STREAM, Fault, status_violation, stream_error
from agui_gate_adapters.testkit.host import Play
from agui_gate_adapters.testkit.journal import Entry
from agui_gate_adapters.testkit.memory import Memory
from agui_gate_adapters.testkit.wire import Json, encode

__all__ = ["ChatAnswer"]

_DONE: Final = Frame(b"data: [DONE]\n\n")
_REASONS: Final = {"max_output_tokens": "length", "content_filter": "content_filter"}


class ChatAnswer:
    """See `testkit.api.Answer`."""

    def __init__(self, memory: Memory, body: Json, play: Play, profile: ChatProfile, *, size: int) -> None:
        self.id = memory.mint("chatcmpl-", 32)
        self.turn = play.turn
        self.fault = play.fault
        self.streamed = bool(body.get("stream"))
        self.entry: Entry | None = None
        self.ended: str | None = None
        self._body = body
        self._profile = profile
        self._created = int(memory.clock.now())
        self._speech = speak(play.turn, profile, memory.mint)
        self._usage = usage_of(play.turn, self._speech.message, max(1, size // 4))
        options = body.get("stream_options") or {}
        self._asked_usage = bool(options.get("include_usage")) and profile.usage == "own_chunk"

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The request id."""
        return (("x-request-id", f"req_{self.id[9:33]}"),)

    def frames(self) -> Iterator[Frame]:
        """Yield the stream; ended with its last frame."""
        frames, status = self._frames()
        for number, frame in enumerate(frames, 1):
            if number == len(frames):
                self._end(status)
            yield frame

    def whole(self) -> Json:
        """Return the reply in one piece."""
        self._end(self.turn.status)
        choice = {"index": 0, "message": self._speech.message, "logprobs": None, "finish_reason": self._finish}
        return self._envelope("chat.completion", choices=[choice], usage=self._usage)

    def close(self) -> None:
        """Abort unless it has ended."""
        if self.ended is None:
            self._end("aborted")

    # -- inside --------------------------------------------------------------------------------------------------

    def _end(self, status: str) -> None:
        self.ended = status
        if self.entry is not None:
            self.entry.ended = status

    def _frames(self) -> tuple[list[Frame], str]:
        """Return all frames, and how the answer ends with the last of them."""
        spoken = [*self._opening(), *self._spoken()]
        frames = [*spoken, *self._closing()]
        fault = self.fault
        if fault is not None and fault.kind in IN_STREAM and fault.events_before < len(frames):
            status = "aborted" if fault.kind == "error_event" else "failed"
            return [*frames[: fault.events_before], self._error(fault)], status
        if self.turn.status == "failed":
            error = self.turn.error or {}
            told = Fault("failed", code=error.get("code"), message=error.get("message"))
            return [*spoken, self._error(told)], "failed"
        return frames, self.turn.status

    def _opening(self) -> Iterator[Frame]:
        if self._profile.prelude:
            results = [{"prompt_index": 0, "content_filter_results": {}}]
            empty = {"id": "", "object": "", "created": 0, "model": "", "choices": []}
            yield _framed({**empty, "prompt_filter_results": results})
        first = self._speech.steps[0] if self._speech.steps else None
        speaks = isinstance(first, dict) and "content" in first
        yield self._chunk({"role": "assistant", "content": "" if speaks else None})

    def _spoken(self) -> Iterator[Frame]:
        for step in self._speech.steps:
            yield _framed(step.event) if isinstance(step, Raw) else self._chunk(step)

    def _closing(self) -> Iterator[Frame]:
        extra: Json = {"usage": self._usage} if self._profile.usage == "last_chunk" else {}
        if self._profile.final_finish or extra:
            yield self._chunk({}, finish=self._finish if self._profile.final_finish else None, **extra)
        if self._asked_usage:
            yield _framed(self._envelope("chat.completion.chunk", choices=[], usage=self._usage))
        if self._profile.done:
            yield _DONE

    def _chunk(self, delta: Json, *, finish: str | None = None, **extra: Any) -> Frame:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        pending: Json = {"usage": None} if self._asked_usage else {}
        chunk = self._envelope("chat.completion.chunk", choices=[choice], **{**pending, **extra})
        return _framed(chunk, delta=bool(delta) and "role" not in delta)

    def _envelope(self, kind: str, **members: Any) -> Json:
        head = {"id": self.id, "object": kind, "created": self._created, "model": self._body["model"]}
        return {**head, "system_fingerprint": "fp_emulator", **members}

    def _error(self, fault: Fault) -> Frame:
        """Return an error in the middle of a stream: HTTP has said 200 by now."""
        if fault.shape == "flat":
            return _framed({name: value for name, value in stream_error(fault).items() if name != "type"})
        return _framed(error_body(self._profile, status_violation(fault)))

    @property
    def _finish(self) -> str:
        if self.turn.status == "incomplete":
            return _REASONS[self.turn.reason]
        if not self._speech.message.get("tool_calls"):
            return "stop"
        if self._profile.finish_with_calls == "stop_when_forced":
            return "stop" if isinstance(self._body.get("tool_choice"), dict) else "tool_calls"
        return self._profile.finish_with_calls


def _framed(event: Json, *, delta: bool = False) -> Frame:
    """Return an event in Chat's framing: no name, one data line."""
    return Frame(b"data: %b\n\n" % encode(event), delta)
