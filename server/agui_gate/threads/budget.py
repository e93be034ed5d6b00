"""The memory budget: what all threads take that are run, decided, shown and connected to at the same time.

A thread that is worked on takes several times its size. One principal may take half of the budget, so that others find
room. How large a thread is, is known once it was read. Of large ones it is remembered, so that the next time nothing is
read that finds no room. Reading is work too, and the store does one thing after the other.
"""

from agui_gate.errors import RateLimited, Unavailable

LARGE_THREAD = 1024 * 1024
"""Bytes from which on a thread's size is remembered."""

REMEMBERED = 10_000
"""Threads whose size is remembered."""


class Budget:
    """``limit`` bytes for everybody."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._reserved: dict[str, int] = {}  # by principal
        self._large: dict[tuple[str, str], int] = {}

    @property
    def reserved(self) -> int:
        """Bytes that are reserved now."""
        return sum(self._reserved.values())

    def reserve(self, principal: str, size: int) -> "Reservation":
        """Takes ``size`` bytes, until that is given back or gone. One thread finds room if nothing else is reserved.

        Raises `RateLimited` if this principal has too much already, `Unavailable` if all together have.
        """
        mine = self._reserved.get(principal, 0)
        if mine and mine + size > self.limit // 2:
            raise RateLimited("You have too many large threads open. Try again in a moment.")
        if (taken := self.reserved) and taken + size > self.limit:
            raise Unavailable("The server has too many large threads open. Try again in a moment.")
        self._reserved[principal] = mine + size
        return Reservation(self, principal, size)

    def expect(self, principal: str, thread_id: str) -> "Reservation":
        """`reserve` for a thread that is about to be read; `Reservation.found` says how large it turned out to be."""
        return self.reserve(principal, self._large.get((principal, thread_id), 0))

    def remember(self, principal: str, thread_id: str, size: int) -> None:
        """Remembers the size that a thread has now."""
        self._large.pop((principal, thread_id), None)
        if size > LARGE_THREAD:
            self._large[principal, thread_id] = size
            if len(self._large) > REMEMBERED:
                del self._large[next(iter(self._large))]

    def give_back(self, principal: str, size: int) -> None:
        """Frees the bytes that `reserve` took."""
        if left := self._reserved.pop(principal, 0) - size:  # gone, where all that was reserved are empty threads
            self._reserved[principal] = left


class Reservation:
    """A part of the budget. Given back by `release`, or when nobody has it any more."""

    __slots__ = ("_budget", "_principal", "_size")

    def __init__(self, budget: Budget, principal: str, size: int) -> None:
        self._budget: Budget | None = budget
        self._principal, self._size = principal, size

    def found(self, thread_id: str, size: int) -> "Reservation":
        """Reserves for the thread of this id, which is so large, and returns that. Raises what `Budget.reserve` raises;
        then nothing is reserved any more.
        """
        budget = self._budget
        assert budget is not None
        budget.remember(self._principal, thread_id, size)
        if size == self._size:  # as of each new thread
            return self
        self.release()
        return budget.reserve(self._principal, size)

    def release(self) -> None:
        """Gives it back; safe to call twice."""
        budget, self._budget = self._budget, None
        if budget is not None:
            budget.give_back(self._principal, self._size)

    __del__ = release
