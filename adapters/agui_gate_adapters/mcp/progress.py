"""A server's progress notifications as an activity on the page."""

import time
from typing import Any

from agui_gate import ToolContext

KIND = "progress"
SECONDS_BETWEEN = 0.05
"""Updates that come sooner are left out, other than the last: a page shows no more, and its journal is bounded."""

MAX_MESSAGE = 500


class Progress:
    """Called by the SDK with each notification. ``over`` is set when the call is: what comes then is late."""

    def __init__(self, tool: str, context: ToolContext) -> None:
        self._tool, self._context = tool, context
        self._shown = float("-inf")
        self.over = False

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Show how far the tool is."""
        now = time.monotonic()
        complete = total is not None and progress >= total
        if self.over or (now - self._shown < SECONDS_BETWEEN and not complete):
            return
        self._shown = now
        content: dict[str, Any] = {"tool": self._tool, "done": progress}
        if total is not None:
            content["total"] = total
        if message:
            content["message"] = message[:MAX_MESSAGE]
        await self._context.activity(KIND, content)
