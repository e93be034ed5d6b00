"""The interface of what counts runs, requests to models and tools. Nothing is counted where nobody asks for metrics.

Imported for its types alone: a run that nobody counts loads no line of it (`extras/metrics/` is what counts).
"""

from typing import Protocol

from agui_gate.agents.tool import Tool, ToolContext
from agui_gate.config.limits import Limits
from agui_gate.core.transcript import Output
from agui_gate.runs.live_run import LiveRun
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.turns.steps import Speaker, TurnStep
from agui_gate.turns.tool_execution import ToolStart


class Meter(Protocol):
    """Counts what one engine does. None of its methods raises or waits."""

    def run_begun(self, agent: str, live: LiveRun, thread: LeasedThread) -> None:
        """Counts a run of ``agent`` whose task was started; and its end, when the task is done."""
        ...

    def counting(self, speaker: Speaker) -> Speaker:
        """Returns ``speaker`` for a step that makes requests of its own: they are counted when they are spent."""
        ...

    def turn_step(self, speaker: Speaker) -> TurnStep:
        """Returns the last step of a member's turns, which counts its requests."""
        ...

    async def run_tool(
        self,
        tool: Tool | None,
        name: str,
        arguments: str,
        context: ToolContext,
        limits: Limits,
        start: ToolStart | None,
        *,
        judged: bool,
    ) -> Output:
        """Runs one call as `tool_execution.run_tool` does, and counts it."""
        ...
