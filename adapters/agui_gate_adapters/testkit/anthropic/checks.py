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

from agui_gate_adapters.testkit.anthropic import thinking_blocks
from agui_gate_adapters.testkit.anthropic import violations as rv
from agui_gate_adapters.testkit.anthropic import violations as v
from agui_gate_adapters.testkit.anthropic.messages import Block, Merged, blocks_of, merge
from agui_gate_adapters.testkit.anthropic.profiles import ANTHROPIC_PROFILES, AnthropicProfile
from agui_gate_adapters.testkit.anthropic.shapes import LATEST, SERVER_RESULTS, check_body, check_ids, size_of
from agui_gate_adapters.testkit.anthropic.signatures import Record
from agui_gate_adapters.testkit.faults import Violation
from agui_gate_adapters.testkit.media import IMAGES, is_gone, look_at_address, look_at_data
from agui_gate_adapters.testkit.wire import Json

# Images and documents of a request to the Messages API.
#
# "The image was specified using …" as in home-assistant/core#167208; "image exceeds 5 MB maximum" as in
# anthropics/claude-code#19631; "image cannot be empty" as in anthropics/claude-code#12750; "Could not process image",
# which names no place, as in anthropics/claude-code#46127; "The PDF specified was not valid" as in
# anthropics/claude-code#5174. The words about addresses and encodings, and about other types, are inferred.

_MAX_IMAGE: Final = 5 * 1024 * 1024
_PDF: Final = ("application/pdf",)


def check_media(body: Json) -> Iterator[Violation]:
    """Yield what is wrong with attachments; the shape is right by now."""
    for number, message in enumerate(body["messages"]):
        for index, block in enumerate(blocks_of(message)):
            if block["type"] in ("image", "document"):
                yield from _check(block["type"], block["source"], f"messages.{number}.content.{index}")


def _check(kind: str, source: Any, path: str) -> Iterator[Violation]:
    match source.get("type"):
        case "base64" if kind == "image":
            yield from _check_image(source, f"{path}.image.source.base64")
        case "base64":
            yield from _check_pdf(source, path)
        case "url":
            yield from _check_url(str(source.get("url")))
        case "file" if is_gone(str(source.get("file_id"))):
            yield v.bad_media(f"File not found: {source['file_id']}")


def _check_image(source: Json, path: str) -> Iterator[Violation]:
    label, value = source["media_type"], source["data"]
    trouble = look_at_data(label, value, IMAGES)
    if trouble is not None and trouble.what == "type":
        yield v.wrong(f"{path}.media_type", "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'")
    elif len(value) > _MAX_IMAGE:
        yield v.bad_media(f"{path}: image exceeds 5 MB maximum: {len(value)} bytes > {_MAX_IMAGE} bytes")
    elif trouble is None:
        return
    elif trouble.what == "empty":
        yield v.bad_media(f"{path}: image cannot be empty")
    elif trouble.what == "encoding":
        yield v.bad_media(f"{path}.data: invalid base64 data")
    elif trouble.what == "label":
        said = f"The image was specified using the {label} media type, but the image appears to be a"
        yield v.bad_media(f"{path}: {said} {trouble.detail} image")
    else:
        yield v.bad_media("Could not process image")


def _check_pdf(source: Json, path: str) -> Iterator[Violation]:
    trouble = look_at_data(str(source.get("media_type")), str(source.get("data")), _PDF)
    if trouble is not None and trouble.what == "type":
        yield v.wrong(f"{path}.document.source.base64.media_type", "Input should be 'application/pdf'")
    elif trouble is not None:
        yield v.bad_media(f"{path}.pdf.source.base64.data: The PDF specified was not valid.")


def _check_url(url: str) -> Iterator[Violation]:
    if not url.startswith("https://"):
        yield v.bad_media("Only HTTPS URLs are supported.")
    elif look_at_address(url) is not None:
        yield v.bad_media("Unable to download the file. Please verify the URL and try again.")


# Which blocks a message may have, and which call belongs to which result (A1 to A5, A12, server tools).

_ASSISTANT_ONLY: Final = ("tool_use", "thinking", "redacted_thinking", "server_tool_use")
_USER_ONLY: Final = ("tool_result", "image", "document")


def check_contents(messages: list[Merged], profile: AnthropicProfile) -> Iterator[Violation]:
    """Checks that there is a message, and none is empty (A12)."""
    if not messages:
        yield v.no_messages()
    elif profile.first_message_user and messages[0].role != "user":
        yield v.refused("A12", 'messages: first message must use the "user" role')
    for number, message in enumerate(messages):
        if not message.blocks and not (message.role == "assistant" and number == len(messages) - 1):
            yield v.empty_message(message.index, message.role)


def check_places(messages: list[Merged], *, latest: bool) -> Iterator[Violation]:
    """Check that each block is in a message of its role. `latest`: the API's version is 2026-10-21 or newer."""
    for message in messages:
        users = message.role == "user"
        for block in message.of_kind(*(_ASSISTANT_ONLY if users else _USER_ONLY)):
            if latest or block.kind != "document":
                yield v.misplaced(message.index, block.kind, "assistant" if users else "user")
        for block in message.of_kind("tool_result"):
            if block.value.get("is_error") and not block.value.get("content"):
                yield v.wrong(f"{block.where}.tool_result", "content cannot be empty if `is_error` is true")
        for block in message.of_kind("text") if latest and users else ():
            if block.value.get("citations"):
                yield v.unknown_member(f"{block.where}.text.citations")


def check_unique(messages: list[Merged]) -> Iterator[Violation]:
    """Checks that a call's id is used once in the whole request (A3)."""
    seen: set[str] = set()
    for message in messages:
        for block in message.of_kind("tool_use", "server_tool_use"):
            if block.value["id"] in seen:
                yield rv.repeated_id(block.where)
            seen.add(block.value["id"])


def check_pairs(messages: list[Merged], profile: AnthropicProfile) -> Iterator[Violation]:
    """Checks A1 and A5 for each assistant message, then A4 and A2 for the user message after it."""
    calls: list[str] = []
    for number, message in enumerate(messages):
        if message.role == "assistant":
            calls = [block.value["id"] for block in message.of_kind("tool_use")]
            after = messages[number + 1] if number + 1 < len(messages) else None
            yield from _check_answered(message, calls, after, profile)
        else:
            yield from _check_results(message, calls)
            calls = []


def _check_answered(
    message: Merged, calls: list[str], after: Merged | None, profile: AnthropicProfile
) -> Iterator[Violation]:
    results = [] if after is None else after.of_kind("tool_result")
    answered = {block.value["tool_use_id"] for block in results}
    missing = [call for call in calls if call not in answered]
    if missing:
        yield rv.without_result(message.index, missing)
    elif after is not None and (late := _late(after, calls)):
        late_ids = list(dict.fromkeys(block.value["tool_use_id"] for block in late))
        if profile.late_results_are_missing:
            yield rv.without_result(message.index, late_ids, rule="A5")
        else:
            yield rv.late_results(after.index, len(late_ids))


def _late(after: Merged, calls: list[str]) -> list[Block]:
    """Return the results that come after the first block of another kind."""
    first = next((n for n, block in enumerate(after.blocks) if block.kind != "tool_result"), len(after.blocks))
    return [b for b in after.blocks[first:] if b.kind == "tool_result" and b.value["tool_use_id"] in calls]


def _check_results(message: Merged, calls: list[str]) -> Iterator[Violation]:
    results = message.of_kind("tool_result")
    seen: set[str] = set()
    for block in results:
        if block.value["tool_use_id"] in seen:
            yield rv.second_result(block.where, block.value["tool_use_id"])
        seen.add(block.value["tool_use_id"])
    for block in results:
        if block.value["tool_use_id"] not in calls:
            yield rv.orphan_result(block.where, block.value["tool_use_id"])


def check_server_tools(messages: list[Merged]) -> Iterator[Violation]:
    """Checks that a server tool's result follows its call in its message, unless the turn was paused."""
    for number, message in enumerate(messages):
        if message.role != "assistant":
            continue
        open_calls: dict[str, str] = {}
        for block in message.blocks:
            if block.kind == "server_tool_use":
                open_calls[block.value["id"]] = str(block.value["name"])
            elif block.kind in SERVER_RESULTS and open_calls.pop(block.value["tool_use_id"], None) is None:
                yield rv.orphan_server_result(block.where, block.kind, block.value["tool_use_id"])
        if number < len(messages) - 1:
            for call_id, name in open_calls.items():
                yield rv.lost_server_result(message.index, name, call_id)


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
    yield check_contents(messages, profile)
    yield check_places(messages, latest=version >= LATEST)
    yield check_ids(body)
    yield check_unique(messages)
    yield check_pairs(messages, profile)
    yield check_server_tools(messages)
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
    """Checks A11 in messages, in the results of tools, and in the system prompt."""
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
    """Checks how the conversation ends (A10). A paused turn is sent back as it is, to go on."""
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
