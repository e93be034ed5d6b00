"""Commits in SQL what a run changes."""

from collections.abc import Mapping
from typing import Any

import msgspec

from agui_gate.core import audit
from agui_gate.core.approvals import dated
from agui_gate.errors import IllegalMove, LeaseLost
from agui_gate.stores.base import Change, provider_id
from agui_gate.stores.outbox import is_run
from agui_gate.stores.sql.journal import AS_KNOWN, UNDER_LEASE, Journal
from agui_gate.stores.sql.ledger import Ledger
from agui_gate.stores.sql.operations import Conflict, Last, Statement, Steps
from agui_gate.stores.sql.trail import Trail, decode_rows, ends_at, locking
from agui_gate.stores.sql.variant import Variant

_encode = msgspec.json.encode


class Changes:
    """The statements and steps of changes; see `ThreadStore`."""

    def __init__(self, variant: Variant, ledger: Ledger, journal: Journal, trail: Trail) -> None:
        self._variant = variant
        self._ledger = ledger
        self._journal = journal
        self._trail = trail
        self._look = locking(variant, "entries, :now, tenant", UNDER_LEASE, ends_at(variant, ":key"))
        self._named = ledger.reading(f"thread = :key AND {variant.among('id', 'ids')}", listed=True)

    def commit(self, key: int, change: Change, run_key: str) -> Steps[None]:
        """Commits a change in one batch, or two where it has to look first. Raises `LeaseLost`, `IllegalMove`; then
        nothing happened.
        """
        seq: int | None = None
        batch: list[Statement] = []
        grown = 0
        held = {"key": key, "run_key": run_key, "after": change.after}
        if change.keep is not None or change.approvals or change.replaced or change.happened:
            seq, batch, grown = yield from self._looked(key, change, run_key)
        if change.entries:
            append, size = self._journal.append(held, seq, change)
            batch, grown = [*batch, append], grown + size
        if change.status is not None and is_run(run_key):
            batch.append(self._trail.ended(held, change.status))
        batch.append(self._change(held, change, seq, grown))
        try:
            results = yield Last(batch)
        except Conflict as error:
            raise IllegalMove("An approval with this id, or for this call, exists already.") from error
        if not results[-1].changed:
            raise LeaseLost

    def _looked(self, key: int, change: Change, run_key: str) -> Steps[tuple[int | None, list[Statement], int]]:
        """Returns where the journal goes on if its end is dropped, what is written after a look, and its bytes."""
        values = {"key": key, "run_key": run_key, "ids": self._variant.listed(change.replaced)}
        texts = (*self._look, *([self._named] if change.replaced else ()))
        looks = [] if change.keep is None else self._journal.look(key, change.keep)
        results = yield [*(Statement(text, values) for text in texts), *looks]
        thread, *found = results[len(self._look) - 1 :]
        if not thread.rows:
            raise LeaseLost
        ((entries, now, tenant, end),) = thread.rows
        if change.after not in (None, entries):
            raise LeaseLost
        seq: int | None = None
        batch: list[Statement] = []
        grown = 0
        if change.keep is not None and change.keep < entries:
            seq = change.keep
            batch, grown = self._journal.drop(key, seq, found[-2:])
        approvals = [dated(approval, now) for approval in change.approvals]
        batch += self._ledger.record(key, approvals)
        happened = [*map(audit.asked, approvals), *change.happened]
        if change.replaced:
            batch.append(self._ledger.mark_replaced(key, change.replaced))
            happened += [audit.replaced(approval, run_key) for approval in self._ledger.approvals(found[0])]
        batch += self._trail.added(key, tenant, decode_rows(end), now, happened, approvals)
        return seq, batch, grown + sum(len(approval.arguments.encode()) for approval in approvals)

    def _change(self, held: Mapping[str, object], change: Change, seq: int | None, grown: int) -> Statement:
        """Sets the fields that it sets, and gives the lease back if it ends the run. ``grown``: bytes, but state."""
        values: dict[str, Any] = {**held, "seq": seq, "count": len(change.entries)}
        columns = ["updated_at = :now", "entries = coalesce(:seq, entries) + :count"]
        if change.state is not msgspec.UNSET:
            state = _encode(change.state)
            grown += len(state)
            values["state"] = state.decode()
            columns += ["state = :state", f"bytes = bytes - coalesce({self._variant.size('state')}, 0) + :grown"]
        elif grown:
            columns.append("bytes = bytes + :grown")
        if change.ref is not msgspec.UNSET:
            values |= {"ref": change.ref and _encode(change.ref).decode(), "alias": provider_id(change.ref)}
            columns += ["ref = :ref", "alias = :alias"]
        if change.default_title is not None:
            values["title"] = change.default_title
            columns.append("title = coalesce(title, :title)")
        if change.status is not None:
            values["status"] = change.status
            columns += ["run_status = :status", "lease_owner = NULL", "lease_until = 0"]
        values["grown"] = grown
        return Statement(f"UPDATE threads SET {', '.join(columns)} WHERE {AS_KNOWN}", values)  # noqa: S608 our names
