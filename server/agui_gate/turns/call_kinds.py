"""The kinds of calls: who resolves a call that the trunk itself doesn't.

A call of a function runs here, one with a gate asks a person first, one of the client's tools is the client's, and a
hosted one is the provider's: `tool_dispatch` does these. Whoever takes part in a run may bring more kinds
(`Cast.call_kinds`), such as a call that hands a task to another agent.
"""

from collections.abc import Callable, Sequence, Set

from agui_gate.agents.team import Member
from agui_gate.core.transcript import CallKind as RecordedKind
from agui_gate.core.transcript import CallPart, ResultEntry

End = Callable[[CallPart], None]
"""Closes a call."""


class CallKind:
    """One kind of calls in one run. Every hook is called under the thread's lease; by default it does nothing."""

    recorded: RecordedKind = "server"
    """The kind under which a call is recorded in its turn."""

    def claims(self, member: Member, call: CallPart) -> bool:
        """Returns whether a call of this member's turn is of this kind. It is well formed, and its gate lets it be
        asked.
        """
        return False

    def begin(self, member: Member, calls: Sequence[CallPart]) -> Sequence[ResultEntry]:
        """Begins these calls of one turn, none of which asks a person. What this appends is saved with the turn.

        Returns results that are among it. They are told once they are saved, and their calls don't `run`.
        """
        return ()

    async def run(self, member: Member, call: CallPart) -> None:
        """Resolves a call after its turn was saved. A result is saved before it is shown."""

    async def resume(self) -> None:
        """Goes on with what is open of earlier runs, before a model is asked."""

    def superseded(self, waited: Set[str]) -> None:
        """Closes what nobody goes on with: the user went on, and what waited in these tasks was closed."""

    def stopped(self, error: BaseException | None) -> None:
        """Closes what a run leaves that was stopped, or failed with ``error``."""
