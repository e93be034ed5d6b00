"""Hand-offs: calls that transfer the conversation to another agent of the team (docs/teams.md)."""

from collections.abc import Iterable, Sequence

import msgspec

from agui_gate.agents.team import Member
from agui_gate.core.result_texts import failed, status
from agui_gate.core.transcript import CallPart, HandedOffEntry, Output, ResultEntry
from agui_gate.extras.teams.team import TRANSFER
from agui_gate.protocol.snapshot import result_id
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.turns.tool_dispatch import CallKind


class HandOffs(CallKind):
    """The hand-offs of one run on ``thread``."""

    def __init__(self, thread: LeasedThread) -> None:
        self._thread = thread

    def claims(self, member: Member, call: CallPart) -> bool:
        """Claims the tools that hand off, also one for an agent that isn't there, which the model made up."""
        made_up = bool(member.heirs) and call.name.startswith(TRANSFER) and call.name not in member.agent.by_name
        return call.name in member.heirs or made_up

    def begin(self, member: Member, calls: Sequence[CallPart]) -> list[ResultEntry]:
        """Hands the conversation to the agent that the first call names. All of them have their results then."""
        heirs, first = member.heirs, next((call for call in calls if call.name in member.heirs), None)
        results = []
        for call in calls:
            heir = (first or call).name.removeprefix(TRANSFER)
            output = _transferred(heir) if call is first else _not_transferred(heir)
            if call.name not in heirs:
                output = _nobody(call.name, heirs)
            results.append(ResultEntry(call.id, result_id(call.id), output))
        handed_off = [] if first is None else [HandedOffEntry(first.id, heirs[first.name], member.who.task)]
        self._thread.append([*handed_off, *results])
        return results


def _transferred(agent: str) -> Output:
    """Returns the output of the call that handed the conversation to ``agent``."""
    body = {"status": "transferred", "agent": agent, "message": f"{agent} answers from here on."}
    return Output(msgspec.json.encode(body).decode())


def _not_transferred(agent: str) -> Output:
    """Returns the output of a transfer that came after one to ``agent``, in the same answer."""
    return status("not_transferred", f"The first transfer of an answer counts: {agent} answers from here on.")


def _nobody(name: str, known: Iterable[str]) -> Output:
    """Returns the output of a transfer by a tool called ``name`` to an agent that is not there."""
    return failed(f"There is no agent to transfer to by {name}. There is: {', '.join(known)}.")
