"""The demo brain: answers like a small, friendly model, by rules alone. The same request gets the same answer.

It reads the last user text, and picks tools from those that the request advertises. It fills their arguments from the
text and from earlier outputs. After the outputs come back it says how it went. "Find Anna's orders and refund the first
one" takes two turns with calls and one with the answer.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from agui_gate_adapters.testkit.approvals import asks, proceed
from agui_gate_adapters.testkit.brain import replies
from agui_gate_adapters.testkit.brain.arguments import units_of
from agui_gate_adapters.testkit.brain.earlier import ran_before
from agui_gate_adapters.testkit.brain.intents import is_lookup
from agui_gate_adapters.testkit.brain.plan import Call, Plan, Situation, plan_calls
from agui_gate_adapters.testkit.brain.results import Result, parse_output
from agui_gate_adapters.testkit.brain.sentences import asks_what_happened, read
from agui_gate_adapters.testkit.kinds import kind_of
from agui_gate_adapters.testkit.script import Asked, Turn, last_user_text, text_of
from agui_gate_adapters.testkit.wire import Json

__all__ = ["think"]

_RECENT: Final = 60
"""How many of the last items are remembered."""

_EDGE: Final = 1_000
"""Characters at either end of a text that are read: what is asked stands before or after what was pasted. The time
that the patterns take grows with the square of a text without spaces, and the demo has one loop for everything."""


def think(asked: Asked) -> Turn:
    """Return the demo model's turn for a request."""
    hosted = proceed(asked) or asks(asked)
    if hosted is not None:
        return hosted
    before, since = _split(asked.merged[-_RECENT:])
    text = _asked_for(before, _edges(last_user_text(asked.merged)))
    tools = _usable_tools(asked.body)
    results = _results(since, tools)
    told = "" if results else _went_meanwhile(asked, tools)
    if any(result.outcome != "done" for result in results):
        return _say(replies.summarise(results))
    replaced = ran_before(asked.body, tools)
    plan = _plan(text, tools, [*_results(before, tools), *replaced, *results], before, results)
    if not plan.calls and not results and _forced(asked.body) and tools:
        plan = Plan([Call(tools[0]["name"], {})])
    if plan.calls:
        told += replies.already(plan.already_done) + " " if plan.already_done else ""
        told += (
            ""
            if results
            else replies.earlier([one for one in replaced if one.call.name in {c.name for c in plan.calls}])
        )
        return _call(plan.calls, told + replies.preamble(plan.calls, text, further=bool(results)))
    if not told and not results and asks_what_happened(text):
        told = replies.recap([*replaced, *_results(before, tools)])
        return _say(told or _answer(plan, results, text, tools))
    return _say(told + _answer(plan, results, text, tools))


def _answer(plan: Plan, results: list[Result], text: str, tools: list[Json]) -> str:
    """Return what is said when there is nothing to call."""
    if plan.already_done:
        return f"{replies.already(plan.already_done)} There is nothing left to do."
    if results:
        return replies.summarise(results)
    if plan.question is not None:
        return replies.ask_for(*plan.question)
    return replies.chat(text, tools)


def _split(items: list[Json]) -> tuple[list[Json], list[Json]]:
    """Split the conversation at the last user message."""
    for index in range(len(items) - 1, -1, -1):
        if kind_of(items[index]) == "message" and items[index].get("role") == "user":
            return items[:index], items[index + 1 :]
    return items, []


def _asked_for(before: list[Json], text: str) -> str:
    """Return the request: the last user text, after the one before it when this answers a question of ours."""
    if not before or kind_of(before[-1]) != "message" or "Which **" not in text_of(before[-1]):
        return text
    return f"{_edges(last_user_text(before))} {text}"


def _edges(text: str) -> str:
    return text if len(text) <= 2 * _EDGE else f"{text[:_EDGE]}\n{text[-_EDGE:]}"


def _results(items: list[Json], tools: list[Json]) -> list[Result]:
    """Return the calls among the items with their outputs, in the order of the calls."""
    units = {str(tool.get("name")): units_of(tool) for tool in tools}
    outputs = {item.get("call_id"): text_of(item) for item in items if kind_of(item) == "function_call_output"}
    made = [item for item in items if kind_of(item) == "function_call" and item["call_id"] in outputs]
    calls = [Call(name := str(item["name"]), _arguments(item), units.get(name, {})) for item in made]
    return [parse_output(call, outputs[item["call_id"]]) for call, item in zip(calls, made, strict=True)]


def _arguments(item: Json) -> Json:
    try:
        parsed = msgspec.json.decode(str(item.get("arguments") or "{}"))
    except msgspec.DecodeError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _went_meanwhile(asked: Asked, tools: list[Json]) -> str:
    """Say how calls went whose outputs came together with new words: left undone, or decided somewhere else.

    Not what came before something that was said already: a conversation that is sent whole has all of it.
    """
    spoken = max((at for at, item in enumerate(asked.merged) if _is_said(item)), default=-1)
    news = {item.get("call_id") for item in asked.merged[spoken + 1 :]}
    ids = {item.get("call_id") for item in asked.fresh if kind_of(item) == "function_call_output"} & news
    known = [item for item in asked.merged[-_RECENT:] if item.get("call_id") in ids]
    results = [result for result in _results(known, tools) if not is_lookup({"name": result.call.name})]
    return replies.summarise(results) + "\n\n" if results else ""


def _is_said(item: Json) -> bool:
    return kind_of(item) == "message" and item.get("role") == "assistant"


def _plan(text: str, tools: list[Json], known: list[Result], before: list[Json], results: list[Result]) -> Plan:
    values: list[Any] = [result.value for result in known]
    mentioned = [
        found for item in before for found in read(_edges(text_of(item) or str(item.get("arguments") or ""))).ids
    ]
    called = frozenset(result.call.name for result in results)
    return plan_calls(text, Situation(tools, called, tuple(values), tuple(mentioned)))


def _usable_tools(body: Json) -> list[Json]:
    """Return the function tools that `tool_choice` leaves."""
    tools = [tool for tool in body.get("tools") or () if tool.get("type") == "function"]
    choice = body.get("tool_choice")
    if choice == "none":
        return []
    if isinstance(choice, dict) and choice.get("type") == "function":
        return [tool for tool in tools if tool["name"] == choice["name"]]
    return tools


def _forced(body: Json) -> bool:
    choice = body.get("tool_choice")
    return choice == "required" or (isinstance(choice, dict) and choice.get("type") == "function")


def _say(text: str) -> Turn:
    """A turn that only says something."""
    return Turn(output=({"type": "message", "text": text, "phase": "final_answer"},))


def _call(calls: list[Call], told: str) -> Turn:
    """A turn that says what it does, and calls tools."""
    said: Json = {"type": "message", "text": told, "phase": "commentary"}
    made = [{"type": "function_call", "name": call.name, "arguments": call.arguments} for call in calls]
    return Turn(output=({"type": "reasoning", "summary": [replies.thought(calls)]}, said, *made))
