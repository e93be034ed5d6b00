"""Verifies the audit trail: its chains, and whether the ledger says the same.

The trail alone can be whole while the ledger says something else: other arguments, another person, another result.
Somebody who can write to the one may have.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec

from agui_gate.core.approvals import Approval, State
from agui_gate.core.audit import Event, Head, digest, event_hash
from agui_gate.core.json_text import parse_object

Why = Literal["missing", "added", "changed", "not_the_head"]


class Break(msgspec.Struct, frozen=True):
    """A place where a chain is broken: events before ``seq`` are ``missing``, or that one was ``added`` or ``changed``.

    ``not_the_head``: it is not the event that the head of the chain was, which was kept elsewhere; or there is none.
    """

    thread: str
    seq: int
    why: Why
    tenant: str = ""


class Chains:
    """Checks chains, whose events come thread by thread and in order. ``heads`` were kept elsewhere, at any time.

    Keeps one event, and the heads.
    """

    def __init__(self, heads: Iterable[Head] = ()) -> None:
        self._heads = {(head.tenant, head.thread, head.seq): head.hash for head in heads if head.seq}
        self._last = Head("")

    def check(self, event: Event) -> list[Break]:
        """Returns what is wrong with the next event. The chain is then followed from it on."""
        if (event.tenant, event.thread) != (self._last.tenant, self._last.thread):
            self._last = Head(event.thread, tenant=event.tenant)
        found: list[Why] = []
        if event.seq != self._last.seq + 1:
            found = ["missing" if event.seq > self._last.seq else "added"]
        elif event.prev != self._last.hash:
            found = ["changed"]
        if event.hash != event_hash(event):
            found = ["changed"]
        kept = self._heads.pop((event.tenant, event.thread, event.seq), event.hash)
        if kept != event.hash:
            found = [*found, "not_the_head"]
        self._last = event.head
        return [Break(event.thread, event.seq, why, event.tenant) for why in found]

    def missing(self) -> list[Break]:
        """Returns what is missing after the last event: the heads that were kept, and whose events were not there."""
        return [Break(thread, seq, "not_the_head", tenant) for tenant, thread, seq in self._heads]


Differs = Literal["arguments", "decision", "state", "output", "not_asked", "no_record"]
"""The part of a record that differs from what the trail says of it. ``no_record``: there is none."""

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

    def apply(self, event: Event) -> None:
        """Takes its next event."""
        self.seq, body = event.seq, parse_object(event.body) or {}
        if event.kind == "asked":
            self.arguments = body.get("arguments")
        elif event.kind == "approved":
            self.agreed, self.decision = body.get("arguments"), (event.by, event.way)
        elif event.kind == "deleted" or "again" in body:
            self.is_gone = True
        elif event.kind in _STATES:
            self.state, self.output = event.kind, body.get("output", self.output)
            if event.by:
                self.decision = (event.by, event.way)

    def contradictions(self, approval: Approval) -> list[Differs]:
        """Returns the parts of the record that say otherwise."""
        decision, output = approval.decision, approval.output
        said = ("", "") if decision is None else (decision.by, decision.way or "")
        equal: dict[Differs, bool] = {
            "arguments": self.arguments == digest(approval.arguments)
            and self.agreed in (None, digest(approval.effective_arguments)),
            "decision": self.decision == said,
            "state": self.state == approval.state.value,
            "output": self.output == (None if output is None else digest(output.content)),
        }
        return [name for name, is_equal in equal.items() if not is_equal]


class Ledger:
    """Holds the records of one thread against its chain, whose events come in order."""

    def __init__(self) -> None:
        self._accounts: dict[str, Account] = {}

    def apply(self, event: Event) -> None:
        """Takes the next event."""
        self._accounts.setdefault(event.approval_id, Account(event.seq)).apply(event)

    def differences(self, approvals: Iterable[Approval]) -> list[tuple[str, int, Differs]]:
        """Returns each approval of which ledger and trail differ, its last event, and in what."""
        found: list[tuple[str, int, Differs]] = []
        open_accounts = {name: account for name, account in self._accounts.items() if not account.is_gone}
        for approval in approvals:
            account = open_accounts.pop(approval.id, None)
            if account is None:
                found.append((approval.id, 0, "not_asked"))
            else:
                found += ((approval.id, account.seq, why) for why in account.contradictions(approval))
        # One without a question was asked before there was a trail.
        left = ((name, account) for name, account in open_accounts.items() if account.arguments is not None)
        return found + [(name, account.seq, "no_record") for name, account in left]
