"""What the demo brain says: before a call, after its output, and when nothing is to be called.

Markdown, short, kind.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec

from agui_gate_adapters.testkit.brain.arguments import id_parameter, properties_of
from agui_gate_adapters.testkit.brain.matching import is_lookup
from agui_gate_adapters.testkit.brain.planning import Call
from agui_gate_adapters.testkit.brain.reading import stem, stems_of_name
from agui_gate_adapters.testkit.wire import Json

__all__ = ["Outcome", "Result", "ask_for", "chat", "parse_output", "phrase", "preamble", "summarise", "thought"]

Outcome = Literal["done", "rejected", "superseded", "cancelled", "expired", "failed", "unknown"]

_OUTCOMES: Final[dict[str, Outcome]] = {
    "rejected": "rejected",
    "denied": "rejected",
    "declined": "rejected",
    "superseded": "superseded",
    "cancelled": "cancelled",
    "expired": "expired",
    "unknown": "unknown",
    "error": "failed",
    "failed": "failed",
}

_SIGNS: Final[tuple[tuple[Outcome, re.Pattern[str]], ...]] = (
    ("superseded", re.compile(r"supersed|moved on|no longer needed|not answered|unanswered", re.IGNORECASE)),
    ("expired", re.compile(r"\bexpired?\b|timed? ?out waiting", re.IGNORECASE)),
    ("cancelled", re.compile(r"\bcancel|\babort", re.IGNORECASE)),
    ("rejected", re.compile(r"\breject|\bdenied\b|\bdeclin|\brefus|not approved|\bdisapprov", re.IGNORECASE)),
    ("failed", re.compile(r"\berror\b|\bfail|exception|not found|could not|unknown outcome", re.IGNORECASE)),
)
_OPENERS: Final = ("Sure", "Of course", "Happy to", "Right away")
_MAX_ROWS: Final = 8
_VERBS: Final = {"get": "look up", "fetch": "look up", "lookup": "look up"}
_PASTS: Final = {
    "get": "looked up",
    "fetch": "looked up",
    "lookup": "looked up",
    "send": "sent",
    "set": "set",
    "find": "found",
    "make": "made",
    "write": "written",
    "buy": "bought",
    "pay": "paid",
    "cancel": "cancelled",
    "ship": "shipped",
    "run": "run",
    "put": "put",
}
_LONG: Final = ("body", "message", "content", "text")
_WHOM: Final = frozenset({"customer", "name", "user", "person", "city", "location", "place", "query", "topic"})


class Result(msgspec.Struct, frozen=True):
    """One call with its output: the parsed value and how it went."""

    call: Call
    value: Any
    outcome: Outcome


def parse_output(call: Call, text: str) -> Result:
    """Read an output: JSON where it is JSON, and how the call went."""
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        value = text
    return Result(call, value, _outcome(call, value))


def _outcome(call: Call, value: Any) -> Outcome:
    if isinstance(value, str) and len(value) < 600:
        return _sign(value, set(stems_of_name(call.name))) or "done"
    if not isinstance(value, dict):
        return "done"
    if value.get("approved") is False or value.get("accepted") is False:
        return "rejected"
    error = value.get("error")
    told = error.get("code") if isinstance(error, dict) else value.get("status")
    # A record that happens to have a status is no report of a failure: those come with words.
    if str(told) in _OUTCOMES and (error or "message" in value):
        return _OUTCOMES[str(told)]
    return "failed" if error or value.get("is_error") else "done"


def _sign(text: str, expected: set[str]) -> Outcome | None:
    """Return what the words say; a tool that cancels things may well report "cancelled" as its success."""
    for outcome, pattern in _SIGNS:
        found = pattern.search(text)
        if found and not any(word.startswith(stem(found[0])) for word in expected):
            return outcome
    return None


# -- before ------------------------------------------------------------------------------------------------------


def phrase(call: Call, *, bold: bool = True, done: bool = False) -> str:
    """Say a call in words: `refund order **A1** (amount: 20)`, or `refunded …` when it is `done`."""
    mark = "**" if bold else ""
    verb, *nouns = _words_of(call.name)
    named = _id_name(call)
    told = f"{_past(verb)}" if done else _VERBS.get(verb, verb)
    if named is not None:
        noun = " ".join(nouns) or re.sub(r"_?(id|number|code|ref)$", "", named).replace("_", " ")
        told += f" {noun} {mark}{call.arguments[named]}{mark}"
    elif nouns:
        told += f" {_article(verb, nouns)}{' '.join(nouns)}"
    rest = {name: value for name, value in call.arguments.items() if name not in (named, *_LONG)}
    if len(rest) == 1 and set(rest) & _WHOM:
        return f"{told} for {mark}{_short(next(iter(rest.values())))}{mark}"
    details = [f"{name.replace('_', ' ')}: {_short(value)}" for name, value in rest.items()]
    return f"{told} ({', '.join(details)})" if details else told


def _words_of(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [word.lower() for word in re.split(r"[\s_.-]+", spaced) if word] or [name]


def _past(verb: str) -> str:
    if verb in _PASTS:
        return _PASTS[verb]
    return verb + "d" if verb.endswith("e") else re.sub(r"(?<=[^aeiou])y$", "i", verb) + "ed"


def _article(verb: str, nouns: list[str]) -> str:
    if nouns[-1].endswith("s"):
        return ""
    if verb in ("send", "create", "add", "make", "write", "book", "open"):
        return "an " if nouns[0][0] in "aeiou" else "a "
    return "the "


def _id_name(call: Call) -> str | None:
    shape = {name: {"type": "string"} for name in call.arguments}
    return id_parameter({"parameters": {"properties": shape}})


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    text = " ".join(text.split())
    return text if len(text) <= 48 else text[:45] + "…"


def _listing(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def preamble(calls: list[Call], text: str, *, further: bool = False) -> str:
    """Say what is about to be done; `further` when this is not the first step."""
    opener = "Next" if further else _OPENERS[len(text) % len(_OPENERS)]
    joint = f"{opener} help: I'll " if opener == "Happy to" else f"{opener}, I'll "
    return joint + _listing([phrase(call) for call in calls]) + "."


def thought(calls: list[Call]) -> str:
    """Return the reasoning summary that goes before the calls."""
    title = " and ".join(sorted({call.name.replace("_", " ").capitalize() for call in calls}))
    steps = _listing([f"`{call.name}` with {_with(call)}" for call in calls])
    closing = "They don't depend on each other, so I can ask for them together." if len(calls) > 1 else ""
    return f"**{title}**\n\nThe request is clear. I should call {steps.rstrip('.')}. {closing}".rstrip()


def _with(call: Call) -> str:
    given = [f"{name}={_short(value)}" for name, value in call.arguments.items()]
    return _listing(given) if given else "no arguments"


def ask_for(tool: str, parameter: str) -> str:
    """Ask for what a call would need."""
    action = phrase(Call(tool, {}), bold=False)
    return f"I can {action} for you. Which **{parameter.replace('_', ' ')}** should I use?"


# -- after -------------------------------------------------------------------------------------------------------


def summarise(results: list[Result]) -> str:
    """Tell how the calls went, the good news first."""
    acted = [result for result in results if not is_lookup({"name": result.call.name})]
    ordered = sorted(acted or results, key=lambda result: result.outcome != "done")
    told = "\n\n".join(_tell(result) for result in ordered)
    if any(result.outcome in ("rejected", "failed") for result in results):
        return f"{told}\n\nTell me if you'd like to try something else."
    return told


def _tell(result: Result) -> str:
    what = phrase(result.call)
    match result.outcome:
        case "done":
            return _success(f"I've {phrase(result.call, done=True)}", result.value)
        case "rejected":
            why = f" The reason given: {_short(reason)}." if (reason := _member(result.value, "reason")) else ""
            return f"I did not {what}: it was **rejected**, and nothing was changed.{why}"
        case "superseded":
            return f"I left this undone, since the conversation moved on: {what}."
        case "cancelled":
            return f"I did not {what}: it was cancelled."
        case "expired":
            return f"I did not {what}: the approval **expired** before anybody answered. I can ask again."
        case "unknown":
            return f"I can't tell whether this took effect: {what}. It was interrupted, so please check first."
        case _:
            return f"I could not {what}: {_reason(result.value)}"


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _reason(value: Any) -> str:
    if isinstance(value, dict):
        told = value.get("message") or value.get("error")
        value = told.get("message") if isinstance(told, dict) else told
    return _plain(_short(value or "the tool reported an error"))


def _success(what: str, value: Any) -> str:
    if isinstance(value, list):
        if not value:
            return f"{what}, and found **nothing**."
        rows = "\n".join(f"- {_row(element)}" for element in value[:_MAX_ROWS])
        more = f"\n\n…and {len(value) - _MAX_ROWS} more." if len(value) > _MAX_ROWS else ""
        noun = "result" if len(value) == 1 else "results"
        return f"Here is what I found, **{len(value)} {noun}**:\n\n{rows}{more}"
    if isinstance(value, dict):
        rows = "\n".join(f"- {name.replace('_', ' ')}: {_short(member)}" for name, member in value.items())
        return f"{what}.\n\n{rows}".rstrip()
    if value in (None, "", True):
        return f"{what}."
    return f"{what}. {_plain(value)}"


def _row(element: Any) -> str:
    if not isinstance(element, dict):
        return _short(element)
    first, *others = [(name, _short(value)) for name, value in element.items()] or [("", "")]
    return " · ".join([f"**{first[1]}**", *(f"{name.replace('_', ' ')}: {value}" for name, value in others)])


def _plain(value: Any) -> str:
    text = str(value).strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


# -- otherwise ---------------------------------------------------------------------------------------------------


def chat(text: str, tools: list[Json]) -> str:
    """Answer plain talk: say what can be done here, with something to try."""
    if re.search(r"\bthank(s| you)\b", text, re.IGNORECASE):
        return "You're welcome! Is there anything else I can do?"
    hello = "Hello! " if not text.strip() or re.search(r"\b(hi|hello|hey|good \w+)\b", text, re.IGNORECASE) else ""
    if not tools:
        return f"{hello}I'm a small demo model without tools, so all I can do is listen. You said: “{_short(text)}”"
    rows = "\n".join(f"- {_offer(tool)}" for tool in tools[:_MAX_ROWS])
    return f"{hello}I'm a small demo model, and this is what I can do here:\n\n{rows}\n\nTry: “{_example(tools)}”"


def _offer(tool: Json) -> str:
    description = str(tool.get("description") or "").strip().split("\n")[0].rstrip(".")
    name = phrase(Call(tool["name"], {}), bold=False)
    return f"**{name}**: {description[:1].lower() + description[1:]}" if description else f"**{name}**"


def _example(tools: list[Json]) -> str:
    tool = next((tool for tool in tools if id_parameter(tool)), tools[0])
    parameter = id_parameter(tool)
    said = phrase(Call(tool["name"], {parameter: "A1"} if parameter else {}), bold=False).capitalize()
    said = said.replace(" a1", " A1")
    numeric = any(schema.get("type") in ("number", "integer") for schema in properties_of(tool).values())
    return f"{said}, 20 euros" if numeric else said
