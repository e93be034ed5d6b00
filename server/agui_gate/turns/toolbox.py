"""Runs our tools, every call in the same way.

Every call ends here: one that nobody has to approve, one that was approved in a run, and one that was approved out of
band. So a tool can't tell which button was pressed. What it sees is made of its thread and of its call, and never of
the request that brought the answer.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import get_ident
from typing import Any

import structlog

from agui_gate.agents.tool import Tell, Told, Tool, ToolContext
from agui_gate.core.approvals import Approval
from agui_gate.core.lane import Emit
from agui_gate.core.transcript import Output
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.turns.tool_execution import ToolStart, run_tool

log = structlog.get_logger("agui_gate.tools")


def nobody(event: Told) -> None:
    """Ignores an event: there is no stream."""


TellOf = Callable[[str], Emit]
"""Returns the function to which a call's tool tells its events, by the call's id."""


class Toolbox:
    """Runs tools on one open thread, whosever they are. What they do to the shared state is told, and stays in it."""

    def __init__(self, thread: LeasedThread, tell_of: TellOf = lambda _: nobody) -> None:
        self._thread, self._tell_of = thread, tell_of

    async def approved(self, tool: Tool | None, approval: Approval, start: ToolStart) -> Output:
        """Runs the call of a claimed approval with its ``tool``, and the arguments that were agreed to.

        Records from before arguments were judged have no digest, and records from before runs were noted no run id.
        """
        run_id, judged = approval.run_id or approval.run_key, approval.schema_digest is not None
        arguments = approval.effective_arguments
        output = await self.run(tool, approval.tool, approval.call_id, run_id, arguments, start, judged=judged)
        self._thread.capacity.took(output)
        return output

    async def run(
        self,
        tool: Tool | None,
        name: str,
        call_id: str,
        run_id: str,
        arguments: str,
        start: ToolStart | None = None,
        *,
        judged: bool,
    ) -> Output:
        """Runs one call of ``tool``, by the ``name`` that it was called by. It was made in the run ``run_id``.

        ``tool`` None: there is none of that name, and the output says so. ``start``, ``judged``: see `run_tool`.
        """
        thread = self._thread
        stream = self._tell_of(call_id)
        with thread.parts.tool(tool, call_id, stream) as state:
            told = WhileAtWork(partial(thread.parts.tell, emit=stream))
            context = self._context(call_id, run_id, state, told)
            try:
                output = await run_tool(tool, name, arguments, context, thread.limits, start, judged=judged)
            finally:
                told.over()
        return thread.capacity.fitted(output)

    def _context(self, call_id: str, run_id: str, state: Any, tell: Tell) -> ToolContext:
        thread = self._thread.thread
        return ToolContext(
            thread_id=thread.id,
            run_id=run_id,
            call_id=call_id,
            principal=thread.principal,
            idempotency_key=f"{thread.key}:{call_id}",
            state=state,
            tell=tell,
        )


class WhileAtWork:
    """Hands on what one call's tool tells, in order, from whichever thread it does; nothing after `over`."""

    def __init__(self, tell: Tell) -> None:
        self._tell: Tell = tell
        self._loop, self._thread = asyncio.get_running_loop(), get_ident()

    def __call__(self, event: Told) -> None:
        """Tells one event."""
        if get_ident() == self._thread:
            self._tell(event)
        else:
            with suppress(RuntimeError):  # the loop is closed: nobody is there any more
                self._loop.call_soon_threadsafe(self._hand_on, event)

    def over(self) -> None:
        """Tells nothing any more: the call has ended, or nobody waits for it."""
        self._tell = nobody

    def _hand_on(self, event: Told) -> None:
        self._tell(event)
