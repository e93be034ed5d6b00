"""Looks up the capabilities of a store (`stores/capabilities.py`)."""

from collections.abc import Callable
from functools import lru_cache
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

import msgspec

from agui_gate.stores.base import Store

if TYPE_CHECKING:
    from agui_gate.stores.audit import AuditStore
    from agui_gate.stores.capabilities import Expiry, InboxStore, OrphanedStore, SharedStore
    from agui_gate.stores.epochs import EpochStore
    from agui_gate.stores.outbox import OutboxStore
    from agui_gate.stores.retention import RetentionStore
    from agui_gate.stores.tombstones import TombstoneStore


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """The capabilities that a store has. None: it has not that one.

    ``expiry``: without it, what is overdue is written as expired when somebody looks. ``orphans``: without it, calls
    whose process died wait for the next run of their thread. ``audit``, ``outbox``, ``epochs``, ``retention``: without
    it there is no audit trail, no notice, no restored backup, and nothing is forgotten. ``takes_known``: whether
    `lease_thread` takes what is known of a journal.
    """

    shared: "SharedStore"
    inbox: "InboxStore"
    tombstones: "TombstoneStore | None"
    expiry: "Expiry | None"
    orphans: "OrphanedStore | None"
    audit: "AuditStore | None"
    outbox: "OutboxStore | None"
    epochs: "EpochStore | None"
    retention: "RetentionStore | None"
    takes_known: bool


def capabilities(store: Store) -> Capabilities:
    """Looks up what ``store`` can do."""
    shared = _having(store, "at_work", "ask_to_stop", "take_stops", "bus_url", "neighbours")
    inbox = _having(store, "waiting_ids", "read_approvals")
    if shared is None or inbox is None:
        from agui_gate.stores import fallbacks

        shared, inbox = shared or fallbacks.Alone(store), inbox or fallbacks.Listed(store)
    return Capabilities(
        shared=shared,
        inbox=inbox,
        tombstones=_having(store, "tombstones"),
        expiry=_having(store, "expire"),
        orphans=_having(store, "orphans", "unknown", "read_approvals"),
        audit=_having(store, "note", "read_events", "read_heads", "read_ledger", "is_agreed"),
        outbox=_having(store, "take_notices"),
        epochs=_having(store, "begin_epoch"),
        retention=_having(store, "sweep", "tally"),
        takes_known=takes(store.lease_thread, "known"),
    )


def _having(store: Store, *methods: str) -> Any:
    return store if all(hasattr(store, name) for name in methods) else None


_parameters = lru_cache(maxsize=100)(lambda function: signature(function).parameters)


def takes(method: Callable[..., Any], name: str) -> bool:
    """Returns whether a method takes an argument of that name: one of a class that was written before may not."""
    parameters = _parameters(getattr(method, "__func__", method))
    return name in parameters or any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values())
