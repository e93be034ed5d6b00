"""Planning: which calls come now, which wait for the outputs of others, and what has to be asked first."""

from __future__ import annotations

from typing import Any

import msgspec

from agui_gate_adapters.testkit.brain.arguments import Filler, id_parameter, units_of
from agui_gate_adapters.testkit.brain.intents import intents, is_lookup
from agui_gate_adapters.testkit.brain.references import Known, identify, points_elsewhere, record_of
from agui_gate_adapters.testkit.brain.sentences import Reading, past, read, verb_of
from agui_gate_adapters.testkit.wire import Json

__all__ = ["Call", "Plan", "Situation", "plan_calls"]


class Call(msgspec.Struct, frozen=True):
    """A tool with its arguments."""

    name: str
    arguments: Json
    units: dict[str, str] = {}
    """What the tool's schema says that its numbers are in, by parameter."""


class Situation(msgspec.Struct, frozen=True):
    """What planning looks at besides the text."""

    tools: list[Json]
    called: frozenset[str]
    """Tools that were called since the person spoke."""
    values: tuple[Any, ...]
    """Parsed outputs of earlier calls, the latest last."""
    mentioned: tuple[str, ...]
    """Ids that appeared in the conversation before, the latest last."""


class Plan(msgspec.Struct):
    """The calls to make now, or the one thing to ask for first."""

    calls: list[Call]
    question: tuple[str, str] | None = None
    """Tool and parameter that the text says nothing about."""
    already_done: list[Call] = msgspec.field(default_factory=list)
    """What was asked for, but is so already, by what an earlier output says."""


def plan_calls(text: str, situation: Situation) -> Plan:
    """Return the calls that the text asks for and that were not made yet."""
    plan = Plan([])
    mentioned = list(situation.mentioned)
    for tool, clause in intents(text, situation.tools):
        reading = read(clause)
        if tool["name"] not in situation.called:
            if plan.calls and points_elsewhere(reading):
                break  # "look up A1 and refund it": the second step waits for the first.
            known = Known(situation.values, tuple(mentioned), bool(situation.called))
            if not _add(plan, tool, reading, known, situation):
                break
        mentioned += reading.ids
    return plan


def _add(plan: Plan, tool: Json, reading: Reading, known: Known, situation: Situation) -> bool:
    """Add the calls for one clause. Returns False when the clauses after it have to wait."""
    ids, reading = identify(tool, reading, known)
    if ids is None:
        found = _search_first(reading, situation)
        if found is not None:
            plan.calls.append(found)
        elif not plan.calls:
            plan.question = (tool["name"], str(id_parameter(tool)))
        return False
    ids = _still_to_do(plan, tool, ids, situation)
    fillers = [(item_id, _filler(tool, reading, ids, position, situation)) for position, item_id in enumerate(ids)]
    calls = [Call(tool["name"], filler.fill(item_id), units_of(tool)) for item_id, filler in fillers]
    missing = next((filler.missing[0] for _, filler in fillers if filler.missing), None)
    if missing is not None:
        plan.question = plan.question or (tool["name"], missing)
        return True
    if any(filler.guessed for _, filler in fillers):
        details = _details_first(ids, situation)
        if details:
            plan.calls += details
            return False
    plan.calls += calls
    return True


def _still_to_do(plan: Plan, tool: Json, ids: list[str | None], situation: Situation) -> list[str | None]:
    """Return the ids for which there is something to do; an order that is refunded isn't refunded again."""
    state, parameter = past(verb_of(tool["name"])), id_parameter(tool)
    done = [found for found in ids if found and record_of(found, situation.values).get("status") == state]
    plan.already_done += [Call(tool["name"], {str(parameter): found}) for found in done]
    return [found for found in ids if found not in done]


def _filler(tool: Json, reading: Reading, ids: list[str | None], position: int, situation: Situation) -> Filler:
    if len(ids) > 1 and len(reading.numbers) == len(ids):  # "refund A1 with 20 and A2 with 30"
        reading = msgspec.structs.replace(reading, numbers=(reading.numbers[position],))
    return Filler(tool, reading, remembered=record_of(ids[position], situation.values))


def _search_first(reading: Reading, situation: Situation) -> Call | None:
    """Return a search that may bring the ids that are missing: "refund Anna's order"."""
    for tool in situation.tools:
        if is_lookup(tool) and not id_parameter(tool) and tool["name"] not in situation.called and reading.names:
            filler = Filler(tool, reading)
            arguments = filler.fill(None)
            if not filler.missing:
                return Call(tool["name"], arguments)
    return None


def _details_first(ids: list[str | None], situation: Situation) -> list[Call]:
    """Return look-ups of these ids, where an argument would be a guess otherwise."""
    for tool in situation.tools:
        parameter = id_parameter(tool)
        if is_lookup(tool) and parameter and tool["name"] not in situation.called:
            return [Call(tool["name"], {parameter: item_id}) for item_id in ids if item_id is not None]
    return []
