"""One line of the table: what happens on the wire, and what must come of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from .answers import ANSWERS, Answer
from .raw import Step

APIS = tuple(ANSWERS)
SECRET = "sk-live-0123456789 what Mrs Lovelace said"
"""Must never get from the provider to the client."""

HARMLESS = None
UNAVAILABLE = "provider_unavailable"
REJECTED = "provider_rejected"
AUTH = "provider_auth"
LIMITED = "rate_limited"
TOO_LONG = "context_length"


@dataclass(frozen=True, slots=True)
class Fault:
    """``steps`` is what the provider does, in the words of the API that is asked; the rest is what must come of it."""

    name: str
    steps: Callable[[Answer], Iterable[Step]]
    code: str | None = HARMLESS
    """The code of the one RUN_ERROR; None if the run finishes: what is wrong harms nobody, or is put right."""
    asked: int = 1
    """How many requests the run makes: one more than faults where the fault is harmless and a tool's result follows."""
    text: str = ""
    """What is shown, all in all."""
    ran: tuple[str, ...] = ()
    """What was searched for: tools that ran."""
    chips: int = 0
    """Tool calls that are shown."""
    times: int = 0
    """How many requests the fault happens to; 0 is all of them, or the first where it is harmless."""
    only: tuple[str, ...] = APIS
    silent: bool = False
    """The provider falls silent: for a minute, which is short here."""
    garbled: bool = False
    """The arguments that are shown are not JSON: a client sees what the model wrote, as it writes it."""
    most: int | None = None
    """Bytes of the reply that may be read at most."""

    @property
    def happens(self) -> int:
        """How many requests it happens to."""
        return self.times or (self.asked if self.code else 1)


def spread(faults: list[Fault]) -> list[Fault]:
    """Faults that meet the same code whatever the API: each happens to one of them, in turn."""
    return [replace(fault, only=(fault.only[i % len(fault.only)],)) for i, fault in enumerate(faults)]
