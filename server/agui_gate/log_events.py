"""Logs what the engine has to tell: who decided what, what was refused, what failed. Never what was said.

Ids, names and words of ours only. Of a provider's failure its class, status, code and request id are told, and those
only if they look like what they are.
"""

import re
from collections.abc import Iterator

import structlog

from agui_gate.core.approvals import Approval, State
from agui_gate.errors import AguiGateError

log = structlog.get_logger("agui_gate.decisions")

_WORD = re.compile(r"[\w.:/-]{1,100}")
_DEPTH = 8
"""Causes of causes that are looked at."""


def _of(record: Approval) -> dict[str, str]:
    """Returns the ids by which a call is found in the log: its own, and of the run in which it was made."""
    return {"approval": record.id, "tool": record.tool, "thread": record.thread_id, "run": record.run_key}


def moved(record: Approval) -> None:
    """Logs that a record was moved: a line for a decision and its outcome, none for what nobody decided."""
    by, way = (decision.by, decision.way) if (decision := record.decision) else (None, None)
    about = {**_of(record), "agent": record.agent, "by": by, "way": way}
    if record.run_id:
        about["client_run"] = record.run_id
    if record.state is State.UNKNOWN:
        log.warning("outcome_unknown", **about)
    elif decision is not None:
        log.info("decided", approved=decision.approved, state=str(record.state), **about)


def refused(record: Approval, by: str, why: str) -> None:
    """Logs that an answer could not be taken. Of ``why`` only the beginning is told: its end may quote an argument."""
    log.warning("answer_refused", **_of(record), by=by, why=why.partition(":")[0][:100])


def not_agreed(record: Approval) -> None:
    """Logs that an interrupted call is not repeated, since the record says otherwise than the audit trail."""
    means = "Its record differs from what the audit trail says was approved. `agui-gate audit verify` has the details."
    log.error("not_repeated", **_of(record), means=means)


def late(record: Approval, by: str) -> None:
    """Logs an answer to what was decided before: often a second click."""
    log.info("answer_late", **_of(record), by=by, state=str(record.state))


def unknown_answers(thread_id: str, by: str, count: int) -> None:
    """Answers to nothing that was asked."""
    log.warning("answer_unknown", thread=thread_id, by=by, answers=count)


def foreign_file(thread_id: str, vendor: str) -> None:
    """Logs a file's handle that is another provider's than the model's: the model is told in its place."""
    log.warning("file_left_out", thread=thread_id, vendor=vendor, why="it is a file of another provider's")


def provider_failed(error: AguiGateError, agent: str, thread_id: str, run_key: str) -> None:
    """Logs that a model's provider did not deliver, for good: retries have been made."""
    causes = list(_causes(error))
    names = "/".join(type(cause).__name__ for cause in causes) or type(error).__name__
    about = {"agent": agent, "thread": thread_id, "run": run_key, "code": error.code, "cause": names}
    status, code = _first(causes, "status_code", "status"), _first(causes, "code", "type")
    request_id = _first(causes, "request_id")
    log.warning("provider_failed", **about, status=status, provider_code=code, request_id=request_id)


def failed(error: AguiGateError, thread_id: str, run_key: str) -> None:
    """Logs that a run ended because something of ours did not work."""
    log.warning("run_failed", thread=thread_id, run=run_key, code=error.code, why=error.message)


def lease_lost(thread_id: str, run_key: str) -> None:
    """Logs that a run or a decision ended because another process has its thread, or had it meanwhile."""
    log.warning("lease_lost", thread=thread_id, run=run_key)


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


REMEMBERED = 10_000
"""Threads of which it is known what was told of them."""

dialect_log = structlog.get_logger("agui_gate.dialects")


class Downgrades:
    """Logs each loss once a thread. For how long that is remembered has a bound; then it is logged again."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str, str], None] = {}

    def lost(self, what: str, principal: str, thread_id: str, remedy: str) -> None:
        """Logs that a client was not told ``what`` of this thread. ``remedy``: what can be done about that."""
        key = (principal, thread_id, what)
        if key in self._told:
            return
        if len(self._told) >= REMEMBERED:
            del self._told[next(iter(self._told))]
        self._told[key] = None
        dialect_log.warning("told_less", thread=thread_id, lost=what, upgrade=remedy)
