"""What is tried after a failure, as long as nothing of the turn was shown (B27).

| failure | tried | how often |
|---|---|---|
| transient | the same request, after a short wait | once |
| ambiguous | the same; in a conversation everything without it, as it may hold the items already | once |
| locked | the same, after 0.5, 1 and 2 s | three times |
| forgotten, mismatch | everything by value, without any continuation | once |

A mismatch would be a bug of ours and is logged as one.
"""

import random

from .failures import Failure, Kind, log
from .request import Plan, Shape

LOCKED_WAITS = (0.5, 1.0, 2.0)
"""Seconds between tries while a conversation is locked."""
LONGEST_WAIT = 5.0
"""Seconds that a provider may ask us to wait; more is for the caller to decide."""


class Step:
    """What to do next: wait so many seconds, then go on with the same plan or (``plain``) send everything by value."""

    __slots__ = ("plain", "wait")

    def __init__(self, wait: float = 0.0, *, plain: bool = False) -> None:
        self.wait = wait
        self.plain = plain


class Ladder:
    """The steps of one turn; each is given out only as often as the table says."""

    def __init__(self) -> None:
        self._retried = False
        self._replayed = False
        self._locked = list(LOCKED_WAITS)

    def next(self, failure: Failure, plan: Plan) -> Step | None:
        """The step that may help after this failure of this plan; None when there is none left."""
        match failure.kind:
            case Kind.TRANSIENT | Kind.AMBIGUOUS:
                return self._retry(failure, plan)
            case Kind.LOCKED:
                return Step(self._locked.pop(0)) if self._locked else None
            case Kind.FORGOTTEN | Kind.MISMATCH:
                return self._replay(failure, plan)
            case Kind.FATAL:
                return None

    def _retry(self, failure: Failure, plan: Plan) -> Step | None:
        wait = failure.retry_after if failure.retry_after is not None else random.uniform(0.2, 0.6)  # noqa: S311 jitter
        if self._retried or wait > LONGEST_WAIT:
            return None
        self._retried = True
        return Step(wait, plain=bool(plan.conversation_id) and failure.kind is Kind.AMBIGUOUS)

    def _replay(self, failure: Failure, plan: Plan) -> Step | None:
        if self._replayed or plan.shape is Shape.PLAIN:
            return None
        self._replayed = True
        if failure.kind is Kind.MISMATCH:
            log.error("adapter bug: the provider finds a %s request inconsistent; sending everything", plan.shape.value)
        else:
            log.info("the provider has forgotten the conversation; sending everything")
        return Step(plain=True)
