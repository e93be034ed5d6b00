"""Letting others in, where one piece of work could keep the event loop for long."""

import asyncio
import time
from collections.abc import Callable

SECONDS = 0.005
"""Seconds that the event loop may work until others get their turn."""

PAUSE = 0.001
"""Seconds between two pieces of heavy work."""

Clock = Callable[[], float]


class Breath:
    """Says when it is time to let others in: when the loop's thread has worked for `SECONDS`.

    Waiting is not work: what comes piece by piece, with waits between, lets others in anyway. To ask how long a thread
    worked is slow, so it is asked only once that much time has passed at all.
    """

    __slots__ = ("_clock", "_since", "_until", "_worked")

    def __init__(self, clock: Clock = time.monotonic, worked: Clock = time.thread_time) -> None:
        self._clock, self._worked = clock, worked
        self._begin()

    def _begin(self) -> None:
        self._until, self._since = self._clock() + SECONDS, self._worked()

    @property
    def due(self) -> bool:
        """True if it is time to let others have their turn."""
        now = self._clock()
        if now < self._until:
            return False
        self._until = now + SECONDS
        return self._worked() - self._since >= SECONDS

    async def take(self) -> None:
        """Lets others in."""
        await asyncio.sleep(0)
        self._begin()


async def let_others_in() -> None:
    """Gives everybody else a turn, timers and sockets too. After `sleep(0)` these would come behind the next work."""
    await asyncio.sleep(PAUSE)
