"""The deputies of a store: see `core/deputies.py`."""

from collections.abc import Sequence
from typing import Protocol

from agui_gate.core.deputies import Deputy, Side


class DeputyStore(Protocol):
    """Who decides in the place of whom. What is over is forgotten."""

    async def add(self, wanted: Deputy, way: str = "http") -> Deputy:
        """Saves who is named, and says so in the trail, with the way; returns it with its time. Raises
        `InvalidRequest`, see `core.deputies.check_named`: of several who are named at once, each is held against those
        before.
        """
        ...

    async def remove(self, deputy_id: str, by: str, way: str = "http") -> bool:
        """Ends one, and says in the trail that ``by`` did so. Durable before it returns; nobody agrees by it after
        that, by `move` in whichever process. Returns False if there was none.
        """
        ...

    async def find(self, side: Side, tenant: str, value: str = "") -> Sequence[Deputy]:
        """Returns those of a tenant whose time is not over, the first to begin first."""
        ...


class DeputizingStore(Protocol):
    """Keeps deputies. Without it, nobody can name one. `move` raises `MayNotDecide` if one of those of its ``terms``
    doesn't stand; then nothing changed.
    """

    def deputies(self) -> DeputyStore:
        """Returns the deputies of this store, which has to be open while they are used."""
        ...
