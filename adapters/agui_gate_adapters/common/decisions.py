"""Tells a provider what people decided: how a call was edited, and why one was refused."""

import msgspec

from agui_gate.adapter import SettledCall

from .json_decoder import decode_any


def output_text(call: SettledCall) -> str:
    """Returns the output of a call that the model is shown as it made it, with what a person edited (B11).

    Where nothing was changed this is the output as it is, else a JSON object with the arguments that ran beside it.
    """
    if not call.edited:
        return call.output.content
    note = {
        "note": "The user changed the arguments before approving.",
        "arguments": decode_any(call.arguments),
        "result": call.output.content,
    }
    return msgspec.json.encode(note).decode()


MAX_REASON = 1_000
"""Characters of a reason that are passed on."""


def reason_of(content: str) -> str:
    """Returns what the person said, or why nobody said anything, from a held call's output."""
    try:
        told = msgspec.json.decode(content, type=dict[str, str])
    except msgspec.DecodeError:
        told = {}
    return (told.get("reason") or told.get("message") or told.get("error") or content)[:MAX_REASON]
