"""What it costs to read a text delta of each API: the splitter and the machine, on streams with the same texts."""

import json
from collections.abc import Callable
from typing import Any

from agui_gate.core.sse import SSESplitter
from agui_gate_adapters.anthropic_messages.machine import MessageMachine
from agui_gate_adapters.common.provider_turn import Machine
from agui_gate_adapters.openai_chat.failures import api_of
from agui_gate_adapters.openai_chat.machine import ChatMachine
from agui_gate_adapters.openai_responses.machine import ResponseMachine
from tests.bench import provider
from tests.bench.figures import best
from tests.bench.report import Row
from tests.bench.work import word

GOAL = 1.3
"""Times what a delta of the Responses API takes."""
ROUNDS = 25


def parsing(deltas: int = 4800) -> list[Row]:
    """The other APIs, in the Responses API's terms (the column of the proxy)."""
    ways = (
        parse(provider.frames(deltas), lambda: ResponseMachine("bench", lambda _: None)),
        parse(chat_frames(deltas), lambda: ChatMachine("bench", api_of("bench"), lambda: "call")),
        parse(messages_frames(deltas), lambda: MessageMachine("bench")),
    )
    # In turns: a machine that slows down for a moment then does so for all of them.
    rounds = [[best(way, 1) / deltas for way in ways] for _ in range(ROUNDS)]
    responses, chat, messages = map(min, zip(*rounds, strict=True))
    return [
        _row("parse a delta, Chat Completions", chat, responses),
        _row("parse a delta, Anthropic Messages", messages, responses),
    ]


def _row(what: str, ours: float, responses: float) -> Row:
    return Row(what=what, unit="µs", ours=ours * 1e6, proxy=responses * 1e6, ratio=ours / responses, goal=GOAL)


def parse(frames: list[bytes], make: Callable[[], Machine]) -> Callable[[], None]:
    """What reads a whole answer whose frames come in bursts."""
    chunks = [b"".join(frames[i : i + provider.BURST]) for i in range(0, len(frames), provider.BURST)]

    def whole() -> None:
        splitter, machine = SSESplitter(), make()
        for chunk in chunks:
            machine.feed(splitter.feed(chunk))
        assert machine.done, machine.failure

    return whole


def chat_frames(deltas: int) -> list[bytes]:
    """An answer as OpenAI's Chat Completions stream it."""
    head = {"id": "chatcmpl-0123456789", "object": "chat.completion.chunk", "created": 1_763_000_000, "model": "bench"}
    head |= {"service_tier": "default", "system_fingerprint": "fp_0123456789"}

    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _data({**head, "choices": [choice], "usage": None})

    usage = {"prompt_tokens": 9, "completion_tokens": deltas, "total_tokens": 9 + deltas}
    return [
        chunk({"role": "assistant", "content": "", "refusal": None}),
        *(chunk({"content": word(number)}) for number in range(deltas)),
        chunk({}, "stop"),
        _data({**head, "choices": [], "usage": usage}),
        b"data: [DONE]\n\n",
    ]


def messages_frames(deltas: int) -> list[bytes]:
    """An answer as Anthropic streams it."""

    def event(kind: str, **members: Any) -> bytes:
        return b"event: %b\n" % kind.encode() + _data({"type": kind, **members})

    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "bench", "content": []}
    return [
        event("message_start", message={**message, "usage": {"input_tokens": 9, "output_tokens": 1}}),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        *(
            event("content_block_delta", index=0, delta={"type": "text_delta", "text": word(number)})
            for number in range(deltas)
        ),
        event("content_block_stop", index=0),
        event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": deltas}),
        event("message_stop"),
    ]


def _data(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"
