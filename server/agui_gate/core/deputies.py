"""Deputies: who is away names somebody who may decide in their place, from one time to another.

A deputy has the right of who is away to agree to calls whose gates ask for people, as it was when they were named: the
id and the roles. They act by themselves: they log in, and count as the person that they are. Nothing else is theirs: no
thread of who is away, and no right that somebody else gave to who is away. So a deputy's deputy is none.

`check_named` says who can be named. A store calls it in the transaction in which it saves who is, so that two at once
make no circle.
"""

from collections.abc import Collection, Sequence
from typing import Literal

import msgspec

from agui_gate.errors import InvalidRequest

Side = Literal["id", "absent", "deputy", "tenant"]
"""By what deputies are looked up: an id; who is away; who is the deputy; all of a tenant."""

MAX_DAYS = 92
"""Days from now until a deputy's time is over, at most: roles are not asked for again meanwhile."""
MAX_OF_ONE = 20
"""Deputies that one principal has named and that stand, or will: so nobody takes the places of all others."""
MAX_OF_TENANT = 1_000
"""Deputies of a tenant that stand, or will."""


class Deputy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One that was named. Times are ms since the epoch, by the store's clock; ``until`` is the first that is left out.

    ``absent`` is the id of the principal who is away, ``person`` who is behind it, and ``roles`` those that it had when
    it named the ``deputy``, a principal's id in the same ``tenant``; ``jti`` is the id of the token by which it did so.
    ``acts_for``: whose threads it worked on. ``at``: when they were named.
    """

    id: str
    tenant: str
    absent: str
    deputy: str
    since: int
    until: int
    person: str = ""
    roles: tuple[str, ...] = ()
    jti: str = ""
    acts_for: str | None = None
    at: int = 0

    @property
    def given_with(self) -> tuple[str, str]:
        """Who named them, and by which token: see `core.terms.Counts`."""
        return self.absent, self.jti

    def stands_at(self, now: int) -> bool:
        """Returns whether they may decide at ``now``."""
        return self.since <= now < self.until

    def overlaps(self, other: "Deputy") -> bool:
        """Returns whether there is a time at which both stand."""
        return self.since < other.until and other.since < self.until


def check_named(wanted: Deputy, known: Sequence[Deputy], now: int) -> None:
    """Raises `InvalidRequest` if somebody can't be named: themselves, for a time that is over or too long, or where
    that makes a circle. ``known``: those of the same tenant that stand, or will.
    """
    if wanted.deputy in (wanted.absent, wanted.person):
        raise InvalidRequest("Nobody is their own deputy. Name somebody else.", well_formed=True)
    if wanted.until <= max(now, wanted.since):
        raise InvalidRequest("'until' must be later than 'since', and in the future.", well_formed=True)
    if wanted.until > now + MAX_DAYS * 86_400_000:
        raise InvalidRequest(f"'until' is at most {MAX_DAYS} days from now.", well_formed=True)
    if sum(one.absent == wanted.absent for one in known) >= MAX_OF_ONE:
        raise InvalidRequest(f"You have named {MAX_OF_ONE} deputies already. Remove some.", well_formed=True)
    if len(known) >= MAX_OF_TENANT:
        raise InvalidRequest(f"There are {MAX_OF_TENANT:,} deputies already. Remove some.", well_formed=True)
    if wanted.absent in _standing_in(wanted, known):
        raise InvalidRequest(
            f"This would be a circle: in that time {wanted.absent} is to decide in the place of {wanted.deputy}.",
            well_formed=True,
        )


def _standing_in(wanted: Deputy, known: Collection[Deputy]) -> set[str]:
    """Returns who would stand in for the deputy while it is needed, directly or through others."""
    overlapping = [one for one in known if one.overlaps(wanted)]
    found: set[str] = set()
    new = {wanted.deputy}
    while new:
        new = {one.deputy for one in overlapping if one.absent in new} - found
        found |= new
    return found
