"""Finding out whether a change was saved whose answer got lost with the connection.

PostgreSQL may have committed it, or not. Doing it again blindly might do it twice; giving it up might lose it. So it is
looked at what stands, under the lock of the thread's row: whoever still saves it there is waited for.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from agui_gate.core.stored import encode_entries
from agui_gate.errors import Unavailable
from agui_gate.stores.base import Change
from agui_gate.stores.postgres.troubles import OutcomeUnknown
from agui_gate.stores.sql.steps import Last, Statement, Steps

T = TypeVar("T")

LOOK_SECONDS = 10.0
"""How long it is tried to look, while the database is away."""
PAUSE_SECONDS = 0.1

_HELD = "SELECT run_key, run_status FROM threads WHERE tenant = :tenant AND key = :key FOR UPDATE"
_END = "SELECT body FROM journal WHERE tenant = :tenant AND thread = :key ORDER BY seq DESC LIMIT 1"
_ASKED = "SELECT 1 FROM approvals WHERE tenant = :tenant AND thread = :key AND id = ANY(:ids) LIMIT 1"


class Sure:
    """Does changes so that each is done once. What it could not find out about, it remembers for the next attempt."""

    def __init__(self) -> None:
        self._unknown: set[object] = set()

    async def do(self, name: object, change: Callable[[], Awaitable[T]], look: Callable[[], Awaitable[T | None]]) -> T:
        """Do ``change``. ``look`` says what came of it if it was done (None: it was not). ``name`` names the change.

        Raises what they raise, and `OutcomeUnknown` if the database stays away.
        """
        if name not in self._unknown:
            try:
                return await change()
            except OutcomeUnknown:
                self._unknown.add(name)
        done = await _patiently(look)
        self._unknown.discard(name)
        return await change() if done is None else done


async def _patiently(look: Callable[[], Awaitable[T]]) -> T:
    loop = asyncio.get_running_loop()
    until = loop.time() + LOOK_SECONDS
    while True:
        try:
            return await look()
        except Unavailable:
            if loop.time() > until:
                raise OutcomeUnknown from None
        await asyncio.sleep(PAUSE_SECONDS)


def committed(key: int, change: Change, run_key: str) -> Steps[bool | None]:
    """Whether the last commit of the run that holds, or held, the lease is this one.

    None: it is not, or doing it twice does no harm.
    """
    values = {"key": key, "ids": [approval.id for approval in change.approvals]}
    held, end, asked = yield Last([Statement(text, values) for text in (_HELD, _END, _ASKED)])
    if not held.rows:
        return None
    if change.status is not None:
        return held.rows[0] == (run_key, change.status) or None
    if change.entries:
        return end.rows == [(encode_entries(change.entries).decode(),)] or None
    return bool(asked.rows) or None


def deleted(key: int) -> Steps[bool | None]:
    """Whether a thread is gone."""
    (held,) = yield Last([Statement(_HELD, {"key": key})])
    return None if held.rows else True
