"""Messages in order, and where each of them, and each call, is.

They are kept in groups: a message with the results that follow it. A result goes to the end of the group whose message
made its call. So it finds its place however many messages there are.
"""

from collections.abc import Iterable
from itertools import chain

from agui_gate.client.events import Json


class Placement:
    """The places of one thread's messages. Of several of one id, or several calls of one, the first in order counts."""

    def __init__(self, messages: Iterable[Json] = ()) -> None:
        self.by_id: dict[str, Json] = {}
        self.calls: dict[str, Json] = {}
        self._groups: list[list[Json]] = []
        self._flat: list[Json] | None = None
        self._homes: dict[str, list[Json]] = {}
        """The groups of messages, by their ids."""
        self._made: dict[str, list[Json]] = {}
        """The group of the message that made a call, by the call's id."""
        for message in messages:
            self.append(message)

    @property
    def messages(self) -> list[Json]:
        """The messages, in order."""
        if self._flat is None:
            self._flat = list(chain.from_iterable(self._groups))
        return self._flat

    def append(self, message: Json) -> None:
        """Appends a message at the end."""
        if message["role"] == "tool" and self._groups:
            self._groups[-1].append(message)
        else:
            self._groups.append([message])
        if self._flat is not None:
            self._flat.append(message)
        group = self._groups[-1]
        if self.by_id.setdefault(message["id"], message) is message:
            self._homes[message["id"]] = group
        for call in message.get("toolCalls") or ():
            self.calls.setdefault(call["id"], call)
            if message["role"] == "assistant":
                self._made.setdefault(call["id"], group)

    def add_result(self, message: Json) -> None:
        """Puts a result after the message that made the call, and after the results that are there already."""
        group = self._made.get(message["toolCallId"])
        if group is None or group is self._groups[-1]:
            self.append(message)
        else:
            group.append(message)
            self._flat = None
            self.by_id.setdefault(message["id"], message)

    def add_call(self, call: Json, parent_id: str | None) -> None:
        """Puts a call on the message of that id, or on the last one where None is given. Either is an assistant's."""
        group = self._groups[-1] if parent_id is None else self._homes[parent_id]
        group[0].setdefault("toolCalls", []).append(call)
        self.calls[call["id"]], self._made[call["id"]] = call, group
