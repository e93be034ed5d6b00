"""Names for stores of your own: the protocol, the records that pass through it, and two stores to extend.

`create_app(store=…)` takes an object that satisfies `Store`. `tests/stores/` has the suite that all stores here pass.
"""

from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.transcript import Output
from agui_gate.stores import open_store
from agui_gate.stores.base import (
    ApprovalPage,
    ApprovalStore,
    AtWork,
    Calls,
    Change,
    Page,
    RunStatus,
    StopRequest,
    Store,
    StoreLifecycle,
    Thread,
    ThreadHead,
    ThreadStore,
)
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.sqlite import SQLiteStore

__all__ = [
    "Approval",
    "ApprovalPage",
    "ApprovalStore",
    "AtWork",
    "Calls",
    "Change",
    "Decision",
    "MemoryStore",
    "Output",
    "Page",
    "RunStatus",
    "SQLiteStore",
    "State",
    "StopRequest",
    "Store",
    "StoreLifecycle",
    "Thread",
    "ThreadHead",
    "ThreadStore",
    "open_store",
]
