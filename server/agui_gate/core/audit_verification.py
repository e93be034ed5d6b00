"""Verifies the audit trail: its chains, and whether the ledger says the same.

The trail alone can be whole while the ledger says something else: other arguments, another person, another result.
Somebody who can write to the one may have.
"""

from collections.abc import Callable, Iterable
from typing import Literal, get_args

import msgspec

from agui_gate.core.approvals import Approval, State
from agui_gate.core.audit import STORE_CHAIN, Event, Head, Kind, as_erased, digest, event_hash
from agui_gate.core.audit_anchors import Anchors, read_pruned, seal_of
from agui_gate.core.json_text import parse_object

KINDS: frozenset[str] = frozenset(get_args(Kind))
"""The kinds of events that this version knows."""

Why = Literal["missing", "added", "changed", "not_the_head", "no_key", "unsigned", "no_keyed"]


class Break(msgspec.Struct, frozen=True):
    """A place where a chain is broken: events before ``seq`` are ``missing``, or that one was ``added`` or ``changed``.

    ``not_the_head``: it is not the event that the head of the chain was, which was kept elsewhere; or there is none.
    ``no_key``: it is signed by a key that isn't given. ``unsigned``: it isn't signed, and events before it are.
    ``no_keyed``: events are signed, and the trail doesn't say since when.
    """

    thread: str
    seq: int
    why: Why
    tenant: str = ""


HashOf = Callable[[Event], str | None]
"""Returns the hash that an event has to have; None where its key isn't there."""


def unsigned_hash(event: Event) -> str | None:
    """Returns the hash of an event that isn't signed; None for one that is."""
    return None if event.key_id else event_hash(event)


class Chains:
    """Checks chains, whose events come thread by thread and in order. ``heads`` were kept elsewhere, at any time.

    Keeps one event, the heads, and the gaps of one chain. A gap is none where events were pruned, and an event that
    comes later in the chain says so.
    """

    def __init__(self, heads: Iterable[Head] = (), hash_of: HashOf = unsigned_hash) -> None:
        self._heads = {(head.tenant, head.thread, head.seq): head.hash for head in heads if head.seq}
        self.anchors = Anchors(self._heads)
        self._gaps: list[Head] = []
        self._last = Head("")
        self.hash_of = hash_of
        self._is_signed = self._any_signed = self._is_replaced = False
        self._keyed_at: int | None = None
        self.erased = 0
        """Events in which names were replaced since."""

    def check(self, event: Event) -> list[Break]:
        """Returns what is wrong with the next event, and, where it is the first of a chain, with the end of the one
        before. The chain is then followed from it on.
        """
        before: list[Break] = []
        if (event.tenant, event.thread) != (self._last.tenant, self._last.thread):
            before = self.end_chain()
            self._last, self._is_signed, self._is_replaced = Head(event.thread, tenant=event.tenant), False, False
        found: list[Why] = []
        if event.seq > self._last.seq + 1:
            self._gaps.append(Head(event.thread, event.seq - 1, event.prev, event.tenant))
        elif event.seq != self._last.seq + 1:
            found = ["added"]
        elif event.prev != self._last.hash or (event.key_id and self._is_replaced):
            found = ["changed"]
        said = as_erased(event) if event.erased else event
        meant = self.hash_of(said)
        if said.hash != meant:
            found = ["no_key" if meant is None else "changed"]
        self.erased += bool(event.erased)
        self._is_replaced = bool(event.erased) and not said.key_id  # its hash can be any
        found += self._unsigned(event, vouched=bool(said.key_id))
        kept = self._heads.pop((event.tenant, event.thread, event.seq), event.hash)
        if kept != event.hash:
            found = [*found, "not_the_head"]
        self._last = event.head
        if event.kind == "pruned" and (since := self.add_anchor(event)) is not None:
            self._keyed_at = since if self._keyed_at is None else min(since, self._keyed_at)
        return before + [Break(event.thread, event.seq, why, event.tenant) for why in found]

    def add_anchor(self, event: Event) -> int | None:
        """Takes an anchor, unless it was changed. Returns since when events are signed, where it says that."""
        said = as_erased(event) if event.erased else event
        is_whole = said.hash == self.hash_of(said) and bool(said.key_id or not event.erased)
        return self.anchors.add(event) if is_whole else None

    def end_chain(self) -> list[Break]:
        """Returns the gaps of the last chain of which no event says that they were pruned."""
        gaps, self._gaps = self._gaps, []
        pruned = self.anchors.end_chain()
        through = max((gap.seq for gap in gaps if pruned.get(gap.seq) == gap.hash), default=0)
        return [Break(gap.thread, gap.seq + 1, "missing", gap.tenant) for gap in gaps if gap.seq > through]

    def _unsigned(self, event: Event, *, vouched: bool) -> list[Why]:
        """Returns whether an event isn't signed that comes after one that is, in its chain or by the time from which on
        events of this store are. ``vouched``: what it says now is signed.
        """
        was_signed, self._is_signed = self._is_signed, bool(event.key_id)
        if event.key_id:
            self._any_signed = True
            if event.kind == "keyed" and event.thread == str(STORE_CHAIN) and self._keyed_at is None:
                self._keyed_at = event.at
            return [] if vouched else ["unsigned"]
        return ["unsigned"] if was_signed or (self._keyed_at is not None and event.at > self._keyed_at) else []

    def missing(self) -> list[Break]:
        """Returns what is missing after the last event: the heads that were kept, and whose events were neither there
        nor pruned; and the event since which others are signed.
        """
        lost = [
            Break(thread, seq, "not_the_head", tenant)
            for (tenant, thread, seq), kept in self._heads.items()
            if not self.anchors.have(Head(thread, seq, kept, tenant), is_signed=self._any_signed)
        ]
        lost = self.end_chain() + lost
        keyless = self._any_signed and self._keyed_at is None
        return [*lost, *([Break(str(STORE_CHAIN), 1, "no_keyed")] if keyless else [])]


Differs = Literal["arguments", "decision", "state", "output", "record", "no_decision", "not_asked", "no_record"]
"""The part of a record that differs from what the trail says of it. ``record``: something else of it, which a signed
event says. ``no_decision``: nobody let it go. ``no_record``: there is none.
"""

Seal = Callable[[Approval], str]
"""Returns the digest of a record, as signed events have it."""

_STATES: frozenset[str] = frozenset(State)


class Account(msgspec.Struct):
    """The account that one chain gives of one approval, up to some event."""

    seq: int
    arguments: object = None
    agreed: object = None
    decision: tuple[str, str] = ("", "")
    state: str = State.PENDING.value
    output: object = None
    is_gone: bool = False
    seal: object = None
    replaced: bool = False
    claimed: bool = False
    is_pruned: bool = False
    anchor: object = None
    """Of a call whose events were pruned: the seal of its record as it was then (`seal_of`); None where it changed."""

    def apply(self, event: Event) -> None:
        """Takes its next event."""
        self.seq, body = event.seq, parse_object(event.body) or {}
        if "record" in body or event.kind == "erased":
            self.anchor = None
        self.seal = body.get("record", self.seal)
        self.replaced, self.claimed = (
            self.replaced or event.kind == "replaced",
            self.claimed or event.kind == "claimed",
        )
        if event.kind == "asked":
            self.arguments = body.get("arguments")
        elif event.kind == "approved":
            self.agreed, self.decision = body.get("arguments"), (event.by, event.way)
        elif event.kind == "erased":
            self.output = body.get("output", self.output)
        elif event.kind == "deleted" or "again" in body:
            self.is_gone = True
        elif event.kind in _STATES:
            self.state, self.output = event.kind, body.get("output", self.output)
            if event.by:
                self.decision = (event.by, event.way)

    def contradictions(self, approval: Approval, seal: Seal | None, was: str = "") -> list[Differs]:
        """Returns the parts of the record that say otherwise. ``was``: the id under which it was asked at first."""
        if self.is_pruned and self.arguments is None:
            kept = self.anchor is None or self.anchor == seal_of(approval)
            later = self.anchor is not None or None in (seal, self.seal) or (seal and self.seal == seal(approval))
            return [] if kept and later and self.replaced == approval.replaced else ["record"]
        decision, output = approval.decision, approval.output
        said = ("", "") if decision is None else (decision.by, decision.way or "")
        equal: dict[Differs, bool] = {
            "arguments": self.arguments == digest(approval.arguments)
            and self.agreed in (None, digest(approval.effective_arguments)),
            "decision": self.decision == said,
            "state": self.state == approval.state.value,
            "output": self.output == (None if output is None else digest(output.content)),
        }
        if seal is not None and self.seal is not None:
            known = was or ("" if not approval.opens_task or approval.state is not State.DONE else approval.was)
            whole = (self.seal, self.replaced, known) == (seal(approval), approval.replaced, approval.was)
            equal |= {"record": whole, "no_decision": self.agreed is not None or not self.claimed}
        return [name for name, is_equal in equal.items() if not is_equal]


class Ledger:
    """Holds the records of one thread against its chain, whose events come in order."""

    def __init__(self, seal: Seal | None = None) -> None:
        self._accounts: dict[str, Account] = {}
        self._seal = seal
        self._was: dict[str, str] = {}

    def apply(self, event: Event) -> None:
        """Takes the next event."""
        if event.kind == "pruned":
            self._prune(event)
            return
        if event.kind == "restored" and (again := (parse_object(event.body) or {}).get("again")):
            self._was[str(again)] = self._was.get(event.approval_id, event.approval_id)
        self._accounts.setdefault(event.approval_id, Account(event.seq)).apply(event)
        seals = (parse_object(event.body) or {}).get("records") if event.kind == "handed_on" else None
        for name, seal in seals.items() if isinstance(seals, dict) else ():
            self._accounts.setdefault(str(name), Account(event.seq)).seal = seal
        if event.kind == "handed_on":  # it changed all of them
            for account in self._accounts.values():
                account.anchor = None

    def _prune(self, event: Event) -> None:
        """Takes what an anchor says of the records whose events were pruned."""
        pruned = read_pruned(event)
        for name, seal in pruned.records.items():
            account = self._accounts.setdefault(name, Account(event.seq))
            account.is_pruned, account.anchor = True, seal
            account.replaced = account.replaced or name in pruned.replaced

    def differences(self, approvals: Iterable[Approval]) -> list[tuple[str, int, Differs]]:
        """Returns each approval of which ledger and trail differ, its last event, and in what."""
        found: list[tuple[str, int, Differs]] = []
        open_accounts = {name: account for name, account in self._accounts.items() if not account.is_gone}
        for approval in approvals:
            account = open_accounts.pop(approval.id, None)
            if account is None:
                found.append((approval.id, 0, "not_asked"))
            else:
                was = self._was.get(approval.id, "")
                found += ((approval.id, account.seq, why) for why in account.contradictions(approval, self._seal, was))
        # One without a question was asked before there was a trail.
        left = (
            (name, account)
            for name, account in open_accounts.items()
            if account.arguments is not None or account.is_pruned
        )
        return found + [(name, account.seq, "no_record") for name, account in left]
