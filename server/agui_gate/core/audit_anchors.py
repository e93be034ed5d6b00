"""Anchors: what is left in the audit trail of events that were pruned.

Theory of operation
-------------------
Old events of a chain go from its beginning. What stays then begins with a higher number, and with the hash of the last
event that went. So in the same transaction an event is added at the end of the chain, the *anchor* (``pruned``). It is
signed as any other is, and says, besides when that was:

* ``through`` and ``hash``: the last event that went. ``count``: how many went then.
* ``records`` and ``replaced``: of each call whose record stays without all of its events, a digest of that record.
* ``keyed``: in the chain that belongs to no thread, since when which key signs (its `keyed` events went).

A chain of a thread that is gone goes as a whole. Its anchor is in the chain that belongs to no thread, with those of
other ones (``chains``: by the key of the thread, what the three members above say).

So a chain that begins later than with its first event, and has no such anchor, was cut off by somebody else. A head
that was kept elsewhere is held against the hash of an anchor, if it is the last one that went; of those before it only
the number is known. The anchor itself goes when it is old enough, and the next one takes over what it says.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.audit import STORE_CHAIN, Event, Happened, Head, digest
from agui_gate.core.json_text import canonical, parse_object

_LEFT_OUT = frozenset({"output", "replaced", "was"})


class Cut(msgspec.Struct, frozen=True, array_like=True):
    """The last event that went, and how many went with it."""

    through: int
    hash: str
    count: int


class Pruned(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of an anchor; see above."""

    through: int = 0
    hash: str = ""
    count: int = 0
    records: Mapping[str, str] = msgspec.field(default_factory=dict)
    replaced: Sequence[str] = ()
    keyed: Mapping[str, int] = msgspec.field(default_factory=dict)
    chains: Mapping[str, Cut] = msgspec.field(default_factory=dict)


def read_pruned(event: Event) -> Pruned:
    """Returns what an anchor says; nothing where that can't be read, so that it vouches for nothing."""
    try:
        return msgspec.json.decode(event.body, type=Pruned)
    except msgspec.DecodeError:
        return Pruned()


def anchor(pruned: Pruned, principal: str = "", thread_id: str = "") -> Happened:
    """Returns the anchor to be added to a chain."""
    body = canonical(msgspec.to_builtins(pruned))
    return Happened(kind="pruned", principal=principal, thread_id=thread_id, approval_id="", body=body)


def pruning(events: Sequence[Event], records: Collection[Approval] = ()) -> Pruned:
    """Returns what the anchor of these events says, which are the first of their chain. ``records``: those of their
    calls.
    """
    keyed: dict[str, int] = {}
    for event in events if events[0].thread == str(STORE_CHAIN) else ():
        since = read_pruned(event).keyed if event.kind == "pruned" else {}
        if event.kind == "keyed":
            since = {str((parse_object(event.body) or {}).get("key")): event.at}
        for key_id, at in since.items():
            keyed[key_id] = min(at, keyed.get(key_id, at))
    return Pruned(
        through=events[-1].seq,
        hash=events[-1].hash,
        count=len(events),
        records={record.id: seal_of(record) for record in records},
        replaced=[record.id for record in records if record.replaced],
        keyed=keyed,
    )


class Anchors:
    """What the anchors of a trail say, event by event. Keeps what is about one chain, and about ``heads``, by the
    tenant, the thread and the number.
    """

    def __init__(self, heads: Collection[tuple[str, str, int]] = ()) -> None:
        self._wanted = {(tenant, thread) for tenant, thread, _ in heads}
        self._cuts: dict[bool, dict[tuple[str, str], dict[int, str]]] = {True: {}, False: {}}
        self._of_chain: dict[int, str] = {}
        self.events = 0
        """Events that were pruned, as far as anchors are there that say so."""
        self.heads = 0
        """Heads that were kept, of events that were pruned since."""

    def add(self, event: Event) -> int | None:
        """Takes an anchor. Returns since when events are signed, where it says that and is signed. One that says that
        it went itself, or what came after it, was never added by us.
        """
        pruned, is_signed = read_pruned(event), bool(event.key_id)
        if pruned.through >= event.seq:
            return None
        self._add(event.tenant, event.thread, Cut(pruned.through, pruned.hash, pruned.count), is_signed)
        if pruned.through:
            self._of_chain[pruned.through] = pruned.hash
        if event.thread != str(STORE_CHAIN):
            return None
        for thread, cut in pruned.chains.items():
            self._add(event.tenant, thread, cut, is_signed)
        return min(pruned.keyed.values(), default=None) if is_signed else None

    def _add(self, tenant: str, thread: str, cut: Cut, is_signed: bool) -> None:
        self.events += cut.count
        if cut.through and (tenant, thread) in self._wanted:
            self._cuts[is_signed].setdefault((tenant, thread), {})[cut.through] = cut.hash

    def end_chain(self) -> Mapping[int, str]:
        """Returns the last events that went of the chain that ends, by their numbers."""
        of_chain, self._of_chain = self._of_chain, {}
        return of_chain

    def have(self, head: Head, *, is_signed: bool) -> bool:
        """Returns whether a head is of an event that was pruned. Where the trail ``is_signed``, one that isn't says
        nothing about it: anybody can have added that in the place of a chain.
        """
        place = (head.tenant, head.thread)
        cuts = self._cuts[True].get(place, {}) | ({} if is_signed else self._cuts[False].get(place, {}))
        found = cuts[head.seq] == head.hash if head.seq in cuts else head.seq < max(cuts, default=0)
        self.heads += found
        return found


def sealed(record: Approval) -> str:
    """Returns the digest of a record, as signed events have it. Left out is ``replaced``, of which there is an event,
    and ``was``, which follows from the ids. Of the output there is the digest of its text, and what else it says.
    """
    told: dict[str, Any] = msgspec.to_builtins(record)
    kept = {name: value for name, value in told.items() if name not in _LEFT_OUT}
    if record.output is not None:
        output = msgspec.to_builtins(record.output)
        kept["output"] = output | {"content": digest(record.output.content)}
    return digest(canonical(kept))


def seal_of(record: Approval) -> str:
    """Returns the digest of a record whose events are pruned."""
    return digest(canonical({"record": sealed(record), "was": record.was}))
