"""What a provider's refusal says about attachments and about what was said, and which attachment it means.

By code where there is one, else by a part of the sentence that has been stable:

* OpenAI: "You uploaded an unsupported image", "Timeout while downloading …"
* Anthropic: "Could not process image", "image exceeds 5 MB maximum", "The image was specified using the image/png media
  type, but …"
* vLLM: "… is not a multimodal model"
* llama.cpp: "Failed to load image or audio file"
* Ollama: "invalid image input"

What is said of a file's handle that is not known any more is inferred: "No such File object: …", "File not found: …".

Taking something for a refused attachment that is none costs one
more request: it is remembered only if the request is accepted without the attachment.
"""

import logging
import re
from collections.abc import Iterator
from typing import Any

from agui_gate.adapter import Output

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
_PATH = re.compile(r"\b(?:input|messages)\.?\[?\d+\]?\.content[.\[]\d+\]?[\w.\[\]]*")
_STEP = re.compile(r"\d+|[A-Za-z_]+")


def dropped(output: Output, taken: int) -> None:
    """Say, once for each result, that an API has no place for some of its parts (TOOL-3)."""
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
    """The path that a refusal names, in its parameter or in its sentence; "" if it names none."""
    if _PATH.match(param):
        return param
    found = _PATH.search(message)
    return found[0] if found else ""


def value_at(body: dict[str, Any], path: str) -> str:
    """What the attachment at ``path`` of a request holds: its address or data; "" if there is none there."""
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
