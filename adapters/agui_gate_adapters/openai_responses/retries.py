"""Retries after a failure, as long as nothing of the turn was shown (B27).

| failure | tried | how often |
|---|---|---|
| transient | the same request, after a short wait | once |
| ambiguous | the same; in a conversation everything without it, as it may hold the items already | once |
| locked | the same, after 0.5, 1 and 2 s | three times |
| forgotten, mismatch | everything by value, without any continuation | once |
| uncontinued, or another 4xx for a continuation (not about key, rate, length, content) | everything, as in stateless
mode; if that is taken, so is every later turn (`continues`) | once |

A mismatch would be a bug of ours and is logged as one.

For a request that agrees to something the provider holds (`Agreement`) it is stricter. It is sent again only if
refused for its rate or a lock. It is never made by value, as what it agrees to is at the provider (`ConsentLost`).
After any other failure it may have run, and the caller is told so: `ProviderUnavailable`. Nor is it sent once
`AGREE_SECONDS` are over: a process that slept may have lost the right to say yes.
"""

import time
from collections.abc import Sequence
from typing import Protocol

from agui_gate.errors import (
    ConsentLost,
    ContentRefused,
    ContextLength,
    FormRefused,
    MediaRefused,
    ProviderAuth,
    ProviderUnavailable,
    RateLimited,
)
from agui_gate_adapters.common.failures import Failure, Kind, log
from agui_gate_adapters.common.retries import Step, retry_wait

from .request import Plan, Shape

AGREE_SECONDS = 10.0
"""For how long a request that agrees to something is sent, and sent again. Less than a lease lasts."""
LOCKED_WAITS: Sequence[float] = (0.5, 1.0, 2.0)
"""Seconds between tries while a conversation is locked."""


_BOOT = getattr(time, "CLOCK_BOOTTIME", None)


def boot_seconds() -> float:
    """Seconds by a clock that also counts while the machine sleeps, where there is one."""
    return time.monotonic() if _BOOT is None else time.clock_gettime(_BOOT)


class Agreement:
    """The time in which a request that agrees to something may be sent. It begins now."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = boot_seconds() + AGREE_SECONDS

    def check(self, plan: Plan) -> None:
        """Raise `Failure` for a request that is too late; no earlier one was taken."""
        if plan.agrees and boot_seconds() > self._until:
            raise Failure(ProviderUnavailable("The approval was not sent in time. Try again.", reached=False))


class PlanAgain(Protocol):
    """Plans a turn anew."""

    def __call__(self, *, plain: bool = False, alone: bool = False) -> Plan:
        """See `ReplayLadder`."""
        ...


class ReplayLadder:
    """The steps of one turn; each is given out only as often as the table says.

    ``again`` plans the turn anew: ``plain``, with everything by value, or ``alone``, so that nothing is asked to be
    kept either.
    """

    __slots__ = ("_again", "_locked", "_replayed", "_retried")

    def __init__(self, again: PlanAgain) -> None:
        self._again = again
        self._retried = self._replayed = False
        self._locked = LOCKED_WAITS

    def next(self, failure: Failure, plan: Plan) -> Step[Plan] | None:
        """Returns the step that may help after this failure of this plan; None when there is none left."""
        if plan.agrees:
            _check_consent(failure)
        match failure.kind:
            case Kind.TRANSIENT | Kind.AMBIGUOUS:
                return self._retry(failure, plan)
            case Kind.LOCKED:
                return self._unlock(plan)
            case Kind.FORGOTTEN | Kind.MISMATCH:
                return self._replay(failure, plan)
            case Kind.UNCONTINUED | Kind.FATAL:
                return self._instead(failure, plan)

    def _unlock(self, plan: Plan) -> Step[Plan] | None:
        if not self._locked:
            return None
        wait, *self._locked = self._locked
        return Step(wait, plan)

    def _retry(self, failure: Failure, plan: Plan) -> Step[Plan] | None:
        wait = retry_wait(failure)
        if self._retried or wait is None:
            return None
        self._retried = True
        twice = bool(plan.conversation_id) and failure.kind is Kind.AMBIGUOUS
        return Step(wait, self._again(plain=True) if twice else plan)

    def _replay(self, failure: Failure, plan: Plan) -> Step[Plan] | None:
        if self._replayed or plan.shape is Shape.PLAIN:
            return None
        self._replayed = True
        if failure.kind is Kind.MISMATCH:
            log.error("adapter bug: the provider finds a %s request inconsistent; sending everything", plan.shape.value)
        else:
            log.info("the provider has forgotten the conversation; sending everything")
        return Step(0.0, self._again(plain=True))

    def _instead(self, failure: Failure, plan: Plan) -> Step[Plan] | None:
        """Returns the plan without continuation: any refusal may mean that a server has none."""
        about_it = failure.kind is Kind.UNCONTINUED or _is_unexplained(failure)
        if self._replayed or plan.agrees or plan.shape is not Shape.CONTINUED or not about_it:
            return None
        self._replayed = True
        return Step(0.0, self._again(alone=True))


# Servers that speak this API and continue nothing, as far as this process has seen.
#
# A server that keeps no responses refuses `previous_response_id` (llama.cpp), or leaves it out without a word. Then the
# model has forgotten everything (LiteLLM before a model without this API). What was seen of an endpoint holds for the
# life of the process: a restart asks again, which costs one request.

_stateless: set[str] = set()
"""Origins. One process talks to few."""


def continues(origin: str) -> bool:
    """Whether a request to this endpoint may continue another one."""
    return origin not in _stateless


def remember_stateless(origin: str) -> None:
    """Remember that it may not, and say so once."""
    if origin not in _stateless:
        _stateless.add(origin)
        log.warning("%s does not continue responses: every request sends everything (as with mode='stateless')", origin)


def _is_unexplained(failure: Failure) -> bool:
    known = isinstance(failure.error, ProviderAuth | RateLimited | ContextLength | MediaRefused | FormRefused)
    known = known or (isinstance(failure.error, ContentRefused) and not failure.error.too_long)
    return failure.status is not None and 400 <= failure.status < 500 and not known


def _check_consent(failure: Failure) -> None:
    """Raise what a request that agrees to something comes to, unless the provider surely did not act on it."""
    if failure.kind is Kind.UNCONTINUED and failure.accepted:
        raise ProviderUnavailable(failure.error.message) from failure
    if failure.kind in (Kind.FORGOTTEN, Kind.UNCONTINUED, Kind.MISMATCH):
        raise ConsentLost("The provider no longer has what was approved, so it was not run.") from failure
    if failure.accepted and isinstance(failure.error, RateLimited | ProviderAuth):
        raise ProviderUnavailable(failure.error.message) from failure
    limited = failure.kind is Kind.TRANSIENT and isinstance(failure.error, RateLimited)
    if failure.kind in (Kind.TRANSIENT, Kind.AMBIGUOUS) and not limited:
        raise ProviderUnavailable(failure.error.message) from failure
