"""Logs why runs failed. Imported with the first failure.

Of a provider's failure its class, status, code and request id are logged, and those only if they look like what they
are.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agui_gate.errors import AguiGateError
from agui_gate.log_events import log, name_of

if TYPE_CHECKING:
    from agui_gate.runs.run_context import RunContext

_WORD = re.compile(r"[\w.:/-]{1,100}")
_DEPTH = 8
"""Causes of causes that are looked at."""


def provider_failed(error: AguiGateError, agent: str, scope: "RunContext") -> None:
    """Logs that a model's provider did not deliver, for good: retries have been made."""
    causes = list(_causes(error))
    names = "/".join(type(cause).__name__ for cause in causes) or type(error).__name__
    about = {"agent": agent, **ids_of(scope), "code": error.code, "cause": names}
    status, code = _first(causes, "status_code", "status"), _first(causes, "code", "type")
    request_id = _first(causes, "request_id")
    log.warning("provider_failed", **about, status=status, provider_code=code, request_id=request_id)


def failed(error: AguiGateError, scope: "RunContext") -> None:
    """Logs that a run ended because something of ours did not work."""
    log.warning("run_failed", **ids_of(scope), code=error.code, why=error.message)


def ids_of(scope: "RunContext") -> dict[str, str]:
    """Returns the ids by which a run is found in the log."""
    thread = scope.thread.thread
    names = {"thread": thread.id, "run": scope.key, "client_run": scope.input.run_id}
    return {**names, "principal": name_of(thread.principal), **trace_of(scope.thread.meter)}


def trace_of(meter: Any) -> dict[str, str]:
    """Returns the id of the trace of a run with this meter, where it has one."""
    span = getattr(meter, "span", None)
    return {} if span is None else {"trace": format(span.get_span_context().trace_id, "032x")}


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yields what it was raised from, without our own wrappers of errors."""
    cause = error.__cause__
    for _ in range(_DEPTH):
        if cause is None:
            return
        if type(cause).__name__ != "Failure" and not isinstance(cause, AguiGateError):
            yield cause
        cause = cause.__cause__


def _first(causes: list[BaseException], *names: str) -> str | int | None:
    """Returns the first of these that one of the causes has and that is a number or a plain word."""
    for cause in causes:
        for name in names:
            value = getattr(cause, name, None)
            if isinstance(value, int) or (isinstance(value, str) and _WORD.fullmatch(value)):
                return value
    return None
