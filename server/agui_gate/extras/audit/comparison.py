"""Holds a store against a server's log: what was decided, by the log, and is not in the store, after it was restored.

A backup is older than the log. What was asked and carried out since is not in it, and of what waited or was at work
then the store says so still. The log has one line for each decision, with its outcome.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from agui_gate.core.approvals import UNFINISHED, State
from agui_gate.stores.capabilities import FullStore

OPEN = UNFINISHED | {State.UNKNOWN}
"""States in which somebody has yet to say what came of the call."""


class Logged(msgspec.Struct, frozen=True):
    """What a log says last of a call. ``state``: how it ended; ``owner`` as the log calls them."""

    at: str
    approval: str
    tool: str
    state: str
    owner: str
    thread: str
    call: str


class Difference(msgspec.Struct, frozen=True):
    """A call of which the log says something else than the store. ``here``: its state in the store, "" if it isn't
    there; ``approval``: its id there, and ``idempotency_key`` what its tool was given.
    """

    logged: Logged
    here: str = ""
    approval: str = ""
    idempotency_key: str = ""


def read_decisions(lines: Iterable[Mapping[str, str]], since: str = "") -> list[Logged]:
    """Returns what the lines of a log say last of each call that was decided, from a time on (ISO 8601, UTC)."""
    found: dict[str, Logged] = {}
    for said in lines:
        state = "unknown" if said["event"] == "outcome_unknown" else said.get("state", "")
        if said["event"] not in ("decided", "outcome_unknown") or said["timestamp"] < since or "approval" not in said:
            continue
        named = (said.get(name, "") for name in ("tool", "principal", "thread", "call"))
        tool, owner, thread, call = named
        found[said["approval"]] = Logged(said["timestamp"], said["approval"], tool, state, owner, thread, call)
    return list(found.values())


async def compare(store: FullStore, logged: Sequence[Logged]) -> list[Difference]:
    """Returns what the log says was decided and the store doesn't have, or of which it doesn't know what came."""
    found: list[Difference] = []
    for one in logged:
        call = await store.operators.call(one.approval)
        if call is None:
            found.append(Difference(one))
        elif call.state in OPEN and call.state != one.state:
            found.append(Difference(one, str(call.state.public), call.id, call.idempotency_key))
    return found
