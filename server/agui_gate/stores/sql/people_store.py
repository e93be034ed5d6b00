"""The capabilities of a store in SQL that have to do with who decides: see `stores/capabilities.py`.

What they do is in a module of its own each, which is imported with the first use.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from agui_gate.core.approvals import Approval
from agui_gate.stores.sql.operations import Kind, Operation

if TYPE_CHECKING:
    from agui_gate.core.freezes import Freeze
    from agui_gate.core.grants import Grant, Whose
    from agui_gate.core.terms import Numbers, Sum
    from agui_gate.stores.sql.deliveries import Deliveries
    from agui_gate.stores.sql.deputies import Deputies
    from agui_gate.stores.sql.store import Operations


T = TypeVar("T")


class PeopleOperations(ABC):
    """The methods, for a store that has the operations ``_sql`` and a way to do them."""

    _sql: "Operations"

    @abstractmethod
    def _do(self, kind: Kind, operation: Operation[T]) -> Awaitable[T]:
        """Runs an operation in a transaction of that kind. Raises `Unavailable`.

        Cancelling the caller doesn't undo what is under way: it is done, or nothing of it.
        """

    async def counted_calls(self, wanted: "Sum") -> "Sequence[Numbers]":
        """See `CountingStore`."""
        from agui_gate.stores.sql.counted_calls import CountedCalls

        return await self._do("read", lambda: CountedCalls(self._sql.ledger.variant).numbers(wanted))

    async def freeze(self, wanted: "Freeze", *, lift: bool = False) -> bool:
        """See `FreezingStore`."""
        from agui_gate.stores.sql import freezes

        return await self._do("durable", lambda: freezes.freeze(self._sql, wanted, lift))

    async def freezes(self) -> "Sequence[Freeze]":
        """See `FreezingStore`."""
        from agui_gate.stores.sql.freezes import freezes

        return await self._do("read", freezes)

    async def grants(self, whose: "Whose", value: str) -> "Sequence[Grant]":
        """See `GrantingStore`."""
        from agui_gate.stores.sql.grants import standing

        return await self._do("read", lambda: standing(whose, value))

    async def revoke_grant(self, grant_id: str, by: str, *, why: str = "") -> bool:
        """See `GrantingStore`."""
        from agui_gate.stores.sql.grants import revoke

        return await self._do("durable", lambda: revoke(self._sql.ledger.variant, self._sql.trail, grant_id, by, why))

    def deliveries(self) -> "Deliveries":
        """See `DeliveringStore`."""
        from agui_gate.stores.sql.deliveries import Deliveries

        return Deliveries(self._do, self._sql.ledger, self._sql.trail)

    def deputies(self) -> "Deputies":
        """See `DeputizingStore`."""
        from agui_gate.stores.sql.deputies import Deputies

        return Deputies(self._do, self._sql.ledger.variant, self._sql.trail)

    async def people_waiting(self, tenant: str, after: int, limit: int) -> Sequence[tuple[int, Approval]]:
        """See `PeopleStore`."""
        return await self._do("read", lambda: self._sql.lists.of_people(tenant, after, limit))

    async def waiting_people(self, principals: Collection[str], limit: int) -> Mapping[str, str]:
        """See `PeopleStore`."""
        return await self._do("read", lambda: self._sql.lists.waiting_people(principals, limit))

    async def emergencies(self, since: int) -> Sequence[tuple[int, str]]:
        """See `PeopleStore`."""
        return await self._do("read", lambda: self._sql.lists.emergencies(since))

    async def people_approval(self, approval_id: str) -> Approval | None:
        """See `PeopleStore`."""
        return await self._do("write", lambda: self._sql.lists.one_of_people(approval_id))
