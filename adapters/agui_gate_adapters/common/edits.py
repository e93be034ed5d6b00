"""What a model is told of a call that a person changed before it ran."""

import msgspec

from agui_gate.adapter import SettledCall

from .json_decoder import decode_any


def output_text(call: SettledCall) -> str:
    """The output of a call that the model is shown as it made it. Of an edit it has to be told (B11).

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
