"""What a turn of a script sounds like in Chat: one message, and the deltas that it is streamed in.

Chat has one text, one refusal and one reasoning text for a whole answer; several of a turn are strung together. What
Chat does not have (hosted tools, custom tool calls) is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from agui_gate_adapters.testkit.chat.calls import CallSpeech
from agui_gate_adapters.testkit.chat.profiles import ChatProfile
from agui_gate_adapters.testkit.openai.pieces import pieces_of
from agui_gate_adapters.testkit.script import Turn
from agui_gate_adapters.testkit.wire import Json

__all__ = ["Raw", "Speech", "speak"]


class Raw(msgspec.Struct, frozen=True):
    """An `event` of the script, put into the stream as it is."""

    event: Json


class Speech(msgspec.Struct):
    """The whole message, and the steps of its stream: deltas of the one choice, or raw events."""

    message: Json
    steps: list[Json | Raw]

    def add(self, member: str, text: str, pieces: Sequence[str]) -> None:
        """Go on with a text member."""
        self.message[member] = (self.message.get(member) or "") + text
        self.steps.extend({member: piece} for piece in pieces)


def speak(turn: Turn, profile: ChatProfile, mint: Callable[[str, int], str]) -> Speech:
    """Render a turn. `mint`: makes an id from a prefix and a number of digits."""
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
