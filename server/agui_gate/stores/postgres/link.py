"""The link of a store to its database: its URL, the connections it makes, and the operations that it runs on them."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from agui_gate.errors import Unavailable, Unusable
from agui_gate.stores.postgres.connection import Broken, Refused
from agui_gate.stores.postgres.errors import AWAY, OutcomeUnknown, Trouble, may_go_well, reason
from agui_gate.stores.postgres.literals import Given
from agui_gate.stores.postgres.pool import Pool
from agui_gate.stores.postgres.transaction import Transaction, unguarded
from agui_gate.stores.sql.operations import Kind, Operation

T = TypeVar("T")

TRIES = 3
"""Tries of an operation that was in another one's way, or whose connection broke before it changed anything.
"""
AGAIN_SECONDS = 10.0
"""Seconds after which it is not tried again."""

CLOSE_SECONDS = 10.0

_DEFAULTS: Mapping[str, str | int] = {
    "application_name": "agui-gate",
    "connect_timeout": 5,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
"""The parameters that a URL may change. It can't change the encoding, which `literals` relies on."""


def parameters(url: str, whose: str = "store") -> str:
    """Returns what libpq is told. Raises `Unusable` for a URL that it can't read; the message doesn't repeat it."""
    try:
        given: dict[str, Any] = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise Unusable(
            f"The {whose}'s URL can't be read. It must look like postgresql://user:password@host:5432/database; "
            "special characters in a password are %-escaped."
        ) from None
    return make_conninfo("", **{**_DEFAULTS, **given, "client_encoding": "UTF8"})


class Link:
    """A store's way to its database, until `aclose`. ``given``: asked at each try, see `literals.bind`."""

    def __init__(self, conninfo: str, given: Callable[[], Given]) -> None:
        self._given = given
        self.guard = unguarded
        self._pool = Pool(conninfo)
        self._background: set[asyncio.Future[Any]] = set()

    def log_in_by(self, conninfo: str) -> None:
        """Opens its connections by that from now on; those that are open stay."""
        self._pool.conninfo = conninfo

    async def run(self, kind: Kind, operation: Operation[T], within: float | None = None) -> T:
        """Runs an operation. Raises what it raises, `Unavailable`, and `OutcomeUnknown` if nobody knows what it did.
        ``within``: see `Connection.ask`.

        A caller who is cancelled doesn't stop it, once it has begun: it goes on without him.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + AGAIN_SECONDS
        for left in range(TRIES - 1, -1, -1):
            transaction = Transaction(await self._pool.take(), kind, operation(), self._given(), self.guard, within)
            trying = loop.create_task(self._try(transaction))
            try:
                return await asyncio.shield(trying)
            except asyncio.CancelledError:
                self._keep(trying)
                raise
            except (Refused, Broken) as error:
                if not (left and loop.time() < until and _did_nothing(transaction, error)):
                    raise _told(transaction, error) from None
        raise AssertionError("the last try returns or raises")

    def later(self, kind: Kind, operation: Operation[Any]) -> None:
        """Runs it after what goes on in the background by now. What it raises is nobody's to handle."""
        before = set(self._background)

        async def work() -> None:
            if before:
                await asyncio.wait(before)
            await self.run(kind, operation)

        self._keep(asyncio.ensure_future(work()))

    async def aclose(self) -> None:
        """Closes, after what goes on in the background; that is waited for no longer than `CLOSE_SECONDS`."""
        if self._background:
            await asyncio.wait(self._background, timeout=CLOSE_SECONDS)
        await self._pool.aclose()
        await asyncio.gather(*self._background, return_exceptions=True)

    async def _try(self, transaction: Transaction[T]) -> T:
        try:
            return await transaction.run()
        finally:
            await self._pool.give(transaction.connection)

    def _keep(self, work: asyncio.Future[Any]) -> None:
        self._background.add(work)
        work.add_done_callback(self._forget)

    def _forget(self, work: asyncio.Future[Any]) -> None:
        self._background.discard(work)
        if not work.cancelled():
            work.exception()


def _did_nothing(transaction: Transaction[Any], error: Refused | Broken) -> bool:
    """Returns whether it changed nothing, and may go well if it is tried again."""
    if transaction.committed:
        return False
    return may_go_well(error.state) if isinstance(error, Refused) else not _unknown(transaction, error)


def _unknown(transaction: Transaction[Any], error: Broken) -> bool:
    return error.sent and transaction.committing


def _told(transaction: Transaction[Any], error: Refused | Broken) -> Unavailable:
    if isinstance(error, Refused):
        return Trouble(reason(error.state), error.state, committed=transaction.committed)
    return OutcomeUnknown() if _unknown(transaction, error) else Trouble(AWAY, committed=transaction.committed)
