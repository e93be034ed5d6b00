"""The chain of the trail that belongs to no thread, in SQL: freezes, grants of threads that are gone, keys.

A thread's chain is guarded by the row of the thread. This one has none, so who adds to it takes a lock of its own, and
takes no other after it.
"""

from agui_gate.core.audit import STORE_CHAIN, Happened
from agui_gate.core.json_text import canonical
from agui_gate.stores.sql.operations import Last, Statement, Steps
from agui_gate.stores.sql.trail import Trail, head_of
from agui_gate.stores.sql.variant import Variant

LOCK = "operators"
"""The name of its lock (`Variant.alone`)."""

_KEYED = (
    "SELECT 1 FROM approval_events WHERE tenant = :tenant AND thread = :chain AND ((kind = 'keyed' "
    "AND key_id = :key_id) OR (kind = 'pruned' AND body LIKE :named)) LIMIT 1"
)


def add(variant: Variant, trail: Trail, happened: Happened) -> Steps[None]:
    """Adds an event."""
    lock = Statement(variant.alone, {"name": LOCK})
    _, end, now = yield [lock, Statement(head_of(":chain"), {"chain": STORE_CHAIN}), Statement("SELECT :now")]
    yield Last(trail.added(STORE_CHAIN, "", end.rows, now.rows[0][0], [happened]))


def begin_keys(variant: Variant, trail: Trail) -> Steps[None]:
    """Says in the trail that events are signed from here on, once a key."""
    if trail.keys is None:
        return
    key_id = trail.keys.current
    lock = Statement(variant.alone, {"name": LOCK})
    _, found = yield [lock, Statement(_KEYED, {"chain": STORE_CHAIN, "key_id": key_id, "named": f'%"{key_id}":%'})]
    if not found.rows:
        body = canonical({"key": key_id})
        yield from add(variant, trail, Happened(kind="keyed", principal="", thread_id="", approval_id="", body=body))
