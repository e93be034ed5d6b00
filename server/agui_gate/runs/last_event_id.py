"""A run's request that comes again: is it the same one?

A client that lost its stream posts the very same body again, with `Last-Event-ID`. So does fetch-event-source when a
tab is shown again, and TanStack AI after any break. It wants the rest of what it was told. To ask the model once more
would be wrong, and to run a free tool once more worse. So with this header, whatever may be a repeat begins nothing.

It is a repeat in two cases. The run it names is known and has the same `runId`, or the thread has already had
everything that the request brings. A request that brings something new (another message, an answer to what waits) can't
have been posted before. It is a new run, whatever header a careless client has left on it.

Who asks for a run of somebody else, or of another thread, gets the answer of a run that never was.
"""

from collections.abc import Container
from typing import TYPE_CHECKING

from agui_gate.agents.agent import Agent
from agui_gate.agents.team import Team
from agui_gate.bus.base import Published
from agui_gate.concurrency import if_large
from agui_gate.core.journal import Journal
from agui_gate.core.transcript import Content, Entry, LeftOutEntry, UserEntry
from agui_gate.errors import Gone
from agui_gate.protocol.run_input import RunInput
from agui_gate.runs.live_run import LiveRun
from agui_gate.stores.base import Thread
from agui_gate.threads.budget import Reservation
from agui_gate.threads.reconciliation import new_id, take

if TYPE_CHECKING:
    from agui_gate.runs.engine import Engine


async def repeated(
    engine: "Engine", agent: Agent, principal: str, run: RunInput, run_key: str
) -> tuple[Published, LiveRun | None] | None:
    """Returns the run that this request began when it came first, or None if the request is a new one.

    Raises `Gone` if it is no new one, and what it began is not known here any more.
    """
    found = await engine.published(principal, run_key)
    if found is not None and found[0].run_id == run.run_id and found[0].thread_id == run.thread_id:
        return found
    read = await engine.read_thread(principal, run.thread_id)
    if found is not None and found[0].thread_id not in (run.thread_id, read[0].id if read else None):
        found = None
    if found is not None and found[0].run_id == run.run_id:
        return found
    if read is not None and await _brings_something_new(engine.team(agent), run, *read):
        return None
    if found is None:
        raise Gone(
            "The events of this run are no longer kept, or never were here. "
            f"GET /threads/{run.thread_id} returns the conversation. "
            "To begin a new run, send the request without Last-Event-ID."
        )
    return found


async def _brings_something_new(team: Team, run: RunInput, thread: Thread, reservation: Reservation) -> bool:
    try:
        size = len(run.messages) + len(thread.entries)
        return await if_large(size, brings_something_new, run, thread, team.tool_names)
    finally:
        reservation.release()


def brings_something_new(run: RunInput, thread: Thread, ours: Container[str]) -> bool:
    """Returns whether a request has anything that its thread hasn't had yet. ``ours``: names of the server's tools.

    A message without an id that says what was said before counts as the one that was said before.
    """
    intake = take(run, Journal(thread.entries, thread.approvals), new_id, ours=ours)
    said = {entry.content for entry in thread.entries if isinstance(entry, UserEntry) and entry.minted}
    return bool(intake.answers) or any(_is_new(entry, said) for entry in intake.entries)


def _is_new(entry: Entry, said: Container[tuple[Content, ...]]) -> bool:
    if isinstance(entry, LeftOutEntry):  # it says something about a message, which counts by itself
        return False
    return not (isinstance(entry, UserEntry) and entry.minted and entry.content in said)
