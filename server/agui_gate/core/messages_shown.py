"""The messages that a thread has, so that a client's replayed history can be compared with it.

Messages are known by their ids. Users' messages that came without one are known by what they say, and by their place
among those like them.
"""

from collections.abc import Sequence

from agui_gate.core.transcript import CallPart, Content, KeptEntry, TurnEntry, UserEntry


class MessagesShown:
    """The messages of one thread. Each entry costs the same, however many there were before."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._users: dict[str, int] = {}
        self._unnamed: dict[tuple[Content, ...], list[int]] = {}
        self.unnamed = 0
        """How many users' messages came without an id."""

    def note_turn(self, turn: TurnEntry) -> None:
        """Take a turn: its texts, its reasoning, and the messages that show its calls."""
        self._ids.update([part.parent_id if isinstance(part, CallPart) else part.id for part in turn.parts])

    def note_user(self, entry: UserEntry, place: int) -> None:
        """Take a user's message that is the journal's entry number ``place``."""
        self._ids.add(entry.id)
        self._users[entry.id] = place
        if entry.minted:
            self._unnamed.setdefault(entry.content, []).append(self.unnamed)
            self.unnamed += 1

    def note_kept(self, entry: KeptEntry) -> None:
        """Take a message that only clients need."""
        self._ids.add(entry.id)

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._ids

    def place_of(self, message_id: str) -> int | None:
        """Where the user's message with this id stands in the journal, the latest one."""
        return self._users.get(message_id)

    def places_of(self, content: tuple[Content, ...]) -> Sequence[int]:
        """The places, among users' messages that came without an id, of those that say just this."""
        return self._unnamed.get(content, ())
