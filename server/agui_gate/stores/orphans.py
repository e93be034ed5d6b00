"""Orphans: calls that a person approved, and at which nobody is at work any more.

A process that dies leaves such a call ``claimed``, or ``passed`` where the provider runs it, and its thread's lease to
lapse. A yes that only the next request passes on to the provider is no orphan: nobody has to be at work for it.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from agui_gate.core.approvals import State

ORPHANS = 500
"""Calls at work that one look goes through."""


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A call as an operator is told of it; nothing that was said. ``seq`` is its place among all that were asked."""

    seq: int
    id: str
    tool: str
    state: State
    principal: str
    thread_id: str
    run_key: str = ""
    """The key of the last lease of its thread."""


class Orphans(msgspec.Struct, frozen=True):
    """The orphans that one look found. ``after``: where the next one goes on; None at the end."""

    found: Sequence[Named]
    after: int | None


class OrphanStore(Protocol):
    """The calls of a store of which nobody says what came of them."""

    async def orphans(self, after: int = 0, most: int = ORPHANS) -> Orphans:
        """Returns calls at work with nobody who holds their thread's lease, whosever they are, oldest first.

        Looks at ``most`` calls at work, from that place on. It takes as long as there are such calls, not records.
        """
        ...

    async def unknown(self, limit: int) -> tuple[int, Sequence[Named]]:
        """Returns how many calls have ended ``unknown``, and the ``limit`` that were asked last, newest first."""
        ...
