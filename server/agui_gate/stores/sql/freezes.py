"""Freezes in SQL: see `core/freezes.py` and `FreezingStore`."""

from collections.abc import Sequence
from typing import Any

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.freezes import Freeze
from agui_gate.errors import Frozen
from agui_gate.stores.sql.ledger import FREEZES
from agui_gate.stores.sql.operations import Last, Statement, Steps
from agui_gate.stores.sql.variant import FREEZE, Variant

_FREEZE = (
    "INSERT INTO freezes (tenant, id, tool, agent, of_tenant, reason, at) "
    "VALUES (:tenant, :id, :tool, :agent, :of_tenant, :reason, :now) "
    "ON CONFLICT (tenant, id) DO UPDATE SET reason = excluded.reason"
)
_LIFT = "DELETE FROM freezes WHERE tenant = :tenant AND id = :id"


def freeze(variant: Variant, wanted: Freeze) -> Steps[bool]:
    """Freezes calls, after all claims that are under way. Returns True."""
    yield [Statement(variant.alone, {"name": FREEZE})]
    yield Last([freezing(wanted)])
    return True


def lift(wanted: Freeze) -> Steps[bool]:
    """Ends a freeze. Returns whether there was one."""
    (found,) = yield Last([lifting(wanted)])
    return found.changed > 0


def freezing(wanted: Freeze) -> Statement:
    """Returns the statement that freezes calls, for who has waited for the claims that are under way."""
    values = {**msgspec.structs.asdict(wanted), "id": wanted.id}
    del values["at"]
    return Statement(_FREEZE, values)


def lifting(wanted: Freeze) -> Statement:
    """Returns the statement that ends a freeze."""
    return Statement(_LIFT, {"id": wanted.id})


def freezes() -> Steps[Sequence[Freeze]]:
    """Returns all that there are."""
    (found,) = yield Last([Statement(FREEZES)])
    return _made(found.rows)


def check(approval: Approval, rows: Sequence[tuple[Any, ...]]) -> None:
    """Raises `Frozen` if a call can't be let go because of what was read."""
    for one in _made(rows):
        if one.is_about(approval):
            raise Frozen(one.words, approval)


def _made(rows: Sequence[tuple[Any, ...]]) -> list[Freeze]:
    names = ("tool", "agent", "of_tenant", "reason", "at")
    return [Freeze(**dict(zip(names, row, strict=True))) for row in rows]
