"""Answers an accepted Chat request, in chunks or as one reply. Nothing is remembered; Chat has no state.

Chat has one text, one refusal and one reasoning text for a whole answer; several of a turn are joined. What Chat does
not have (hosted tools, custom tool calls) is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from agui_gate_adapters.testkit.api import Frame
from agui_gate_adapters.testkit.chat.profiles import ArgumentForm, ChatProfile
from agui_gate_adapters.testkit.chat.violations import error_body
from agui_gate_adapters.testkit.faults import IN_STREAM, Fault, status_violation, stream_error
from agui_gate_adapters.testkit.host import Play
from agui_gate_adapters.testkit.journal import Entry, Memory
from agui_gate_adapters.testkit.script import Turn
from agui_gate_adapters.testkit.wire import Json, argument_pieces, encode, pieces_of

# Tool calls as the servers write them: ids, indexes, and the many forms of arguments.


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


# What a turn of a script sounds like in Chat: one message, and the deltas that it is streamed in.


class Raw(msgspec.Struct, frozen=True):
    """An `event` of the script, put into the stream as it is."""

    event: Json


class Speech(msgspec.Struct):
    """The whole message, and the steps of its stream: deltas of the one choice, or raw events."""

    message: Json
    steps: list[Json | Raw]

    def add(self, member: str, text: str, pieces: Sequence[str]) -> None:
        """Appends to a text member."""
        self.message[member] = (self.message.get(member) or "") + text
        self.steps.extend({member: piece} for piece in pieces)


def speak(turn: Turn, profile: ChatProfile, mint: Callable[[str, int], str]) -> Speech:
    """Renders a turn. `mint` makes an id from a prefix and a number of digits."""
    speech = Speech({"role": "assistant", "content": None, "refusal": None, "annotations": []}, [])
    calls = CallSpeech(profile, mint)
    for spec in turn.output:
        match spec["type"]:
            case "message":
                _say(speech, spec)
            case "refusal":
                _refuse(speech, str(spec["text"]))
            case "reasoning" if profile.reasoning_field is not None:
                text = _reasoning(spec)
                speech.add(profile.reasoning_field, text, pieces_of(text))
            case "function_call":
                speech.steps.extend({"tool_calls": [delta]} for delta in calls.add(spec))
            case "event":
                speech.steps.append(Raw(dict(spec["event"])))
    if calls.whole:
        speech.message["tool_calls"] = calls.whole
    return speech


def _say(speech: Speech, spec: Json) -> None:
    """Add a message item: its texts, refusals and annotations."""
    for part in spec.get("content", (spec,)):
        if "refusal" in part:
            _refuse(speech, str(part["refusal"]))
            continue
        deltas = part.get("deltas")
        text = part["text"] if "text" in part else "".join(deltas or ())
        speech.add("content", text, pieces_of(text) if deltas is None else deltas)
        speech.message["annotations"] += part.get("annotations") or ()


def _refuse(speech: Speech, text: str) -> None:
    speech.add("refusal", text, pieces_of(text))


def _reasoning(spec: Json) -> str:
    given = spec.get("summary") or []
    texts = [given] if isinstance(given, str) else list(given)
    return "\n\n".join([*texts, *([str(spec["content"])] if spec.get("content") else [])])


# Usage in Chat's words.


def usage_of(turn: Turn, message: Json, prompt_tokens: int) -> Json:
    """Return what the script says, translated if it is in the Responses API's words. Else it is an estimate: four
    characters a token, sixteen for a hidden thought.
    """
    given = turn.usage
    if given is not None and "prompt_tokens" in given:
        return given
    if given is not None:
        read, thought = given.get("input_tokens_details") or {}, given.get("output_tokens_details") or {}
        return _usage(
            given.get("input_tokens", 0),
            given.get("output_tokens", 0),
            cached=read.get("cached_tokens", 0),
            reasoning=thought.get("reasoning_tokens", 0),
        )
    reasoning = 16 * sum(item["type"] == "reasoning" for item in turn.output)
    calls = "".join(str(call["function"]) for call in message.get("tool_calls") or ())
    letters = len(message["content"] or "") + len(message["refusal"] or "") + len(calls)
    return _usage(prompt_tokens, letters // 4 + reasoning, reasoning=reasoning)


def _usage(prompt: int, completion: int, *, cached: int = 0, reasoning: int = 0) -> Json:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reasoning, "audio_tokens": 0},
    }


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
        """Aborts the answer unless it has ended."""
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
