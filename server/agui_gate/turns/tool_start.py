"""The start of an approved call's tool: whether it may begin, and whether it has.

Between a claim and the tool something may come: a stop, or a sleep of the whole process that is longer than the lease.
Who was approved is told what came of it, so exactly one of two things holds for each call. Either its tool has begun,
and then only the tool knows how it ends. Or it is called off, and then it never begins.
"""

import threading

import structlog

from agui_gate.errors import AguiGateError
from agui_gate.threads.lease import Lease

log = structlog.get_logger("agui_gate.gated_calls")


class ToolStart:
    """Of one call, under the thread's ``lease``; None: nobody had to approve it, so nobody is told of it either."""

    def __init__(self, lease: Lease | None = None, name: str = "") -> None:
        self._lease, self._name = lease, name
        self._lock = threading.Lock()
        self._begun = self._called_off = False

    async def may_begin(self) -> bool:
        """Whether the lease is still held. Asks the store only if more than a moment has passed since it was known."""
        if self._lease is None:
            return True
        try:
            await self._lease.confirm_if_old()
        except AguiGateError as error:
            log.warning("not_started", approval=self._name, why=error.message)
            self.call_off()
            return False
        return True

    def begin(self) -> bool:
        """The tool begins now, in whichever thread; False if it was called off."""
        with self._lock:
            self._begun = not self._called_off
            return self._begun

    def call_off(self) -> bool:
        """It is not to begin any more. False if it has."""
        with self._lock:
            self._called_off = not self._begun
            return self._called_off
