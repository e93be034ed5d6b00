"""Names for stores of your own: the protocols, the records that pass through them, and two stores to extend.

`create_app(store=…)` takes an object that has the fifteen methods of `Store`. Each happens wholly or not at all, also
when its caller is cancelled or the process is killed. Their docstrings say what each promises; docs/stores.md says what
a store as a whole does. `MemoryStore` and `SQLiteStore` are there to be extended.

Everything else is a capability: a Protocol of its own (`AuditStore`, `EpochStore`, `Expiry`, `InboxStore`,
`OrphanStore`, `OutboxStore`, `RetentionStore`, `SharedStore`, `TombstoneStore`). A store has one if it has all of its
methods, and without it that feature is absent. `FullStore` has them all.

`tests/stores/` has the suite that all stores here pass.
"""

from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.transcript import Output
from agui_gate.stores import open_store
from agui_gate.stores.audit import AuditStore, EventPage, HeadPage
from agui_gate.stores.base import (
    ApprovalPage,
    ApprovalStore,
    AtWork,
    Calls,
    Change,
    Expired,
    JournalVersion,
    Orphans,
    Page,
    RunStatus,
    StopRequest,
    Store,
    StoreLifecycle,
    Thread,
    ThreadHead,
    ThreadStore,
)
from agui_gate.stores.capabilities import (
    Expiry,
    FullStore,
    InboxStore,
    OrphanStore,
    SharedStore,
)
from agui_gate.stores.epochs import Epoch, EpochStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.outbox import Notice, OutboxStore
from agui_gate.stores.retention import Ages, RetentionStore, Swept, Tally
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.stores.tombstones import Tombstone, TombstoneStore

__all__ = [
    "Ages",
    "Approval",
    "ApprovalPage",
    "ApprovalStore",
    "AtWork",
    "AuditStore",
    "Calls",
    "Change",
    "Decision",
    "Epoch",
    "EpochStore",
    "EventPage",
    "Expired",
    "Expiry",
    "FullStore",
    "HeadPage",
    "InboxStore",
    "JournalVersion",
    "MemoryStore",
    "Notice",
    "OrphanStore",
    "Orphans",
    "OutboxStore",
    "Output",
    "Page",
    "RetentionStore",
    "RunStatus",
    "SQLiteStore",
    "SharedStore",
    "State",
    "StopRequest",
    "Store",
    "StoreLifecycle",
    "Swept",
    "Tally",
    "Thread",
    "ThreadHead",
    "ThreadStore",
    "Tombstone",
    "TombstoneStore",
    "open_store",
]
