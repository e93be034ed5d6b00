"""How a refusal of an attachment says what came instead of a data URL."""

from __future__ import annotations

from typing import Final

from agui_gate_adapters.testkit.media import Trouble

__all__ = ["EXAMPLE", "got"]

EXAMPLE: Final = "(e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU=')"


def got(trouble: Trouble) -> str:
    """What the API says that it got instead of a data URL."""
    match trouble.what:
        case "empty":
            return "empty base64-encoded bytes"
        case "type":
            return f"unsupported MIME type '{trouble.detail}'"
        case "prefix":
            return "a value without the 'data:' prefix"
        case _:
            return "an invalid base64-encoded value"
