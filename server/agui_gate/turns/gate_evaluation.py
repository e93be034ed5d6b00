"""Decides which calls of a turn need a person, before anything else is done with them.

A call does if the gate of its tool says so, or if the provider holds it back until somebody agrees.

The arguments are judged once (`Tool.judged`). From here on there is only that one value. The predicate gets it, a card
or an interrupt shows it, the record keeps it, and an edit is compared with it. The tool is run with it, also where the
predicate let the call go free.

A predicate is other people's code. It gets a copy of the arguments, and a few seconds. A sync one runs in a thread, as
sync tools do, but with slots of its own: one that blocks holds up nobody else. Whatever it does but return False means:
ask.
"""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec
import structlog

from agui_gate.agents.tool import Gate, Tool
from agui_gate.config.limits import DEFAULTS, Limits
from agui_gate.core.json_text import parse_object
from agui_gate.core.transcript import CallPart
from agui_gate.errors import ToolError
from agui_gate.turns.tool_execution import call_function, is_cancelled, off_loop

PREDICATE_SECONDS = 10.0
"""Seconds that a gate's predicate may take, before a person is asked."""

log = structlog.get_logger("agui_gate.gates")


class GateEvaluation(msgspec.Struct, frozen=True):
    """The result for one call: its ``arguments``, and whether it needs a person; or the ``problem`` with them."""

    arguments: str = ""
    """Canonical JSON; of a call that the provider holds back, as the provider gave them."""
    needs_person: bool = False
    problem: str | None = None


async def evaluate_gates(
    calls: Sequence[CallPart], tools: Mapping[str, Tool], owner: str = "", limits: Limits = DEFAULTS
) -> dict[str, GateEvaluation]:
    """Returns a result, by call id, for those of ``calls`` that are of gated tools, or held back by the provider.

    Bounded in time; raises nothing but cancellation.

    ``owner`` is the principal whose calls they are. None of them is malformed.
    """
    held = {call.id: GateEvaluation(call.arguments, needs_person=True) for call in calls if call.is_held}
    local = [(call, tools[call.name]) for call in calls if call.local and call.name in tools]
    gated = [(call, tool) for call, tool in local if tool.gate is not None]
    if not gated:
        return held
    if len(gated) == 1:  # needs no task of its own
        ((call, tool),) = gated
        return held | {call.id: await _evaluate(tool, call.arguments, owner, limits)}
    async with asyncio.TaskGroup() as group:
        tasks = {call.id: group.create_task(_evaluate(tool, call.arguments, owner, limits)) for call, tool in gated}
    return held | {call_id: task.result() for call_id, task in tasks.items()}


async def _evaluate(tool: Tool, arguments: str, owner: str, limits: Limits) -> GateEvaluation:
    given = parse_object(arguments)
    if given is None or tool.gate is None:
        return GateEvaluation(problem=f"The arguments of {tool.name} are not a JSON object.")
    try:
        judged = await off_loop(arguments, lambda: tool.judged(given))
    except ToolError as error:
        return GateEvaluation(problem=error.message)
    return GateEvaluation(judged, await _gate_needs_person(tool.name, tool.gate, _Question(judged, owner, limits)))


class _Question(msgspec.Struct, frozen=True):
    """The arguments that a predicate is asked about, the principal whose call it is, and how much may run at once."""

    arguments: str
    owner: str
    limits: Limits


async def _gate_needs_person(name: str, gate: Gate, question: _Question) -> bool:
    """Returns whether the gate stops the call: for a person, or for a rule, which may let it go. Fails closed."""
    if gate.when is None or gate.has_rule:  # a rule decides about the saved approval: see `extras/people/rules.py`
        return True
    try:
        async with asyncio.timeout(PREDICATE_SECONDS):
            arguments = parse_object(question.arguments) or {}
            owner, limits = question.owner, question.limits
            said = await call_function(gate.when, arguments, "predicates", owner, limits, PREDICATE_SECONDS)
            return said is not False
    except asyncio.CancelledError:
        if is_cancelled():
            raise
        log.exception("predicate_failed", tool=name)
    except Exception:
        log.exception("predicate_failed", tool=name)
    return True
