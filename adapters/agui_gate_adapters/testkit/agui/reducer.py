"""What a client's message list becomes by the events of a run."""

import json
from collections.abc import Sequence
from typing import Any

from agui_gate.client import Fold
from agui_gate.client.chunks import Chunks
from agui_gate.client.event_decoder import Reader

Json = dict[str, Any]


_NAMELESS = "nameless-"
"""The beginning of the ids that messages without one have while they are folded."""

_STATE = frozenset({"STATE_SNAPSHOT", "STATE_DELTA"})
"""Events that change no message, and may be large."""


def folded(messages: Sequence[Json]) -> Fold:
    """Returns what a client has that holds these messages. They need no ids."""
    return Fold([{"id": f"{_NAMELESS}{number}"} | message for number, message in enumerate(messages)])


def held(fold: Fold) -> list[Json]:
    """Returns the messages that the client holds, and sends back: no client sends activities."""
    told = [message for message in fold.messages if message["role"] != "activity"]
    return [dict(m) if not m["id"].startswith(_NAMELESS) else _without_id(m) for m in told]


def _without_id(message: Json) -> Json:
    return {name: value for name, value in message.items() if name != "id"}


def apply(messages: list[Json], stream: Sequence[Json], *, snapshots: bool = True) -> list[Json]:
    """Changes ``messages`` as the events say, and returns them. Without ``snapshots``: by the streamed pieces alone.

    Raises `ClientError` for an event that can't be read; those before it count.
    """
    fold, reader, chunks = folded(messages), Reader(), Chunks()
    left_out = _STATE if snapshots else {*_STATE, "MESSAGES_SNAPSHOT"}
    try:
        for told in stream:
            if told["type"] in left_out:
                continue
            event = reader.read(json.dumps(told).encode())
            if event is not None:
                for one in chunks.unfolded(event):
                    fold.apply(one)
    finally:
        messages[:] = held(fold)
    return messages
