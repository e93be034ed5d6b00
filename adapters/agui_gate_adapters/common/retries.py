"""Retries after a failure, as long as nothing of the turn was shown.

What may be sent again is a failure of the kind ``TRANSIENT`` or ``AMBIGUOUS``, such as a 429 or a 5xx: see
`failures.classify_status`.
"""

import random
from typing import Generic, NamedTuple, Protocol, TypeVar

from .failures import Failure, Kind

LONGEST_WAIT = 5.0
"""Seconds that a provider may ask us to wait; more is for the caller to decide."""

RETRY_SECONDS = (0.2, 0.6)
"""Between what and what a retry waits, at random, when the provider names no time."""

P = TypeVar("P")


class Step(NamedTuple, Generic[P]):
    """The next step: wait so many seconds, then send this."""

    wait: float
    plan: P


class Ladder(Protocol[P]):
    """The steps of one turn; each is given out only so often."""

    def next(self, failure: Failure, plan: P) -> Step[P] | None:
        """Returns the step that may help after this failure of this plan; None when there is none left."""
        ...


class Once(Generic[P]):
    """The same request once more, after a short wait: for providers that remember nothing."""

    def __init__(self) -> None:
        self._retried = False

    def next(self, failure: Failure, plan: P) -> Step[P] | None:
        """Returns the same plan, the first time that a failure is not final."""
        if failure.kind not in (Kind.TRANSIENT, Kind.AMBIGUOUS) or self._retried:
            return None
        wait = retry_wait(failure)
        if wait is None:
            return None
        self._retried = True
        return Step(wait, plan)


def retry_wait(failure: Failure) -> float | None:
    """Seconds to wait before the same again: as the provider asks, else a jittered moment; None if it asks too much."""
    wait = failure.retry_after if failure.retry_after is not None else random.uniform(*RETRY_SECONDS)  # noqa: S311 jitter
    return wait if wait <= LONGEST_WAIT else None
