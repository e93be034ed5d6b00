"""Freezes in SQL: see `core/freezes.py` and `FreezingStore`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.audit import Happened
from agui_gate.core.freezes import Freeze
from agui_gate.core.json_text import canonical
from agui_gate.core.principals import owner_key
from agui_gate.errors import Frozen
from agui_gate.stores.sql.ledger import FREEZES
from agui_gate.stores.sql.operations import Last, Statement, Steps
from agui_gate.stores.sql.store_chain import add
from agui_gate.stores.sql.variant import FREEZE

if TYPE_CHECKING:
    from agui_gate.stores.sql.store import Operations

_FREEZE = (
    "INSERT INTO freezes (tenant, id, tool, agent, of_tenant, reason, at) "
    "VALUES (:tenant, :id, :tool, :agent, :of_tenant, :reason, :now) "
    "ON CONFLICT (tenant, id) DO UPDATE SET reason = excluded.reason"
)
_LIFT = "DELETE FROM freezes WHERE tenant = :tenant AND id = :id"


def freeze(operations: "Operations", wanted: Freeze, lift: bool) -> Steps[bool]:
    """Freezes calls, after all claims that are under way; or ends a freeze. Says so in the trail. Returns whether there
    was something to do.
    """
    variant = operations.ledger.variant
    if not lift:
        yield [Statement(variant.alone, {"name": FREEZE})]
    (done,) = yield [lifting(wanted) if lift else freezing(wanted)]
    if not done.changed:
        return False
    happened = Happened(
        kind="lifted" if lift else "frozen",
        principal=owner_key(wanted.of_tenant or "", ""),
        thread_id="",
        approval_id="",
        way="shell",
        body=canonical({name: value for name, value in about(wanted).items() if value is not None}),
    )
    yield from add(variant, operations.trail, happened)
    return True


def about(wanted: Freeze) -> dict[str, str | None]:
    """Returns what a freeze is about, as the trail says it."""
    return {"tool": wanted.tool, "agent": wanted.agent, "tenant": wanted.of_tenant}


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
