"""Lesson 11: a store of your own, which writes down who decided what.

    export OPENAI_API_KEY=…
    cd examples
    agui-gate serve custom_store:app     # "Open the garage", decide, then look into decisions.jsonl

`store=` takes a URL or an object with the methods of `Store` in `agui_gate.store`. To add to one, extend it: each
decision about a gated call goes through `move`, which either happened, durably, or raised. A decision that lost
against another one raises, so it is never written down here. And what can't be written down doesn't happen: an error
here ends the run before the tool starts.
"""

import json
from collections.abc import Mapping
from typing import Any

import anyio

from agui_gate import Agent, create_app, tool
from agui_gate.store import Approval, Decision, SQLiteStore, State
from agui_gate_adapters.openai_responses import OpenAIResponses


class AuditedStore(SQLiteStore):
    """SQLite, and a line in ``log`` for every decision of a person."""

    def __init__(self, path: str, log: str) -> None:
        super().__init__(path)
        self._log = log

    async def move(self, approval_id: str, to: State, *, decision: Decision | None = None, **more: Any) -> Approval:
        """Move as usual, then write down what a person decided."""
        approval = await super().move(approval_id, to, decision=decision, **more)
        if decision is not None:
            await self._write({"by": decision.by, "approved": decision.approved, "reason": decision.reason}, approval)
        return approval

    async def _write(self, decided: Mapping[str, object], approval: Approval) -> None:
        about = {"tool": approval.tool, "arguments": json.loads(approval.effective_arguments)}
        async with await anyio.open_file(self._log, "a") as log:
            await log.write(json.dumps({"at_ms": approval.decided_at, **decided, **about}) + "\n")


@tool(gate=True)
def open_garage() -> str:
    """Open the garage door."""
    return "The garage is open."


agent = Agent(
    name="house",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You look after the user's house.",
    tools=[open_garage],
)
app = create_app(agent, store=AuditedStore("house.db", log="decisions.jsonl"))
