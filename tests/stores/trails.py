"""How the store tests read an audit trail."""

from agui_gate.core.audit import Event, Head
from agui_gate.core.audit_verification import Chains
from agui_gate.stores.audit import AuditStore


async def trail(
    store: AuditStore, *, principal: str | None = None, thread_id: str | None = None, since: int = 0, limit: int = 3
) -> list[Event]:
    """All events, read in pages."""
    events: list[Event] = []
    cursor: str | None = None
    while True:
        page = await store.read_events(
            limit=limit, cursor=cursor, principal=principal, thread_id=thread_id, since=since
        )
        events += page.events
        cursor = page.next_cursor
        if cursor is None:
            return events


async def heads(store: AuditStore, limit: int = 2) -> list[Head]:
    """The heads of all chains, read in pages."""
    found: list[Head] = []
    cursor: str | None = None
    while True:
        page = await store.read_heads(limit=limit, cursor=cursor)
        found += page.heads
        cursor = page.next_cursor
        if cursor is None:
            return found


async def whole_trail(store: AuditStore) -> list[Event]:
    """All events, of chains that are whole and end in their heads."""
    events, chains = await trail(store, limit=50), Chains(await heads(store))
    assert [broken for event in events for broken in chains.check(event)] + chains.missing() == []
    return events


async def kinds(store: AuditStore, approval_id: str = "a1") -> list[str]:
    """What happened to one approval."""
    return [event.kind for event in await whole_trail(store) if event.approval_id == approval_id]
