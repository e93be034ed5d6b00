"""What is tried after a failure, as long as nothing of the turn was shown (B27).

| failure | tried | how often |
|---|---|---|
| transient, ambiguous | the same request, after a short wait | once |
| thinking refused (A7, A8, A9) | the same without thinking, as the API itself advises | once |
| mismatch (A1 to A6, A10 to A12) | nothing: the request is a function of the transcript | |

A thinking block can be refused without a bug of ours. A signature is good for one model and its key. On some models it
is good for one very conversation, instructions and tools included. A mismatch would be a bug and is logged as one.
"""

from collections.abc import Callable

from agui_gate_adapters.common.failures import Failure, Kind, log
from agui_gate_adapters.common.recovery import Once, Step

from .request import Plan


class ThinkingLadder:
    """The steps of one request. ``plain`` plans it without thinking."""

    def __init__(self, plain: Callable[[], Plan]) -> None:
        self._plain = plain
        self._once = Once[Plan]()

    def next(self, failure: Failure, plan: Plan) -> Step[Plan] | None:
        """The step that may help after this failure of this plan; None when there is none left."""
        if failure.kind is Kind.MISMATCH:
            log.error("adapter bug: the provider finds a request inconsistent: %s", failure.error.message)
            return None
        if failure.kind is not Kind.FORGOTTEN:
            return self._once.next(failure, plan)
        if plan.plain:
            return None
        log.warning("the provider does not take back the thinking of this conversation; going on without it")
        return Step(0.0, self._plain())
