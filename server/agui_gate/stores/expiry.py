"""Expiry as an event: what is overdue is written as expired, though nobody looks at it.

Whoever looks at an approval expires it first, if it is overdue. Of what nobody looks at, this is the way.
"""

from typing import Protocol

import msgspec

EXPIRE = 200
"""Approvals that one step expires, about."""


class Expired(msgspec.Struct, frozen=True):
    """The result of one step: the threads, by principal and id, of which something expired, in that order.

    ``wait_ms``: when the next approval expires; 0 where one may be overdue, None where none waits that ever does.
    """

    threads: list[tuple[str, str]]
    wait_ms: int | None


class Expiry(Protocol):
    """Expires what is overdue."""

    async def expire(self, most: int = EXPIRE) -> Expired:
        """Expires what is overdue, whosever it is, in the order of its time; ``most`` of them, about.

        Each once, however many processes do this at a time. Costs next to nothing where nothing is overdue.
        """
        ...
