"""The ledger in SQL: its columns, and each move of `core.approvals` as one conditional update."""

from typing import Any

import msgspec

from agui_gate.core.approvals import DECISIONS, Approval, Decision, State, sources
from agui_gate.core.transcript import Output

COLUMNS = Approval.__struct_fields__
"""Of ``approvals``, besides ``thread`` (its key) and ``seq`` (the order in which they were asked for)."""

JSON_COLUMNS = frozenset({"editable", "decision", "output"})

EXPIRE = "UPDATE approvals SET state = 'expired', decided_at = :now WHERE state = 'pending' AND expires_at <= :now AND "
"""Followed by which of them."""

RECORD = f"INSERT INTO approvals (thread, {', '.join(COLUMNS)}) VALUES (:thread, :{', :'.join(COLUMNS)})"  # noqa: S608 our names

GROW = "UPDATE threads SET bytes = bytes + :size WHERE key = (SELECT thread FROM approvals WHERE id = :id)"
"""What a decision or a result adds to its thread."""


def _move(to: State) -> str:
    """The table of moves as the WHERE clause of one conditional update."""
    states = ", ".join(f"'{state}'" for state in sources(to))
    only = "1 = 1"
    if to is State.PASSED:
        only = "runner = 'provider'"
    elif to in DECISIONS:
        only = "(expires_at IS NULL OR expires_at > :now)"
    elif to is State.EXPIRED:
        only = "expires_at <= :now"
    return (
        "UPDATE approvals SET state = :to, decision = coalesce(:decision, decision), "  # noqa: S608 our names
        "output = coalesce(:output, output), decided_at = CASE state WHEN 'pending' THEN :now ELSE decided_at END "
        f"WHERE id = :id AND state IN ({states}) AND {only}"
    )


MOVE = {to: _move(to) for to in State}


def new_row(thread: int, approval: Approval, now: int) -> dict[str, Any]:
    """The values of `RECORD`; times that were relative become absolute."""
    row = {"thread": thread, **msgspec.structs.asdict(approval), "asked_at": approval.asked_at + now}
    if approval.expires_at is not None:
        row["expires_at"] = approval.expires_at + now
    return row | {name: to_json(row[name]) for name in JSON_COLUMNS}


def moved_row(
    approval_id: str, to: State, decision: Decision | None, output: Output | None, now: int
) -> dict[str, Any]:
    """The values of `MOVE`, and of `GROW`."""
    written = [to_json(part) for part in (decision, output)]
    size = sum(len(part.encode()) for part in written if part is not None)
    return {"id": approval_id, "to": to.value, "now": now, "decision": written[0], "output": written[1], "size": size}


def to_json(value: object) -> str | None:
    """JSON as text; None stays NULL."""
    return None if value is None else msgspec.json.encode(value).decode()
