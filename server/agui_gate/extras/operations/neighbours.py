"""Tells of other processes on one store, without a bus for them."""

from collections.abc import Iterable

import structlog

log = structlog.get_logger("agui_gate.http")


def log_neighbours(pids: Iterable[int]) -> None:
    """Says what works over several processes on one store without a bus for them, and what doesn't."""
    log.warning(
        "store_is_shared",
        with_processes=", ".join(map(str, pids)),
        means="Approvals, stopping and deleting work across processes, live events do not: a client that "
        "reconnects in another process receives what is saved, step by step. Use one process, route each client to "
        "one process, or set AGUI_GATE_BUS.",
    )
