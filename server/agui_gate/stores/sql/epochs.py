"""A restored backup in SQL: see `stores/epochs.py`."""

from collections.abc import Sequence

import msgspec

from agui_gate.core import audit
from agui_gate.core.approvals import UNFINISHED, Approval
from agui_gate.stores.epochs import OUTCOMES, Epoch, asked_again, not_continued
from agui_gate.stores.sql.dialect import Dialect
from agui_gate.stores.sql.ledger import Ledger
from agui_gate.stores.sql.rows import read_ref
from agui_gate.stores.sql.steps import Last, Statement, Steps
from agui_gate.stores.sql.trail import Trail, head_of

_OPEN = f"state IN ({', '.join(sorted(repr(str(state)) for state in UNFINISHED))})"
_BEGIN = "UPDATE epoch SET number = number + 1 RETURNING number, :now"
_CONCERNED = f"SELECT DISTINCT thread FROM approvals WHERE tenant = :tenant AND {_OPEN}"  # noqa: S608 our names
_REFS = "SELECT key, ref FROM threads WHERE tenant = :tenant AND ref LIKE '%conversation_id%'"
_SET_REF = "UPDATE threads SET ref = :ref WHERE tenant = :tenant AND key = :key"
_ASK_AGAIN = "UPDATE approvals SET id = :id, was = :was WHERE tenant = :tenant AND id = :before"
_SETTLE = "UPDATE approvals SET state = :to, output = :output WHERE tenant = :tenant AND id = :id"
_GROW = "UPDATE threads SET bytes = bytes + :size WHERE tenant = :tenant AND key = :key"


class Epochs:
    """Its statements and steps."""

    def __init__(self, dialect: Dialect, ledger: Ledger, trail: Trail) -> None:
        self._ledger, self._trail = ledger, trail
        lock = f"SELECT tenant FROM threads WHERE tenant = :tenant AND key = :key{dialect.lock}"  # noqa: S608 ours
        self._look = (lock, head_of(":key"), ledger.reading(f"thread = :key AND {_OPEN}"))

    def begin(self) -> Steps[Epoch]:
        """Begin an epoch. All of it is one transaction."""
        begun, concerned, refs = yield [Statement(_BEGIN), Statement(_CONCERNED), Statement(_REFS)]
        ((number, now),) = begun.rows
        again = settled = 0
        batch = self._forget(refs.rows)
        for (key,) in sorted(concerned.rows):
            texts = [Statement(text, {"key": key}) for text in self._look]
            *_, (tenants, _), end, found = yield [*batch, *texts]
            approvals = self._ledger.approvals(found)
            batch = []
            happened: list[audit.Happened] = []
            for approval in approvals:
                statements, what = self._one(key, approval, number)
                batch, happened = batch + statements, happened + what
            batch += self._trail.added(key, tenants[0][0], end, now, happened)
            waiting = sum(approval.is_pending for approval in approvals)
            again, settled = again + waiting, settled + len(approvals) - waiting
        yield Last(batch)
        return Epoch(number, again, settled)

    def _one(self, key: int, approval: Approval, number: int) -> tuple[list[Statement], list[audit.Happened]]:
        """What becomes of one record, and what happened to it."""
        if approval.is_pending:
            again = asked_again(approval, number)
            values = {"id": again.id, "was": again.was, "before": approval.id}
            return [Statement(_ASK_AGAIN, values)], [audit.restored(approval, number, again.id), audit.asked(again)]
        to, output = OUTCOMES[approval.state]
        text = msgspec.json.encode(output).decode()
        return [
            Statement(_SETTLE, {"to": to.value, "output": text, "id": approval.id}),
            Statement(_GROW, {"size": len(text), "key": key}),
        ], [audit.restored(approval, number), *audit.moved(approval, to, output=output)]

    @staticmethod
    def _forget(refs: Sequence[tuple[int, str]]) -> list[Statement]:
        """What is no longer continued."""
        found = ((key, read_ref(ref)) for key, ref in refs)
        left = ((key, ref, not_continued(ref)) for key, ref in found)
        return [
            Statement(_SET_REF, {"key": key, "ref": msgspec.json.encode(new).decode()})
            for key, old, new in left
            if new is not None and new != old
        ]
