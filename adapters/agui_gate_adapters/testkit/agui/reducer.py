"""What a client's message list becomes by the events of a run."""

import json
from collections.abc import Sequence
from typing import Any

from agui_gate.client import Fold
from agui_gate.client.chunks import Chunks
from agui_gate.client.event_decoder import Reader

Json = dict[str, Any]


def apply(messages: list[Json], stream: Sequence[Json], *, snapshots: bool = True) -> list[Json]:
    """Changes ``messages`` as the events say, and returns them. Without ``snapshots``: by the streamed pieces alone.

    Raises `ClientError` for an event that can't be read.
    """
    fold, reader, chunks = Fold(messages), Reader(), Chunks()
    for told in stream:
        event = reader.read(json.dumps(told).encode())
        if event is not None and (snapshots or told["type"] != "MESSAGES_SNAPSHOT"):
            for one in chunks.unfolded(event):
                fold.apply(one)
    messages[:] = fold.messages
    return messages
