"""Expires approvals when their time is over, even if nobody reads them, and gives them their result.

The store says when the next one expires, and is asked again then; in between every `LOOK_SECONDS`, for approvals that
other processes have added. All processes of a store do this; what expires is written once. Only the state is written.
Whoever reads a record gives it the result that belongs to the state: `with_result`.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
import structlog

from agui_gate import log_events
from agui_gate.core import result_texts
from agui_gate.core.approvals import UNFINISHED, Approval, State
from agui_gate.errors import AguiGateError

if TYPE_CHECKING:
    from agui_gate.stores.capabilities import Expiry

LOOK_SECONDS = 3.0
"""Seconds between two looks, at most. The job is called once a second, so what is asked meanwhile is found in 4."""

STEP_SECONDS = 0.5
"""Seconds for one step where much is overdue. Others have their turn then, and it goes on with the next one."""

log = structlog.get_logger("agui_gate.engine")


def with_result(approval: Approval) -> Approval:
    """Returns ``approval`` with a result. In every final state it has one: what the store has, else the text of the
    state, as for those that expired; else that its outcome is unknown.
    """
    if approval.state in UNFINISHED or approval.output is not None or approval.is_begun:
        return approval
    state = State.UNKNOWN if approval.state in (State.DONE, State.FAILED) else approval.state
    return msgspec.structs.replace(approval, output=result_texts.closed(state))


class ExpiryJob:
    """``written`` is told the principal and the id of each thread of which something expired."""

    def __init__(
        self, store: "Expiry", written: Callable[[str, str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._written, self._clock = store, written, clock
        self._due = 0.0
        self._failing = False

    async def step(self) -> None:
        """Expires what is overdue, if it is time. A store that is away is tried again; that is told once."""
        began = self._clock()
        if began < self._due:
            return
        self._due = began + LOOK_SECONDS
        try:
            while await self._expire() and self._clock() < began + STEP_SECONDS:
                pass
            self._failing = False
        except AguiGateError as error:
            if not self._failing:
                log.warning("nothing_expired", error=error.message)
            self._failing = True

    async def _expire(self) -> bool:
        """Expires some approvals. Returns whether more is overdue."""
        now = self._clock()
        expired = await self._store.expire()
        self._due = now + (LOOK_SECONDS if expired.wait_ms is None else min(LOOK_SECONDS, expired.wait_ms / 1000))
        for principal, thread_id in expired.threads:
            self._written(principal, thread_id)
        for approval in expired.approvals:
            log_events.expired(approval)
        return expired.wait_ms == 0
