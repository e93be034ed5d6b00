"""The product with its event log off: frames go to the one reader of a run and are forgotten."""

from collections.abc import Callable

from agui_gate.bus import memory
from agui_gate.bus.log import EventLog


class Unlogged(EventLog):
    """What is left of the log when nothing is kept. For one reader that is there from the start."""

    __slots__ = ("_frames",)

    def __init__(self, limit: int, on_end: Callable[[EventLog], None], *, run_key: str) -> None:
        super().__init__(limit, on_end, run_key=run_key)
        self._frames: list[bytes] = []

    def append(self, frame: bytes) -> None:
        """Add the next frame and wake who waits for it."""
        self._frames.append(frame)
        self.next_seq += 1
        if self._waiting:
            self._wake()

    def read(self, seq: int) -> tuple[bytes, int]:
        """Everything since the last time."""
        frames, self._frames = self._frames, []
        return b"".join(frames), self.next_seq


def switch_off() -> None:
    """Have every run of this process go without a log."""
    memory.EventLog = Unlogged  # type: ignore[attr-defined,assignment]  # a benchmark's own server, and nothing else in its process
