"""Logs requests that a limit refuses, or that fail, so that who runs the server sees whose they are.

Of what a limit refuses there is one line an owner, reason and minute, as a loop may ask a thousand times a second.
"""

import time
from collections.abc import Callable

import structlog
from starlette.requests import Request

from agui_gate.errors import AguiGateError
from agui_gate.http.auth import owner_of
from agui_gate.log_events import name_of

EVERY_SECONDS = 60.0
"""Seconds after which what is refused for the same reason is logged again."""
MOST_REMEMBERED = 1_000
"""Owners and reasons that are remembered."""

log = structlog.get_logger("agui_gate.http")


class Limited:
    """Logs what limits refuse."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[tuple[str, str], float] = {}

    def refused(self, request: Request, error: AguiGateError) -> None:
        """Logs that this request got 429, unless its owner was told of for that a moment ago."""
        owner, now = owner_of(request.scope), self._clock()
        key = (owner, error.message)
        if now - self._told.get(key, float("-inf")) < EVERY_SECONDS:
            return
        self._told.pop(key, None)
        if len(self._told) >= MOST_REMEMBERED:
            del self._told[next(iter(self._told))]
        self._told[key] = now
        about = {"principal": name_of(owner)} if owner else {}
        _log_request(request, error, 429, **about)


limited = Limited()


def log_refused(request: Request, error: AguiGateError, status: int) -> None:
    """Logs a request that a limit has refused, or that failed (5xx)."""
    if status == 429:
        limited.refused(request, error)
    else:
        _log_request(request, error, status)


def _log_request(request: Request, error: AguiGateError, status: int, **about: str) -> None:
    where = {"method": request.method, "path": request.url.path[:200]}
    log.warning("request_refused", status=status, code=error.code, why=error.message, **about, **where)
