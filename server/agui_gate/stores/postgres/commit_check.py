"""Finding out whether a change was saved whose answer got lost with the connection.

PostgreSQL may have committed it, or not. Doing it again blindly might do it twice; giving it up might lose it. So it is
looked at what stands, under the lock of the thread's row: whoever still saves it there is waited for. What the network
delivers only after that look changes nothing once the change was made again (`journal.AS_KNOWN`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from agui_gate.core.approvals import Approval, State
from agui_gate.core.stored_values import encode_entries
from agui_gate.errors import LeaseLost, Unavailable
from agui_gate.stores.base import Change
from agui_gate.stores.postgres.errors import OutcomeUnknown
from agui_gate.stores.sql.ledger import Ledger, Move, checked
from agui_gate.stores.sql.operations import Last, Statement, Steps

T = TypeVar("T")
W = TypeVar("W")

LOOK_SECONDS = 10.0
"""Seconds for which it is tried to look, while the database is away."""
PAUSE_SECONDS = 0.1

_HELD = "SELECT run_key, run_status FROM threads WHERE tenant = :tenant AND key = :key FOR UPDATE"
_END = "SELECT body FROM journal WHERE tenant = :tenant AND thread = :key ORDER BY seq DESC LIMIT 1"
_ASKED = "SELECT 1 FROM approvals WHERE tenant = :tenant AND thread = :key AND id = ANY(:ids) LIMIT 1"


class Sure:
    """Does changes so that each is done once. What it could not find out about, it remembers for the next attempt."""

    def __init__(self) -> None:
        self._unknown: dict[object, Any] = {}

    async def do(
        self,
        name: object,
        what: W,
        change: Callable[[], Awaitable[T]],
        look: Callable[[W], Awaitable[T | None]],
    ) -> T:
        """Does ``change``. ``look`` says what came of it if it was done (None: it was not). ``name`` names the change.

        ``what`` is done may be more at the next attempt; it is looked for what was tried before. Raises what they
        raise, and `OutcomeUnknown` if the database stays away.
        """
        while True:
            tried: list[W] = [self._unknown[name]] if name in self._unknown else []
            if tried:
                done = await _patiently(look, tried[0])
                del self._unknown[name]
                if done is not None:
                    return done
            try:
                return await change()
            except OutcomeUnknown:
                self._unknown[name] = what
                if tried:
                    raise
            except LeaseLost:  # or what was tried before has arrived after the look
                if not tried or (done := await _patiently(look, tried[0])) is None:
                    raise
                return done


async def _patiently(look: Callable[[W], Awaitable[T]], tried: W) -> T:
    loop = asyncio.get_running_loop()
    until = loop.time() + LOOK_SECONDS
    while True:
        try:
            return await look(tried)
        except Unavailable:
            if loop.time() > until:
                raise OutcomeUnknown from None
        await asyncio.sleep(PAUSE_SECONDS)


def committed(key: int, change: Change, run_key: str) -> Steps[bool]:
    """Returns whether the last commit of the run that holds, or held, the lease is this one.

    False: it is not, or doing it twice does no harm.
    """
    values = {"key": key, "ids": [approval.id for approval in change.approvals]}
    held, end, asked = yield Last([Statement(text, values) for text in (_HELD, _END, _ASKED)])
    if not held.rows:
        return False
    if change.status is not None:
        return bool(held.rows[0] == (run_key, change.status))
    if change.entries:
        return bool(end.rows == [(encode_entries(change.entries).decode(),)])
    return bool(asked.rows)


def left_of(change: Change, done: Change) -> Change:
    """Returns what is still to do of ``change``, after ``done``, which was tried before it, turned out to be saved."""
    number = len(done.entries)
    goes_on = change.entries[:number] == done.entries
    return msgspec.structs.replace(
        change,
        after=done.length,
        keep=None if goes_on else change.keep,
        entries=change.entries[number:] if goes_on else change.entries,
        approvals=[approval for approval in change.approvals if approval not in done.approvals],
        replaced=[one for one in change.replaced if one not in done.replaced],
        happened=change.happened[len(done.happened) :],
        status=None if change.status == done.status else change.status,
    )


def deleted(key: int) -> Steps[bool | None]:
    """Returns True if a thread is gone, None if it is there."""
    (held,) = yield Last([Statement(_HELD, {"key": key})])
    return None if held.rows else True


def made(ledger: Ledger, move: Move) -> Steps[Approval | None]:
    """Returns the record, if it is as that move leaves it. Who still makes it, and is nearly done, is waited for.

    Raises `LeaseLost` where the move needs a lease: without it, it may as well have been somebody else's.
    """
    *_, found = yield Last(ledger.lock_and_read(move, runs=False))
    if not found.rows:
        return None
    *_, approval = checked(move, found)
    return approval if _is_as(move, approval) else None


def _is_as(move: Move, approval: Approval) -> bool:
    if move.decision is not None and approval.people is not None and move.to is State.CLAIMED and approval.is_pending:
        return any(yes.decision == move.decision for yes in approval.people.said)
    return (
        approval.state is move.to
        and (move.output is None or approval.output == move.output)
        and (move.decision is None or approval.decision == move.decision)
    )
