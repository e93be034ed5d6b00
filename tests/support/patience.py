"""Bounds of the product that a test is not about, as wide as a busy machine needs them.

They are for processes of servers: where one of these bounds decides, a test would be about how busy the machine is.
What never comes to an end is found by the test's own bound.
"""

from agui_gate.approvals import orphan_job
from agui_gate.bus.replicas import bus
from agui_gate.cli import chat_session, local_thread
from agui_gate.cli.server import uvicorn_server
from agui_gate.runs import stop_and_delete
from agui_gate.stores.sqlite import database

LONG = 120
"""Seconds; twice as long as tests wait for anything."""


def with_locks() -> None:
    """From now on SQLite waits for another process's transaction, however long that takes."""
    database.BUSY_MS = LONG * 1000


def at_the_end() -> None:
    """From now on what is told to stop comes to its end: a server's runs, then its streams; and a run of a shell."""
    uvicorn_server.END_SECONDS = float(LONG)
    uvicorn_server.GRACE_SECONDS = LONG
    local_thread.STOP_SECONDS = chat_session.STOP_SECONDS = float(LONG)


def with_orphans() -> None:
    """From now on what a dead process left is settled by the next run of its thread, and by nobody before that."""
    orphan_job.LOOK_SECONDS = 1 << 30


def with_stops() -> None:
    """From now on who stops or deletes a thread waits until the run there has ended."""
    stop_and_delete.STOP_SECONDS = stop_and_delete.DELETE_SECONDS = float(LONG)


def with_answers() -> None:
    """From now on the processes of a shared bus have time to answer, and so has what carries it."""
    bus.ASK_SECONDS, bus.UNKNOWN_SECONDS, bus.CALL_SECONDS = 20.0, 3.0, 20.0
