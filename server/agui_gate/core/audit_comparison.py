"""Compares the audit trail with the ledger: somebody who can write to the one may have.

The trail alone can be whole while the ledger says something else: other arguments, another person, another result.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec

from agui_gate.core.approvals import Approval, State
from agui_gate.core.audit import Event, digest
from agui_gate.core.json_text import parse_object

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
