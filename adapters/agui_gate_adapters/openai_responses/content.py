"""A message's parts in this API's words."""

import mimetypes

from agui_gate.adapter import Content, Media, Output, UserTurn
from agui_gate_adapters.common.failures import READABLE, dropped

from .wire import Body

_PNG = "image/png"


def user_message(turn: UserTurn) -> Body:
    """A user's, system's or developer's message. The type is always said: some endpoints insist."""
    return {"type": "message", "role": turn.role, "content": [_part(part) for part in turn.content] or [_text("")]}


def result(output: Output) -> str | list[Body]:
    """What a call came to: text, or parts where there are some that this API takes."""
    made = [made for part in output.parts or () if (made := _taken(part)) is not None]
    dropped(output, len(made))
    return made if any(part["type"] != "input_text" for part in made) else output.content


def _part(part: Content) -> Body:
    made = _taken(part)
    if made is not None or not isinstance(part, Media):
        return made or _text("")
    # The model should know that something was there; a refusal of the whole turn would help nobody.
    what = part.mime_type if part.kind == "image" else part.kind
    return _text(f"[{part.kind} attachment left out: this model's API does not accept {what}]")


def _taken(part: Content) -> Body | None:
    """The part, if it is one that this API takes."""
    if not isinstance(part, Media):
        return _text(part.text)
    match part.kind:
        case "image" if part.source != "data" or (part.mime_type or _PNG) in READABLE:
            return _image(part)
        case "document":
            return _document(part)
        case _:
            return None


def _text(text: str) -> Body:
    return {"type": "input_text", "text": text}


def _image(part: Media) -> Body:
    if part.source == "file":
        return {"type": "input_image", "detail": "auto", "file_id": part.value}
    return {"type": "input_image", "detail": "auto", "image_url": _address(part, _PNG)}


def _document(part: Media) -> Body:
    match part.source:
        case "file":
            return {"type": "input_file", "file_id": part.value}
        case "url":
            return {"type": "input_file", "file_url": part.value}
        case "data":
            suffix = mimetypes.guess_extension(part.mime_type or "application/pdf") or ".bin"
            data = _address(part, "application/pdf")
            return {"type": "input_file", "filename": f"document{suffix}", "file_data": data}


def _address(part: Media, default_type: str) -> str:
    """A URL, or a data URL of base64 data."""
    if part.source == "url" or part.value.startswith("data:"):
        return part.value
    return f"data:{part.mime_type or default_type};base64,{part.value}"
