"""Fills a store's tables with many rows, in SQL that both databases understand. Nothing reads what is in them."""

from collections.abc import Callable

_WHO = "CASE WHEN i % 2 = 0 THEN 'alice' ELSE 'user-' || (i % 1000) END"
_RUNS = "i % (:rows / 50) = 1"
_NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows) "

_TABLES = (
    "threads (key, principal, id, agent, created_at, updated_at, entries, bytes, run_key, run_status, lease_owner, "
    "lease_until, archived, alias)",
    f"SELECT i, {_WHO}, 'thread-' || i, CASE WHEN i % 1000 = 2 THEN 'rare' ELSE 'support' END, 1700000000000 + i, "
    f"1700000000000 + i * 7 % 1000003, 2, 200, 'run-' || i, CASE WHEN {_RUNS} THEN 'running' WHEN i % 3 = 0 "
    f"THEN 'waiting' ELSE 'finished' END, CASE WHEN {_RUNS} THEN 'owner' END, CASE WHEN {_RUNS} THEN 4000000000000 "
    "ELSE 0 END, CASE WHEN i % 10 IN (2, 3) THEN 1 ELSE 0 END, 'resp-' || i FROM n",
    "journal (thread, seq, count, body)",
    "SELECT i, 0, 2, '[]' FROM n",
    "approvals (id, thread, principal, thread_id, agent, run_key, turn_id, call_id, tool, arguments, style, editable, "
    "asked_at, expires_at, state)",
    f"SELECT 'approval-' || i, i, {_WHO}, 'thread-' || i, 'support', 'run-' || i, 'turn', 'call', 'refund', '{{}}', "
    "'interrupt', '[]', 1700000000000 + i, CASE WHEN i % 4 = 0 THEN 4000000000000 + i END, "
    "CASE WHEN i % 10 < 2 THEN 'pending' WHEN i % (:rows / 50) = 5 THEN 'claimed' WHEN i % (:rows / 50) = 6 "
    "THEN 'unknown' ELSE 'done' END FROM n",
    "approval_events (thread, seq, at, kind, principal, thread_id, approval_id, run_key, by, way, body, prev, hash)",
    f"SELECT i, 1 + part, 1700000000000 + i, CASE WHEN part = 0 THEN 'asked' ELSE 'done' END, {_WHO}, 'thread-' || i, "
    "'approval-' || i, 'run-' || i, 'bob', 'http', '{}', 'p', 'h' FROM n, (SELECT 0 AS part UNION ALL SELECT 1) AS two",
    "tombstones (id, principal, thread_id, agent, tool, source, state, arguments_digest, asked_at, deleted_at)",
    f"SELECT 'gone-' || i, {_WHO}, 'gone-' || i, 'support', 'refund', '', 'done', 'd', i, 1700000000000 + i FROM n "
    "WHERE i % 10 < 2",
    "counted_calls (whose, place, tool, at, approval_id, numbers)",
    f"SELECT 'owner', {_WHO}, 'refund', 1800000000000 + i, 'approval-' || i, '{{}}' FROM n",
    "deliveries (endpoint, notice, approval, body, created_at, due_at, gives_up_at, dead)",
    "SELECT 'desk', 'notice-' || i, 'approval-' || (i / 2), '{}', i, 1800000000000 + i, 4000000000000, i % 2 FROM n",
    "approval_steps (approval, kind, after, who, due_at)",
    "SELECT 'approval-' || i, 'reminder', 1, '{\"to\":\"\"}', 4000000000000 + i FROM n",
    "person_keys (id, of_tenant, person, key)",
    "SELECT 'key-' || i, 'acme', 'user-' || i, 'k' FROM n",
    "outbox (principal, thread_id, kind, about, body, created_at)",
    "SELECT 'alice', 'thread-' || i, 'run_ended', 'run-' || i, '{}', i FROM n WHERE i % 10 = 0",
)


def fill(execute: Callable[[str], object], rows: int) -> None:
    """Adds so many threads, each with an approval: half of them one principal's."""
    for columns, select in zip(_TABLES[::2], _TABLES[1::2], strict=True):
        execute(f"INSERT INTO {columns} {_NUMBERS}{select}".replace(":rows", str(rows)))
