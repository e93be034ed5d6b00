"""The results of hand-offs and tasks that no agent has said: see `core/result_texts.py`."""

from collections.abc import Iterable

import msgspec

from agui_gate.core.result_texts import failed, status
from agui_gate.core.transcript import Output

TASK_SUPERSEDED = status("superseded", "Not finished: the user went on without answering what it asked.")
TASK_LEFT = status(
    "cancelled", "Not finished: the task that it was a part of has ended. What was done in it stays done."
)


def transferred(agent: str) -> Output:
    """Returns the output of the call that handed the conversation to ``agent``."""
    body = {"status": "transferred", "agent": agent, "message": f"{agent} answers from here on."}
    return Output(msgspec.json.encode(body).decode())


def not_transferred(agent: str) -> Output:
    """Returns the output of a transfer that came after one to ``agent``, in the same answer."""
    return status("not_transferred", f"The first transfer of an answer counts: {agent} answers from here on.")


def nobody(name: str, known: Iterable[str]) -> Output:
    """Returns the output of a transfer by a tool called ``name`` to an agent that is not there."""
    return failed(f"There is no agent to transfer to by {name}. There is: {', '.join(known)}.")


def left_unfinished(name: str) -> Output:
    """Returns the output of a task that had begun with an agent called ``name``, with which nobody here can go on."""
    return failed(
        f"Not finished: the agent {name} is gone, or has changed, so nobody can go on with this task. "
        "It had begun, and what was done in it stays done: check before trying again."
    )
