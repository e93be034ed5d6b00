"""Checks the messages of a Chat request: roles, members, content, calls and their answers (C1 to C6), attachments.

The words about files and audio are inferred.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from agui_gate_adapters.testkit.chat import violations as cv
from agui_gate_adapters.testkit.chat.profiles import ChatProfile
from agui_gate_adapters.testkit.faults import Violation
from agui_gate_adapters.testkit.media import IMAGES, is_gone, look_at
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.openai.checks import check_name, json_type, kind_violation
from agui_gate_adapters.testkit.openai.violations import EXAMPLE, got
from agui_gate_adapters.testkit.wire import Json

_ROLES: Final = ("system", "assistant", "user", "function", "tool", "developer")
_MEMBERS: Final[dict[str, frozenset[str]]] = {
    "system": frozenset({"name"}),
    "developer": frozenset({"name"}),
    "user": frozenset({"name"}),
    "assistant": frozenset({"name", "refusal", "audio", "annotations", "tool_calls", "function_call"}),
    "tool": frozenset({"tool_call_id", "name"}),
    "function": frozenset({"name"}),
}
_TEXT: Final = ("text",)
_PARTS: Final[dict[str, tuple[str, ...]]] = {
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
}
_CALL_TYPES: Final = ("function", "custom")
_NINE: Final = re.compile(r"[a-zA-Z0-9]{9}")


def check_roles(messages: list[object], profile: ChatProfile) -> Iterator[Violation]:
    """Yield what is no message, and roles that are unknown, or unknown to this server."""
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        if not isinstance(message, dict):
            yield v.wrong_type(path, "an object", json_type(message), rule="type")
        elif "role" not in message:
            yield v.missing(f"{path}.role", rule="role")
        elif message["role"] not in _ROLES:
            yield v.unsupported_value(f"{path}.role", str(message["role"]), _ROLES, rule="role")
        elif message["role"] == "system" and index and profile.system_first:
            yield cv.late_system()
        elif message["role"] == "developer" and not profile.developer_role:
            yield cv.unknown_role(f"{path}.role", "developer")


def check_shapes(messages: list[Json], profile: ChatProfile) -> Iterator[Violation]:
    """Yield unknown members, and content of a wrong type; content that is absent comes last of all."""
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        yield from _check_members(message, path, profile)
        content = message.get("content")
        if isinstance(content, list):
            yield from _check_parts(content, f"{path}.content", _PARTS.get(message["role"], _TEXT))
        elif content is not None and not isinstance(content, str):
            kinds = "one of a string or array of objects"
            yield v.wrong_type(f"{path}.content", kinds, json_type(content), rule="type")


def check_calls(messages: list[Json], profile: ChatProfile) -> Iterator[Violation]:
    """Yield what is wrong with calls (C5), and with the ids of calls and answers (C6)."""
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        if message["role"] == "tool":
            yield from _check_id(message, "tool_call_id", path, profile)
        if message.get("tool_calls") is not None:
            yield from _check_calls(message["tool_calls"], f"{path}.tool_calls", profile)


def check_content(messages: list[Json], profile: ChatProfile) -> Iterator[Violation]:
    """Checks C4, which the API checks last."""
    for index, message in enumerate(messages if profile.content_required else ()):
        excused = message["role"] == "assistant" and any(
            message.get(member) is not None for member in ("tool_calls", "refusal", "audio", "function_call")
        )
        if message.get("content") is None and not excused:
            yield cv.no_content(index)


def _check_members(message: Json, path: str, profile: ChatProfile) -> Iterator[Violation]:
    reasoning = profile.reasoning_field or "reasoning_content"
    known = _MEMBERS[message["role"]] | {"role", "content"}
    for member in message:
        if member == reasoning and profile.reasoning_back == "refused":
            yield cv.reasoning_sent(f"{path}.{member}")
        elif profile.unknown_members and member not in known and member != profile.reasoning_field:
            if profile.errors == "bare":  # A schema of tagged unions: the role is part of the place.
                yield cv.unsupported(profile, f"{path}.{message['role']}.{member}")
            else:
                yield v.unknown(f"{path}.{member}", rule="member")


def _check_parts(parts: list[object], path: str, kinds: tuple[str, ...]) -> Iterator[Violation]:
    if not parts:
        yield cv.empty_array(path, "content")
    for index, part in enumerate(parts):
        where = f"{path}[{index}]"
        if not isinstance(part, dict) or part.get("type") not in kinds:
            yield kind_violation(part, where, kinds, "content")
        elif part["type"] not in part and part["type"] in ("text", "refusal", "image_url"):
            yield v.missing(f"{where}.{part['type']}", rule="content")


def _check_calls(calls: object, path: str, profile: ChatProfile) -> Iterator[Violation]:
    if not isinstance(calls, list):
        yield v.wrong_type(path, "an array of objects", json_type(calls), rule="C5")
        return
    if not calls:
        yield cv.empty_array(path, "C5")
    for index, call in enumerate(calls):
        where = f"{path}[{index}]"
        if not isinstance(call, dict):
            yield v.wrong_type(where, "an object", json_type(call), rule="type")
            continue
        yield from _check_id(call, "id", where, profile)
        if call.get("type") not in _CALL_TYPES:
            yield kind_violation(call, where, _CALL_TYPES, "call")
        elif call["type"] == "function":
            yield from _check_function(call.get("function"), f"{where}.function", profile)


def _check_function(function: object, path: str, profile: ChatProfile) -> Iterator[Violation]:
    if not isinstance(function, dict):
        yield v.missing(path, rule="call")
        return
    for member in ("name", "arguments"):
        if member not in function:
            yield v.missing(f"{path}.{member}", rule="call")
        elif not isinstance(function[member], str):
            yield v.wrong_type(f"{path}.{member}", "a string", json_type(function[member]), rule="call")
    if profile.call_names and isinstance(function.get("name"), str):
        yield from check_name(function["name"], f"{path}.name")


def _check_id(holder: Json, member: str, path: str, profile: ChatProfile) -> Iterator[Violation]:
    given, where = holder.get(member), f"{path}.{member}"
    if given is None:
        yield v.missing(where, rule="call")
    elif not isinstance(given, str):
        yield v.wrong_type(where, "a string", json_type(given), rule="call")
    elif profile.nine_character_ids and not _NINE.fullmatch(given):
        yield cv.unfit_call_id(given)
    elif profile.max_call_id is not None and len(given) > profile.max_call_id:
        yield v.too_long(where, profile.max_call_id, len(given), rule="C6")


# Attachments in a user's message, in the words of each server.
#
# * "Invalid image URL: … Expected a base64-encoded data URL" as in Alibaba-NLP/OmniSearch#3
# * "You uploaded an unsupported image" as in STranslate/STranslate#277
# * "Failed to download image from" as in WordPress/php-ai-client#137
# * "Failed to load image or audio file" as in cline/cline#8977

_PDF: Final = ("application/pdf",)
_EXAMPLE_PDF: Final = "(e.g. 'data:application/pdf;base64,aW1nIGJ5dGVzIGhlcmU=')"


def check_media(messages: list[Json], profile: ChatProfile) -> Iterator[Violation]:
    """Yield what is wrong with attachments; their shape is right by now."""
    for index, message in enumerate(messages):
        content = message.get("content")
        for place, part in enumerate(content if isinstance(content, list) else ()):
            path = f"messages[{index}].content[{place}]"
            if part["type"] == "image_url":
                yield from _check_image(part["image_url"], f"{path}.image_url", profile)
            elif part["type"] == "file":
                yield from _check_file(part.get("file"), f"{path}.file")
            elif part["type"] == "input_audio":
                yield from _check_audio(part.get("input_audio"), f"{path}.input_audio")


def _check_image(image: object, path: str, profile: ChatProfile) -> Iterator[Violation]:
    if not profile.images:
        yield cv.no_images(path.partition(".content")[0])
        return
    address = image.get("url") if isinstance(image, dict) else image
    if not isinstance(address, str):
        yield v.missing(f"{path}.url", rule="content")
        return
    trouble = look_at(address, IMAGES)
    if trouble is None or trouble.what == "label":
        return
    if profile.errors in ("vllm", "numbered"):
        yield cv.unreadable_image(profile)
    elif trouble.what in ("address", "unreachable", "prefix"):
        yield v.bad_media(f"Failed to download image from {address}. Image URL is invalid.", None, "invalid_image_url")
    elif trouble.what == "bytes":
        yield v.bad_media(_UNSUPPORTED, None, "invalid_image_format")
    else:
        message = (
            f"Invalid image URL: '{path}.url'. Expected a base64-encoded data URL with an image MIME type {EXAMPLE}"
        )
        yield v.bad_media(f"{message}, but got {got(trouble)}.", f"{path}.url")


_UNSUPPORTED: Final = (
    "You uploaded an unsupported image. Please make sure your image has of one the following formats: "
    "['png', 'jpeg', 'gif', 'webp']."
)


def _check_file(file: object, path: str) -> Iterator[Violation]:
    handle, data = (file.get("file_id"), file.get("file_data")) if isinstance(file, dict) else (None, None)
    if isinstance(handle, str) and is_gone(handle):
        yield v.bad_media(f"No such File object: {handle}", f"{path}.file_id")
    if not isinstance(data, str):
        return
    trouble = look_at(data, _PDF)
    if trouble is not None:
        expected = f"Expected a base64-encoded data URL with an application/pdf MIME type {_EXAMPLE_PDF}"
        where = f"{path}.file_data"
        yield v.bad_media(f"Invalid file data: '{where}'. {expected}, but got {got(trouble)}.", where)


def _check_audio(audio: object, path: str) -> Iterator[Violation]:
    data = audio.get("data") if isinstance(audio, dict) else None
    try:
        fits = isinstance(data, str) and bool(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        fits = False
    if not fits:
        yield v.bad_media(f"Invalid value for '{path}.data': expected base64-encoded audio.", f"{path}.data")


# Calls and their answers (C1, C2, C3), turn by turn; what may follow them; the reasoning that comes back with them.
#
# An assistant message with calls opens a run. The tool messages right after it answer its calls in any order. Any other
# message closes the run, and so does the end of the list. Ids mean nothing beyond their run: a later turn may use the
# same ones again.


class _Run:
    """The calls of one assistant message while their answers come in."""

    def __init__(self, calls: list[Json]) -> None:
        self.awaited = Counter(call["id"] for call in calls)
        self.answered: dict[str, int] = {}

    @property
    def repeated(self) -> list[str]:
        return [call_id for call_id, times in self.awaited.items() if times > 1]

    @property
    def unanswered(self) -> list[str]:
        return list(self.awaited.elements())


def check_pairs(messages: list[Json], profile: ChatProfile) -> Iterator[Violation]:
    """Checks the messages, and yields violations in the API's order."""
    run: _Run | None = None
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            yield from _answer(run, message["tool_call_id"], index, profile)
            continue
        if run is not None and run.unanswered:
            yield cv.unanswered(profile, run.unanswered, index)
        run = None
        if message["role"] == "assistant" and message.get("tool_calls"):
            run = _Run(message["tool_calls"])
            if run.repeated and not profile.repeated_calls:
                # Two calls of one id cannot both be answered, so the second one never is.
                yield cv.unanswered(profile, run.repeated, index)
    if run is not None and run.unanswered:
        yield cv.unanswered(profile, run.unanswered, None)


def _answer(run: _Run | None, call_id: str, index: int, profile: ChatProfile) -> Iterator[Violation]:
    if run is None or call_id not in run.awaited:
        yield cv.not_an_answer(profile, index)
    elif not run.awaited[call_id]:
        yield cv.answered_twice(call_id, run.answered[call_id], index)
    else:
        run.awaited[call_id] -= 1
        run.answered[call_id] = index


def check_order(messages: list[Json], profile: ChatProfile) -> Iterator[Violation]:
    """Yield the user messages that follow answers at once, where the server wants a reply in between."""
    for before, message in pairwise(messages if profile.reply_after_tools else ()):
        if before["role"] == "tool" and message["role"] == "user":
            yield cv.no_reply_between()


def check_reasoning(messages: list[Json], profile: ChatProfile) -> Iterator[Violation]:
    """Yield the tool-calling turns since the last user message that lost their reasoning; an empty text will do."""
    if profile.reasoning_back != "required" or profile.reasoning_field is None:
        return
    last_user = max((index for index, message in enumerate(messages) if message["role"] == "user"), default=-1)
    for index in range(last_user + 1, len(messages)):
        message = messages[index]
        if message.get("tool_calls") and not isinstance(message.get(profile.reasoning_field), str):
            yield cv.reasoning_lost(profile, index)
