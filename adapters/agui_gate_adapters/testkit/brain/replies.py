"""What the demo brain says: before a call, after its output, and when nothing is to be called.

Markdown, short, kind. What is said after a call is what the output says: what ran, with which values, and if it failed.
"""

from __future__ import annotations

import re
from typing import Any, Final

from agui_gate_adapters.testkit.brain.arguments import id_parameter, properties_of
from agui_gate_adapters.testkit.brain.intents import is_lookup
from agui_gate_adapters.testkit.brain.phrases import (
    amount,
    heir,
    id_name,
    listing,
    phrase,
    plain,
    returned,
    shorten,
    thing,
    words,
)
from agui_gate_adapters.testkit.brain.plan import Call
from agui_gate_adapters.testkit.brain.results import Result
from agui_gate_adapters.testkit.brain.sentences import past, verb_of
from agui_gate_adapters.testkit.wire import Json

__all__ = ["already", "ask_for", "chat", "earlier", "preamble", "recap", "summarise", "thought"]

_OPENERS: Final = ("Sure", "Of course", "Happy to", "Right away")
_MAX_ROWS: Final = 8
_QUOTE: Final = 60
"""Characters of a value that a person changed; a longer one is only said to be changed."""
_SUCH_AS: Final = re.compile(r"\b(?:such as|for example) ([\w-]+)", re.IGNORECASE)
_PARAGRAPH: Final = "\n\n"
_SENTENCE: Final = 300
"""Characters of a reason or of a text that a tool returned."""


# -- before ------------------------------------------------------------------------------------------------------


def preamble(calls: list[Call], text: str, *, further: bool = False) -> str:
    """Say what is about to be done; `further` when this is not the first step."""
    opener = "Next" if further else _OPENERS[len(text) % len(_OPENERS)]
    joint = f"{opener} help: I'll " if opener == "Happy to" else f"{opener}, I'll "
    return joint + listing([phrase(call) for call in calls]) + "."


def thought(calls: list[Call]) -> str:
    """Return the reasoning summary that goes before the calls."""
    title = " and ".join(sorted({call.name.replace("_", " ").capitalize() for call in calls}))
    steps = listing([f"`{call.name}` with {_with(call)}" for call in calls])
    closing = "They don't depend on each other, so I can ask for them together." if len(calls) > 1 else ""
    return f"**{title}**\n\nThe request is clear. I should call {steps.rstrip('.')}. {closing}".rstrip()


def _with(call: Call) -> str:
    given = [f"{name}={words(value)}" for name, value in call.arguments.items()]
    return listing(given) if given else "no arguments"


def ask_for(tool: str, parameter: str) -> str:
    """Ask for what a call would need."""
    action = phrase(Call(tool, {}), bold=False)
    asked = "recipient" if parameter == "to" else parameter.replace("_", " ")
    return f"I can {action} for you. Which **{asked}** should I use?"


def already(done: list[Call]) -> str:
    """Say what needs no call, since it has been done before."""
    said = [f"{thing(call, named)} is already {past(verb_of(call.name))}" for call in done if (named := id_name(call))]
    sentence = f"{listing(said)}."
    return sentence[0].upper() + sentence[1:]


def earlier(results: list[Result]) -> str:
    """Say what ran before, in an answer that was replaced."""
    done = [phrase(result.call, done=True) for result in results if result.outcome == "done"]
    return f"In an answer that was replaced I have already {listing(done)}. " if done else ""


# -- after -------------------------------------------------------------------------------------------------------


def summarise(results: list[Result]) -> str:
    """Tell how the calls went, the good news first."""
    acted = [result for result in results if not is_lookup({"name": result.call.name})]
    failed_lookups = [result for result in results if result not in acted and result.outcome != "done"]
    ordered = sorted([*acted, *failed_lookups] or results, key=lambda result: result.outcome != "done")
    told = "\n\n".join(_tell(result) for result in ordered)
    if any(result.outcome in ("rejected", "failed") for result in results):
        return f"{told}\n\nTell me if you'd like to try something else."
    return told


def _tell(result: Result) -> str:
    """One sentence about what came of a call."""
    what, changes = phrase(result.call), _changes(result)
    match result.outcome:
        case "done":
            return _success(result, f"I've {phrase(result.call, done=True)}", changes)
        case "rejected":
            reason = result.value.get("reason") if isinstance(result.value, dict) else None
            why = f" The reason given: “{shorten(str(reason), _SENTENCE)}”." if reason else ""
            return f"I did not {what}: it was **rejected**, and nothing was changed.{why}"
        case "superseded":
            return f"I left this undone, since the conversation moved on: {what}."
        case "cancelled":
            return f"I did not {what}: the approval was **cancelled**, and nothing was changed."
        case "expired":
            return f"I did not {what}: the approval **expired** before anybody answered. I can ask again."
        case "unknown":
            return f"I can't tell whether this took effect: {what}. It was interrupted, so please check first.{changes}"
        case _:
            return f"I could not {what}. {_reason(result.value)}{changes}"


def _changes(result: Result) -> str:
    """Say what a person changed before approving."""
    if result.issued is None:
        return ""
    before, ran = result.issued, result.call
    names = [name for name in {**before.arguments, **ran.arguments} if not _same(before, ran, name)]
    return "".join(f" {_change(before, ran, name)}" for name in names)


def _same(before: Call, ran: Call, name: str) -> bool:
    missing = object()
    return bool(before.arguments.get(name, missing) == ran.arguments.get(name, missing))


def _change(before: Call, ran: Call, name: str) -> str:
    values = [call.arguments.get(name) for call in (before, ran)]
    said = [f"“{value}”" if isinstance(value, str) else amount(ran, name, value) for value in values]
    short = not any(
        isinstance(value, dict | list) or len(text) > _QUOTE for value, text in zip(values, said, strict=True)
    )
    fromto = f" from {said[0]} to {said[1]}" if short else ""
    return f"The {name.replace('_', ' ')} was changed{fromto} before it was approved."


def _reason(value: Any) -> str:
    if isinstance(value, dict):
        told = value.get("error") or value.get("message")
        value = told.get("message") if isinstance(told, dict) else told
    return plain(shorten(str(value or "The tool reported an error"), _SENTENCE))


def _success(result: Result, what: str, changes: str) -> str:
    value = result.value
    if (name := heir(result.call)) is not None:
        return f"You are with **{name}** now. What can I do for you?"
    if set(result.call.arguments) == {"task"}:  # somebody else's words
        return f"{what}, and this is the answer:\n\n> {str(value).strip().split(_PARAGRAPH)[0]}"
    if isinstance(value, list):
        if not value:
            return f"{what}, and found **nothing**."
        rows = "\n".join(f"- {_row(element, result.call)}" for element in value[:_MAX_ROWS])
        more = f"\n\n…and {len(value) - _MAX_ROWS} more." if len(value) > _MAX_ROWS else ""
        noun = "result" if len(value) == 1 else "results"
        return f"Here is what I found, **{len(value)} {noun}**:\n\n{rows}{more}"
    if isinstance(value, dict):
        news = _news(result).items()
        rows = "\n".join(f"- {name.replace('_', ' ')}: {returned(result.call, member)}" for name, member in news)
        return f"{what}.{changes}\n\n{rows}".rstrip()
    if value in (None, "", True):
        return f"{what}.{changes}"
    return f"{what}.{changes} {plain(shorten(str(value), _SENTENCE))}"


def _news(result: Result) -> Json:
    """The members of a record that the sentence about its call has not said."""
    said, done, value = result.call.arguments, past(verb_of(result.call.name)), result.value
    repeated = [name for name in value if name in said and said[name] == value[name]]
    if any(value.get(done) == number for number in said.values() if isinstance(number, int | float)):
        repeated.append(done)  # "refunded: 20", after "I've refunded … (amount: 20)"
    return {name: member for name, member in value.items() if name not in repeated}


def _row(element: Any, call: Call) -> str:
    if not isinstance(element, dict):
        return words(element)
    first, *others = [(name, returned(call, value)) for name, value in element.items()] or [("", "")]
    return " · ".join([f"**{first[1]}**", *(f"{name.replace('_', ' ')}: {value}" for name, value in others)])


def recap(results: list[Result]) -> str:
    """Tell once more what came of everything that was to change something; "" where there was nothing."""
    told = [_tell(result) for result in results if not is_lookup({"name": result.call.name})]
    return "So far:\n\n" + "\n\n".join(told) if told else ""


# -- otherwise ---------------------------------------------------------------------------------------------------


def chat(text: str, tools: list[Json]) -> str:
    """Answer plain talk: say what can be done here, with something to try."""
    if re.search(r"\bthank(s| you)\b(?!.*\bfor\b)", text, re.IGNORECASE):
        return "You're welcome! Is there anything else I can do?"
    hello = "Hello! " if not text.strip() or re.search(r"\b(hi|hello|hey|good \w+)\b", text, re.IGNORECASE) else ""
    if not tools:
        return f"{hello}I'm a small demo model without tools, so all I can do is listen. You said: “{shorten(text)}”"
    rows = "\n".join(f"- {_offer(tool)}" for tool in tools[:_MAX_ROWS])
    return f"{hello}I'm a small demo model, and this is what I can do here:\n\n{rows}\n\nTry: “{_example(tools)}”"


def _offer(tool: Json) -> str:
    first = re.split(r"\n|(?<=\.)\s+(?=[A-Z])", str(tool.get("description") or "").strip())[0]
    description = first.rstrip(".")
    name = phrase(Call(tool["name"], {}), bold=False)
    return f"**{name}**: {description[:1].lower() + description[1:]}" if description else f"**{name}**"


def _example(tools: list[Json]) -> str:
    tool = next((tool for tool in tools if id_parameter(tool)), tools[0])
    parameter = id_parameter(tool)
    such = _SUCH_AS.search(str(tool.get("description") or ""))
    example = such[1] if such else "A1"
    said = phrase(Call(tool["name"], {parameter: example} if parameter else {}), bold=False)
    said = said[:1].upper() + said[1:]
    numeric = any(schema.get("type") in ("number", "integer") for schema in properties_of(tool).values())
    return f"{said}, 20 euros" if numeric else said
