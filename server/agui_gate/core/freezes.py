"""Freezes: gated calls that nobody can let go, for as long as a freeze stands.

A freeze is in the store. Every claim reads it in its own transaction, and a freeze waits for the claims that are under
way. So once it has answered, no call that it is about is claimed, in whichever process. What was claimed before goes
on. Answers are refused with `Frozen`, and the calls go on waiting; they can be rejected.
"""

import msgspec

from agui_gate.core.approvals import SEPARATOR, Approval
from agui_gate.core.json_text import canonical


class Freeze(msgspec.Struct, frozen=True, kw_only=True):
    """A freeze: of a tool's calls, an agent's, or a tenant's; None: of all. ``at``: ms since the epoch."""

    tool: str | None = None
    agent: str | None = None
    of_tenant: str | None = None
    reason: str = ""
    at: int = 0

    @property
    def id(self) -> str:
        """What it is about, as a key: there is one freeze of each."""
        return canonical([self.tool, self.agent, self.of_tenant])

    def is_about(self, approval: Approval) -> bool:
        """Returns whether a call can't be let go because of it."""
        tenant = approval.principal.rpartition(SEPARATOR)[0]
        pairs = ((self.tool, approval.tool), (self.agent, approval.agent), (self.of_tenant, tenant))
        return all(wanted is None or wanted == there for wanted, there in pairs)

    @property
    def words(self) -> str:
        """What it says to who would let a call go."""
        return f"This is frozen: {self.reason}" if self.reason else "This is frozen by an operator."
