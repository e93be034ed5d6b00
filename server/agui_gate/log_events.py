"""Logs what the engine has to tell: who decided what, what was refused, what failed. Never what was said.

Ids, names and words of ours only. Why a run failed: `runs/failure_log.py`.
"""

from hashlib import blake2b

import structlog

from agui_gate.core.approvals import SEPARATOR, Approval, State

log = structlog.get_logger("agui_gate.decisions")

is_pseudonymous = False
"""True: principals are called by pseudonyms in the log of this process (`AGUI_GATE_LOG_PRINCIPALS`)."""


def name_of(principal: str) -> str:
    """Returns how the log calls an owner: by its name, or a pseudonym that is the same in every process.

    A pseudonym can be found by whoever tries all names.
    """
    digest = blake2b(principal.encode(), digest_size=8).hexdigest() if is_pseudonymous else ""
    return f"p_{digest}" if digest else principal.replace(SEPARATOR, "/")


def _of(record: Approval) -> dict[str, str]:
    """Returns the ids by which a call is found in the log: its own, and of the run in which it was made."""
    ids = {"approval": record.id, "tool": record.tool, "thread": record.thread_id, "run": record.run_key}
    ids |= {"call": record.call_id, "client_run": record.run_id, "principal": name_of(record.principal)}
    return {name: value for name, value in {**ids, "trace": record.trace[3:35]}.items() if value}


def _by(record: Approval, by: str | None) -> str | None:
    """Returns how the log calls a person of the tenant whose call it is."""
    tenant, separator, _ = record.principal.rpartition(SEPARATOR)
    return by and name_of(by if SEPARATOR in by else f"{tenant}{separator}{by}")


def moved(record: Approval) -> None:
    """Logs that a record was moved: a line for a decision and its outcome, none for what nobody decided."""
    by, way = (decision.by, decision.way) if (decision := record.decision) else (None, None)
    about = {**_of(record), "agent": record.agent, "by": _by(record, by), "way": way}
    if record.state is State.UNKNOWN:
        log.warning("outcome_unknown", **about)
    elif decision is not None:
        log.info("decided", approved=decision.approved, state=str(record.state), **about)


def expired(record: Approval) -> None:
    """Logs that nobody decided in time."""
    log.info("expired", **_of(record))


def orphaned(record: Approval) -> None:
    """Logs that nobody is at work on a call that was approved: its process has died."""
    log.warning("orphaned", **_of(record), state=str(record.state))


def refused(record: Approval, by: str, why: str) -> None:
    """Logs that an answer could not be taken. Of ``why`` only the beginning is told: its end may quote an argument."""
    log.warning("answer_refused", **_of(record), by=_by(record, by), why=why.partition(":")[0][:100])


def not_agreed(record: Approval) -> None:
    """Logs that an interrupted call is not repeated, since the record says otherwise than the audit trail."""
    means = "Its record differs from what the audit trail says was approved. `agui-gate audit verify` has the details."
    log.error("not_repeated", **_of(record), means=means)


def late(record: Approval, by: str) -> None:
    """Logs an answer to what was decided before: often a second click."""
    log.info("answer_late", **_of(record), by=_by(record, by), state=str(record.state))


def unknown_answers(thread_id: str, by: str, count: int) -> None:
    """Answers to nothing that was asked."""
    log.warning("answer_unknown", thread=thread_id, by=name_of(by), answers=count)


def foreign_file(thread_id: str, vendor: str) -> None:
    """Logs a file's handle that is another provider's than the model's: the model is told in its place."""
    log.warning("file_left_out", thread=thread_id, vendor=vendor, why="it is a file of another provider's")


def lease_lost(thread_id: str, run_key: str) -> None:
    """Logs that a run or a decision ended because another process has its thread, or had it meanwhile."""
    log.warning("lease_lost", thread=thread_id, run=run_key)


REMEMBERED = 10_000
"""Losses of owners of which it is known that they were logged."""

dialect_log = structlog.get_logger("agui_gate.dialects")


class Downgrades:
    """Logs each loss once an owner. For how long that is remembered has a bound; then it is logged again."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], None] = {}

    def lost(self, what: str, principal: str, thread_id: str, remedy: str) -> None:
        """Logs that a client was not told ``what`` of this thread. ``remedy``: what can be done about that."""
        key = (principal, what)
        if key in self._told:
            return
        if len(self._told) >= REMEMBERED:
            del self._told[next(iter(self._told))]
        self._told[key] = None
        dialect_log.warning("told_less", thread=thread_id, lost=what, upgrade=remedy)
