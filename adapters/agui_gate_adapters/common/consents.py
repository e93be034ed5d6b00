"""Decisions of people on their way to whoever asked for them."""

import msgspec

MAX_REASON = 1_000
"""Characters of a reason that are passed on."""


def reason_of(content: str) -> str:
    """What the person said, or why nobody said anything, out of a held call's output."""
    try:
        told = msgspec.json.decode(content, type=dict[str, str])
    except msgspec.DecodeError:
        told = {}
    return (told.get("reason") or told.get("message") or told.get("error") or content)[:MAX_REASON]
