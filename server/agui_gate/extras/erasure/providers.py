"""What providers keep of a thread, and having them delete it.

An adapter that continues conversations which its provider stores has two names for this: ``of_origin(origin)``, a
class method that returns the adapter of such an origin as the environment sets it up, or None; and ``forget(refs)``,
which deletes what these refer to, and takes what is gone already for deleted.
"""

from collections.abc import Iterable, Sequence
from importlib.metadata import entry_points
from typing import Any

from agui_gate.adapter import Adapter
from agui_gate.agents.model_names import GROUP
from agui_gate.core.transcript import ConversationRef, Entry, TurnEntry
from agui_gate.errors import AguiGateError, Unavailable
from agui_gate.stores.base import Thread


def refs_of(thread: Thread) -> list[ConversationRef]:
    """Returns what a thread refers to at providers, each once."""
    entries: Iterable[Entry] = thread.entries
    refs = [entry.ref for entry in entries if isinstance(entry, TurnEntry) and entry.ref is not None]
    refs += [] if thread.ref is None else [thread.ref]
    stored = {(ref.origin, _id(ref)): ref for ref in refs if _id(ref)}
    return list(stored.values())


def _id(ref: ConversationRef) -> str:
    return ref.conversation_id or ref.previous_response_id or ""


class Providers:
    """The providers at which something is kept. ``adapters``: those of the application; others are made as their
    environment sets them up.
    """

    def __init__(self, adapters: Sequence[Adapter] = ()) -> None:
        each = [one for adapter in adapters for one in getattr(adapter, "adapters", (adapter,))]  # of a list of models
        self._adapters: dict[str, Any] = {adapter.origin: adapter for adapter in each}
        self._made: list[Any] = []

    def check(self, refs: Iterable[ConversationRef]) -> None:
        """Raises `Unavailable` if something is kept where nobody can be asked to delete it."""
        for origin in sorted({ref.origin for ref in refs}):
            if not hasattr(self._adapter(origin), "forget"):
                raise Unavailable(
                    f"The provider of {origin} keeps responses of this person, and nobody here can ask it to delete "
                    "them. Set its key and address as for the server, name the application with --target, or leave "
                    "them to expire with --leave-providers. Nothing was deleted."
                )

    async def forget(self, refs: Iterable[ConversationRef]) -> int:
        """Has providers delete what these refer to; returns how much that was. Raises `Unavailable`."""
        of: dict[str, list[ConversationRef]] = {}
        for ref in refs:
            of.setdefault(ref.origin, []).append(ref)
        number = 0
        for origin, some in of.items():
            try:
                number += await self._adapter(origin).forget(some)
            except AguiGateError as error:
                raise Unavailable(
                    f"The provider of {origin} did not delete what it keeps: {error.message} Run this again."
                ) from error
        return number

    def _adapter(self, origin: str) -> Any:
        if origin not in self._adapters:
            self._adapters[origin] = self._make(origin)
        return self._adapters[origin]

    def _make(self, origin: str) -> Any:
        for point in entry_points(group=GROUP):
            try:
                make = getattr(point.load(), "of_origin", None)
            except ImportError:  # its package isn't installed, so nothing was asked by it here
                continue
            made = None if make is None else make(origin)
            if made is not None:
                self._made.append(made)
                return made
        return None

    async def aclose(self) -> None:
        """Closes the adapters that were made here."""
        for adapter in self._made:
            await adapter.aclose()
