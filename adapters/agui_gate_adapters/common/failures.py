"""Classifies a provider's errors: the error that people see, and what may be tried.

Classification uses the HTTP status and the error's `code` (or its type, where an API has no codes). Where there is
neither, it uses a part of its message that has been stable across vendors. None of the provider's own words reach the
error or the log: they may quote the conversation, or the key that was sent.
"""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

import msgspec

from agui_gate.adapter import Output
from agui_gate.errors import (
    ContentRefused,
    ContextLength,
    FormRefused,
    MediaRefused,
    ProviderAuth,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
    RateLimited,
)

# What a provider's refusal says about attachments and about what was said, and which attachment it means.
#
# By code where there is one, else by a part of the sentence that has been stable:
#
# * OpenAI: "You uploaded an unsupported image", "Timeout while downloading …"
# * Anthropic: "Could not process image", "image exceeds 5 MB maximum", "The image was specified using the
#   image/png media type, but …"
# * vLLM: "… is not a multimodal model"
# * llama.cpp: "Failed to load image or audio file"
# * Ollama: "invalid image input"
#
# What is said of a file's handle that is not known any more is inferred: "No such File object: …", "File not found: …".
#
# Taking something for a refused attachment that is none costs one more request: it is remembered only if the request is
# accepted without the attachment.

log = logging.getLogger("agui_gate.adapters")

_REMEMBERED = 1_000
_SAID: set[int] = set()

READABLE = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""Pictures that every provider with pictures takes."""

_CODES = re.compile(
    r"(invalid|unsupported|empty|failed_to_download)_(\w*_)?(image|file|audio|base64|media)\w*|image_\w+|invalid_base64\w*"
    r"|file_(not_found|expired|deleted)"
)
_WORDS = re.compile(
    r"(could not|cannot|can't|failed to|unable to) (process|load|identify|decode|open|parse|download) (the |this )?"
    r"(image|pdf|file|audio|document)"
    r"|(unsupported|invalid|corrupt\w*|valid) (image|pdf|audio|file|media)|(image|pdf|audio|file)_(url|data)\b"
    r"|image (url|data|input|format|exceeds|cannot be empty|does not match|was specified|dimensions|size)\b"
    r"|(timeout|error) while downloading|unable to download|only https urls|pdf specified was not valid"
    r"|no such file|\bfile (with id |object )?\S{1,100} (was |is |has |does )?(not found|not exist|expired)"
    r"|\bfile not found"
    r"|multimodal|image\(s\) may be provided|content part type|media[_ ]type|mime type|base64",
    re.IGNORECASE,
)
_ABOUT_TOOLS = re.compile(r"\b(tools|functions)[.\[]\d|schema for function|function_call|tool_choice", re.IGNORECASE)
_PLACE = re.compile(r"\bcontent[.\[]\d+\]?[.\[](image|document|pdf|input_|file|source|audio)", re.IGNORECASE)
_POLICY_CODES = frozenset(
    {"content_filter", "content_policy_violation", "invalid_prompt", "data_inspection_failed", "cyber_policy_violation"}
)
_POLICY = re.compile(
    r"content management policy|content (filtering )?policy|usage polic(y|ies)|inappropriate content"
    r"|content exists risk|considered high risk|prompt was flagged",
    re.IGNORECASE,
)
_ATTACHMENT_PATH = re.compile(r"\b(?:input|messages)\.?\[?\d+\]?\.content[.\[]\d+\]?[\w.\[\]]*")
_STEP = re.compile(r"\d+|[A-Za-z_]+")


def dropped(output: Output, taken: int) -> None:
    """Log, once for each result, that an API has no place for some of its parts (TOOL-3)."""
    lost = len(output.parts or ()) - taken
    if lost and hash(output) not in _SAID:
        if len(_SAID) >= _REMEMBERED:
            _SAID.clear()
        _SAID.add(hash(output))
        log.warning("%d part(s) of a tool's result were left out: this model's API does not accept them there", lost)


def is_about_media(code: str, message: str, param: str) -> bool:
    """Whether a refusal is about an attachment."""
    if param.startswith(("tools", "functions", "model")) or _ABOUT_TOOLS.search(message):
        return False
    return bool(_CODES.fullmatch(code) or _PLACE.search(param) or _PLACE.search(message) or _WORDS.search(message))


def is_about_content(code: str, message: str) -> bool:
    """Whether a refusal is about what was said, by the provider's content policy."""
    return code in _POLICY_CODES or _POLICY.search(message) is not None


def place_in(message: str, param: str) -> str:
    """Returns the path that a refusal names, in its parameter or in its sentence; "" if it names none."""
    if _ATTACHMENT_PATH.match(param):
        return param
    found = _ATTACHMENT_PATH.search(message)
    return found[0] if found else ""


def value_at(body: dict[str, Any], path: str) -> str:
    """Returns the address or data of the attachment at ``path`` of a request; "" if there is none there."""
    here: Any = body
    part: Any = None
    for step in _STEP.findall(path):
        if isinstance(here, list) and step.isdigit() and int(step) < len(here):
            here = here[int(step)]
            part = here
        elif isinstance(here, dict) and step in here:
            here = here[step]
        else:
            break  # the rest names types, or what is inside
    if not isinstance(part, dict) or "type" not in part or part["type"] in ("text", "input_text", "message"):
        return ""
    return max(_texts(part), key=len, default="")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _texts(member)


class Kind(Enum):
    """The kinds of failures, by what may help as long as nothing of the turn was shown."""

    FATAL = "fatal"
    TRANSIENT = "transient"
    """The same request again; the provider surely did not act on this one."""
    AMBIGUOUS = "ambiguous"
    """As transient, but the provider may have acted: never where it would then remember the same items twice."""
    LOCKED = "locked"
    """Another response is being written to this conversation."""
    FORGOTTEN = "forgotten"
    """The provider lost what we refer to, or may not use it: send everything."""
    UNCONTINUED = "uncontinued"
    """This address continues nothing, whatever we refer to: send everything, and from now on."""
    MISMATCH = "mismatch"
    """Calls, outputs or reasoning do not fit together there. Ours is a bug then; sending everything heals it."""


class Failure(Exception):
    """A `ProviderError` together with its `Kind`. ``retry_after`` is in seconds, None when the provider named none."""

    def __init__(self, error: ProviderError, kind: Kind = Kind.FATAL, retry_after: float | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.kind = kind
        self.retry_after = retry_after
        self.accepted = False
        """Whether the request was accepted first, and failed later: then nobody knows what was done for it."""
        self.status: int | None = None
        """The HTTP status, where the provider replied with an error."""
        self.place = ""
        """The path in the request that it is about, where the provider names one."""

    def point_at(self, body: dict[str, Any]) -> None:
        """Say which attachment of this request it is about, if it is about one."""
        if isinstance(self.error, MediaRefused) and self.place:
            self.error.value = value_at(body, self.place)


class ErrorReply(msgspec.Struct, frozen=True):
    """A provider's error reply. Members are "" where it has none; ``retry_after`` is in seconds."""

    code: str = ""
    message: str = ""
    param: str = ""
    retry_after: float | None = None


class Api(msgspec.Struct, frozen=True):
    """An API, for classification. ``known`` finds failures that are this API's own, before the others."""

    name: str
    key: str
    """The environment variable that holds the key, or the option that brings what stands in its place."""
    known: Callable[[ErrorReply], Failure | None] = lambda _: None
    address: str = ""
    """The environment variable that holds the address, where it is not called as the key is, with BASE_URL."""


_AUTH = frozenset({"invalid_api_key", "authentication_error", "permission_denied", "permission_error", "401", "403"})
_LIMITED = frozenset({"rate_limit_exceeded", "rate_limit_error", "insufficient_quota", "429"})
_REFUSED = ("invalid_", "unsupported_", "image_", "empty_image", "not_found", "request_too_large")
_CONTEXT = re.compile(
    r"context window|maximum context length|context length|context size|prompt is too long|too many tokens",
    re.IGNORECASE,
)
_FORM = re.compile(
    r"response_format|text\.format|output_config|output_format|structured.outputs?|\bgrammar\b|with union types",
    re.IGNORECASE,
)
_NEVER_CONTENT = frozenset({408, 409, 502, 503, 504, 529})
_TOOL_PLACE = re.compile(r"\b(?:tools|functions)[.\[](\d{1,4})\b")
_PATH = re.compile(r"(?<!\S)\S*/\S*")
_QUOTES = "'\"`"
_SAFE_TOKEN = re.compile(r"[A-Za-z0-9_.\[\]]{1,64}")


def plain(name: str) -> str:
    """Returns ``name``, a peer's code or path, if it is a plain name: else "", as it may be anything."""
    return name if _SAFE_TOKEN.fullmatch(name) else ""


def classify_status(status: int, reply: ErrorReply, api: Api, *, model: str = "", tools: Sequence[str] = ()) -> Failure:
    """Returns the failure that an HTTP error means. ``tools`` are the names of the request's, in order."""
    log.debug("provider replied %s: code=%r param=%r", status, plain(reply.code), plain(reply.param))
    known = api.known(reply) if status in (400, 404, 422) else None
    if known is not None:
        return known
    if status in (401, 403):
        return Failure(
            ProviderAuth(f"The provider does not accept the API key for this request ({status}): check {api.key}.")
        )
    if status == 429:
        return _rate_limit(reply)
    if status not in _NEVER_CONTENT and (refused := _refused_content(reply, status)) is not None:
        return refused
    if status in (408, 409) or status >= 500:
        kind = Kind.TRANSIENT if status in (503, 529) else Kind.AMBIGUOUS
        error = ProviderUnavailable(f"The provider is not available right now ({status}).")
        return Failure(error, kind, reply.retry_after)
    return Failure(_rejection(status, reply, api, model, tools))


def _rejection(status: int, reply: ErrorReply, api: Api, model: str, tools: Sequence[str]) -> ProviderError:
    """Returns a failure that no retry of the same request can avoid."""
    if 300 <= status < 400:
        return ProviderRejected(f"The provider redirects to another address ({status}): check base_url.")
    if status == 404 or reply.code == "model_not_found":  # 400 on some hosts
        return _not_found(reply, api, model)
    if _is_too_long(reply):
        return _too_long()
    if status == 413:
        return ContentRefused(f"The request is larger than the provider takes ({_why(status, reply)}).", too_long=True)
    refusal = _refusal(status, reply, tools)
    about_form = _FORM.search(f"{reply.param} {reply.message}") is not None
    return FormRefused(refusal) if about_form else ProviderRejected(refusal)


def classify_code(reply: ErrorReply, api: Api) -> Failure:
    """Returns the failure that an error inside a stream means: an error event, or a failed response's error."""
    log.debug("provider failed the response: code=%r", plain(reply.code))
    known = api.known(reply)
    if known is not None:
        return known
    if reply.code in _LIMITED:
        return _rate_limit(reply)
    if (refused := _refused_content(reply)) is not None:
        return refused
    if reply.code in _AUTH:
        return Failure(ProviderAuth(f"The provider does not accept the API key for this request: check {api.key}."))
    if _is_too_long(reply):
        return Failure(_too_long())
    if reply.code.startswith(_REFUSED) or "content_policy" in reply.code:
        return Failure(ProviderRejected(_refusal(None, reply)))
    return Failure(ProviderUnavailable("The provider failed while it answered."), Kind.AMBIGUOUS)


def _refused_content(reply: ErrorReply, status: int | None = None) -> Failure | None:
    """Returns the refusal of content or an attachment, if it is one. Without ``status`` the request was accepted."""
    if _is_too_long(reply) or reply.code == "model_not_found":
        return None
    if is_about_media(reply.code, reply.message, reply.param):
        acted = status is None or status >= 500
        failure = Failure(
            MediaRefused(f"The provider can't take an attachment ({_why(status, reply)}).", accepted=acted)
        )
        failure.place = place_in(reply.message, reply.param)
        return failure
    if is_about_content(reply.code, reply.message):
        return Failure(ContentRefused(f"The provider refuses this for its content ({_why(status, reply)})."))
    return None


def unreachable(detail: str, *, sent: bool) -> Failure:
    """Returns the failure of a request without a reply. ``sent``: it may have arrived."""
    return Failure(ProviderUnavailable(detail), Kind.AMBIGUOUS if sent else Kind.TRANSIENT)


def _is_too_long(reply: ErrorReply) -> bool:
    return reply.code in ("context_length_exceeded", "exceed_context_size_error") or bool(
        _CONTEXT.search(reply.message)
    )


def _rate_limit(reply: ErrorReply) -> Failure:
    if reply.code == "insufficient_quota":
        return Failure(RateLimited("The account at the provider has no quota left."))
    return Failure(RateLimited("The provider asks to slow down (429)."), Kind.TRANSIENT, reply.retry_after)


def _not_found(reply: ErrorReply, api: Api, model: str) -> ProviderRejected:
    message = _PATH.sub("", reply.message.lower())  # "Cannot GET /v1/models/x" says nothing about the model x
    if reply.code == "model_not_found" or "model" in message or "deployment" in message:
        return ProviderRejected(f"The provider does not know the model {model!r}.")
    return ProviderRejected(f"The provider has no {api.name} at this address (404): check base_url.")


def _too_long() -> ContextLength:
    return ContextLength("The conversation is longer than the model can read.")


def _refusal(status: int | None, reply: ErrorReply, tools: Sequence[str] = ()) -> str:
    """Describes a refusal: status, code and parameter if they are plain names, the tool if it is about one."""
    why = _why(status, reply)
    tool = _refused_tool(reply, tools)
    if tool is not None:
        return f"The provider refuses the tool {tool!r} ({why}): check its name, description and parameters' schema."
    hint = ": check the tools' names and schemas" if reply.param.startswith(("tools", "functions")) else ""
    return f"The provider refuses the request ({why}){hint}."


def _why(status: int | None, reply: ErrorReply) -> str:
    safe = [f"{name} {value}" for name, value in (("code", reply.code), ("at", reply.param)) if plain(value)]
    return ", ".join(([str(status)] if status else []) + safe) or "no reason given"


def _refused_tool(reply: ErrorReply, tools: Sequence[str]) -> str | None:
    """Finds the tool that a refusal is about: by its place in the request, or by its name in the sentence."""
    place = _TOOL_PLACE.search(reply.param) or _TOOL_PLACE.search(reply.message)
    if place is not None and int(place[1]) < len(tools):
        return tools[int(place[1])]
    if "function" not in reply.message and "tool" not in reply.message:
        return None
    return next((name for name in tools if name and _is_quoted(name, reply.message)), None)


def _is_quoted(name: str, message: str) -> bool:
    """Whether the name is quoted. Uses no regular expression, as each of thousands of tools would need its own."""
    return name in message and any(f"{a}{name}{b}" in message for a in _QUOTES for b in _QUOTES)
