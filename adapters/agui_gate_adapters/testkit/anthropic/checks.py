"""Every rule that the emulated Messages API holds a request to, in its order, without any I/O.

`check_messages` is what the HTTP routes use, and it is just as usable on an adapter's outgoing body in a unit test:

    assert check_messages({"model": "m", "max_tokens": 16, "messages": [{"role": "user", "content": "hello"}]}) == []

It returns every violation of the first step that has any; the first of them is what the API would answer.

Words that no numbered rule of `docs/wire-rules.md` has are inferred, in the form of those that were reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from agui_gate_adapters.testkit.anthropic import rule_violations as rv
from agui_gate_adapters.testkit.anthropic import thinking_blocks, tool_pairs
from agui_gate_adapters.testkit.anthropic import violations as v
from agui_gate_adapters.testkit.anthropic.media import check_media
from agui_gate_adapters.testkit.anthropic.message_merge import Merged, blocks_of, merge
from agui_gate_adapters.testkit.anthropic.profiles import ANTHROPIC_PROFILES, AnthropicProfile
from agui_gate_adapters.testkit.anthropic.record import Record
from agui_gate_adapters.testkit.anthropic.shapes import LATEST, check_body, check_ids, size_of
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["check_messages"]

_MAX_CACHE_MARKS: Final = 4


def check_messages(
    body: Json,
    profile: AnthropicProfile = ANTHROPIC_PROFILES["anthropic"],
    record: Record | None = None,
    *,
    models: frozenset[str] | None = None,
    betas: frozenset[str] = frozenset(),
    version: str = LATEST,
    counting: bool = False,
) -> list[Violation]:
    """Return what the API would refuse about this body; an empty list means accepted.

    `record`: what was issued before; without one only signatures are held against thinking blocks. `betas`: the
    values of the `anthropic-beta` header, `version` that of `anthropic-version`. `counting`: it is a body for
    `count_tokens`.
    """
    shape = check_body(body, counting=counting, beta=bool(betas), version=version)
    steps = chain([shape], _steps(body, profile, record or Record(), models, betas, version))
    return next((found for found in map(list, steps) if found), [])


def _steps(
    body: Json,
    profile: AnthropicProfile,
    record: Record,
    models: frozenset[str] | None,
    betas: frozenset[str],
    version: str,
) -> Iterator[Iterator[Violation]]:
    """Yield the steps lazily, so that each runs only after the one before it found nothing; the shape is right."""
    yield _check_model(body, models)
    yield thinking_blocks.check_settings(body, profile, betas)
    yield _check_limits(body, profile)
    yield check_media(body)
    messages = merge(body["messages"], merged_indices=profile.merged_indices)
    yield tool_pairs.check_contents(messages, profile)
    yield tool_pairs.check_places(messages, latest=version >= LATEST)
    yield check_ids(body)
    yield tool_pairs.check_unique(messages)
    yield tool_pairs.check_pairs(messages, profile)
    yield tool_pairs.check_server_tools(messages)
    yield thinking_blocks.check_blocks(messages, body, profile, record)
    yield _check_texts(messages, body)
    yield _check_end(messages, profile, record)
    yield _check_size(body, messages, profile)


def _check_model(body: Json, models: frozenset[str] | None) -> Iterator[Violation]:
    if models is not None and body["model"] not in models:
        yield v.unknown_model(body["model"])


def _check_limits(body: Json, profile: AnthropicProfile) -> Iterator[Violation]:
    asked, most = body.get("max_tokens", 0), profile.max_output_tokens
    if asked > most:
        text = f"{asked} > {most}, which is the maximum allowed number of output tokens for {body['model']}"
        yield v.wrong("max_tokens", text)
    marks = _count_marks(body)
    if marks > _MAX_CACHE_MARKS:
        message = f"A maximum of {_MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {marks}."
        yield v.refused("cache", message)


def _count_marks(body: Json) -> int:
    """Count the cache marks on the request, its system prompt, its tools, its blocks, and the parts of results."""
    blocks = [block for message in body["messages"] for block in blocks_of(message)]
    parts = [part for block in blocks if block["type"] == "tool_result" for part in _parts(block.get("content"))]
    marked = [body, *_parts(body.get("system")), *(body.get("tools") or ()), *blocks, *parts]
    return sum(bool(thing.get("cache_control")) for thing in marked)


def _parts(content: Any) -> list[Json]:
    return content if isinstance(content, list) else []


def _check_texts(messages: list[Merged], body: Json) -> Iterator[Violation]:
    """A11, in messages, in the results of tools, and in the system prompt."""
    for message in messages:
        for block in message.of_kind("text"):
            yield from _check_text(block.value["text"], "messages")
        for block in message.of_kind("tool_result"):
            if any(part["type"] == "text" and not part["text"] for part in _parts(block.value.get("content"))):
                yield v.empty_text("messages")
    for part in _parts(body.get("system")):
        yield from _check_text(part["text"], "system")


def _check_text(text: str, path: str) -> Iterator[Violation]:
    if not text:
        yield v.empty_text(path)
    elif not text.strip():
        yield v.blank_text(path)


def _check_end(messages: list[Merged], profile: AnthropicProfile, record: Record) -> Iterator[Violation]:
    """A10: how a conversation may end. A paused turn is sent back as it is, to go on."""
    last = messages[-1]
    if last.role != "assistant" or record.paused(last):
        return
    if not profile.prefill:
        yield rv.prefill()
    elif last.blocks and last.blocks[-1].kind == "text" and last.blocks[-1].value["text"][-1:].isspace():
        yield rv.trailing_space()


def _check_size(body: Json, messages: list[Merged], profile: AnthropicProfile) -> Iterator[Violation]:
    calls = any(message.of_kind("tool_use", "tool_result") for message in messages)
    if profile.tools_for_history and calls and not body.get("tools"):
        text = "Requests which have `tool_use` or `tool_result` blocks in `messages` must define tools."
        yield v.refused("schema", text)
    size = size_of(body)
    if size > profile.context_tokens:
        yield v.refused("context_length", f"prompt is too long: {size} tokens > {profile.context_tokens} maximum")
