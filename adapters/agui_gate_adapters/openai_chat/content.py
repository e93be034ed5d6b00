"""A user's message in this API's words. What the server can't take is told, so that the model knows of it."""

from agui_gate.adapter import Content, Media, UserTurn
from agui_gate_adapters.common.failures import READABLE

from .profiles import Profile
from .wire import Body

_PDF = "application/pdf"
_AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}


def user_message(turn: UserTurn, profile: Profile) -> Body:
    """A user's, system's or developer's message. Text alone is a string, since not every server reads lists."""
    parts = [_part(part, profile, turn.role) for part in turn.content]
    role = "system" if turn.role == "developer" and not profile.developer else turn.role
    if all(part["type"] == "text" for part in parts):
        return {"role": role, "content": "\n\n".join(part["text"] for part in parts)}
    return {"role": role, "content": parts}


def _part(part: Content, profile: Profile, role: str) -> Body:
    if not isinstance(part, Media):
        return {"type": "text", "text": part.text}
    made = None
    if role == "user":  # nobody else's messages may hold anything but text
        match part.kind:
            case "image" if profile.images:
                made = _image(part, profile)
            case "audio" if profile.audio:
                made = _audio(part)
            case "document" if profile.documents:
                made = _document(part)
    return made or {"type": "text", "text": _as_text(part)}


def _image(part: Media, profile: Profile) -> Body | None:
    unread = part.source == "data" and profile.four_images and (part.mime_type or "image/png") not in READABLE
    if part.source == "file" or unread:
        return None
    return {"type": "image_url", "image_url": {"url": _address(part, "image/png")}}


def _audio(part: Media) -> Body | None:
    kind = _AUDIO_FORMATS.get(part.mime_type or "audio/wav")
    if part.source != "data" or kind is None:
        return None
    data = part.value.partition(",")[2] if part.value.startswith("data:") else part.value
    return {"type": "input_audio", "input_audio": {"data": data, "format": kind}}


def _document(part: Media) -> Body | None:
    if part.source == "url" or (part.source == "data" and (part.mime_type or _PDF) != _PDF):
        return None
    if part.source == "file":
        return {"type": "file", "file": {"file_id": part.value}}
    return {"type": "file", "file": {"filename": "document.pdf", "file_data": _address(part, _PDF)}}


def _address(part: Media, default_type: str) -> str:
    """A URL, or a data URL of base64 data."""
    if part.source == "url" or part.value.startswith("data:"):
        return part.value
    return f"data:{part.mime_type or default_type};base64,{part.value}"


def _as_text(part: Media) -> str:
    """What is said in place of a part."""
    where = f" ({part.value})" if part.source == "url" and not part.value.startswith("data:") else ""
    return f"[{part.kind} attachment left out: this model's API does not accept it{where}]"
