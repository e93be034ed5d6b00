"""Streams as ten servers write them, ids and texts made up: what was said, and how each of them says it."""

from typing import Any

import msgspec

Json = dict[str, Any]


def head(made: Json, choices: list[Json], **more: Any) -> Json:
    return {**made, "choices": choices, **more}


def choice(delta: Json | None = None, finish: str | None = None, **more: Any) -> Json:
    return {"index": 0, "delta": delta or {}, "finish_reason": finish, **more}


def framed(*payloads: Json | str, done: bool = True, end: str = "\n\n", between: str = "") -> bytes:
    """A body. A text stands as it is, between the frames; ``between`` comes before every frame."""
    blocks = [
        payload if isinstance(payload, str) else f"{between}data: {msgspec.json.encode(payload).decode()}{end}"
        for payload in payloads
    ]
    return "".join([*blocks, f"data: [DONE]{end}" if done else ""]).encode()


def function(arguments: Any, name: str | None = None) -> Json:
    return {"name": name, "arguments": arguments} if name else {"arguments": arguments}


OPENAI: Json = {
    "id": "chatcmpl-BxY1", "object": "chat.completion.chunk", "created": 1800000000, "model": "gpt-5.4-mini-2026-03-05",
    "service_tier": "default", "system_fingerprint": None, "obfuscation": "Xk3",
}  # fmt: skip
AZURE: Json = {"id": "chatcmpl-Az1", "object": "chat.completion.chunk", "created": 1800000000, "model": "gpt-5.4"}
VLLM: Json = {"id": "chatcmpl-9f0c", "object": "chat.completion.chunk", "created": 1800000000, "model": "Qwen/Qwen4-8B"}
OLLAMA: Json = {
    "id": "chatcmpl-311", "object": "chat.completion.chunk", "created": 1800000000, "model": "gpt-oss:20b",
    "system_fingerprint": "fp_ollama",
}  # fmt: skip
DEEPSEEK: Json = {"id": "5f1e-77", "object": "chat.completion.chunk", "created": 1800000000, "model": "deepseek-v4"}
KIMI: Json = {"id": "cmpl-04ea", "object": "chat.completion.chunk", "created": 1800000000, "model": "kimi-k3"}
MISTRAL: Json = {"id": "b0c2", "object": "chat.completion.chunk", "created": 1800000000, "model": "magistral-medium"}
LLAMA: Json = {"created": 1800000000, "id": "chatcmpl-mK", "model": "gpt-3.5-turbo", "object": "chat.completion.chunk"}
ROUTER: Json = {
    "id": "gen-18",
    "provider": "Anthropic",
    "model": "anthropic/claude-5",
    "object": "chat.completion.chunk",
}
GEMINI: Json = {"object": "chat.completion.chunk", "created": 1800000000, "model": "gemini-3-flash"}
COUNTS: Json = {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28}
NULLS: Json = {"logprobs": None}

STREAMS: dict[str, bytes] = {
    "openai": framed(
        head(OPENAI, [choice({"role": "assistant", "content": "", "refusal": None}, **NULLS)], usage=None),
        *(head(OPENAI, [choice({"content": text}, **NULLS)], usage=None) for text in ("Señora, ", "15 °C", " 🌧.")),
        head(OPENAI, [choice({}, "stop", **NULLS)], usage=None),
        head(OPENAI, [], usage={**COUNTS, "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0}}),
    ),
    "azure": framed(
        {"id": "", "object": "", "created": 0, "model": "", "choices": [],
         "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False}}}]},
        head(AZURE, [choice({"role": "assistant", "content": None, "tool_calls": [
            {"index": 0, "id": "call_aZ1", "type": "function", "function": function("", "weather")}]})]),
        *(head(AZURE, [choice({"tool_calls": [{"index": 0, "function": function(piece)}]}, content_filter_results={})])
          for piece in ('{"', "city", '":"', "Köln", '"}')),
        head(AZURE, [choice({"tool_calls": [
            {"index": 1, "id": "call_aZ2", "type": "function", "function": function("", "weather")}]})]),
        *(head(AZURE, [choice({"tool_calls": [{"index": 1, "function": function(piece)}]})])
          for piece in ('{"city"', ':"Rom"}')),
        head(AZURE, [choice({}, "tool_calls")]),
    ),
    "vllm": framed(
        head(VLLM, [choice({"role": "assistant", "content": ""}, **NULLS)], usage={**COUNTS, "completion_tokens": 0}),
        head(VLLM, [choice({"reasoning": "The user"}, **NULLS)], usage={**COUNTS, "completion_tokens": 2}),
        head(VLLM, [choice({"reasoning": " asks."}, **NULLS)], usage={**COUNTS, "completion_tokens": 4}),
        head(VLLM, [choice({"tool_calls": [{"id": "chatcmpl-tool-7d1", "type": "function", "index": 0,
                                            "function": function("", "weather")}]}, **NULLS)]),
        head(VLLM, [choice({"tool_calls": [{"index": 0, "function": function('{"city": "Oslo"}')}]}, **NULLS)]),
        head(VLLM, [choice({"content": ""}, "stop", stop_reason=None, **NULLS)], usage=COUNTS),
    ),
    "ollama": framed(
        head(OLLAMA, [choice({"role": "assistant", "content": "", "reasoning": "Two cities."})]),
        head(OLLAMA, [choice({"role": "assistant", "content": "", "tool_calls": [
            {"id": "call_o1", "index": 0, "type": "function", "function": function('{"city":"Bern"}', "weather")}]})]),
        head(OLLAMA, [choice({"role": "assistant", "content": "", "tool_calls": [
            {"id": "call_o2", "index": 0, "type": "function", "function": function('{"city":"Wien"}', "weather")}]})]),
        head(OLLAMA, [choice({"role": "assistant", "content": ""}, "tool_calls")]),
        done=True,
    ),
    "deepseek": framed(
        ": keep-alive\n\n",
        head(DEEPSEEK, [choice({"role": "assistant", "content": None, "reasoning_content": ""}, **NULLS)], usage=None),
        head(DEEPSEEK, [choice({"content": None, "reasoning_content": "我想想"}, **NULLS)], usage=None),
        ": keep-alive\n\n",
        head(DEEPSEEK, [choice({"content": "你好", "reasoning_content": None}, **NULLS)], usage=None),
        head(DEEPSEEK, [choice({"content": "", "reasoning_content": None}, "stop", **NULLS)],
             usage={**COUNTS, "prompt_cache_hit_tokens": 16, "completion_tokens_details": {"reasoning_tokens": 3}}),
    ),
    "kimi": framed(
        head(KIMI, [choice({"role": "assistant", "content": ""})]),
        head(KIMI, [choice({"reasoning_content": "Look."})]),
        head(KIMI, [choice({"tool_calls": [{"index": 0, "id": "functions.weather:0", "type": "function",
                                            "function": function("", "weather")}]})]),
        head(KIMI, [choice({"tool_calls": [{"index": 0, "function": function('{"ci')}]})]),
        head(KIMI, [choice({"tool_calls": [{"index": 0, "function": function('ty":1}')}]})]),
        head(KIMI, [choice({}, "tool_calls", usage=COUNTS)]),
    ),
    "mistral": framed(
        head(MISTRAL, [choice({"role": "assistant", "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hmm"}]}]})]),
        head(MISTRAL, [choice({"content": "One moment."})]),
        head(MISTRAL, [choice({"content": "", "tool_calls": [
            {"id": "D681PevKs", "function": function('{"city": "Nice"}', "weather"), "index": 0},
            {"id": "aB3dE6gH9", "function": function('{"city": "Lyon"}', "weather"), "index": 1}]}, "tool_calls")],
            usage=COUNTS),
    ),
    "llama.cpp": framed(
        head(LLAMA, [choice({"role": "assistant", "content": None})]),
        head(LLAMA, [choice({"reasoning_content": "Ok"})]),
        head(LLAMA, [choice({"content": "Fine"})]),
        head(LLAMA, [choice({}, "length")], usage=COUNTS, timings={"prompt_n": 1, "prompt_ms": 12.5}),
        end="\r\n\r\n",
    ),
    "openrouter": framed(
        ": OPENROUTER PROCESSING\n\n",
        head(ROUTER, [choice({"role": "assistant", "content": "", "reasoning": "So",
                              "reasoning_details": [{"type": "reasoning.text", "text": "So", "index": 0}]})]),
        head(ROUTER, [choice({"role": "assistant", "content": "", "reasoning": None, "reasoning_details": [
            {"type": "reasoning.text", "signature": "c2ln", "index": 0}]}, native_finish_reason=None)]),
        head(ROUTER, [choice({"role": "assistant", "content": "Hello"})]),
        ": OPENROUTER PROCESSING\n\n",
        head(ROUTER, [choice({"role": "assistant", "content": ""}, "stop", native_finish_reason="end_turn")]),
        head(ROUTER, [choice({"role": "assistant", "content": ""})], usage={**COUNTS, "cost": 0.0001}),
    ),
    "gemini": framed(
        head(GEMINI, [choice({"role": "assistant", "tool_calls": [
            {"id": "", "type": "function", "function": function({"city": "Turin"}, "weather")},
            {"id": "", "type": "function", "function": function(None, "now")}]})]),
        head(GEMINI, [choice({"role": "assistant"}, "stop")], usage=COUNTS),
        between="event: message\n",
    ),
}  # fmt: skip
