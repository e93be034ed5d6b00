"""What the audit trail of a store says, held against the records and against what ran."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from agui_gate.core.audit import Event
from agui_gate.core.audit_verification import Chains
from agui_gate.stores import open_store

ENDS = frozenset({"done", "failed", "unknown", "rejected", "superseded", "cancelled", "expired"})


class Trail(msgspec.Struct, frozen=True):
    """``events``: by kind. ``broken``: in words."""

    events: dict[str, int]
    broken: list[str]


async def trail(url: str, states: Mapping[str, str]) -> Trail:
    """Read all of it. ``states``: of the approvals whose records there are, by id."""
    chains, events, broken = Chains(), list[Event](), list[str]()
    store = open_store(url)
    await store.start()
    try:
        cursor: str | None = None
        while True:
            page = await store.read_events(limit=1_000, cursor=cursor)
            broken += [
                f"the chain of {b.thread} is broken at {b.seq}: {b.why}" for e in page.events for b in chains.check(e)
            ]
            events += page.events
            if (cursor := page.next_cursor) is None:
                break
    finally:
        await store.aclose()
    return Trail(dict(Counter(event.kind for event in events)), broken + contradictions(events, states))


def contradictions(events: list[Event], states: Mapping[str, str]) -> list[str]:
    """What the trail says twice, or otherwise than the records."""
    kinds: dict[str, Counter[str]] = {}
    for event in events:
        kinds.setdefault(event.approval_id, Counter())[event.kind] += 1
    found = [
        f"{i} was {kind} {n} times"
        for i, k in kinds.items()
        for kind, n in k.items()
        if n > 1 and kind in ENDS | {"asked", "claimed"}
    ]
    for approval_id, state in states.items():
        ends = ENDS & kinds.get(approval_id, Counter()).keys()
        if ends != {state} & ENDS:
            found.append(f"{approval_id} is {state}, and its trail ends in {sorted(ends)}")
    return found
